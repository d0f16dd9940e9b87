//! Root device hints: which disks of a machine fit what a user wrote about the one to install to.

use muster_engine::inventory::Disk;
use serde::Deserialize;

/// What a user wrote; an empty hint fits every disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Hints {
    /// `/dev/sda`, or a path below `/dev/disk/by-path` or `/dev/disk/by-id`.
    pub device_name: String,
    /// SCSI address, exact.
    pub hctl: String,
    /// Part of the model.
    pub model: String,
    /// Part of the vendor.
    pub vendor: String,
    /// Serial number, exact.
    pub serial_number: String,
    /// Smallest size in decimal gigabytes.
    pub min_size_gigabytes: u64,
    /// World-wide name, exact.
    pub wwn: String,
    /// A spinning disk, or none.
    pub rotational: Option<bool>,
}

impl Hints {
    /// No hint at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a disk fits every hint.
    #[must_use]
    pub fn fit(&self, disk: &Disk) -> bool {
        let exact = |hint: &str, value: &str| hint.is_empty() || hint == value;
        let device = format!("/dev/{}", disk.name);
        let paths = [&device, &disk.path, &disk.by_path, &disk.by_id];
        let gigabytes = u64::try_from(disk.size_bytes).unwrap_or(0) / 1_000_000_000;
        (self.device_name.is_empty() || paths.into_iter().any(|path| *path == self.device_name))
            && exact(&self.hctl, &disk.hctl)
            && exact(&self.serial_number, &disk.serial)
            && exact(&self.wwn, &disk.wwn)
            && disk.model.contains(&self.model)
            && disk.vendor.contains(&self.vendor)
            && gigabytes >= self.min_size_gigabytes
            && self
                .rotational
                .is_none_or(|spins| spins == (disk.drive_type == "HDD"))
    }
}

/// The hints as a user wrote them, for messages.
impl std::fmt::Display for Hints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.min_size_gigabytes.to_string();
        let rotational = self.rotational.map(|spins| spins.to_string());
        let all = [
            ("deviceName", self.device_name.as_str()),
            ("hctl", &self.hctl),
            ("model", &self.model),
            ("vendor", &self.vendor),
            ("serialNumber", &self.serial_number),
            (
                "minSizeGigabytes",
                match self.min_size_gigabytes {
                    0 => "",
                    _ => &size,
                },
            ),
            ("wwn", &self.wwn),
            ("rotational", rotational.as_deref().unwrap_or_default()),
        ];
        let given: Vec<String> = all
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        f.write_str(&given.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Disk {
        Disk {
            name: "sda".to_owned(),
            path: "/dev/sda".to_owned(),
            by_path: "/dev/disk/by-path/pci-0".to_owned(),
            by_id: "/dev/disk/by-id/wwn-0x5".to_owned(),
            hctl: "1:2:0:0".to_owned(),
            model: "INTEL SSDSC2".to_owned(),
            vendor: "ATA".to_owned(),
            serial: "S1".to_owned(),
            wwn: "0x5".to_owned(),
            drive_type: "SSD".to_owned(),
            size_bytes: 120_999_999_999,
            ..Disk::default()
        }
    }

    #[test]
    fn every_hint_fits_what_it_means_and_nothing_else() {
        let fits = |text: &str| serde_yaml_ng::from_str::<Hints>(text).unwrap().fit(&disk());
        for hint in [
            "{}",
            "deviceName: /dev/sda",
            "deviceName: /dev/disk/by-path/pci-0",
            "deviceName: /dev/disk/by-id/wwn-0x5",
            "hctl: 1:2:0:0",
            "model: SSD",
            "vendor: AT",
            "serialNumber: S1",
            "minSizeGigabytes: 120",
            "wwn: \"0x5\"",
            "rotational: false",
        ] {
            assert!(fits(hint), "{hint}");
        }
        for hint in [
            "deviceName: /dev/sd",
            "hctl: 1:2:0:1",
            "model: ssd",
            "vendor: NVMe",
            "serialNumber: S",
            "minSizeGigabytes: 121",
            "wwn: \"0x\"",
            "rotational: true",
            "{vendor: ATA, serialNumber: S2}",
        ] {
            assert!(!fits(hint), "{hint}");
        }
        assert!(serde_yaml_ng::from_str::<Hints>("colour: red").is_err());
    }
}
