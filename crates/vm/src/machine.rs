//! The hardware of a machine: defined first, and compared with the inventory later.

use std::{net::IpAddr, path::PathBuf};

use crate::network::Network;

/// How a machine starts its boot loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firmware {
    /// As old PCs do.
    Bios,
    /// As new ones do.
    Uefi,
}

/// What it starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boot {
    /// An image in its CD drive.
    Cd(PathBuf),
    /// Its first disk or, as long as that is empty, an image in its CD drive: the order in which
    /// machines that are to be installed are usually set up.
    DiskThenCd(PathBuf),
    /// The same image on a stick.
    Usb(PathBuf),
    /// Whatever the network offers.
    Network,
    /// Its first disk or, as long as that is empty, whatever the network offers.
    DiskThenNetwork,
    /// Its first disk.
    Disk,
}

/// How a disk is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// `/dev/vdX`
    Virtio,
    /// `/dev/sdX`
    Scsi,
    /// `/dev/nvmeXn1`
    Nvme,
}

/// A disk, empty at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// How it is attached.
    pub bus: Bus,
    /// Its size in GiB; only what is written takes room.
    pub gib: u64,
    /// The serial number it reports.
    pub serial: String,
    /// The world-wide name it reports; SCSI disks only.
    pub wwn: Option<u64>,
    /// The vendor it reports, if it is not QEMU's; SCSI disks only.
    pub vendor: Option<String>,
    /// The model it reports, if it is not QEMU's; SCSI disks only.
    pub model: Option<String>,
    /// It reports that nothing in it turns; SCSI disks only, NVMe disks always do.
    pub solid_state: bool,
    /// A sector that can be read and not written, of 512 bytes.
    pub bad_sector: Option<u64>,
}

impl Disk {
    /// A disk with a serial number.
    #[must_use]
    pub fn new(bus: Bus, gib: u64, serial: &str) -> Self {
        Self {
            bus,
            gib,
            serial: serial.to_owned(),
            wwn: None,
            vendor: None,
            model: None,
            solid_state: false,
            bad_sector: None,
        }
    }

    /// The same with a world-wide name.
    #[must_use]
    pub fn with_wwn(mut self, wwn: u64) -> Self {
        self.wwn = Some(wwn);
        self
    }

    /// The same with a sector that can be read and not written, at this offset in MiB.
    #[must_use]
    pub fn failing_at(mut self, mib: u64) -> Self {
        self.bad_sector = Some(mib * 2048);
        self
    }
}

/// A network card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// Its address, in lower case.
    pub mac: String,
}

/// A computer.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name in logs, and in DHCP if the network knows it.
    pub name: String,
    /// Processors.
    pub cpus: u32,
    /// Memory in MiB; only what is used takes room.
    pub memory_mib: u64,
    /// How it starts.
    pub firmware: Firmware,
    /// What it starts from.
    pub boot: Boot,
    /// Its cards, all on one wire.
    pub nics: Vec<Nic>,
    /// The addresses DHCP gives it if it knows it, one of an IP family.
    pub addresses: Vec<IpAddr>,
    /// Its disks.
    pub disks: Vec<Disk>,
    /// SMBIOS manufacturer.
    pub vendor: String,
    /// SMBIOS product name.
    pub product: String,
    /// SMBIOS serial number.
    pub serial: String,
    /// SMBIOS UUID; the host's identity.
    pub uuid: String,
    /// Whether it has a TPM 2.0.
    pub tpm: bool,
    /// What its clock shows at the start, such as `2020-01-01T00:00:00`; else the right time.
    pub clock: Option<String>,
}

impl Machine {
    /// A machine that differs from others in its number: MAC addresses, serial numbers, UUID.
    #[must_use]
    pub fn numbered(name: &str, number: u8, boot: Boot) -> Self {
        Self {
            name: name.to_owned(),
            // One each, so that two machines beside each other have a core each.
            cpus: 1,
            memory_mib: 2048,
            firmware: Firmware::Bios,
            boot,
            nics: vec![Nic {
                mac: format!("52:54:00:6d:75:{number:02x}"),
            }],
            addresses: vec![Network::address(number).into()],
            disks: vec![Disk::new(Bus::Virtio, 20, &format!("MUSTER-DISK-{number}"))],
            vendor: "Muster".into(),
            product: "Test bench".into(),
            serial: format!("MUSTER-{number:04}"),
            uuid: format!("6d757374-6572-4000-8000-0000000000{number:02x}"),
            tpm: false,
            clock: None,
        }
    }

    /// The MAC address of its first card.
    #[must_use]
    pub fn mac(&self) -> &str {
        self.nics.first().map_or("", |nic| &nic.mac)
    }
}
