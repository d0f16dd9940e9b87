//! The disk that was just written: its partitions, mounted and unmounted.

use std::path::{Path, PathBuf};

use muster_machine::{Machine, Task};
use tracing::warn;

use crate::{
    disk::{Claim, Device, Devices},
    error::InstallError,
    tasks::{flushing, run},
};

/// Label and, for tables without labels, number of partitions in images of CoreOS.
const ROOT: (&str, usize) = ("root", 4);
const BOOT: (&str, usize) = ("boot", 3);
const EFI: (&str, usize) = ("EFI-SYSTEM", 2);
const SECTOR: u64 = 512;

/// The partitions of the installed disk.
#[derive(Debug)]
pub struct InstalledDisk<'a> {
    machine: &'a dyn Machine,
    devices: Devices,
    disk: &'a Claim,
}

impl<'a> InstalledDisk<'a> {
    /// Reads them from the machine.
    #[must_use]
    pub fn read(machine: &'a dyn Machine, disk: &'a Claim) -> Self {
        if let Err(cause) = map_partitions(machine, disk.device()) {
            warn!(%cause, "partitions may be missing");
        }
        Self {
            machine,
            devices: Devices::read(machine),
            disk,
        }
    }

    /// The partition of the operating system.
    ///
    /// # Errors
    /// There is none.
    pub fn root(&self) -> Result<&Device, InstallError> {
        self.partition(ROOT)
    }

    /// The partition of kernels.
    ///
    /// # Errors
    /// There is none.
    pub fn boot(&self) -> Result<&Device, InstallError> {
        self.partition(BOOT)
    }

    /// The partition the firmware starts from.
    ///
    /// # Errors
    /// There is none.
    pub fn efi(&self) -> Result<&Device, InstallError> {
        self.partition(EFI)
    }

    /// The nodes of the disk in `/dev`: its own, then those of the paths to it if it has several.
    #[must_use]
    pub fn nodes(&self) -> Vec<PathBuf> {
        let paths = self.devices.paths(self.disk.device()).map(Device::path);
        std::iter::once(self.disk.path()).chain(paths).collect()
    }

    fn partition(&self, (label, number): (&str, usize)) -> Result<&Device, InstallError> {
        let name = &self.disk.device().name;
        self.devices
            .partitions(name)
            .find(|part| part.label.as_deref() == Some(label))
            .or_else(|| self.devices.partitions(name).nth(number - 1))
            .ok_or_else(|| {
                InstallError::Unusable(format!("the installed disk has no partition {label}"))
            })
    }

    /// Size of a partition in bytes.
    #[must_use]
    pub fn size(&self, partition: &Device) -> u64 {
        self.sectors(partition) * SECTOR
    }

    /// How much of the disk, in percent, stays free behind the last partition after one of them has
    /// grown by `growth` bytes: later partitions of the node are made there.
    #[must_use]
    pub fn free_percent_after(&self, growth: u64) -> u64 {
        let whole = self.sectors(self.disk.device());
        let name = &self.disk.device().name;
        let used: u64 = self
            .devices
            .partitions(name)
            .map(|part| self.sectors(part))
            .sum();
        match whole.checked_sub(used.saturating_add(growth.div_ceil(SECTOR))) {
            Some(free) if whole > 0 => free.saturating_mul(100) / whole,
            Some(_) | None => 0,
        }
    }

    fn sectors(&self, device: &Device) -> u64 {
        self.machine
            .value(format!("{}/size", device.folder()))
            .unwrap_or(0)
    }

    /// Grows a partition until `free_percent` of the disk are free behind it. It may have that size
    /// already.
    ///
    /// # Errors
    /// The table cannot be changed.
    pub fn grow(&self, partition: &Device, free_percent: u64) -> Result<(), InstallError> {
        let disk = self.disk.device();
        let grow = growpart(disk, partition, free_percent);
        match run(self.machine, &grow) {
            Err(cause) if !cause.printed("NOCHANGE") => return Err(cause.into()),
            Ok(_) | Err(_) => {}
        }
        map_partitions(self.machine, disk)
    }

    /// Lets the file system at a mount point fill its partition.
    ///
    /// # Errors
    /// It cannot.
    pub fn fill(&self, at: &str) -> Result<(), InstallError> {
        let grow = flushing("xfs_growfs", "make room on the installed disk").arg(at);
        run(self.machine, &grow)?;
        Ok(())
    }

    /// Mounts a partition; the mount point is made.
    ///
    /// # Errors
    /// It cannot be mounted.
    pub fn mount(&self, partition: &Device, at: &str) -> Result<(), InstallError> {
        if !self.machine.exists(Path::new(at)) {
            let make = Task::new("mkdir", "open the installed disk").args(["-p", at]);
            run(self.machine, &make)?;
        }
        let mount = flushing("mount", "open the installed disk")
            .arg(partition.path().display().to_string())
            .arg(at);
        run(self.machine, &mount)?;
        Ok(())
    }

    /// Unmounts. Freezing first writes everything out, also what a lazy unmount would leave behind.
    ///
    /// # Errors
    /// Something still uses it, or it could not be written out.
    pub fn leave(&self, at: &str) -> Result<(), InstallError> {
        let freeze = flushing("fsfreeze", "write out the installed disk").args(["--freeze", at]);
        let frozen = run(self.machine, &freeze);
        let unmount = flushing("umount", "leave the installed disk").arg(at);
        run(self.machine, &unmount).and(frozen)?;
        Ok(())
    }
}

/// The program that grows a partition until `free_percent` of the disk are free behind it.
pub fn growpart(disk: &Device, partition: &Device, free_percent: u64) -> Task {
    let mut grow = flushing("growpart", "make room on the installed disk");
    if free_percent > 0 {
        grow = grow.arg(format!("--free-percent={free_percent}"));
    }
    if disk.has_mapped_partitions() {
        // It would ask the kernel to resize the partition, which knows none here.
        grow = grow.arg("--update=off");
    }
    grow.arg(disk.path().display().to_string())
        .arg(partition.number_in_table().to_string())
}

/// Makes the mapped partitions of a disk what its partition table says. `coreos-installer` removes those
/// of a multipath disk when it is done, and nothing updates them when the table changes. Other disks are
/// left to the kernel.
///
/// # Errors
/// The program failed.
pub fn map_partitions(machine: &dyn Machine, disk: &Device) -> Result<(), InstallError> {
    if disk.has_mapped_partitions() {
        let map = flushing("kpartx", "find the partitions of the installed disk")
            .args(["-u", "-s"])
            .arg(disk.path().display().to_string());
        run(machine, &map)?;
    }
    Ok(())
}
