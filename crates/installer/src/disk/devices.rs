//! All block devices and what is built on what, read from sysfs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use muster_machine::Machine;

const BLOCK: &str = "/sys/block";

/// What a block device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole disk, or anything else that is not one of the others.
    Disk,
    /// A partition of the device of that name.
    Partition {
        /// The device it is a part of.
        of: String,
        /// Its number in the partition table.
        number: u32,
        /// Its name in device mapper. The kernel knows no partitions of mapped devices, so each of
        /// those is a mapped device itself.
        mapping: Option<String>,
    },
    /// A disk that is reached on several paths, with its name in device mapper. Each path is a
    /// [`Kind::Disk`] too, and shows the same content.
    Multipath {
        /// As `dmsetup` calls it.
        name: String,
    },
    /// Any other device-mapper device (LVM, LUKS), with its name there.
    Mapped {
        /// As `dmsetup` calls it.
        name: String,
    },
    /// A software RAID array.
    Array,
}

/// One block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The kernel's name, as in `/sys/block`.
    pub name: String,
    /// Major and minor number, `8:0`.
    pub number: String,
    /// What it is.
    pub kind: Kind,
    /// Label of a partition in its table (`PARTLABEL`).
    pub label: Option<String>,
    /// Devices that are directly built on this one, without partitions.
    holders: BTreeSet<String>,
}

impl Device {
    /// Its node in `/dev`.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        // The kernel writes `!` for a slash inside a name (`cciss!c0d0`).
        Path::new("/dev").join(self.name.replace('!', "/"))
    }

    /// Its folder in sysfs.
    #[must_use]
    pub fn folder(&self) -> String {
        match &self.kind {
            Kind::Partition {
                of, mapping: None, ..
            } => format!("{BLOCK}/{of}/{}", self.name),
            Kind::Partition { .. }
            | Kind::Disk
            | Kind::Multipath { .. }
            | Kind::Mapped { .. }
            | Kind::Array => format!("{BLOCK}/{}", self.name),
        }
    }

    /// The number of a partition in its table; 0 for everything else.
    #[must_use]
    pub fn number_in_table(&self) -> u32 {
        match self.kind {
            Kind::Partition { number, .. } => number,
            Kind::Disk | Kind::Multipath { .. } | Kind::Mapped { .. } | Kind::Array => 0,
        }
    }

    /// Whether its partitions are devices of device mapper, which `kpartx` makes and updates.
    #[must_use]
    pub fn has_mapped_partitions(&self) -> bool {
        match self.kind {
            Kind::Multipath { .. } | Kind::Mapped { .. } => true,
            Kind::Partition { .. } | Kind::Disk | Kind::Array => false,
        }
    }
}

/// All block devices of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    by_name: BTreeMap<String, Device>,
}

impl Devices {
    /// Reads them from sysfs.
    #[must_use]
    pub fn read(machine: &dyn Machine) -> Self {
        let mut devices = Self::default();
        for name in machine.names(BLOCK) {
            let folder = format!("{BLOCK}/{name}");
            for part in machine.names(&folder) {
                let number = machine.value(format!("{folder}/{part}/partition"));
                if let Some(number) = number {
                    let kind = Kind::Partition {
                        of: name.clone(),
                        number,
                        mapping: None,
                    };
                    devices.add(machine, &format!("{folder}/{part}"), part, kind);
                }
            }
            let kind = if let Some(kind) = mapped(machine, &folder) {
                kind
            } else if machine.exists(format!("{folder}/md")) {
                Kind::Array
            } else {
                Kind::Disk
            };
            devices.add(machine, &folder, name, kind);
        }
        devices.find_mapped_partitions(machine);
        devices
    }

    /// Partitions of mapped devices are distinguished from other devices built on those by the identifier that
    /// `kpartx` gives them, whatever they are called (`mpatha1`, `mpatha-part1`, `mpathap1`).
    fn find_mapped_partitions(&mut self, machine: &dyn Machine) {
        let mut found = Vec::new();
        for device in self.iter().filter(|device| device.has_mapped_partitions()) {
            for holder in &device.holders {
                let uuid = machine.text(format!("{BLOCK}/{holder}/dm/uuid"));
                if let Some(number) = uuid.as_deref().and_then(partition_number) {
                    found.push((holder.clone(), device.name.clone(), number));
                }
            }
        }
        for (name, of, number) in found {
            if let Some(device) = self.by_name.get_mut(&name)
                && let Kind::Mapped { name } = &device.kind
            {
                let mapping = Some(name.clone());
                device.kind = Kind::Partition {
                    of,
                    number,
                    mapping,
                };
            }
        }
    }

