//! Replies about the machine itself: its hardware, its speed, what it can fetch.

use muster_api::wire;
use serde_json::{Value, json};

use super::{Answer, Asked, asked};
use crate::{
    fault::Fault,
    inventory,
    seed::{mix, text},
};

pub(super) fn describe(on: &Asked<'_>, _: &[String]) -> Answer {
    Answer::ok(inventory::text(
        on.machine,
        on.network,
        on.now.map(|now| now.clock),
    ))
}

pub(super) fn time_sources(on: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::NtpSynchronizationRequest = asked!(args);
    let wanted = request.ntp_source.unwrap_or_default();
    let own = on.network.clock().to_string();
    let mut sources: Vec<&str> = wanted
        .split(',')
        .map(str::trim)
        .filter(|source| !source.is_empty())
        .collect();
    sources.push(&own);
    let dead = on.machine.faults.has(Fault::NoNtp);
    let list: Vec<Value> = sources
        .iter()
        .enumerate()
        .map(|(place, source)| {
            let state = match (dead, place) {
                (true, _) => "unreachable",
                (false, 0) => "synced",
                (false, _) => "combined",
            };
            json!({ "source_name": source, "source_state": state })
        })
        .collect();
    Answer::ok(json!({ "ntp_sources": list }))
}

pub(super) fn disk_speed(on: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::DiskSpeedCheckRequest = asked!(args);
    let path = request.path.unwrap_or_default();
    let own = inventory::installation_disk(on.machine);
    if ![own.as_str(), "/dev/sda", "/dev/nvme0n1"].contains(&path.as_str())
        && !path.starts_with("/dev/disk/by-")
    {
        return Answer {
            exit_code: 255,
            output: json!({ "path": path }).to_string(),
            error: format!("{path}: no such device"),
        };
    }
    let usual = 2 + (mix(text(&on.machine.wwn), 0) % 4) as i64;
    let slow = on.machine.faults.has(Fault::SlowDisk);
    let duration = if slow { 45 } else { usual };
    Answer::ok(json!({ "io_sync_duration": duration, "path": path }))
}

pub(super) fn images(on: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::ContainerImageAvailabilityRequest = asked!(args);
    let list: Vec<Value> = request
        .images
        .iter()
        .flatten()
        .map(|name| {
            // An image has one size; how fast it comes differs by machine.
            let size = 300_000_000 + mix(text(name), 0) % 900_000_000;
            let rate = 40.0 + (mix(text(name), on.machine.index as u64) % 600) as f64 / 10.0;
            let seconds = size as f64 / 1e6 / rate;
            json!({
                "download_rate": rate,
                "name": name,
                "result": "success",
                "size_bytes": size,
                "time": seconds,
            })
        })
        .collect();
    Answer::ok(json!({ "images": list }))
}

pub(super) fn upgrade(_: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::UpgradeAgentRequest = asked!(args);
    Answer::ok(json!({ "agent_image": request.agent_image, "result": "success" }))
}

pub(super) fn nothing(_: &Asked<'_>, _: &[String]) -> Answer {
    Answer::ok("")
}
