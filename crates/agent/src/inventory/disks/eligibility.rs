//! Why a disk cannot be installed to, as far as only the machine itself knows. Whether it is
//! large or fast enough is for the service to say.

use muster_machine::Mount;

use super::{
    device::Device,
    drive_type::{DriveType, begins_with},
    iscsi,
};

/// Names the kernel gives to disks on controllers we know.
const CONTROLLERS: &[&str] = &[
    "sd", "hd", "vd", "nvme", "sr", "xvd", "mmc", "loop", "dasd", "md",
];
/// The image a live system runs from is mounted at a path that ends so.
const MEDIUM: &str = "iso";
/// Labels of an appliance's own partitions, which may be mounted.
const APPLIANCE: &str = "agent";

/// All reasons against a disk.
pub fn reasons(device: &Device<'_>, drive_type: DriveType, mounts: &[Mount]) -> Vec<String> {
    let mut reasons = Vec::new();
    let is_known =
        begins_with(device, CONTROLLERS) || device.is_multipath() || device.is_logical_volume();
    if !is_known {
        reasons.push("The storage controller of this disk is not known".to_owned());
    }
    match drive_type {
        DriveType::Lvm => reasons.push("This is a logical volume (LVM), not a disk".to_owned()),
        DriveType::Iscsi => reasons.extend(iscsi::reasons(device)),
        DriveType::Unknown
        | DriveType::HardDisk
        | DriveType::Floppy
        | DriveType::Optical
        | DriveType::SolidState
        | DriveType::Multipath
        | DriveType::FibreChannel
        | DriveType::Raid
        | DriveType::Eckd
        | DriveType::EckdEse
        | DriveType::Fba => {}
    }
    reasons.extend(unreachable_at_start(device));
    reasons.extend(in_use(device, mounts));
    reasons
}

/// Whether the running system was started from this disk's image.
pub fn is_installation_media(device: &Device<'_>, mounts: &[Mount]) -> bool {
    !is_appliance(device)
        && used_parts(device, mounts).any(|(_, mount)| mount.target.ends_with(MEDIUM))
}

fn in_use(device: &Device<'_>, mounts: &[Mount]) -> Vec<String> {
    if is_appliance(device) {
        return Vec::new();
    }
    if is_installation_media(device, mounts) {
        return vec!["The running system was started from this disk".to_owned()];
    }
    let mut reasons: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    for (part, mount) in used_parts(device, mounts) {
        // A file system can be mounted in dozens of places; one is enough to know.
        if !seen.contains(&part) {
            seen.push(part);
            reasons.push(match part == device.name {
                true => format!("The disk is in use: it is mounted at {}", mount.target),
                false => format!(
                    "Partition {part} is in use: it is mounted at {}",
                    mount.target
                ),
            });
        }
    }
    reasons
}

fn is_appliance(device: &Device<'_>) -> bool {
    device
        .partitions
        .iter()
        .flat_map(|partition| &partition.labels)
        .any(|label| label.starts_with(APPLIANCE))
}

/// Mounts of the disk and of its partitions. Some file systems hide the number of their device,
/// so the name counts too.
fn used_parts<'a>(
    device: &'a Device<'_>,
    mounts: &'a [Mount],
) -> impl Iterator<Item = (&'a str, &'a Mount)> {
    let parts = || {
        device
            .partitions
            .iter()
            .map(|partition| (partition.name.as_str(), partition.number.as_str()))
            .chain([(device.name.as_str(), device.number.as_str())])
    };
    mounts.iter().filter_map(move |mount| {
        let source = mount.source.strip_prefix("/dev/");
        parts()
            .find(|(name, number)| {
                (!number.is_empty() && mount.device == *number) || source == Some(*name)
            })
            .map(|(name, _)| (name, mount))
    })
}

/// A disk over NVMe/TCP or RDMA is there at the next start only if the firmware connects to it,
/// which it describes in a table of its own (NBFT), as the iBFT does for iSCSI.
fn unreachable_at_start(device: &Device<'_>) -> Option<String> {
    const FIRMWARE_TABLE: &str = "/sys/firmware/acpi/tables/NBFT";
    if !device.name.starts_with("nvme") {
        return None;
    }
    // A disk with several controllers has one folder for each.
    let transport = device.text("device/transport").or_else(|| {
        device
            .names("device")
            .iter()
            .filter(|name| name.starts_with("nvme"))
            .find_map(|name| device.text(&format!("device/{name}/transport")))
    })?;
    let over_network = matches!(transport.as_str(), "tcp" | "rdma");
    let known = (1..=4)
        .map(|number| format!("{FIRMWARE_TABLE}{number}"))
        .chain([FIRMWARE_TABLE.to_owned()])
        .any(|path| device.machine.exists(path));
    (over_network && !known).then(|| {
        format!(
            "The disk is reached over the network (NVMe over {}), and the firmware does not \
             connect to it (there is no NBFT), so this machine cannot start from it",
            transport.to_uppercase()
        )
    })
}
