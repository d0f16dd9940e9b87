//! The boot medium of a host became unreadable, or can be read again.

use muster_model::{Event, Host, HostStatus, Severity, Timestamp};

use crate::{history, inventory};

/// Exit code with which an agent says that it lost its boot medium.
pub const LOST_EXIT_CODE: i64 = 256;

/// Notes the loss; only the first report of it is told.
pub(crate) fn lost(host: &mut Host, now: Timestamp, events: &mut Vec<Event>) {
    use HostStatus::*;
    if !host.media_connected {
        return;
    }
    let info =
        "The host cannot read its boot medium any more; connect it again or boot the host anew";
    let (to, info) = match host.status {
        Discovering | Insufficient | Known | PendingForInput | Disconnected | Binding => {
            (Disconnected, info.to_owned())
        }
        Error => (Error, format!("Failed - {info} ({})", host.status_info)),
        PreparingForInstallation
        | PreparingFailed
        | PreparingSuccessful
        | Installing
        | InstallingInProgress => (Error, info.to_owned()),
        DiscoveringUnbound | InsufficientUnbound | KnownUnbound | DisconnectedUnbound
        | Unbinding => (DisconnectedUnbound, info.to_owned()),
        Disabled
        | InstallingPendingUserAction
        | ResettingPendingUserAction
        | Installed
        | Resetting
        | AddedToExistingCluster
        | Cancelled
        | UnbindingPendingUserAction
        | DisabledUnbound
        | Reclaiming
        | ReclaimingRebooting => return,
    };
    host.media_connected = false;
    history::move_host(host, to, info, now, events);
    let message = format!(
        "Host {}: the boot medium cannot be read",
        inventory::hostname(host)
    );
    events.push(history::of_host(
        "host_media_disconnected",
        Severity::Error,
        host,
        now,
        message,
    ));
}
