//! Results of the smaller steps, one function each.

use std::net::IpAddr;

use muster_model::{Severity, Timestamp, Vip};

use super::{BadReply, Outcome, tell};
use crate::{
    StepType,
    checks::host::needs_of_host,
    inventory::hostname,
    reports::{
        ApiVipReply, Connectivity, DiskInfo, DiskSpeed, DiskSpeedReply, FreeNetwork, ImagesReply,
        NtpReply, Resolutions, TangReply, UpgradeReply, VipVerdict, disks_of, images_of,
    },
    settings::Settings,
    view::Surroundings,
    wire::{parse, parse_any, text},
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

/// A slow disk gets a warning, a failed check fails the host (at its next refresh).
pub(super) fn disk_speed(
    outcome: &mut Outcome,
    output: &str,
    exit_code: i64,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), BadReply> {
    let reply: DiskSpeedReply = parse("installation-disk-speed-check", output)?;
    let limit = needs_of_host(&outcome.host, None, None, settings).disk_speed_threshold_ms;
    let measured = if exit_code == 0 {
        reply.io_sync_duration
    } else {
        0
    };
    if limit > 0 && measured > limit {
        let message = format!(
            "Host {}: disk {} syncs in {measured} ms, etcd wants at most {limit} ms; expect a slow cluster",
            hostname(&outcome.host),
            reply.path
        );
        tell(
            outcome,
            "disk_speed_slower_than_supported",
            Severity::Warning,
            now,
            message,
        );
    }
    let mut disks = disks_of(&outcome.host).ok().unwrap_or_default();
    let speed = DiskSpeed {
        exit_code,
        speed_ms: measured,
        tested: true,
    };
    disks.insert(
        reply.path.clone(),
        DiskInfo {
            disk_speed: Some(speed),
            path: reply.path,
        },
    );
    outcome.host.reports.disks_info = Some(text(&disks));
    Ok(())
}

/// The first result of an image is kept with its figures; later ones only change the result.
pub(super) fn images(outcome: &mut Outcome, output: &str, now: Timestamp) -> Result<(), BadReply> {
    let reply: ImagesReply = parse("container-image-availability", output)?;
    let mut known = images_of(&outcome.host).ok().unwrap_or_default();
    for image in reply.images.items() {
        if let Some(present) = known.get_mut(&image.name) {
            present.result.clone_from(&image.result);
            continue;
        }
        known.insert(image.name.clone(), image.clone());
        let figure = |number: &Option<serde_json::Number>| {
            number
                .as_ref()
                .map_or_else(|| "unknown".to_owned(), ToString::to_string)
        };
        let message = format!(
            "Host {}: pulling image {}: {} (seconds: {}, bytes: {}, MB/s: {})",
            hostname(&outcome.host),
            image.name,
            image.result,
            figure(&image.time),
            figure(&image.size_bytes),
            figure(&image.download_rate)
        );
        tell(
            outcome,
            "image_status_updated",
            Severity::Info,
            now,
            message,
        );
    }
    outcome.host.reports.images_status = Some(text(&known));
    Ok(())
}

/// The latest answer of any host counts; answers about addresses nobody asked for do not.
pub(super) fn vips(
    outcome: &mut Outcome,
    around: &Surroundings<'_>,
    output: &str,
) -> Result<(), BadReply> {
    let verdicts: Vec<VipVerdict> = parse_any("verify-vips", output)?;
    let Some(cluster) = around.cluster else {
        return Err(BadReply::not_now(
            StepType::VerifyVips,
            "the host belongs to no cluster",
        ));
    };
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

pub(super) fn upgrade(outcome: &mut Outcome, output: &str, now: Timestamp) -> Result<(), BadReply> {
    let reply: UpgradeReply = parse("upgrade-agent", output)?;
    let name = hostname(&outcome.host);
    match reply.result.as_str() {
        "success" => {
            let message = format!("Host {name}: agent upgraded to {}", reply.agent_image);
            tell(
                outcome,
                "upgrade_agent_finished",
                Severity::Info,
                now,
                message,
            );
        }
        "failure" => {
            let message = format!(
                "Host {name}: agent could not be upgraded to {}",
                reply.agent_image
            );
            tell(
                outcome,
                "upgrade_agent_failed",
                Severity::Error,
                now,
                message,
            );
        }
        _ => {}
    }
    Ok(())
}
