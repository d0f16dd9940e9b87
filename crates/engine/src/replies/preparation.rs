//! Results of the last checks before an installation. They are taken in any status: a late one
//! spares the next attempt the wait.

use muster_model::{Host, Timestamp};

use super::{BadReply, Outcome, StepReply, record};
use crate::{
    StepType,
    agent_json::{Stored, parse, text},
    checks::host::needs_of_host,
    events,
    inventory::{Inventory, hostname},
    reports::{
        DiskInfo, DiskSpeed, DiskSpeedReply, ImagesReply, boot_device, disks_of, images_of, keep,
    },
    settings::Settings,
    view::{Environment, Measured},
};

/// No installation needs more images; what a host makes up must not fill its record.
const MOST_IMAGES: usize = 64;
/// Longest name of an image.
const MOST_NAME_BYTES: usize = 512;

/// A slow disk gets a warning, a failed check fails the host (at its next refresh).
pub(super) fn disk_speed(
    outcome: &mut Outcome,
    around: &Environment<'_>,
    reply: &StepReply,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), BadReply> {
    let step = StepType::InstallationDiskSpeedCheck;
    let result: DiskSpeedReply = parse(step.as_str(), &reply.output)?;
    if result.io_sync_duration < 0 {
        let cause = format!("io_sync_duration is {}", result.io_sync_duration);
        return Err(BadReply::unreadable(step, cause));
    }
    if !has_disk(&outcome.host, &result.path) {
        let reason = format!("the host has no disk {:?}", short(&result.path));
        return Err(BadReply::not_now(step, reason));
    }
    let measured = if reply.exit_code == 0 {
        result.io_sync_duration
    } else {
        0
    };
    let fresh = DiskInfo {
        disk_speed: Some(DiskSpeed {
            exit_code: reply.exit_code,
            speed_ms: measured,
            tested: true,
        }),
        path: result.path.clone(),
    };
    let mut disks = disks_of(&outcome.host).copy().unwrap_or_default();
    let before = disks.insert(result.path.clone(), fresh.clone());
    if before == Some(fresh) {
        return Ok(());
    }
    if reply.exit_code == 0 {
        let milliseconds = measured;
        outcome.measured.push(Measured::DiskSync { milliseconds });
    }
    let limit =
        needs_of_host(&outcome.host, around.cluster, None, settings).disk_speed_threshold_ms;
    if limit > 0 && measured > limit {
        let message = format!(
            "Host {}: disk {} syncs in {measured} ms, etcd needs at most {limit} ms; expect a slow cluster",
            hostname(&outcome.host),
            result.path
        );
        let kind = events::DISK_SPEED_SLOWER_THAN_SUPPORTED;
        record(outcome, kind, now, message);
    }
    keep(&mut outcome.host.reports.disks_info, text(&disks));
    Ok(())
}

/// The device is one of the host's disks, by any of its names. Without an inventory any name is
/// accepted.
fn has_disk(host: &Host, device: &str) -> bool {
    if boot_device(host) == Some(device) {
        return true;
    }
    match Inventory::of(host) {
        Stored::Missing | Stored::Broken => !device.is_empty(),
        Stored::Here(inventory) => inventory.disks.items().iter().any(|disk| {
            let names = [&disk.id, &disk.by_id, &disk.by_path, &disk.path];
            !device.is_empty()
                && (names.into_iter().any(|name| name == device)
                    || device.strip_prefix("/dev/") == Some(&disk.name))
        }),
    }
}

/// The first result of an image is kept with its figures; later ones only change the result.
pub(super) fn images(outcome: &mut Outcome, output: &str, now: Timestamp) -> Result<(), BadReply> {
    let step = StepType::ContainerImageAvailability;
    let reply: ImagesReply = parse(step.as_str(), output)?;
    let mut known = images_of(&outcome.host).copy().unwrap_or_default();
    let host = hostname(&outcome.host);
    let mut news = Vec::new();
    for image in reply.images.items() {
        if image.name.is_empty() || image.name.len() > MOST_NAME_BYTES {
            let cause = format!("{:?} is not an image name", short(&image.name));
            return Err(BadReply::unreadable(step, cause));
        }
        if !matches!(image.result.as_str(), "success" | "failure") {
            let cause = format!(
                "the result of image {} is {:?}, not success or failure",
                image.name,
                short(&image.result)
            );
            return Err(BadReply::unreadable(step, cause));
        }
        if let Some(present) = known.get_mut(&image.name) {
            present.result.clone_from(&image.result);
            continue;
        }
        if known.len() >= MOST_IMAGES {
            let reason = format!("results of {MOST_IMAGES} images are stored, which is the limit");
            return Err(BadReply::not_now(step, reason));
        }
        known.insert(image.name.clone(), image.clone());
        outcome.measured.push(Measured::ImagePull {
            image: image.name.clone(),
            result: image.result.clone(),
            rate: image
                .download_rate
                .as_ref()
                .and_then(serde_json::Number::as_f64)
                .unwrap_or(0.0),
        });
        let figure = |number: &Option<serde_json::Number>| {
            number
                .as_ref()
                .map_or_else(|| "unknown".to_owned(), ToString::to_string)
        };
        news.push(format!(
            "Host {host}: pulling image {}: {} (seconds: {}, bytes: {}, MB/s: {})",
            image.name,
            image.result,
            figure(&image.time),
            figure(&image.size_bytes),
            figure(&image.download_rate)
        ));
    }
    for message in news {
        record(outcome, events::IMAGE_STATUS_UPDATED, now, message);
    }
    keep(&mut outcome.host.reports.images_status, text(&known));
    Ok(())
}

/// The part of an unexpected text that is quoted.
fn short(text: &str) -> String {
    text.chars().take(64).collect()
}
