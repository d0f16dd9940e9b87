//! The right to write to one disk.

use std::path::{Path, PathBuf};

use muster_machine::{Machine, Mount, mounts};

use super::devices::{Device, Devices, Kind};

/// The right to write to one disk: it was named by the user, it is a disk, and nothing that runs
/// on this machine uses it. Whatever writes to a disk takes one of these. If a path to a multipath disk
/// was named, the disk is the one that is reached on all paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    named: PathBuf,
    device: Device,
}

/// Why a disk may not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is nothing at that path, or it is not a block device.
    #[error("{} is not a block device of this machine; choose another installation disk", named.display())]
    NotADisk {
        /// What was named.
        named: PathBuf,
    },
    /// A part of a disk was named.
    #[error("{} is a partition, not a whole disk; choose the disk it is on ({whole})", named.display())]
    Partition {
        /// What was named.
        named: PathBuf,
        /// The disk it is a part of.
        whole: String,
    },
    /// Something is mounted from it.
    #[error(
        "{} is in use: {device} is mounted at {at}; unmount it, or choose another installation disk",
        named.display()
    )]
    Mounted {
        /// What was named.
        named: PathBuf,
        /// What is mounted: the disk or something on it.
        device: String,
        /// Where.
        at: String,
    },
    /// It holds swap space in use.
    #[error(
        "{} is in use: {device} is swap space; turn it off (swapoff), or choose another installation disk",
        named.display()
    )]
    Swap {
        /// What was named.
        named: PathBuf,
        /// What is used: the disk or something on it.
        device: String,
    },
    /// A file on it backs another device (a loop device of the live system, for example).
    #[error(
        "{} is in use: the file {file} on it backs {device}; boot from other media, or choose another installation disk",
        named.display()
    )]
    Backing {
        /// What was named.
        named: PathBuf,
        /// The device that needs it.
        device: String,
        /// The file.
        file: String,
    },
}

impl Claim {
    /// Claims the disk at a path.
    ///
    /// # Errors
    /// It is not a disk, or it is in use; then nothing may be written to it.
    pub fn of(machine: &dyn Machine, devices: &Devices, named: &Path) -> Result<Self, Refused> {
        let named = named.to_owned();
        let Some(device) = devices.at(machine, &named) else {
            return Err(Refused::NotADisk { named });
        };
        if let Kind::Partition { of, .. } = &device.kind {
            let whole = of.clone();
            return Err(Refused::Partition { named, whole });
        }
        let device = devices.whole(device);
        let mut parts = devices.descendants(&device.name);
        parts.extend(devices.paths(device));
        parts.push(device);
        let mounts = mounts(machine);
        let swaps = machine.text("/proc/swaps").unwrap_or_default();
        for part in parts {
            let path = part.path();
            if let Some(mount) = mounts.iter().find(|mount| is_of(mount, machine, part)) {
                return Err(match backed_by(machine, devices, &mount.target) {
                    Some((device, file)) => Refused::Backing {
                        named,
                        device,
                        file,
                    },
                    None => Refused::Mounted {
                        named,
                        device: path.display().to_string(),
                        at: mount.target.clone(),
                    },
                });
            }
            let swap = swaps
                .lines()
                .filter_map(|line| line.split_whitespace().next())
                .any(|used| {
                    machine
                        .resolve(Path::new(used))
                        .is_ok_and(|used| used == path)
                });
            if swap {
                let device = path.display().to_string();
                return Err(Refused::Swap { named, device });
            }
        }
        Ok(Self {
            named,
            device: device.clone(),
        })
    }

    /// The disk.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its node in `/dev`, with links followed.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.device.path()
    }

    /// As the user named it.
    #[must_use]
    pub fn named(&self) -> &Path {
        &self.named
    }
}

/// By number; file systems with numbers of their own (btrfs) only name their device's path.
fn is_of(mount: &Mount, machine: &dyn Machine, device: &Device) -> bool {
    mount.device == device.number
        || mount.source.starts_with("/dev/")
            && machine
                .resolve(Path::new(&mount.source))
                .is_ok_and(|source| source == device.path())
}

/// The loop device whose file is below a mount point, with the file.
fn backed_by(machine: &dyn Machine, devices: &Devices, at: &str) -> Option<(String, String)> {
    let below = Path::new(at);
    devices.iter().find_map(|device| {
        let file = machine.text(format!("/sys/block/{}/loop/backing_file", device.name))?;
        let is_below = at != "/" && Path::new(&file).starts_with(below);
        is_below.then(|| (device.path().display().to_string(), file))
    })
}
