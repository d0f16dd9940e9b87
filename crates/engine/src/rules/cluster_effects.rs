//! Side effects of a cluster's status change: start and end of an installation.

use muster_model::{Cluster, ClusterStatus, HostStatus, Vip};

use super::cluster::{ClusterFacts, Next};
use crate::{events, networks, operators};

pub(super) fn begin_installing(cluster: &mut Cluster, on: &ClusterFacts<'_>) {
    cluster.progress.preparing = 100;
    cluster.progress.total = 10;
    if !cluster.is_single_node() {
        return;
    }
    // The one host answers for API and ingress itself.
    let networks = networks::machine(cluster).unwrap_or_default();
    let host = on.inventories.iter().flatten().next();
    let own: Vec<Vip> = networks
        .iter()
        .filter_map(|net| host?.address_in(net))
        .map(|ip| Vip {
            ip,
            verification: None,
        })
        .collect();
    if !own.is_empty() {
        cluster.api_vips = Some(own.clone());
        cluster.ingress_vips = Some(own);
    }
}

pub(super) fn restart_stage_clock(cluster: &mut Cluster, on: &ClusterFacts<'_>) {
    if cluster.progress.finalizing_stage.is_some() {
        cluster.progress.finalizing_stage_started_at = Some(on.now);
        cluster.progress.finalizing_stage_timed_out = false;
    }
}

pub(super) fn completed(on: &ClusterFacts<'_>) -> Option<Next> {
    let degraded = operators::failed_olm(on.cluster);
    let missing = on
        .hosts
        .iter()
        .filter(|host| !host.is_day2() && host.status != HostStatus::Installed)
        .count();
    let mut events = Vec::new();
    let info = if !degraded.is_empty() {
        let text = format!(
            "The cluster is installed but degraded: operators {} failed",
            degraded.join(", ")
        );
        events.push(on.event(events::CLUSTER_DEGRADED_OLM_OPERATORS_FAILED, text.clone()));
        text
    } else if missing > 0 {
        format!("The cluster is installed, but {missing} workers did not join it")
    } else {
        "The cluster is installed".to_owned()
    };
    events.push(on.event(
        events::CLUSTER_INSTALLATION_COMPLETED,
        format!(
            "The installation of cluster {} is complete",
            on.cluster.name
        ),
    ));
    Some(Next {
        status: ClusterStatus::Installed,
        info,
        also: |cluster, _| {
            cluster.progress.finalizing = 100;
            cluster.progress.total = 100;
        },
        events,
    })
}
