//! The boot medium of a host became unreadable. When it can be read again the next good reply
//! says so, and the refresh does the rest.

use muster_model::{Event, Host, Timestamp};

use crate::{
    events::HOST_MEDIA_DISCONNECTED,
    history, inventory,
    rules::triggers::{self, Occasion, Trigger},
};

/// Exit code with which an agent says that it lost its boot medium.
pub const LOST_EXIT_CODE: i64 = 256;

/// Notes the loss; only the first report of it becomes an event.
pub(crate) fn lost(host: &mut Host, now: Timestamp, events: &mut Vec<Event>) {
    if !host.media_connected {
        return;
    }
    let (rows, trigger) = (triggers::host::ROWS, Trigger::MediaDisconnect);
    // A host without a row for it (rebooting, installed) does not need its medium any more.
    if triggers::fire(rows, trigger, host, &Occasion::default(), now, events).is_ok() {
        let message = format!(
            "Host {}: the boot medium cannot be read",
            inventory::hostname(host)
        );
        events.push(history::about_host(
            HOST_MEDIA_DISCONNECTED,
            host,
            now,
            message,
        ));
    }
}
