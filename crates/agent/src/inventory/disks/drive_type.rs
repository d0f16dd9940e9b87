//! What kind of drive a device is. The first row that fits wins.

use super::device::Device;

/// Kinds of drives the wire knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveType {
    /// Nothing we know.
    Unknown,
    /// Turning disk.
    HardDisk,
    /// Floppy disk.
    Floppy,
    /// CD, DVD.
    Optical,
    /// No moving parts.
    SolidState,
    /// Several paths to one disk.
    Multipath,
    /// A disk over a network.
    Iscsi,
    /// A disk over Fibre Channel.
    FibreChannel,
    /// Logical volume.
    Lvm,
    /// Software RAID.
    Raid,
    /// Disk of a mainframe.
    Eckd,
    /// Disk of a mainframe, thinly provisioned.
    EckdEse,
    /// Disk of a mainframe with fixed blocks.
    Fba,
}

impl DriveType {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::HardDisk => "HDD",
            Self::Floppy => "FDD",
            Self::Optical => "ODD",
            Self::SolidState => "SSD",
            Self::Multipath => "Multipath",
            Self::Iscsi => "iSCSI",
            Self::FibreChannel => "FC",
            Self::Lvm => "LVM",
            Self::Raid => "RAID",
            Self::Eckd => "ECKD",
            Self::EckdEse => "ECKD (ESE)",
            Self::Fba => "FBA",
        }
    }

    /// The kind of a device.
    pub fn of(device: &Device<'_>) -> Self {
        RULES
            .iter()
            .find(|(fits, _)| fits(device))
            .map_or(Self::Unknown, |(_, kind)| kind(device))
    }
}

type Rule = (fn(&Device<'_>) -> bool, fn(&Device<'_>) -> DriveType);

const RULES: &[Rule] = &[
    (|device| device.name.starts_with("dasd"), mainframe),
    (is_iscsi, |_| DriveType::Iscsi),
    (is_fibre_channel, |_| DriveType::FibreChannel),
    (|device| device.is_multipath(), |_| DriveType::Multipath),
    (|device| device.is_logical_volume(), |_| DriveType::Lvm),
    (|device| device.name.starts_with("md"), |_| DriveType::Raid),
    (
        |device| device.name.starts_with("fd"),
        |_| DriveType::Floppy,
    ),
    (
        |device| begins_with(device, &["sd", "hd", "vd", "xvd"]),
        turning_or_not,
    ),
    (
        |device| begins_with(device, &["nvme", "mmc"]),
        |_| DriveType::SolidState,
    ),
    (
        |device| device.name.starts_with("sr"),
        |_| DriveType::Optical,
    ),
];

/// Whether the kernel's name of a device begins with one of these.
pub fn begins_with(device: &Device<'_>, starts: &[&str]) -> bool {
    starts.iter().any(|start| device.name.starts_with(start))
}

fn mainframe(device: &Device<'_>) -> DriveType {
    match device.text("device/discipline").as_deref() {
        Some("ECKD") if device.is_on("device/ese") => DriveType::EckdEse,
        Some("ECKD") => DriveType::Eckd,
        Some("FBA") => DriveType::Fba,
        _ => DriveType::Unknown,
    }
}

fn turning_or_not(device: &Device<'_>) -> DriveType {
    match device.is_on("queue/rotational") {
        true => DriveType::HardDisk,
        false => DriveType::SolidState,
    }
}

fn is_iscsi(device: &Device<'_>) -> bool {
    match device.bus_path() {
        "" => device.part_of_place("session").is_some(),
        path => path.contains("-iscsi-"),
    }
}

fn is_fibre_channel(device: &Device<'_>) -> bool {
    match device.bus_path() {
        "" => device
            .place
            .iter()
            .any(|part| part.to_str().is_some_and(|part| part.starts_with("rport-"))),
        path => path.contains("-fc-") || path.starts_with("fc-"),
    }
}
