//! The user stops an installation.
//!
//! The reference refuses when a single host cannot be cancelled; here such hosts are left
//! where they are, because they are not installing anyway.

use muster_model::{ClusterStatus, HostStatus, Severity, Timestamp};

use crate::{
    draft::Draft,
    history, inventory,
    view::{ClusterView, Decision, Refused},
};

const REASON: &str = "The user cancelled the installation";

/// Cancels the installation.
///
/// # Errors
/// 409 when none is under way.
pub fn cancel(view: &ClusterView<'_>, now: Timestamp) -> Result<Decision, Refused> {
    use ClusterStatus::*;
    let mut draft = Draft::of(view, now);
    let to = match draft.cluster.status {
        Installing | InstallingPendingUserAction | Error | Finalizing => Cancelled,
        PreparingForInstallation => Ready,
        Insufficient | Ready | PendingForInput | Installed | AddingHosts | Cancelled
        | Unmonitored => {
            let reason = format!(
                "cluster {} is {}; there is no installation to cancel",
                draft.cluster.name, draft.cluster.status
            );
            let event = history::of_cluster(
                "cancel_installation_failed",
                Severity::Error,
                &draft.cluster,
                now,
                reason.clone(),
            );
            return Err(Refused::conflict(reason).with(event));
        }
    };
    draft.move_cluster(to, REASON);
    let message = format!(
        "The installation of cluster {} was cancelled",
        draft.cluster.name
    );
    let event = history::of_cluster(
        "cluster_installation_canceled",
        Severity::Info,
        &draft.cluster,
        now,
        message,
    );
    draft.events.push(event);
    for index in 0..draft.hosts.len() {
        cancel_host(&mut draft, index);
    }
    Ok(draft.finish())
}

fn cancel_host(draft: &mut Draft<'_>, index: usize) {
    use HostStatus::*;
    let to = match draft.hosts[index].status {
        InstallingPendingUserAction | Installing | InstallingInProgress | Installed | Error => {
            Cancelled
        }
        PreparingForInstallation | PreparingSuccessful | PreparingFailed => Known,
        Discovering
        | Known
        | Disconnected
        | Insufficient
        | Disabled
        | PendingForInput
        | ResettingPendingUserAction
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
        | ReclaimingRebooting => return,
    };
    draft.move_host(index, to, REASON);
    let host = &draft.hosts[index];
    let message = format!("Host {}: installation cancelled", inventory::hostname(host));
    let event = history::of_host(
        "host_installation_cancelled",
        Severity::Info,
        host,
        draft.now,
        message,
    );
    draft.events.push(event);
}
