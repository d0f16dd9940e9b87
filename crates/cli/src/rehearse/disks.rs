//! The disks of a machine, made so that the one to install on fits its root device hints.

use anyhow::{Context, Result, bail};
use muster_documents::install_config::types::RootDeviceHints;
use muster_vm::{Bus, Disk};

/// What every role is content with, in GiB.
const SIZE: u64 = 120;
/// The longest serial number that virtio and NVMe disks report.
const SHORT_SERIAL: usize = 20;
/// The longest one of a SCSI disk.
const LONG_SERIAL: usize = 36;
/// The longest vendor and model that a SCSI disk reports.
const VENDOR: usize = 8;
const MODEL: usize = 16;

/// The disks of the machine with this number: one that fits the hints, after those which come before it
/// in the names of its bus.
pub fn of(hints: Option<&RootDeviceHints>, number: u8) -> Result<Vec<Disk>> {
    let none = RootDeviceHints::default();
    let hints = hints.unwrap_or(&none);
    if !hints.hctl.is_empty() {
        bail!("rootDeviceHints.hctl cannot be emulated; {INSTEAD}");
    }
    let (bus, before) = match &*hints.device_name {
        "" => (usual_bus(hints), 0),
        name => place(name).with_context(|| {
            format!(
                "rootDeviceHints.deviceName {name:?} cannot be emulated; names such as /dev/sda, \
                 /dev/vda and /dev/nvme0n1 can"
            )
        })?,
    };
    let serial = |index| match index {
        0 => format!("REHEARSAL-{number}"),
        _ => format!("REHEARSAL-{number}-{index}"),
    };
    let mut disks: Vec<Disk> = (0..=before)
        .map(|index| Disk::new(bus, SIZE, &serial(index)))
        .collect();
    if let Some(disk) = disks.last_mut() {
        fit(disk, hints)?;
    }
    Ok(disks)
}

const INSTEAD: &str = "name the disk by deviceName, serialNumber or wwn";

/// The bus whose disks can have all that is asked for.
fn usual_bus(hints: &RootDeviceHints) -> Bus {
    let asks_scsi = [&hints.model, &hints.vendor, &hints.wwn];
    if asks_scsi.iter().any(|hint| !hint.is_empty()) || hints.serial_number.len() > SHORT_SERIAL {
        return Bus::Scsi;
    }
    match hints.rotational {
        Some(false) => Bus::Nvme,
        Some(true) | None => Bus::Virtio,
    }
}

/// The bus of a device name, and how many of its disks come before.
fn place(name: &str) -> Option<(Bus, u8)> {
    let name = name.strip_prefix("/dev/")?;
    let letter = |rest: &str| match rest.as_bytes() {
        [letter @ b'a'..=b'z'] => Some(letter - b'a'),
        _ => None,
    };
    if let Some(rest) = name.strip_prefix("sd") {
        return Some((Bus::Scsi, letter(rest)?));
    }
    if let Some(rest) = name.strip_prefix("vd") {
        return Some((Bus::Virtio, letter(rest)?));
    }
    let number = name.strip_prefix("nvme")?.strip_suffix("n1")?;
    let number = number.parse().ok().filter(|number| *number < 16);
    Some((Bus::Nvme, number?))
}

