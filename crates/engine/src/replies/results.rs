//! Results of the smaller steps, one function each.

use muster_model::{Severity, Timestamp};

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
    let limit = needs_of_host(&outcome.host, None, settings).disk_speed_threshold_ms;
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

/// What this host says about the virtual addresses; a refresh weighs it with what others say.
pub(super) fn vips(around: &Surroundings<'_>, output: &str) -> Result<String, BadReply> {
    let verdicts: Vec<VipVerdict> = parse_any("verify-vips", output)?;
    if around.cluster.is_none() {
        return Err(BadReply::not_now(
            StepType::VerifyVips,
            "the host belongs to no cluster",
        ));
    }
    Ok(text(&verdicts))
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
