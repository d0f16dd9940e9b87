//! Status changes and the events that report them, made in one place so that every change is
//! recorded.

use muster_model::{
    Cluster, ClusterStatus, Event, EventScope, Host, HostStatus, Severity, Timestamp,
};

use crate::{
    events::{CLUSTER_STATUS_UPDATED, EventKind, HOST_STATUS_UPDATED},
    figures, inventory,
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
    Event::new(kind.name, kind.severity, scope_of(host), at, message)
}

/// The records that an event about a host concerns.
pub(crate) const fn scope_of(host: &Host) -> EventScope {
    EventScope {
        cluster: host.cluster,
        host: Some(host.id),
        infra_env: Some(host.infra_env),
    }
}

/// An event of this kind about a cluster.
pub(crate) fn about_cluster(
    kind: EventKind,
    cluster: &Cluster,
    at: Timestamp,
    message: impl Into<String>,
) -> Event {
    let scope = EventScope {
        cluster: Some(cluster.id),
        host: None,
        infra_env: None,
    };
    Event::new(kind.name, kind.severity, scope, at, message)
}

/// Gives a host a status and a reason; a new status is dated and recorded as an event.
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
    let kind = EventKind {
        severity: severity_of(to),
        ..HOST_STATUS_UPDATED
    };
    events.push(about_host(kind, host, now, message));
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
    let from = cluster.status;
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
    events.extend(figures::of_installation(cluster, from, now));
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