fn fit(disk: &mut Disk, hints: &RootDeviceHints) -> Result<()> {
    let text = |hint: &str| (!hint.is_empty()).then(|| hint.to_owned());
    let longest = match disk.bus {
        Bus::Scsi => LONG_SERIAL,
        Bus::Virtio | Bus::Nvme => SHORT_SERIAL,
    };
    let lengths = [
        ("serialNumber", &hints.serial_number, longest),
        ("vendor", &hints.vendor, VENDOR),
        ("model", &hints.model, MODEL),
    ];
    for (name, hint, longest) in lengths {
        if hint.len() > longest {
            bail!("rootDeviceHints.{name}: a disk here reports at most {longest} characters");
        }
    }
    if disk.bus != Bus::Scsi {
        for (name, hint) in [
            ("vendor", &hints.vendor),
            ("model", &hints.model),
            ("wwn", &hints.wwn),
        ] {
            if !hint.is_empty() {
                let device = &hints.device_name;
                bail!("rootDeviceHints.{name} of {device} cannot be emulated; of /dev/sda it can");
            }
        }
    }
    match (disk.bus, hints.rotational) {
        (Bus::Scsi, Some(false)) => disk.solid_state = true,
        (Bus::Virtio, Some(false)) | (Bus::Nvme, Some(true)) => bail!(
            "rootDeviceHints.rotational: disks such as {} are never like that here",
            hints.device_name
        ),
        (Bus::Scsi | Bus::Virtio, Some(true) | None) | (Bus::Nvme, Some(false) | None) => {}
    }
    if let Some(serial) = text(&hints.serial_number) {
        disk.serial = serial;
    }
    disk.vendor = text(&hints.vendor);
    disk.model = text(&hints.model);
    if !hints.wwn.is_empty() {
        disk.wwn = Some(wwn(&hints.wwn)?);
    }
    let bytes = u64::try_from(hints.min_size_gigabytes).unwrap_or(0) * 1_000_000_000;
    disk.gib = disk.gib.max(bytes.div_ceil(1 << 30));
    Ok(())
}

fn wwn(hint: &str) -> Result<u64> {
    let digits = hint.strip_prefix("0x").filter(|digits| digits.len() == 16);
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.with_context(|| {
        format!(
            "rootDeviceHints.wwn {hint:?} cannot be emulated; those of 16 digits can, such as \
             0x5000c500a1b2c3d4"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(text: &str) -> RootDeviceHints {
        serde_yaml_ng::from_str(text).unwrap()
    }

    fn installed_on(text: &str) -> Disk {
        let disks = of(Some(&hints(text)), 7).unwrap();
        disks.last().unwrap().clone()
    }

    #[test]
    fn without_hints_a_machine_has_one_virtio_disk() {
        let disks = of(None, 7).unwrap();
        assert_eq!(disks, [Disk::new(Bus::Virtio, 120, "REHEARSAL-7")]);
    }

    #[test]
    fn the_last_disk_fits_the_hints() {
        let disks = of(Some(&hints("{deviceName: /dev/sdc, serialNumber: S1}")), 7).unwrap();
        let serials: Vec<&str> = disks.iter().map(|disk| &*disk.serial).collect();
        assert_eq!(serials, ["REHEARSAL-7", "REHEARSAL-7-1", "S1"]);
        assert!(disks.iter().all(|disk| disk.bus == Bus::Scsi));
        assert_eq!(installed_on("{deviceName: /dev/nvme0n1}").bus, Bus::Nvme);
        assert_eq!(installed_on("{rotational: false}").bus, Bus::Nvme);
        assert_eq!(installed_on("{deviceName: /dev/vda}").bus, Bus::Virtio);
        let named = installed_on("{wwn: '0x5000c500a1b2c3d4', model: PERC, vendor: DELL}");
        assert_eq!(
            (named.bus, named.wwn),
            (Bus::Scsi, Some(0x5000_c500_a1b2_c3d4))
        );
        assert_eq!(named.model.as_deref(), Some("PERC"));
        assert_eq!(named.vendor.as_deref(), Some("DELL"));
        assert!(installed_on("{deviceName: /dev/sda, rotational: false}").solid_state);
        // Hints count in decimal gigabytes.
        assert_eq!(installed_on("{minSizeGigabytes: 480}").gib, 448);
    }

    #[test]
    fn what_no_disk_here_can_be_is_refused_by_name() {
        for (text, named) in [
            ("{hctl: '0:0:0:0'}", "hctl"),
            ("{deviceName: /dev/disk/by-path/pci-0}", "deviceName"),
            ("{deviceName: /dev/dm-0}", "deviceName"),
            (
                "{deviceName: /dev/nvme0n1, wwn: '0x5000c500a1b2c3d4'}",
                "wwn",
            ),
            ("{wwn: eui.0025385971b0a1c2}", "wwn"),
            ("{deviceName: /dev/vda, rotational: false}", "rotational"),
            ("{model: a model of many words}", "model"),
        ] {
            let refusal = of(Some(&hints(text)), 1).unwrap_err().to_string();
            let expected = format!("rootDeviceHints.{named}");
            assert!(refusal.starts_with(&expected), "{text}: {refusal}");
        }
    }
}
