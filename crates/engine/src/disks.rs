//! Which disks may be installed to, which one is selected, and which ones are formatted.
//!
//! Agents name reasons of their own; the service adds its reasons on each inventory. Ours
//! start with a fixed mark so that they can be taken off again before they are evaluated again.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_model::{Arch, MinorVersion};

use crate::{
    agent_json::List,
    inventory::{Disk, Inventory},
    settings::Requirements,
};

/// Drive types with rules of their own, as agents spell them.
pub(crate) const ISCSI: &str = "iSCSI";
pub(crate) const MULTIPATH: &str = "Multipath";
const FIBRE_CHANNEL: &str = "FC";

/// Opens every reason this service writes.
const OUR_MARK: &str = "Muster: ";

/// Evaluates every disk and fills in missing ids.
pub(crate) fn evaluate(inventory: &mut Inventory, needs: &Requirements, version: &str) {
    for disk in inventory.disks.0.iter_mut().flatten() {
        if disk.id.is_empty() && !disk.name.is_empty() {
            disk.id = disk.device();
        }
    }
    let site = Site {
        inventory,
        needs,
        version,
    };
    let found: Vec<Vec<String>> = inventory
        .disks
        .items()
        .iter()
        .map(|disk| site.objections(disk))
        .collect();
    for (disk, ours) in inventory.disks.0.iter_mut().flatten().zip(found) {
        let eligibility = &mut disk.installation_eligibility;
        let theirs = eligibility.not_eligible_reasons.items().iter();
        let reasons: Vec<String> = theirs
            .filter(|reason| !reason.starts_with(OUR_MARK))
            .cloned()
            .chain(ours.iter().map(|reason| format!("{OUR_MARK}{reason}")))
            .collect();
        eligibility.eligible = reasons.is_empty();
        eligibility.not_eligible_reasons = List((!reasons.is_empty()).then_some(reasons));
    }
}

/// The disks that are paths to a multipath disk.
pub(crate) fn paths_to<'a>(
    disks: &'a [Disk],
    multipath: &'a Disk,
) -> impl Iterator<Item = &'a Disk> {
    disks.iter().filter(|disk| disk.is_held_by(&multipath.name))
}

/// Where and for what a disk is evaluated.
struct Site<'a> {
    inventory: &'a Inventory,
    needs: &'a Requirements,
    version: &'a str,
}

impl Site<'_> {
    /// Everything that speaks against a disk.
    fn objections(&self, disk: &Disk) -> Vec<String> {
        let mut reasons = Vec::new();
        let least = self.needs.disk_size_gb.saturating_mul(1_000_000_000);
        if disk.size_bytes < least {
            reasons.push(format!(
                "the disk has {} bytes, {} GB ({least} bytes) are needed",
                disk.size_bytes, self.needs.disk_size_gb
            ));
        }
        if !self.supports(disk) {
            let shown = match disk.drive_type.as_str() {
                "" => "Unknown",
                known => known,
            };
            reasons.push(format!(
                "drives of type {shown} cannot be installed to with release {:?} on {}",
                self.version,
                self.inventory.architecture()
            ));
        }
        // Agents say so themselves; this is for one that only sets the mark.
        if disk.is_installation_media && self.agent_allows(disk) {
            reasons.push("it is the medium the host booted from".to_owned());
        }
        match disk.drive_type.as_str() {
            FIBRE_CHANNEL | ISCSI => reasons.extend(self.belongs_to_a_multipath(disk)),
            MULTIPATH => reasons.extend(self.multipath_faults(disk)),
            _ => {}
        }
        if disk.drive_type == ISCSI {
            reasons.extend(self.iscsi_fault(disk));
        }
        reasons
    }

    fn agent_allows(&self, disk: &Disk) -> bool {
        let reasons = disk.installation_eligibility.not_eligible_reasons.items();
        reasons.iter().all(|reason| reason.starts_with(OUR_MARK))
    }

    fn supports(&self, disk: &Disk) -> bool {
        type_is_supported(&disk.drive_type, self.version, self.inventory.arch())
    }

    fn belongs_to_a_multipath(&self, disk: &Disk) -> Option<String> {
        let mut disks = self.inventory.disks.items().iter();
        let whole =
            disks.find(|other| other.drive_type == MULTIPATH && disk.is_held_by(&other.name))?;
        Some(format!(
            "it is only a path to multipath disk {}; install to that one",
            whole.name
        ))
    }

    fn multipath_faults(&self, disk: &Disk) -> Vec<String> {
        let paths: Vec<&Disk> = paths_to(self.inventory.disks.items(), disk).collect();
        let all_are = |kind| paths.iter().all(|path| path.drive_type == kind);
        let one_is = |kind| paths.iter().any(|path| path.drive_type == kind);
        if !one_is(FIBRE_CHANNEL) && !one_is(ISCSI) {
            return vec![
                "multipath is supported over FC or iSCSI only, no path is of these".to_owned(),
            ];
        }
        let mut faults = Vec::new();
        if !all_are(FIBRE_CHANNEL) && !all_are(ISCSI) {
            faults.push("its paths are of different kinds, all must be FC or all iSCSI".to_owned());
        }
        let unfit = |path: &&&Disk| {
            path.drive_type == ISCSI && (!self.supports(path) || self.iscsi_fault(path).is_some())
        };
        if let Some(path) = paths.iter().find(unfit) {
            faults.push(format!(
                "path {} cannot be installed to, see the reasons there",
                path.name
            ));
        }
        faults
    }

    /// The network that carries the disk must not be the one the node is reached by: it is set
    /// up again during the installation.
    fn iscsi_fault(&self, disk: &Disk) -> Option<String> {
        let text = disk
            .iscsi
            .as_ref()
            .map(|iscsi| iscsi.host_ip_address.as_str());
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Some("the address the host reaches iSCSI from is not known".to_owned());
        };
        let Ok(address) = text.parse::<IpAddr>() else {
            return Some(format!(
                "the host reaches iSCSI from {text:?}, which is not an IP address"
            ));
        };
        let way_out = &self.inventory.default_route(address.is_ipv6())?.interface;
        let mut nics = self.inventory.interfaces.items().iter();
        let Some(nic) = nics.find(|nic| nic.name == *way_out) else {
            return Some(format!(
                "the default route leaves by {way_out}, which is not among the interfaces of the host"
            ));
        };
        let mut own = nic
            .addresses()
            .filter_map(|text| text.parse::<IpNet>().ok());
        own.any(|own| own.addr() == address).then(|| {
            format!("iSCSI runs over {way_out}, which also holds the default route; give it an interface of its own")
        })
    }
}

