//! The user starts over: a whole cluster, one day-2 host, or one measurement.
//!
//! Hosts that have not left the discovery image (insufficient, disconnected, binding) keep
//! their status; the reference refuses the whole reset because of them.

use muster_model::{
    ClusterProgress, ClusterStatus, Host, HostKey, HostStatus, Preparation, Severity, Timestamp,
};

use crate::{
    draft::{self, Draft},
    history, inventory, reports,
    view::{ClusterView, Decision, Job, Refused},
    wire,
};

/// Resets a cluster so that it can be installed again.
///
/// # Errors
/// 409 when no installation was begun, or it is complete.
pub fn reset(view: &ClusterView<'_>, now: Timestamp) -> Result<Decision, Refused> {
    use ClusterStatus::*;
    let mut draft = Draft::of(view, now);
    match draft.cluster.status {
        PreparingForInstallation
        | Installing
        | InstallingPendingUserAction
        | Error
        | Cancelled
        | Finalizing => {}
        Insufficient | Ready | PendingForInput | Installed | AddingHosts | Unmonitored => {
            let reason = format!(
                "cluster {} is {}; there is no installation to reset",
                draft.cluster.name, draft.cluster.status
            );
            let event = history::of_cluster(
                "reset_installation_failed",
                Severity::Error,
                &draft.cluster,
                now,
                reason.clone(),
            );
            return Err(Refused::conflict(reason).with(event));
        }
    }
    let cluster = &mut draft.cluster;
    cluster.progress = ClusterProgress::default();
    cluster.logs_info = None;
    cluster.controller_logs_started_at = None;
    cluster.controller_logs_collected_at = None;
    cluster.openshift_cluster_id = None;
    cluster.kubeconfig_uploaded = false;
    cluster.preparation = Preparation {
        status: Some("not_started".to_owned()),
        reason: None,
    };
    for operator in cluster.monitored_operators.iter_mut().flatten() {
        operator.status = None;
        operator.status_info = None;
        operator.status_updated_at = None;
    }
    if cluster.is_single_node() {
        cluster.api_vips = Some(Vec::new());
        cluster.ingress_vips = Some(Vec::new());
    }
    let id = cluster.id;
    draft.move_cluster(Insufficient, "The user reset the installation");
    let message = format!(
        "The installation of cluster {} was reset",
        draft.cluster.name
    );
    let event = history::of_cluster(
        "cluster_installation_reset",
        Severity::Info,
        &draft.cluster,
        now,
        message,
    );
    draft.events.push(event);
    for index in 0..draft.hosts.len() {
        if may_reset(draft.hosts[index].status) {
            reset_one(&mut draft, index);
        }
    }
    draft.jobs.push(Job::DeleteClusterFiles(id));
    Ok(draft.finish())
}

/// Resets one day-2 host.
///
/// # Errors
/// 404 when it is not bound to this cluster, 409 when it is no day-2 host or has nothing to reset.
pub fn reset_host(
    view: &ClusterView<'_>,
    key: HostKey,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let mut draft = Draft::of(view, now);
    let Some(index) = draft.hosts.iter().position(|host| host.key() == key) else {
        return Err(Refused::not_found(format!(
            "host {} is not bound to cluster {}",
            key.host, view.cluster.id
        )));
    };
    let host = &draft.hosts[index];
    let reason = if !host.is_day2() {
        format!(
            "host {} is part of the cluster's own installation; reset the cluster instead",
            host.id
        )
    } else if !may_reset(host.status) {
        format!(
            "host {} is {}; there is nothing to reset",
            host.id, host.status
        )
    } else {
        reset_one(&mut draft, index);
        return Ok(draft.finish());
    };
    let event = history::of_host(
        "host_installation_reset_failed",
        Severity::Error,
        host,
        now,
        reason.clone(),
    );
    Err(Refused::conflict(reason).with(event))
}

/// Forgets a measurement so that it is taken again at the next preparation.
///
/// # Errors
/// 400 for validations that are not measured once and kept, 409 for an unbound host.
pub fn reset_validation(host: &Host, id: &str, now: Timestamp) -> Result<Decision, Refused> {
    if host.cluster.is_none() {
        return Err(Refused::conflict(format!(
            "host {} is not bound to a cluster",
            host.id
        )));
    }
    let mut fresh = host.clone();
    match id {
        "sufficient-installation-disk-speed" => {
            let mut disks = reports::disks_of(host).ok().unwrap_or_default();
            if let Some(device) = reports::boot_device(host) {
                disks.remove(device);
            }
            fresh.reports.disks_info = (!disks.is_empty()).then(|| wire::text(&disks).into());
        }
        "container-images-available" => fresh.reports.images_status = None,
        _ => {
            return Err(Refused::bad_request(format!(
                "validation {id:?} cannot be reset; only sufficient-installation-disk-speed and \
                 container-images-available can"
            )));
        }
    }
    Ok(draft::about_host(host, fresh, Vec::new(), now))
}

fn reset_one(draft: &mut Draft<'_>, index: usize) {
    let info = "Boot the host from the discovery image to complete the reset";
    draft.move_host(index, HostStatus::ResettingPendingUserAction, info);
    let host = &draft.hosts[index];
    let message = format!("Host {}: installation reset", inventory::hostname(host));
    let event = history::of_host(
        "host_installation_reset",
        Severity::Info,
        host,
        draft.now,
        message,
    );
    draft.events.push(event);
}

const fn may_reset(status: HostStatus) -> bool {
    use HostStatus::*;
    match status {
        Resetting
        | Discovering
        | Known
        | InstallingPendingUserAction
        | Installing
        | PreparingForInstallation
        | PreparingSuccessful
        | PreparingFailed
        | PendingForInput
        | ResettingPendingUserAction
        | InstallingInProgress
        | Installed
        | Error
        | Cancelled
        | AddedToExistingCluster => true,
        Disconnected
        | Insufficient
        | Disabled
        | Binding
        | Unbinding
        | UnbindingPendingUserAction
        | KnownUnbound
        | DisconnectedUnbound
        | InsufficientUnbound
        | DisabledUnbound
        | DiscoveringUnbound
        | Reclaiming
        | ReclaimingRebooting => false,
    }
}
