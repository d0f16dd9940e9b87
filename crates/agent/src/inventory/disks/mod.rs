//! Disks: every block device that might be installed to, and why not to some of them.

mod device;
mod drive_type;
mod eligibility;
mod iscsi;
mod names;

use muster_api::wire;
use muster_machine::{Machine, Mount, mounts};

use self::{device::Device, drive_type::DriveType, names::Names};
use super::set;

/// The disks of a machine, by name.
pub fn disks(machine: &dyn Machine) -> Vec<wire::Disk> {
    let devices = device::all(machine);
    if let Some(appliance) = appliance(machine, &devices) {
        return vec![appliance];
    }
    let mounts = mounts(machine);
    let names = Names::of(machine, &devices);
    devices
        .iter()
        .filter(|device| is_reported(device))
        .map(|device| disk(device, &names, &mounts))
        .collect()
}

/// Left out are devices the kernel itself hides (the single paths of a multipath NVMe disk),
/// mapped devices other than multipath disks and logical volumes, and devices without hardware.
fn is_reported(device: &Device<'_>) -> bool {
    let is_mapped = device.name.starts_with("dm-");
    let is_nothing = device.name.starts_with("loop") || device.name.starts_with("zram");
    !(device.is_on("hidden")
        || is_nothing
        || is_mapped && !device.is_multipath() && !device.is_logical_volume())
}

fn disk(device: &Device<'_>, names: &Names, mounts: &[Mount]) -> wire::Disk {
    let drive_type = DriveType::of(device);
    let path = names.path(device);
    let by_id = names.by_id(path.as_deref());
    let by_path = names.by_path(device);
    let on_media = eligibility::is_installation_media(device, mounts);
    let reasons = eligibility::reasons(device, drive_type, mounts);
    let bootable = path.as_deref().is_some_and(|path| device.is_bootable(path));
    wire::Disk {
        bootable: set(bootable),
        drive_type: Some(drive_type.as_str().to_owned()),
        has_uuid: set(device.has_uuid()),
        hctl: device.names("device/scsi_device").into_iter().next(),
        holders: Some(device.names("holders").join(",")).filter(|names| !names.is_empty()),
        id: by_id
            .clone()
            .or_else(|| by_path.clone())
            .or_else(|| path.clone()),
        installation_eligibility: Some(wire::DiskInstallationEligibility {
            eligible: set(reasons.is_empty()),
            not_eligible_reasons: Some(reasons).filter(|reasons| !reasons.is_empty()),
        }),
        io_perf: None,
        is_installation_media: set(on_media || drive_type == DriveType::Optical),
        iscsi: (drive_type == DriveType::Iscsi)
            .then(|| iscsi::host_address(device))
            .flatten()
            .map(|address| wire::Iscsi {
                host_ip_address: Some(address),
            }),
        model: device.model(),
        name: Some(device.name.clone()),
        partition_types: None,
        removable: set(device.is_on("removable")),
        serial: device.serial(),
        size_bytes: device.size().filter(|size| *size > 0),
        smart: None,
        vendor: device.text("device/vendor"),
        wwn: device.wwn().or_else(|| names::number_in(by_id.as_deref()?)),
        by_id,
        by_path,
        path,
    }
}

/// An appliance carries its installer on a mapped device of its own and is installed to nothing
/// else, so that this device is all there is to report.
fn appliance(machine: &dyn Machine, devices: &[Device<'_>]) -> Option<wire::Disk> {
    const SIZE: i64 = 100 << 30;
    let device = devices.iter().find(|device| {
        device.name.starts_with("dm-")
            && device
                .text("dm/name")
                .is_some_and(|name| name.starts_with("agent"))
    })?;
    let path = format!("/dev/{}", device.name);
    Some(wire::Disk {
        drive_type: Some(DriveType::SolidState.as_str().to_owned()),
        has_uuid: set(devices.iter().any(Device::has_uuid)),
        installation_eligibility: Some(wire::DiskInstallationEligibility {
            eligible: Some(true),
            not_eligible_reasons: None,
        }),
        name: Some(device.name.clone()),
        path: machine.exists(&path).then_some(path),
        size_bytes: Some(SIZE),
        ..wire::Disk::default()
    })
}
