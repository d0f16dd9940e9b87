//! Names of PCI vendors and devices, from the database most systems carry.

use muster_machine::Machine;

const DATABASES: &[&str] = &[
    "/usr/share/hwdata/pci.ids",
    "/usr/share/misc/pci.ids",
    "/usr/share/pci.ids",
];

/// Makers of what inventories name, for systems without the database.
const MAKERS: &[(&str, &str)] = &[
    ("1002", "Advanced Micro Devices, Inc. [AMD/ATI]"),
    ("1013", "Cirrus Logic"),
    ("102b", "Matrox Electronics Systems Ltd."),
    ("10de", "NVIDIA Corporation"),
    ("1234", "QEMU"),
    ("15ad", "VMware"),
    ("1a03", "ASPEED Technology, Inc."),
    ("1af4", "Red Hat, Inc."),
    ("1b36", "Red Hat, Inc."),
    ("1d0f", "Amazon.com, Inc."),
    ("1da3", "Habana Labs Ltd."),
    ("8086", "Intel Corporation"),
];

/// The database of one machine; read once, when the first name is asked for.
#[derive(Debug)]
pub struct PciNames(Option<String>);

impl PciNames {
    /// Reads the database.
    pub fn of(machine: &dyn Machine) -> Self {
        Self(DATABASES.iter().find_map(|path| machine.text(path)))
    }

    /// Names of a vendor and one of its devices, by their four hexadecimal digits.
    pub fn of_device(&self, vendor: &str, device: &str) -> (Option<String>, Option<String>) {
        if let Some(text) = &self.0 {
            let mut lines = text.lines();
            let maker = lines
                .by_ref()
                .find_map(|line| line.strip_prefix(vendor)?.strip_prefix("  "));
            let name = lines
                // Devices are indented by one tab, their subsystems by two.
                .take_while(|line| line.starts_with('\t') || line.starts_with('#'))
                .find_map(|line| {
                    line.strip_prefix('\t')?
                        .strip_prefix(device)?
                        .strip_prefix("  ")
                });
            if maker.is_some() {
                return (maker.map(str::to_owned), name.map(str::to_owned));
            }
        }
        let maker = MAKERS.iter().find(|(id, _)| *id == vendor);
        (maker.map(|(_, name)| (*name).to_owned()), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_looked_up_below_its_own_vendor() {
        let text = "# list\n1002  AMD\n\t1eb8  Wrong\n10de  NVIDIA Corporation\n\t1eb7  Other\n\
                    \t1eb8  TU104GL [Tesla T4]\n\t\t10de 12a2  Tesla T4\n8086  Intel\n";
        let names = PciNames(Some(text.into()));
        let (vendor, device) = names.of_device("10de", "1eb8");
        assert_eq!(vendor.as_deref(), Some("NVIDIA Corporation"));
        assert_eq!(device.as_deref(), Some("TU104GL [Tesla T4]"));
        assert_eq!(
            names.of_device("8086", "1eb8"),
            (Some("Intel".into()), None)
        );
        assert_eq!(names.of_device("dead", "beef"), (None, None));
    }

    #[test]
    fn the_usual_makers_are_known_without_a_database() {
        let (vendor, device) = PciNames(None).of_device("10de", "1eb8");
        assert_eq!(vendor.as_deref(), Some("NVIDIA Corporation"));
        assert_eq!(device, None);
    }
}
