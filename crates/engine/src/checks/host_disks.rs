//! Host validations of disks. Which disks are eligible is decided in `crate::disks`.

use ipnet::IpNet;

use super::{CheckResult, examples, host::HostContext, host_hardware::VMWARE};
use crate::{
    agent_json::Stored,
    disks,
    inventory::{Disk, Inventory},
    networks, reports,
};

pub(super) fn has_min_valid_disks(on: &HostContext<'_>) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let disks = inventory.disks.items();
    if disks.is_empty() {
        return CheckResult::broken("No disk was found on the host; check its storage controller");
    }
    let fit = disks
        .iter()
        .filter(|disk| disk.installation_eligibility.eligible)
        .count();
    if fit > 0 {
        return CheckResult::pass(format!(
            "{fit} of {} disks can be installed to",
            disks.len()
        ));
    }
    let reasons: Vec<String> = disks.iter().map(why_not).collect();
    CheckResult::fail(format!(
        "None of the {} disks can be installed to, one of at least {} GB is needed: {}; add a disk or free one",
        disks.len(),
        on.needs().disk_size_gb,
        examples(&reasons)
    ))
}

/// The first reason is enough here; all of them are shown with the disk.
fn why_not(disk: &Disk) -> String {
    let reasons = disk.installation_eligibility.not_eligible_reasons.items();
    let first = reasons.first().map_or("not eligible", String::as_str);
    format!("{} ({first})", disk.name)
}

pub(super) fn sufficient_disk_speed(on: &HostContext<'_>) -> CheckResult {
    let Some(device) = reports::boot_device(on.host) else {
        return CheckResult::broken(
            "No installation disk is selected, so none can be measured; see which disks are eligible",
        );
    };
    let results = match reports::disks_of(on.host) {
        Stored::Broken => {
            return CheckResult::broken(
                "The stored disk speed results cannot be read; reset this validation",
            );
        }
        Stored::Missing => None,
        Stored::Here(disks) => disks.get(device).and_then(|disk| disk.disk_speed.clone()),
    };
    match results.filter(|speed| speed.tested) {
        None => CheckResult::pass(format!("The speed of {device} has not been measured yet")),
        Some(speed) if speed.exit_code == 0 => {
            CheckResult::pass(format!("{device} syncs in {} ms", speed.speed_ms))
        }
        Some(speed) => CheckResult::fail(format!(
            "Measuring the speed of {device} failed with exit code {}; choose another disk or reset this validation",
            speed.exit_code
        )),
    }
}

pub(super) fn vsphere_disk_uuid(on: &HostContext<'_>) -> CheckResult {
    if on.cluster.is_none() {
        return CheckResult::silent();
    }
    let Some(inventory) = on
        .inventory
        .filter(|inventory| inventory.is_made_by(VMWARE))
    else {
        return CheckResult::silent();
    };
    if inventory.disks.items().is_empty() {
        return CheckResult::wait("No disk of the host is known yet");
    }
    // No version: kinds of disks that only newer releases install to do not count.
    let matters = |disk: &&Disk| {
        disk.installation_eligibility.eligible
            && disks::type_is_supported(&disk.drive_type, "", inventory.arch())
    };
    let nameless: Vec<String> = inventory
        .disks
        .items()
        .iter()
        .filter(matters)
        .filter(|disk| !disk.has_uuid)
        .map(|disk| disk.name.clone())
        .collect();
    if nameless.is_empty() {
        CheckResult::pass("The disks of the machine expose their UUIDs")
    } else {
        CheckResult::fail(format!(
            "Disks expose no UUID: {}; set disk.EnableUUID to TRUE in the settings of the virtual machine and reboot it",
            examples(&nameless)
        ))
    }
}

