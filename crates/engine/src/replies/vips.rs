//! Hosts say whether the virtual addresses of their cluster are free.

use std::net::IpAddr;

use muster_model::Vip;

use super::{BadReply, Outcome};
use crate::{StepType, reports::VipVerdict, view::Surroundings, wire::parse_any};

/// The latest answer of any host counts; answers about addresses nobody asked for do not. Nor
/// do late ones: once the cluster is being installed it answers from these addresses itself.
pub(super) fn verdicts(
    outcome: &mut Outcome,
    around: &Surroundings<'_>,
    output: &str,
) -> Result<(), BadReply> {
    let verdicts: Vec<VipVerdict> = parse_any(StepType::VerifyVips.as_str(), output)?;
    let Some(cluster) = around.cluster else {
        return Err(BadReply::not_now(
            StepType::VerifyVips,
            "the host belongs to no cluster",
        ));
    };
    if !cluster.status.accepts_changes() {
        return Ok(());
    }
    let mut changed = cluster.clone();
    for verdict in &verdicts {
        let list = match verdict.vip_type.as_str() {
            "api" => &mut changed.api_vips,
            "ingress" => &mut changed.ingress_vips,
            _ => continue,
        };
        let known = matches!(
            verdict.verification.as_str(),
            "succeeded" | "failed" | "unverified"
        );
        let Some(address) = verdict.vip.parse::<IpAddr>().ok().filter(|_| known) else {
            continue;
        };
        for vip in list
            .iter_mut()
            .flatten()
            .filter(|vip: &&mut Vip| vip.ip == address)
        {
            vip.verification = Some(verdict.verification.clone());
        }
    }
    outcome.cluster = (changed != *cluster).then_some(changed);
    Ok(())
}
