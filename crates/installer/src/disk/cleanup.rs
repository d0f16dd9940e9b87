//! How a disk is emptied of what was built on it before.
//!
//! Old LVM, RAID and LUKS structures keep a disk busy, and come back to life when new partitions
//! happen to begin where old ones did. So everything built on the disk is switched off, from the
//! outermost device inwards, and then the signatures on the disk and on its partitions are
//! erased. Nothing is run on a device that is not on the disk: a volume group or an array with
//! members elsewhere is not removed (that would write to those members), only switched off here.

use std::path::PathBuf;

use muster_machine::Task;

use super::{
    claim::Claim,
    devices::{Devices, Kind},
};
use crate::tasks::flushing;

/// One thing to do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Switch off a device-mapper device of that name.
    Unmap(String),
    /// Stop a RAID array.
    StopArray(PathBuf),
    /// Erase every signature on the disk or on one of its partitions.
    Wipe(PathBuf),
}

/// What empties a disk, in order.
#[must_use]
pub fn cleanup(devices: &Devices, disk: &Claim) -> Vec<Action> {
    let name = &disk.device().name;
    let mut switches = Vec::new();
    let mut wipes = Vec::new();
    for device in devices.descendants(name) {
        match &device.kind {
            Kind::Mapped { name } | Kind::Multipath { name } => {
                switches.push(Action::Unmap(name.clone()));
            }
            Kind::Array => switches.push(Action::StopArray(device.path())),
            Kind::Partition { of, .. } if of == name => wipes.push(Action::Wipe(device.path())),
            // A mapped device is not switched off as long as its partitions are mapped.
            Kind::Partition {
                mapping: Some(name),
                ..
            } => switches.push(Action::Unmap(name.clone())),
            // Partitions of an array vanish with it; those on a path to the disk are on the disk too.
            Kind::Partition { mapping: None, .. } | Kind::Disk => {}
        }
    }
    switches.extend(wipes);
    switches.push(Action::Wipe(disk.path()));
    switches
}

impl Action {
    /// The program that does it.
    #[must_use]
    pub fn task(&self) -> Task {
        let (program, reason, args): (_, _, Vec<String>) = match self {
            Self::Unmap(name) => (
                "dmsetup",
                "switch off a mapped device on the installation disk",
                vec!["remove".into(), "--retry".into(), name.clone()],
            ),
            Self::StopArray(path) => (
                "mdadm",
                "stop a RAID array on the installation disk",
                vec!["--stop".into(), path.display().to_string()],
            ),
            Self::Wipe(path) => (
                "wipefs",
                "erase old signatures on the installation disk",
                vec!["--all".into(), "--force".into(), path.display().to_string()],
            ),
        };
        flushing(program, reason).args(args)
    }
}
