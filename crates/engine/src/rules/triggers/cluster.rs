//! Requests on a cluster: create, install, cancel, reset, open for more hosts.

use muster_model::{Cluster, ClusterKind, ClusterProgress, ClusterStatus, Preparation, Recipe};

use super::{Occasion, Row, To, Trigger::*, row};

use ClusterStatus::*;

/// The table.
pub(crate) static ROWS: &[Row<Cluster>] = &[
    Row {
        when: |cluster| cluster.kind == ClusterKind::Cluster,
        ..row(
            RegisterCluster,
            "a cluster is registered",
            &[],
            To::Go(Insufficient),
        )
    },
    Row {
        when: |cluster| cluster.kind == ClusterKind::AddHostsCluster,
        ..row(
            RegisterCluster,
            "a running cluster is imported",
            &[],
            To::Go(AddingHosts),
        )
    },
    Row {
        when: |cluster| cluster.kind == ClusterKind::DisconnectedCluster,
        ..row(
            RegisterCluster,
            "a cluster is only recorded",
            &[],
            To::Go(Unmonitored),
        )
    },
    Row {
        says: |_, _| "The installation is being prepared".to_owned(),
        also: begin_preparing,
        ..row(
            PrepareForInstallation,
            "install",
            &[Ready],
            To::Go(PreparingForInstallation),
        )
    },
    row(
        CancelInstallation,
        "cancelled while installing",
        &[Installing, InstallingPendingUserAction, Error, Finalizing],
        To::Go(Cancelled),
    ),
    row(
        CancelInstallation,
        "cancelled while preparing",
        &[PreparingForInstallation],
        To::Go(Ready),
    ),
    Row {
        says: |_, _| "The user reset the installation".to_owned(),
        also: start_over,
        ..row(
            ResetCluster,
            "reset",
            &[
                PreparingForInstallation,
                Installing,
                InstallingPendingUserAction,
                Error,
                Cancelled,
                Finalizing,
            ],
            To::Go(Insufficient),
        )
    },
    Row {
        when: |cluster| cluster.kind == ClusterKind::Cluster,
        says: |cluster, _| cluster.status_info.clone(),
        also: become_day2,
        ..row(
            AllowAddHosts,
            "opened for more hosts",
            &[Installed],
            To::Go(AddingHosts),
        )
    },
];

fn begin_preparing(cluster: &mut Cluster, _: &Occasion<'_>) {
    cluster.install_completed_at = None;
    forget_logs(cluster);
    cluster.preparation = Preparation {
        status: Some("not_started".to_owned()),
        reason: Some("The preparation has not been performed yet".to_owned()),
    };
    cluster.progress = ClusterProgress::default();
    cluster.kubeconfig_uploaded = false;
}

fn start_over(cluster: &mut Cluster, _: &Occasion<'_>) {
    cluster.progress = ClusterProgress::default();
    forget_logs(cluster);
    cluster.openshift_cluster_id = None;
    cluster.kubeconfig_uploaded = false;
    cluster.preparation = Preparation {
        status: Some("not_started".to_owned()),
        reason: None,
    };
    cluster.recipe = Recipe::default();
    for operator in cluster.monitored_operators.iter_mut().flatten() {
        operator.status = None;
        operator.status_info = None;
        operator.status_updated_at = None;
    }
    if cluster.is_single_node() {
        cluster.api_vips = Some(Vec::new());
        cluster.ingress_vips = Some(Vec::new());
    }
}

fn forget_logs(cluster: &mut Cluster) {
    cluster.logs_info = None;
    cluster.controller_logs_started_at = None;
    cluster.controller_logs_collected_at = None;
}

/// New hosts reach the running cluster by its first virtual address, else by its name.
fn become_day2(cluster: &mut Cluster, _: &Occasion<'_>) {
    let vip = cluster.api_vips.iter().flatten().next();
    cluster.api_vip_dns_name = Some(match vip {
        Some(vip) if cluster.user_managed_networking != Some(true) => vip.ip.to_string(),
        _ => format!(
            "api.{}.{}",
            cluster.name,
            cluster.base_dns_domain.as_deref().unwrap_or_default()
        ),
    });
    cluster.kind = ClusterKind::AddHostsCluster;
}
