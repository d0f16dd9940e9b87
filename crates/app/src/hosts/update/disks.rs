//! Which disk a host is installed to, and which ones keep their content.

use std::sync::Arc;

use muster_api::wire;
use muster_engine::inventory::{Disk, Inventory};
use muster_model::Host;

use crate::{Error, Invalid};

/// Takes the disk the user wants to install to.
///
/// # Errors
/// None or several were named, or the one named is not fit.
pub fn select(host: &mut Host, given: &[wire::DiskConfigParams]) -> Result<(), Invalid> {
    let mut wanted = given
        .iter()
        .filter(|disk| disk.role.as_deref() == Some("install"));
    let first = wanted
        .next()
        .and_then(|disk| disk.id.as_deref())
        .unwrap_or_default();
    if wanted.next().is_some() {
        return Err("disks_selected_config names several disks to install to; choose one".into());
    }
    let inventory = inventory(host).ok_or_else(|| {
        format!(
            "host {} has not reported its disks yet; wait for its inventory",
            host.id
        )
    })?;
    let fit: Vec<&Disk> = inventory
        .disks
        .items()
        .iter()
        .filter(|disk| disk.installation_eligibility.eligible)
        .collect();
    let Some(disk) = fit.iter().find(|disk| is_named(disk, first)) else {
        let names: Vec<&str> = fit.iter().map(|disk| disk.id.as_str()).collect();
        return Err(if first.is_empty() {
            "disks_selected_config names no disk with role \"install\"; name one".into()
        } else {
            format!(
                "disk {first:?} cannot be installed to; disks that can: {}",
                if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                }
            )
            .into()
        });
    };
    host.installation_disk_id = Some(disk.id.clone());
    host.installation_disk_path = Some(device(disk));
    Ok(())
}

/// Adds to and takes from the disks that keep their content.
///
/// # Errors
/// 409 without an inventory, 400 for disks that are not in it.
pub fn skip_formatting(
    host: &mut Host,
    given: &[wire::DiskSkipFormattingParams],
) -> Result<(), Error> {
    let inventory = inventory(host).ok_or_else(|| {
        Error::conflict(format!(
            "host {} has not reported its disks yet; wait for its inventory",
            host.id
        ))
    })?;
    for wanted in given {
        let id = wanted.disk_id.as_deref().unwrap_or_default();
        if wanted.skip_formatting != Some(true) {
            host.skip_formatting_disks.retain(|known| known != id);
        } else if !inventory.disks.items().iter().any(|disk| disk.id == id) {
            return Err(Error::invalid(format!(
                "disks_skip_formatting: host {} has no disk {id:?}; its inventory lists the ids",
                host.id
            )));
        } else if !host.skip_formatting_disks.iter().any(|known| known == id) {
            host.skip_formatting_disks.push(id.to_owned());
        }
    }
    Ok(())
}

fn inventory(host: &Host) -> Option<Arc<Inventory>> {
    Inventory::known(host)
}

fn device(disk: &Disk) -> String {
    format!("/dev/{}", disk.name)
}

fn is_named(disk: &Disk, wanted: &str) -> bool {
    let names = [
        disk.id.clone(),
        disk.path.clone(),
        disk.by_path.clone(),
        disk.by_id.clone(),
        device(disk),
    ];
    !wanted.is_empty() && names.iter().any(|name| name == wanted)
}