/// Whether a release can be installed to a kind of drive; no version means the oldest.
pub(crate) fn type_is_supported(drive: &str, version: &str, arch: Option<Arch>) -> bool {
    match drive {
        "HDD" | "SSD" | MULTIPATH => true,
        "RAID" => at_least(version, MinorVersion::new(4, 14)),
        ISCSI => at_least(version, MinorVersion::new(4, 15)),
        FIBRE_CHANNEL => matches!(arch, Some(Arch::X86_64 | Arch::S390x)),
        "ECKD" | "ECKD (ESE)" | "FBA" => arch == Some(Arch::S390x),
        _ => false,
    }
}

/// `version` is the given x.y or later; an unreadable version is not.
pub(crate) fn at_least(version: &str, least: MinorVersion) -> bool {
    MinorVersion::parse(version).is_some_and(|version| version >= least)
}

/// Eligible disks, best first; the order depends on nothing but the disks.
pub(crate) fn candidates(inventory: &Inventory) -> Vec<&Disk> {
    let mut disks: Vec<&Disk> = inventory
        .disks
        .items()
        .iter()
        .filter(|disk| disk.installation_eligibility.eligible)
        .collect();
    disks.sort_by(|a, b| rank(a).cmp(&rank(b)));
    disks
}

fn rank(disk: &Disk) -> (bool, bool, &str, i64, &str) {
    (
        !disk.bootable,
        disk.name.starts_with("nvme"),
        &disk.drive_type,
        disk.size_bytes,
        &disk.hctl,
    )
}

/// The disk to install to: the present choice while it is fit, else the best candidate.
pub(crate) fn choose<'a>(inventory: &'a Inventory, present: &[&str]) -> Option<&'a Disk> {
    let fit = candidates(inventory);
    let is_present = |disk: &Disk| present.iter().any(|name| disk.is_called(name));
    fit.iter()
        .find(|disk| is_present(disk))
        .or(fit.first())
        .copied()
}

/// Disks that would boot an old system again: their boot sectors are wiped before the reboot.
pub(crate) fn to_be_formatted(inventory: &Inventory) -> Vec<String> {
    inventory
        .disks
        .items()
        .iter()
        .filter(|disk| {
            disk.bootable
                && !disk.removable
                && !disk.is_installation_media
                && !disk.by_path.contains("mmcblk")
                && !matches!(
                    disk.drive_type.as_str(),
                    "FC" | "iSCSI" | "LVM" | "Multipath"
                )
        })
        .map(|disk| disk.id.clone())
        .collect()
}

#[cfg(test)]
#[path = "disks_tests.rs"]
mod tests;
