//! A host reports whether the virtual addresses of its cluster are free.

use std::net::IpAddr;

use super::BadReply;
use crate::{
    StepType,
    agent_json::{parse_any, text},
    reports::VipVerdict,
    view::Environment,
};

/// What this host found, to be stored with it: a refresh weighs it with what the others say.
///
/// Answers about addresses that were not asked for do not count. Nor do late ones: once the cluster is
/// being installed it answers from these addresses itself, so then nothing is stored.
pub(super) fn diagnostics(
    around: &Environment<'_>,
    output: &str,
) -> Result<Option<String>, BadReply> {
    let mut diagnostics: Vec<VipVerdict> = parse_any(StepType::VerifyVips.as_str(), output)?;
    let Some(cluster) = around.cluster else {
        return Err(BadReply::not_now(
            StepType::VerifyVips,
            "the host belongs to no cluster",
        ));
    };
    if !cluster.status.accepts_changes() {
        return Ok(None);
    }
    diagnostics.retain(|result| {
        let asked = match result.vip_type.as_str() {
            "api" => &cluster.api_vips,
            "ingress" => &cluster.ingress_vips,
            _ => return false,
        };
        let address = result.vip.parse::<IpAddr>();
        let known = ["succeeded", "failed", "unverified"].contains(&result.verification.as_str());
        known && asked.iter().flatten().any(|vip| address == Ok(vip.ip))
    });
    Ok(Some(text(&diagnostics)))
}
