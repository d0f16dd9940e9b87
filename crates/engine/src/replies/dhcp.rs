//! Leases for the virtual addresses arrive; the rules for them are in [`crate::leases`].

use muster_model::Timestamp;

use super::{BadReply, Outcome};
use crate::{StepType, agent_json::parse, leases, reports::LeaseReply, view::Environment};

pub(super) fn store(
    outcome: &mut Outcome,
    around: &Environment<'_>,
    text: &str,
    now: Timestamp,
) -> Result<(), BadReply> {
    let step = StepType::DhcpLeaseAllocate;
    let reply: LeaseReply = parse(step.as_str(), text)?;
    let cluster = around
        .cluster
        .ok_or_else(|| BadReply::not_now(step, "the host belongs to no cluster"))?;
    let change = leases::accept(cluster, &reply, now);
    if let Some((changed, events)) =
        change.map_err(|why| BadReply::not_now(step, why.to_string()))?
    {
        outcome.cluster = Some(changed);
        outcome.events.extend(events);
    }
    Ok(())
}
