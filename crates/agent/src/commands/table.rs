//! An inventory for people: one heading a topic, columns that line up.

use std::fmt::Write as _;

use muster_api::wire::{Disk, Interface, Inventory};

/// The inventory as text.
pub fn render(inventory: &Inventory, huge_pages: &[(u64, u64)]) -> String {
    let mut text = String::new();
    machine(&mut text, inventory, huge_pages);
    section(
        &mut text,
        "Disks",
        &["NAME", "TYPE", "SIZE", "MODEL", "SERIAL", "PATH", "USABLE"],
        inventory.disks.iter().flatten().map(disk).collect(),
    );
    section(
        &mut text,
        "Interfaces",
        &["NAME", "TYPE", "MAC", "MTU", "SPEED", "STATE", "ADDRESSES"],
        inventory
            .interfaces
            .iter()
            .flatten()
            .map(interface)
            .collect(),
    );
    section(
        &mut text,
        "Routes",
        &["DESTINATION", "GATEWAY", "INTERFACE", "METRIC"],
        inventory
            .routes
            .iter()
            .flatten()
            .map(|route| {
                vec![
                    shown(&route.destination),
                    shown(&route.gateway),
                    shown(&route.interface),
                    route.metric.unwrap_or(0).to_string(),
                ]
            })
            .collect(),
    );
    section(
        &mut text,
        "GPUs",
        &["ADDRESS", "VENDOR", "NAME"],
        inventory
            .gpus
            .iter()
            .flatten()
            .map(|gpu| vec![shown(&gpu.address), shown(&gpu.vendor), shown(&gpu.name)])
            .collect(),
    );
    text
}

fn machine(text: &mut String, inventory: &Inventory, huge_pages: &[(u64, u64)]) {
    let vendor = inventory.system_vendor.clone().unwrap_or_default();
    let cpu = inventory.cpu.clone().unwrap_or_default();
    let memory = inventory.memory.clone().unwrap_or_default();
    let boot = inventory.boot.clone().unwrap_or_default();
    let kind = match vendor.r#virtual {
        Some(true) => "virtual",
        _ => "bare metal",
    };
    let mut pages: Vec<String> = huge_pages
        .iter()
        .map(|(size, count)| format!("{count} of {}", bytes(i64::try_from(*size).ok())))
        .collect();
    if pages.is_empty() {
        pages.push("none".to_owned());
    }
    let rows = [
        ("Host name", shown(&inventory.hostname)),
        (
            "Machine",
            format!(
                "{} {}, serial number {}, {kind}",
                shown(&vendor.manufacturer),
                shown(&vendor.product_name),
                shown(&vendor.serial_number),
            ),
        ),
        (
            "Processors",
            format!(
                "{} × {} ({}){}",
                cpu.count.unwrap_or(0),
                shown(&cpu.model_name),
                shown(&cpu.architecture),
                cpu.frequency
                    .map(|mhz| format!(", {mhz:.0} MHz"))
                    .unwrap_or_default(),
            ),
        ),
        (
            "Memory",
            format!(
                "{}, {} usable; huge pages: {}",
                bytes(memory.physical_bytes),
                bytes(memory.usable_bytes),
                pages.join(", "),
            ),
        ),
        (
            "Started by",
            format!(
                "{}, secure boot {}{}",
                shown(&boot.current_boot_mode),
                shown(&boot.secure_boot_state),
                boot.device_type
                    .map(|kind| format!(", {kind} system"))
                    .unwrap_or_default(),
            ),
        ),
        ("TPM", shown(&inventory.tpm_version)),
        (
            "BMC",
            format!(
                "{} {}",
                shown(&inventory.bmc_address),
                shown(&inventory.bmc_v6address)
            ),
        ),
    ];
    for (key, value) in rows {
        let _ = writeln!(text, "{key:<12}{value}");
    }
}

fn disk(disk: &Disk) -> Vec<String> {
    let eligibility = disk.installation_eligibility.clone().unwrap_or_default();
    let usable = match eligibility.not_eligible_reasons {
        Some(reasons) if !reasons.is_empty() => format!("no: {}", reasons.join("; ")),
        _ => "yes".to_owned(),
    };
    vec![
        shown(&disk.name),
        shown(&disk.drive_type),
        bytes(disk.size_bytes),
        shown(&disk.model),
        shown(&disk.serial),
        shown(&disk.path),
        usable,
    ]
}

fn interface(interface: &Interface) -> Vec<String> {
    let addresses: Vec<&str> = interface
        .ipv4_addresses
        .iter()
        .chain(&interface.ipv6_addresses)
        .flatten()
        .map(String::as_str)
        .collect();
    let is_up = interface.flags.iter().flatten().any(|flag| flag == "up");
    let state = match (is_up, interface.has_carrier) {
        (false, _) => "off",
        (true, Some(true)) => "up",
        (true, _) => "no cable",
    };
    vec![
        shown(&interface.name),
        shown(&interface.r#type),
        shown(&interface.mac_address),
        interface.mtu.unwrap_or(0).to_string(),
        match interface.speed_mbps {
            Some(speed @ 1..) => format!("{speed} Mb/s"),
            _ => "-".to_owned(),
        },
        state.to_owned(),
        if addresses.is_empty() {
            "-".to_owned()
        } else {
            addresses.join(" ")
        },
    ]
}

fn shown(text: &Option<String>) -> String {
    text.as_deref().map_or("-", str::trim).to_owned()
}

/// A size as people say it, in units of 1024.
fn bytes(count: Option<i64>) -> String {
    const UNITS: &[&str] = &["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let Some(count) = count.filter(|count| *count >= 0) else {
        return "-".to_owned();
    };
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{count} B"),
        _ => format!("{size:.1} {}", UNITS[unit]),
    }
}

fn section(text: &mut String, title: &str, head: &[&str], rows: Vec<Vec<String>>) {
    let _ = writeln!(text, "\n{title}");
    if rows.is_empty() {
        let _ = writeln!(text, "  none");
        return;
    }
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let mut widths = vec![0; head.len()];
    for row in std::iter::once(&head).chain(&rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in std::iter::once(&head).chain(&rows) {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
}
