//! An agent says whether it could upgrade itself. Each outcome is recorded once per image; the
//! version itself comes with the header of later polls.

use muster_model::{AgentUpgrade, Timestamp};

use super::{BadReply, Outcome, record};
use crate::{StepType, agent_json::parse, events, inventory::hostname, reports::UpgradeReply};

/// Longest reference to an image that is accepted.
const MOST_IMAGE_BYTES: usize = 512;

pub(super) fn result(outcome: &mut Outcome, output: &str, now: Timestamp) -> Result<(), BadReply> {
    let step = StepType::UpgradeAgent;
    let reply: UpgradeReply = parse(step.as_str(), output)?;
    let image = reply.agent_image;
    if image.len() > MOST_IMAGE_BYTES {
        let cause = format!("agent_image has {} bytes", image.len());
        return Err(BadReply::unreadable(step, cause));
    }
    let (kind, what) = match reply.result.as_str() {
        "success" => (events::UPGRADE_AGENT_FINISHED, "was upgraded"),
        "failure" => (events::UPGRADE_AGENT_FAILED, "could not be upgraded"),
        // A pull is still going on there; its own reply will come.
        _ => return Ok(()),
    };
    let fresh = AgentUpgrade {
        image: Some(image.clone()),
        result: Some(reply.result),
    };
    if outcome.host.agent_upgrade == fresh {
        return Ok(());
    }
    outcome.host.agent_upgrade = fresh;
    let name = hostname(&outcome.host);
    let message = format!("Host {name}: the agent {what} to {image}");
    record(outcome, kind, now, message);
    Ok(())
}
