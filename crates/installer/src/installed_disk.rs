//! The disk that was just written: its partitions, mounted and unmounted.

use std::path::Path;

use muster_machine::{Machine, Task};

use crate::{
    disk::{Claim, Device, Devices},
    error::InstallError,
    tasks::run,
};

/// Number of the root partition in images of CoreOS, for tables without labels.
const ROOT: (&str, usize) = ("root", 4);
const BOOT: (&str, usize) = ("boot", 3);
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
        self.sectors(&format!("/{}", partition.name)) * SECTOR
    }

    /// How much of the disk, in percent, stays free behind the last partition after one of them has
    /// grown by `growth` bytes: later partitions of the node are made there.
    #[must_use]
    pub fn free_percent_after(&self, growth: u64) -> u64 {
        let whole = self.sectors("");
        let name = &self.disk.device().name;
        let used: u64 = self
            .devices
            .partitions(name)
            .map(|part| self.sectors(&format!("/{}", part.name)))
            .sum();
        match whole.checked_sub(used.saturating_add(growth.div_ceil(SECTOR))) {
            Some(free) if whole > 0 => free.saturating_mul(100) / whole,
            Some(_) | None => 0,
        }
    }

    fn sectors(&self, below: &str) -> u64 {
        let disk = &self.disk.device().name;
        self.machine
            .value(format!("/sys/block/{disk}{below}/size"))
            .unwrap_or(0)
    }

    /// Grows a partition until `free_percent` of the disk are free behind it. It may have that size
    /// already.
    ///
    /// # Errors
    /// The table cannot be changed.
    pub fn grow(&self, partition: &Device, free_percent: u64) -> Result<(), InstallError> {
        let mut grow = Task::new("growpart", "make room on the installed disk");
        if free_percent > 0 {
            grow = grow.arg(format!("--free-percent={free_percent}"));
        }
        let grow = grow
            .arg(self.disk.path().display().to_string())
            .arg(partition.number_in_table().to_string());
        match run(self.machine, &grow) {
            Err(cause) if !cause.printed("NOCHANGE") => Err(cause.into()),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Lets the file system at a mount point fill its partition.
    ///
    /// # Errors
    /// It cannot.
    pub fn fill(&self, at: &str) -> Result<(), InstallError> {
        let grow = Task::new("xfs_growfs", "make room on the installed disk").arg(at);
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
        let mount = Task::new("mount", "open the installed disk")
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
        let freeze = Task::new("fsfreeze", "write out the installed disk").args(["--freeze", at]);
        let frozen = run(self.machine, &freeze);
        let unmount = Task::new("umount", "leave the installed disk").arg(at);
        run(self.machine, &unmount).and(frozen)?;
        Ok(())
    }
}
