//! One block device as sysfs and the udev database describe it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
};

use muster_machine::Machine;

const BLOCK: &str = "/sys/block";
const UDEV: &str = "/run/udev/data";
const SECTOR: i64 = 512;

/// A block device: a whole disk, never a partition.
#[derive(Debug)]
pub struct Device<'a> {
    /// Where it is.
    pub machine: &'a dyn Machine,
    /// Name of the kernel, as in sysfs.
    pub name: String,
    /// Major and minor number, `8:0`.
    pub number: String,
    /// Its place in the tree of devices.
    pub place: PathBuf,
    /// What udev found out.
    udev: BTreeMap<String, String>,
    /// Its partitions.
    pub partitions: Vec<Partition>,
}

/// A partition of a device.
#[derive(Debug)]
pub struct Partition {
    /// Name of the kernel.
    pub name: String,
    /// Major and minor number.
    pub number: String,
    /// Names given to it and to its file system.
    pub labels: Vec<String>,
}

/// All block devices, by name.
pub fn all(machine: &dyn Machine) -> Vec<Device<'_>> {
    machine
        .names(BLOCK)
        .into_iter()
        .map(|name| Device::new(machine, name))
        .collect()
}

impl<'a> Device<'a> {
    fn new(machine: &'a dyn Machine, name: String) -> Self {
        let folder = format!("{BLOCK}/{name}");
        let number = machine.text(format!("{folder}/dev")).unwrap_or_default();
        let partitions = machine
            .names(&folder)
            .into_iter()
            // Everything of a disk is in one folder; partitions bear its name.
            .filter(|part| part.starts_with(&name))
            .filter(|part| machine.exists(format!("{folder}/{part}/partition")))
            .map(|part| {
                let number = machine
                    .text(format!("{folder}/{part}/dev"))
                    .unwrap_or_default();
                let udev = udev(machine, &number);
                let labels = ["ID_PART_ENTRY_NAME", "ID_FS_LABEL"]
                    .iter()
                    .filter_map(|key| udev.get(*key).cloned())
                    .collect();
                Partition {
                    name: part,
                    number,
                    labels,
                }
            })
            .collect();
        Self {
            machine,
            place: machine.resolve(folder.as_ref()).unwrap_or_default(),
            udev: udev(machine, &number),
            name,
            number,
            partitions,
        }
    }

    /// The text of one of its files in sysfs.
    pub fn text(&self, file: &str) -> Option<String> {
        self.machine.text(format!("{BLOCK}/{}/{file}", self.name))
    }

    /// The number in one of its files in sysfs.
    pub fn value<T: FromStr>(&self, file: &str) -> Option<T> {
        self.text(file)?.parse().ok()
    }

    /// Whether one of its files in sysfs says 1.
    pub fn is_on(&self, file: &str) -> bool {
        self.text(file).as_deref() == Some("1")
    }

    /// The names in one of its folders in sysfs.
    pub fn names(&self, folder: &str) -> Vec<String> {
        self.machine
            .names(format!("{BLOCK}/{}/{folder}", self.name))
    }

    /// Something udev found out.
    pub fn udev(&self, key: &str) -> Option<&str> {
        self.udev
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty() && *value != "unknown")
    }

    /// The first of several keys that udev has a value for.
    fn first_of(&self, keys: &[&str]) -> Option<String> {
        keys.iter()
            .find_map(|key| self.udev(key))
            .map(str::to_owned)
    }

    /// How it is reached, as udev writes it; sysfs has the essential where udev is silent.
    pub fn bus_path(&self) -> &str {
        self.udev("ID_PATH").unwrap_or("")
    }

    /// Part of the way to it in the tree of devices, such as `session1` or `host3`.
    pub fn part_of_place(&self, start: &str) -> Option<String> {
        self.place
            .iter()
            .filter_map(|part| part.to_str())
            .find(|part| {
                part.strip_prefix(start).is_some_and(|rest| {
                    !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())
                })
            })
            .map(str::to_owned)
    }

    /// Whether it is a multipath disk.
    pub fn is_multipath(&self) -> bool {
        self.mapped_as("mpath-")
    }

    /// Whether it is a logical volume.
    pub fn is_logical_volume(&self) -> bool {
        self.mapped_as("LVM-")
    }

    fn mapped_as(&self, kind: &str) -> bool {
        self.name.starts_with("dm-")
            && self
                .text("dm/uuid")
                .is_some_and(|uuid| uuid.starts_with(kind))
    }

    /// Bytes.
    pub fn size(&self) -> Option<i64> {
        self.value::<i64>("size")?.checked_mul(SECTOR)
    }

    /// Model, by udev or by the device itself where udev does not run.
    pub fn model(&self) -> Option<String> {
        self.first_of(&["ID_MODEL"])
            .or_else(|| self.without_udev("device/model"))
    }

    /// Serial number.
    pub fn serial(&self) -> Option<String> {
        self.first_of(&[
            "SCSI_IDENT_SERIAL",
            "ID_SCSI_SERIAL",
            "ID_SERIAL_SHORT",
            "ID_SERIAL",
        ])
        .or_else(|| self.without_udev("serial"))
        .or_else(|| self.without_udev("device/serial"))
    }

    /// World-wide name.
    pub fn wwn(&self) -> Option<String> {
        self.first_of(&["ID_WWN_WITH_EXTENSION", "ID_WWN", "DM_WWN"])
            .or_else(|| {
                let wwid = self
                    .without_udev("device/wwid")
                    .or(self.without_udev("wwid"))?;
                Some(match wwid.strip_prefix("naa.") {
                    Some(digits) => format!("0x{digits}"),
                    None => wwid,
                })
            })
    }

    fn without_udev(&self, file: &str) -> Option<String> {
        match self.udev.is_empty() {
            true => self.text(file),
            false => None,
        }
    }

    /// Whether it can name itself so that a cluster finds it again. SCSI disks do so on a page of
    /// their own, which the kernel keeps; NVMe disks always do.
    pub fn has_uuid(&self) -> bool {
        let names_itself = |folder: &str| {
            let page = self
                .machine
                .read(Path::new(&format!("{folder}/device/vpd_pg83")));
            page.is_ok_and(|page| page.len() > 4) || self.machine.exists(format!("{folder}/wwid"))
        };
        let own = format!("{BLOCK}/{}", self.name);
        names_itself(&own)
            || self.is_multipath()
                && self
                    .names("slaves")
                    .iter()
                    .any(|path| names_itself(&format!("{BLOCK}/{path}")))
    }

    /// Whether firmware would find something to start on it: a boot sector ends with 55 AA.
    pub fn is_bootable(&self, path: &str) -> bool {
        const BOOT_SECTOR: usize = 512;
        // An empty drive has nothing to read, and a floppy drive would take seconds to say so.
        if self.size().unwrap_or(0) == 0 || self.name.starts_with("fd") {
            return false;
        }
        self.machine
            .read_start(path.as_ref(), BOOT_SECTOR)
            .is_ok_and(|sector| sector.len() == BOOT_SECTOR && sector.ends_with(&[0x55, 0xaa]))
    }
}

/// The properties in a record of the udev database.
fn udev(machine: &dyn Machine, number: &str) -> BTreeMap<String, String> {
    if number.is_empty() || number.contains('/') {
        return BTreeMap::new();
    }
    machine
        .text(format!("{UDEV}/b{number}"))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.strip_prefix("E:")?.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
        .collect()
}
