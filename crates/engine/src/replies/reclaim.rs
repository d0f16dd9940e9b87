//! A node of a running cluster is on its way back to discovery.

use muster_model::{HostStatus, Timestamp};

use super::{BadReply, Outcome};
use crate::{StepType, binding, history};

/// The discovery image is on its disk; the next poll makes it reboot.
pub(super) fn downloaded(outcome: &mut Outcome, now: Timestamp) -> Result<(), BadReply> {
    let host = &mut outcome.host;
    match host.status {
        HostStatus::Reclaiming => {
            let info = "The node reboots into discovery";
            let to = HostStatus::ReclaimingRebooting;
            history::move_host(host, to, info, now, &mut outcome.events);
            Ok(())
        }
        // The same answer again: two polls may have asked for it.
        HostStatus::ReclaimingRebooting => Ok(()),
        status => Err(BadReply::not_now(
            StepType::DownloadBootArtifacts,
            format!("the host is {status}, nobody asked it to leave its cluster"),
        )),
    }
}

/// The image could not be fetched: a person has to boot the node.
pub(super) fn failed(outcome: &mut Outcome, complaint: &str, now: Timestamp) {
    let host = &mut outcome.host;
    if matches!(
        host.status,
        HostStatus::Reclaiming | HostStatus::ReclaimingRebooting
    ) {
        binding::forget_cluster(host);
        let info = format!(
            "The node could not fetch the discovery image ({complaint}); boot it from there by hand"
        );
        let to = HostStatus::UnbindingPendingUserAction;
        history::move_host(host, to, info, now, &mut outcome.events);
    }
}