pub(super) fn no_skip_installation_disk(on: &HostContext<'_>) -> CheckResult {
    let chosen = on.host.installation_disk_id.as_deref();
    match chosen.filter(|id| !id.is_empty()) {
        Some(id) if on.host.skip_formatting_disks.iter().any(|skip| skip == id) => {
            CheckResult::fail(format!(
                "{id} is the installation disk and cannot be kept; choose another disk or allow formatting it"
            ))
        }
        _ => CheckResult::pass("The installation disk may be formatted"),
    }
}

pub(super) fn no_skip_missing_disk(on: &HostContext<'_>) -> CheckResult {
    let kept = &on.host.skip_formatting_disks;
    let Some(inventory) = on.inventory else {
        return if on.inventory_broken && !kept.is_empty() {
            CheckResult::broken(
                "The stored inventory cannot be read, so disks to keep cannot be checked; restart the agent on the host",
            )
        } else {
            on.no_inventory()
        };
    };
    let here: Vec<String> = inventory
        .disks
        .items()
        .iter()
        .map(Disk::identifier)
        .collect();
    let missing: Vec<String> = kept
        .iter()
        .filter(|id| !here.contains(id))
        .cloned()
        .collect();
    if missing.is_empty() {
        CheckResult::pass("All disks to keep are present")
    } else {
        CheckResult::fail(format!(
            "Disks to keep are not present on the host: {}; connect them or remove them from the list",
            examples(&missing)
        ))
    }
}

pub(super) fn no_iscsi_nic_in_machine_network(on: &HostContext<'_>) -> CheckResult {
    let Some(cluster) = on.cluster else {
        return CheckResult::silent();
    };
    let any_network = networks::user_managed(cluster) && !cluster.is_single_node();
    if any_network || cluster.imported || cluster.is_day2() {
        return CheckResult::silent();
    }
    let found = on.inventory.and_then(|inventory| {
        let disk = inventory.installation_disk(on.host)?;
        Some((inventory, disk))
    });
    let Some((inventory, disk)) = found else {
        return CheckResult::silent();
    };
    let machine = match &on.around.machine {
        Ok(machine) if machine.is_empty() => {
            return CheckResult::wait("The machine network is not known yet");
        }
        Ok(machine) => machine,
        Err(fault) => {
            return CheckResult::broken(format!("The machine network is invalid: {fault}"));
        }
    };
    let paths: Vec<&Disk> = match disk.drive_type.as_str() {
        disks::ISCSI => vec![disk],
        disks::MULTIPATH => disks::paths_to(inventory.disks.items(), disk)
            .filter(|path| path.drive_type == disks::ISCSI)
            .collect(),
        _ => return CheckResult::silent(),
    };
    let mut mixed = Vec::new();
    for path in paths {
        match is_fed_through(inventory, path, machine) {
            Ok(true) => mixed.push(path.name.clone()),
            Ok(false) => {}
            Err(fault) => return CheckResult::broken(fault),
        }
    }
    if mixed.is_empty() {
        CheckResult::pass("The iSCSI network is separate from the machine network")
    } else {
        CheckResult::fail(format!(
            "iSCSI disk {} is reached through an interface in the machine network; give iSCSI an interface of its own or choose another disk",
            examples(&mixed)
        ))
    }
}

/// Whether the card that carries an iSCSI disk has an address in one of the networks.
fn is_fed_through(inventory: &Inventory, disk: &Disk, machine: &[IpNet]) -> Result<bool, String> {
    let name = &disk.name;
    let address = disk.iscsi.as_ref().map(|iscsi| &iscsi.host_ip_address);
    let card = address
        .and_then(|text| text.parse().ok())
        .and_then(|address| inventory.interface_with(address));
    let Some(card) = card else {
        return Err(format!(
            "Which interface carries iSCSI disk {name} is not known (address {:?}); check the agent's log on the host",
            address.map_or("", |text| text.as_str())
        ));
    };
    let mut own = card
        .addresses()
        .filter_map(|text| text.parse::<IpNet>().ok());
    Ok(own.any(|own| machine.iter().any(|net| net.contains(&own.addr()))))
}

#[cfg(test)]
#[path = "host_disks_tests.rs"]
mod tests;
