//! Which disks may be installed to, which one is taken, and which ones lose their boot sector.
//!
//! Agents name reasons of their own; the service adds its reasons on each inventory. Ours
//! start with a fixed mark so that they can be taken off again before they are judged anew.
//! Multipath membership and iSCSI networking are judged by a later version.

use crate::{
    inventory::{Disk, Inventory},
    settings::Requirements,
    wire::List,
};

/// Opens every reason this service writes.
const OUR_MARK: &str = "Muster: ";

/// Judges every disk and fills in missing ids.
pub(crate) fn judge(inventory: &mut Inventory, needs: &Requirements, version: &str) {
    let architecture = inventory.architecture().to_owned();
    let Some(disks) = inventory.disks.0.as_mut() else {
        return;
    };
    for disk in disks {
        if disk.id.is_empty() && !disk.name.is_empty() {
            disk.id = format!("/dev/{}", disk.name);
        }
        let mut reasons: Vec<String> = disk
            .installation_eligibility
            .not_eligible_reasons
            .items()
            .iter()
            .filter(|reason| !reason.starts_with(OUR_MARK))
            .cloned()
            .collect();
        reasons.extend(
            objections(disk, needs, version, &architecture)
                .into_iter()
                .map(|reason| format!("{OUR_MARK}{reason}")),
        );
        disk.installation_eligibility.eligible = reasons.is_empty();
        disk.installation_eligibility.not_eligible_reasons =
            List((!reasons.is_empty()).then_some(reasons));
    }
}

fn objections(disk: &Disk, needs: &Requirements, version: &str, architecture: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    let least = needs.disk_size_gb.saturating_mul(1_000_000_000);
    if disk.size_bytes < least {
        reasons.push(format!(
            "the disk has {} bytes, {} GB ({least} bytes) are needed",
            disk.size_bytes, needs.disk_size_gb
        ));
    }
    if !type_is_supported(&disk.drive_type, version, architecture) {
        let shown = if disk.drive_type.is_empty() {
            "Unknown"
        } else {
            &disk.drive_type
        };
        reasons.push(format!("drives of type {shown} cannot be installed to"));
    }
    if disk.removable {
        reasons.push("removable media may be gone at the next boot".to_owned());
    }
    if disk.is_installation_media {
        reasons.push("it is the medium the host booted from".to_owned());
    }
    reasons
}

fn type_is_supported(drive: &str, version: &str, architecture: &str) -> bool {
    match drive {
        "HDD" | "SSD" | "Multipath" => true,
        "RAID" => at_least(version, (4, 14)),
        "iSCSI" => at_least(version, (4, 15)),
        "FC" => matches!(architecture, "x86_64" | "s390x"),
        "ECKD" | "ECKD (ESE)" | "FBA" => architecture == "s390x",
        _ => false,
    }
}

/// `version` is the given x.y or later; an unreadable version is not.
pub(crate) fn at_least(version: &str, least: (u64, u64)) -> bool {
    let mut parts = version.split(['.', '-']);
    let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
    match (number(), number()) {
        (Some(major), Some(minor)) => (major, minor) >= least,
        _ => false,
    }
}

/// Eligible disks, best first; the order depends on nothing but the disks.
pub(crate) fn candidates(inventory: &Inventory) -> Vec<&Disk> {
    let mut disks: Vec<&Disk> = inventory
        .disks
        .items()
        .iter()
        .filter(|disk| disk.installation_eligibility.eligible)
        .collect();
    disks.sort_by(|a, b| {
        let key = |disk: &Disk| {
            (
                !disk.bootable,
                disk.name.starts_with("nvme"),
                disk.drive_type.clone(),
                disk.size_bytes,
                disk.hctl.clone(),
            )
        };
        key(a).cmp(&key(b))
    });
    disks
}

/// The disk to install to: the present choice while it is fit, else the best candidate.
pub(crate) fn choose<'a>(inventory: &'a Inventory, present: &[&str]) -> Option<&'a Disk> {
    let fit = candidates(inventory);
    let is_present = |disk: &Disk| {
        let path = format!("/dev/{}", disk.name);
        present
            .iter()
            .filter(|name| !name.is_empty())
            .any(|name| *name == disk.id || *name == disk.by_path || *name == path)
    };
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
mod tests {
    use super::*;
    use crate::settings::RequirementTable;

    fn disk(name: &str, gb: i64) -> Disk {
        Disk {
            name: name.into(),
            drive_type: "HDD".into(),
            size_bytes: gb * 1_000_000_000,
            ..Disk::default()
        }
    }

    fn judged(disks: Vec<Disk>) -> Inventory {
        let mut inventory = Inventory {
            disks: disks.into(),
            ..Inventory::default()
        };
        judge(
            &mut inventory,
            &RequirementTable::default().worker,
            "4.16.0",
        );
        inventory
    }

    #[test]
    fn a_small_a_removable_and_an_odd_disk_are_refused_with_reasons() {
        let inventory = judged(vec![
            disk("sda", 99),
            Disk {
                removable: true,
                ..disk("sdb", 200)
            },
            Disk {
                drive_type: "ODD".into(),
                ..disk("sr0", 200)
            },
            disk("sdc", 100),
        ]);
        let fit: Vec<_> = candidates(&inventory)
            .iter()
            .map(|d| d.name.clone())
            .collect();
        assert_eq!(fit, ["sdc"]);
        let small = inventory.disks.items()[0]
            .installation_eligibility
            .not_eligible_reasons
            .items();
        assert!(small[0].contains("100 GB"), "{small:?}");
    }

    #[test]
    fn judging_twice_adds_no_reason_twice_and_keeps_the_agents_own() {
        let mut bad = disk("sda", 1);
        bad.installation_eligibility.not_eligible_reasons = vec!["in use".to_owned()].into();
        let mut inventory = judged(vec![bad]);
        let once = inventory.clone();
        judge(
            &mut inventory,
            &RequirementTable::default().worker,
            "4.16.0",
        );
        assert_eq!(inventory, once);
        assert_eq!(
            once.disks.items()[0]
                .installation_eligibility
                .not_eligible_reasons
                .items()
                .len(),
            2
        );
    }

    #[test]
    fn bootable_disks_come_first_then_the_smallest_and_nvme_last() {
        let inventory = judged(vec![
            Disk {
                drive_type: "SSD".into(),
                ..disk("nvme0n1", 120)
            },
            disk("sda", 300),
            disk("sdb", 200),
            Disk {
                bootable: true,
                ..disk("sdc", 900)
            },
        ]);
        let order: Vec<_> = candidates(&inventory)
            .iter()
            .map(|d| d.name.clone())
            .collect();
        assert_eq!(order, ["sdc", "sdb", "sda", "nvme0n1"]);
    }

    #[test]
    fn a_fit_choice_stays_and_an_unfit_one_is_replaced() {
        let inventory = judged(vec![disk("sda", 300), disk("sdb", 200), disk("sdc", 10)]);
        assert_eq!(choose(&inventory, &["/dev/sda"]).unwrap().name, "sda");
        assert_eq!(choose(&inventory, &["/dev/sdc"]).unwrap().name, "sdb");
        assert_eq!(choose(&judged(vec![]), &["/dev/sda"]), None);
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(at_least("4.15.0-rc.1", (4, 15)));
        assert!(at_least("4.100.3", (4, 15)));
        assert!(!at_least("4.9.0", (4, 15)));
        assert!(!at_least("", (4, 15)));
    }
}
