//! Status changes and the events that tell of them, made in one place so that no change goes
//! untold.

use muster_model::{
    Cluster, ClusterStatus, Event, EventScope, Host, HostStatus, Severity, Timestamp,
};

use crate::{
    events::{
        CLUSTER_STATUS_UPDATED, EventKind, HOST_STATUS_UPDATED, QUICK_DISK_FORMAT_PERFORMED,
        QUICK_DISK_FORMAT_SKIPPED,
    },
    inventory,
};

/// Longest `status_info` of a host; its column is not much wider.
const MAX_STATUS_INFO_BYTES: usize = 2040;

/// An event of this kind about a host.
pub(crate) fn about_host(
    kind: EventKind,
    host: &Host,
    at: Timestamp,
    message: impl Into<String>,
) -> Event {
    of_host(kind.name, kind.severity, host, at, message)
}

/// An event of this kind about a cluster.
pub(crate) fn about_cluster(
    kind: EventKind,
    cluster: &Cluster,
    at: Timestamp,
    message: impl Into<String>,
) -> Event {
    of_cluster(kind.name, kind.severity, cluster, at, message)
}

/// An event about a host.
pub(crate) fn of_host(
    name: &str,
    severity: Severity,
    host: &Host,
    at: Timestamp,
    message: impl Into<String>,
) -> Event {
    let scope = EventScope {
        cluster: host.cluster,
        host: Some(host.id),
        infra_env: Some(host.infra_env),
    };
    Event::new(name, severity, scope, at, message)
}

/// An event about a cluster.
pub(crate) fn of_cluster(
    name: &str,
    severity: Severity,
    cluster: &Cluster,
    at: Timestamp,
    message: impl Into<String>,
) -> Event {
    let scope = EventScope {
        cluster: Some(cluster.id),
        host: None,
        infra_env: None,
    };
    Event::new(name, severity, scope, at, message)
}

/// Gives a host a status and a reason; a new status is dated and told.
pub(crate) fn move_host(
    host: &mut Host,
    to: HostStatus,
    info: impl Into<String>,
    now: Timestamp,
    events: &mut Vec<Event>,
) {
    let from = host.status;
    host.status_info = cut(info.into(), MAX_STATUS_INFO_BYTES);
    if from == to {
        return;
    }
    host.status = to;
    host.status_updated_at = now;
    let message = format!(
        "Host {}: status changed from {from} to {to} ({})",
        inventory::hostname(host),
        host.status_info
    );
    events.push(of_host(
        HOST_STATUS_UPDATED.name,
        severity_of(to),
        host,
        now,
        message,
    ));
}

/// What an installation does to the bootable disks of a host.
pub(crate) fn disk_formats(host: &Host, now: Timestamp) -> Vec<Event> {
    let name = inventory::hostname(host);
    let told = |disk: &String| {
        if host.skip_formatting_disks.contains(disk) {
            let message = format!("Host {name}: bootable disk {disk} is left as it is, as asked");
            about_host(QUICK_DISK_FORMAT_SKIPPED, host, now, message)
        } else {
            let message = format!("Host {name}: bootable disk {disk} is formatted");
            about_host(QUICK_DISK_FORMAT_PERFORMED, host, now, message)
        }
    };
    host.disks_to_be_formatted.iter().map(told).collect()
}

pub(crate) const fn severity_of(status: HostStatus) -> Severity {
    use HostStatus::*;
    match status {
        Disconnected | Insufficient | InstallingPendingUserAction => Severity::Warning,
        Error => Severity::Error,
        Discovering
        | Known
        | Disabled
        | PreparingForInstallation
        | PreparingFailed
        | PreparingSuccessful
        | PendingForInput
        | Installing
        | InstallingInProgress
        | ResettingPendingUserAction
        | Installed
        | Resetting
        | AddedToExistingCluster
        | Cancelled
        | Binding
        | Unbinding
        | UnbindingPendingUserAction
        | KnownUnbound
        | DisconnectedUnbound
        | InsufficientUnbound
        | DisabledUnbound
        | DiscoveringUnbound
        | Reclaiming
        | ReclaimingRebooting => Severity::Info,
    }
}

/// The same for a cluster; an end also dates the installation's end.
pub(crate) fn move_cluster(
    cluster: &mut Cluster,
    to: ClusterStatus,
    info: impl Into<String>,
    now: Timestamp,
    events: &mut Vec<Event>,
) {
    use ClusterStatus::*;
    cluster.status_info = info.into();
    if cluster.status == to {
        return;
    }
    cluster.status = to;
    cluster.status_updated_at = now;
    match to {
        Installed | Error | Cancelled => cluster.install_completed_at = Some(now),
        Insufficient
        | Ready
        | PreparingForInstallation
        | PendingForInput
        | Installing
        | Finalizing
        | AddingHosts
        | InstallingPendingUserAction
        | Unmonitored => {}
    }
    let message = format!(
        "Status of cluster {} changed to {to} ({})",
        cluster.name, cluster.status_info
    );
    events.push(about_cluster(CLUSTER_STATUS_UPDATED, cluster, now, message));
}

fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let mut end = limit;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}
