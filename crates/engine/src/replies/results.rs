//! Results that are stored unchanged, one function each. A repeated one changes nothing.

use super::BadReply;
use crate::{
    StepType,
    agent_json::{parse, parse_any, text},
    reports::{ApiVipReply, Connectivity, FreeNetwork, NtpReply, Resolutions, TangReply},
};

pub(super) fn connectivity(output: &str) -> Result<String, BadReply> {
    parse::<Connectivity>("connectivity-check", output).map(|report| text(&report))
}

pub(super) fn api_vip(output: &str) -> Result<String, BadReply> {
    parse::<ApiVipReply>("api-vip-connectivity-check", output).map(|report| text(&report))
}

pub(super) fn tang(output: &str) -> Result<String, BadReply> {
    parse::<TangReply>("tang-connectivity-check", output).map(|report| text(&report))
}

pub(super) fn resolutions(output: &str) -> Result<String, BadReply> {
    parse::<Resolutions>("domain-resolution", output).map(|report| text(&report))
}

/// Only the list is kept, without the object around it.
pub(super) fn ntp_sources(output: &str) -> Result<String, BadReply> {
    let reply: NtpReply = parse("ntp-synchronizer", output)?;
    Ok(text(&reply.ntp_sources.items()))
}

/// A scan that found no network is no result.
pub(super) fn free_addresses(output: &str) -> Result<String, BadReply> {
    let networks: Vec<FreeNetwork> = parse_any("free-network-addresses", output)?;
    if networks.is_empty() {
        return Err(BadReply::not_now(
            StepType::FreeNetworkAddresses,
            "the list of networks is empty",
        ));
    }
    Ok(text(&networks))
}
