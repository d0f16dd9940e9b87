//! The paths under which a disk can be found again.

use std::collections::{BTreeMap, BTreeSet};

use muster_machine::Machine;

use super::device::Device;

const BY_ID: &str = "/dev/disk/by-id";
const BY_PATH: &str = "/dev/disk/by-path";
/// Names that stay with a disk wherever it is plugged in.
const LASTING: &[&str] = &["wwn-", "nvme-eui"];

/// The names of all disks.
#[derive(Debug)]
pub struct Names {
    /// Device to lasting name.
    by_id: BTreeMap<String, String>,
    /// Bus path to device, for those that lead to something.
    by_path: BTreeMap<String, String>,
    /// Devices that are there.
    present: BTreeSet<String>,
}

impl Names {
    /// Collects the names.
    pub fn of(machine: &dyn Machine, devices: &[Device<'_>]) -> Self {
        let resolved = |path: &str| {
            let path = machine.resolve(path.as_ref()).ok()?;
            Some(path.to_str()?.to_owned())
        };
        // In order of names, so that of several the last one stays: `wwn-` before `nvme-eui`.
        let by_id = machine
            .names(BY_ID)
            .into_iter()
            .filter(|name| LASTING.iter().any(|start| name.starts_with(start)))
            .filter_map(|name| {
                let path = format!("{BY_ID}/{name}");
                Some((resolved(&path)?, path))
            })
            .collect();
        let mut by_path = BTreeMap::new();
        let mut shared = BTreeSet::new();
        for device in devices {
            let bus_path = device.bus_path();
            if bus_path.is_empty() {
                continue;
            }
            match resolved(&format!("{BY_PATH}/{bus_path}")) {
                Some(_) if by_path.contains_key(bus_path) => {
                    shared.insert(bus_path.to_owned());
                }
                Some(target) => {
                    by_path.insert(bus_path.to_owned(), target);
                }
                None => {}
            }
        }
        // A path that two disks claim identifies neither.
        by_path.retain(|bus_path, _| !shared.contains(bus_path));
        Self {
            by_id,
            by_path,
            present: devices
                .iter()
                .map(node)
                .filter(|path| machine.exists(path))
                .collect(),
        }
    }

    /// `/dev/…`, as the kernel calls it or wherever its bus path leads.
    pub fn path(&self, device: &Device<'_>) -> Option<String> {
        self.present
            .get(&node(device))
            .or_else(|| self.by_path.get(device.bus_path()))
            .cloned()
    }

    /// The lasting name of the device at a path.
    pub fn by_id(&self, path: Option<&str>) -> Option<String> {
        self.by_id.get(path?).cloned()
    }

    /// The name by place.
    pub fn by_path(&self, device: &Device<'_>) -> Option<String> {
        let bus_path = device.bus_path();
        self.by_path
            .contains_key(bus_path)
            .then(|| format!("{BY_PATH}/{bus_path}"))
    }
}

/// The world-wide number in a lasting name.
pub fn number_in(by_id: &str) -> Option<String> {
    let name = by_id.strip_prefix(BY_ID)?.strip_prefix('/')?;
    ["wwn-", "nvme-"]
        .iter()
        .find_map(|start| name.strip_prefix(start))
        .map(str::to_owned)
}

/// Some old controllers have a slash in the names of their disks, which sysfs cannot.
fn node(device: &Device<'_>) -> String {
    format!("/dev/{}", device.name.replace('!', "/"))
}