    fn add(&mut self, machine: &dyn Machine, folder: &str, name: String, kind: Kind) {
        let number = machine.text(format!("{folder}/dev")).unwrap_or_default();
        let found = |path: String, key: &str| {
            let text = machine.text(path)?;
            line(&text, key).map(str::to_owned)
        };
        // The kernel forgets the label of a partition that a program changed by itself, as growpart
        // does. udev reads it from the disk.
        let label = found(format!("{folder}/uevent"), "PARTNAME=")
            .or_else(|| found(format!("/run/udev/data/b{number}"), "E:ID_PART_ENTRY_NAME="));
        let device = Device {
            number,
            holders: machine
                .names(format!("{folder}/holders"))
                .into_iter()
                .collect(),
            name: name.clone(),
            kind,
            label,
        };
        self.by_name.insert(name, device);
    }

    /// The device of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Device> {
        self.by_name.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Device> {
        self.by_name.values()
    }

    /// The device a path leads to, links followed.
    #[must_use]
    pub fn at(&self, machine: &dyn Machine, path: &Path) -> Option<&Device> {
        let resolved = machine.resolve(path).ok()?;
        self.iter().find(|device| device.path() == resolved)
    }

    /// The disk that a device is: itself, or the multipath disk it is a path to.
    #[must_use]
    pub fn whole<'a>(&'a self, device: &'a Device) -> &'a Device {
        let holders = device.holders.iter().filter_map(|name| self.get(name));
        holders
            .into_iter()
            .find(|holder| matches!(holder.kind, Kind::Multipath { .. }))
            .unwrap_or(device)
    }

    /// The paths to a multipath disk; none for everything else.
    pub fn paths<'a>(&'a self, disk: &'a Device) -> impl Iterator<Item = &'a Device> {
        let is_multipath = matches!(disk.kind, Kind::Multipath { .. });
        self.iter()
            .filter(move |device| is_multipath && device.holders.contains(&disk.name))
    }

    /// The partitions of a device, by number.
    pub fn partitions<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Device> {
        let mut parts: Vec<_> = self
            .iter()
            .filter_map(|device| match &device.kind {
                Kind::Partition { of, number, .. } if of == name => Some((*number, device)),
                Kind::Partition { .. }
                | Kind::Disk
                | Kind::Multipath { .. }
                | Kind::Mapped { .. }
                | Kind::Array => None,
            })
            .collect();
        parts.sort_by_key(|(number, _)| *number);
        parts.into_iter().map(|(_, device)| device)
    }

    /// Everything built on a device, directly or not, in an order in which each comes before
    /// what it is built on. The device itself is not in it. On a multipath disk is also what is built on a
    /// single path to it, such as the partitions that the kernel finds there; the paths are not in it.
    #[must_use]
    pub fn descendants<'a>(&'a self, name: &'a str) -> Vec<&'a Device> {
        let disk = self.get(name).into_iter();
        let paths = disk.flat_map(|disk| self.paths(disk));
        let starts: Vec<&str> = paths.map(|path| path.name.as_str()).chain([name]).collect();
        let mut found = Vec::new();
        let mut seen = starts.iter().copied().collect();
        for start in starts {
            self.descend(start, &mut seen, &mut found);
        }
        found
    }

    fn descend<'a>(
        &'a self,
        name: &'a str,
        seen: &mut BTreeSet<&'a str>,
        found: &mut Vec<&'a Device>,
    ) {
        let holders = self.get(name).map(|device| &device.holders);
        let children = self
            .partitions(name)
            .map(|part| part.name.as_str())
            .chain(holders.into_iter().flatten().map(String::as_str))
            .collect::<Vec<_>>();
        for child in children {
            let Some(device) = self.get(child) else {
                continue;
            };
            if seen.insert(&device.name) {
                self.descend(child, seen, found);
                found.push(device);
            }
        }
    }
}

/// What a device of device mapper is; none for other devices.
fn mapped(machine: &dyn Machine, folder: &str) -> Option<Kind> {
    let name = machine.text(format!("{folder}/dm/name"))?;
    let uuid = machine.text(format!("{folder}/dm/uuid"));
    Some(match uuid {
        Some(uuid) if uuid.starts_with("mpath-") => Kind::Multipath { name },
        Some(_) | None => Kind::Mapped { name },
    })
}

/// The number in `part3-mpath-3600…`.
fn partition_number(uuid: &str) -> Option<u32> {
    let (number, _) = uuid.strip_prefix("part")?.split_once('-')?;
    number.parse().ok()
}

/// The rest of the line that begins with a key.
fn line<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key))
}
