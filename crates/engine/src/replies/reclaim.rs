//! A node of a running cluster returns to discovery.

use muster_model::{HostStatus, Timestamp};

use super::{BadReply, Outcome, happened};
use crate::{StepType, rules::triggers::Trigger};

/// The discovery image is on its disk; the next poll makes it reboot.
pub(super) fn downloaded(outcome: &mut Outcome, now: Timestamp) -> Result<(), BadReply> {
    let status = outcome.host.status;
    // The same answer again: two polls may have asked for it.
    if status == HostStatus::ReclaimingRebooting
        || happened(outcome, Trigger::RebootingForReclaim, "", now)
    {
        return Ok(());
    }
    Err(BadReply::not_now(
        StepType::DownloadBootArtifacts,
        format!("the host is {status} and was not asked to leave its cluster"),
    ))
}

/// The image could not be fetched: a person has to boot the node.
pub(super) fn failed(outcome: &mut Outcome, complaint: &str, now: Timestamp) {
    happened(outcome, Trigger::ReclaimHostFailed, complaint, now);
}
