//! A simulated computer: its hardware, derived from the seed, and its faults.
//!
//! The description an agent would give of it is in [`crate::inventory`].

use std::net::{Ipv4Addr, Ipv6Addr};

use rand::{Rng, rngs::StdRng};
use uuid::Uuid;

use crate::{
    fault::{Fault, Faults},
    seed::{self, Seed},
};

/// What a machine is bought for. Roles are given by the service; this is the size of the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// A whole cluster in one box.
    Single,
    /// Control plane.
    ControlPlane,
    /// The small third voice of a control plane of two.
    Arbiter,
    /// Worker.
    Worker,
}

impl Build {
    /// The role a user would give it; the one machine of a single-node cluster has it already.
    #[must_use]
    pub const fn role(self) -> Option<&'static str> {
        match self {
            Self::Single => None,
            Self::ControlPlane => Some("master"),
            Self::Arbiter => Some("arbiter"),
            Self::Worker => Some("worker"),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Single => "node",
            Self::ControlPlane => "control",
            Self::Arbiter => "arbiter",
            Self::Worker => "worker",
        }
    }

    /// CPU threads and GiB of memory to choose from; all are enough for the role.
    const fn sizes(self) -> &'static [(i64, i64)] {
        match self {
            Self::Single => &[(16, 64), (32, 128)],
            Self::ControlPlane => &[(8, 32), (16, 64), (32, 128)],
            Self::Arbiter => &[(4, 16)],
            Self::Worker => &[(16, 64), (32, 128), (64, 256)],
        }
    }
}

/// A line of products.
#[derive(Debug)]
pub struct Product {
    /// Maker of the machine.
    pub manufacturer: &'static str,
    /// Its name for it.
    pub name: &'static str,
    /// Processor.
    pub cpu: &'static str,
    /// Clock of that, MHz.
    pub mhz: f64,
    /// Names of its two network ports.
    pub ports: [&'static str; 2],
    /// First half of the MAC addresses.
    pub mac_prefix: &'static str,
    /// PCI ids of the network card: vendor, device.
    pub card: [&'static str; 2],
    /// Disk model.
    pub disk: &'static str,
    /// Maker of the disk.
    pub disk_vendor: &'static str,
}

static PRODUCTS: &[Product] = &[
    Product {
        manufacturer: "Dell Inc.",
        name: "PowerEdge R650",
        cpu: "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
        mhz: 3200.0,
        ports: ["eno12399", "eno12409"],
        mac_prefix: "b0:7b:25",
        card: ["0x8086", "0x159b"],
        disk: "MZ7L3480HBLTAD3",
        disk_vendor: "ATA",
    },
    Product {
        manufacturer: "HPE",
        name: "ProLiant DL360 Gen10",
        cpu: "Intel(R) Xeon(R) Silver 4214R CPU @ 2.40GHz",
        mhz: 3500.0,
        ports: ["ens1f0", "ens1f1"],
        mac_prefix: "94:40:c9",
        card: ["0x14e4", "0x16d8"],
        disk: "MK000480GWXFF",
        disk_vendor: "ATA",
    },
    Product {
        manufacturer: "Supermicro",
        name: "AS -1114S-WN10RT",
        cpu: "AMD EPYC 7443P 24-Core Processor",
        mhz: 4035.0,
        ports: ["enp65s0f0", "enp65s0f1"],
        mac_prefix: "3c:ec:ef",
        card: ["0x15b3", "0x1017"],
        disk: "Micron_5300_MTFDDAK480TDS",
        disk_vendor: "ATA",
    },
];

/// One machine.
#[derive(Debug)]
pub struct Machine {
    /// Its place in the fleet.
    pub index: usize,
    /// What its firmware says it is.
    pub id: Uuid,
    /// Its own name; [`Machine::hostname`] is what it reports.
    name: String,
    /// The name it uses instead while it has [`Fault::DuplicateHostname`].
    borrowed_name: String,
    /// What it was bought for.
    pub build: Build,
    /// Who made it.
    pub product: &'static Product,
    /// CPU threads.
    pub cpus: i64,
    /// Memory, GiB.
    pub memory_gib: i64,
    /// Serial number of the box.
    pub serial: String,
    /// MAC addresses of its ports.
    pub macs: [String; 2],
    /// World-wide name of the installation disk, without its prefix.
    pub wwn: String,
    /// Serial number of the installation disk.
    pub disk_serial: String,
    /// Address of its first port.
    pub address: Ipv4Addr,
    /// The other address of its first port, in networks of both families.
    pub address6: Option<Ipv6Addr>,
    /// How long after the others it is switched on and polls, as a share of an interval.
    pub phase: f64,
    /// What is wrong with it.
    pub faults: Faults,
}

impl Machine {
    /// Draws machine number `index` of a fleet.
    #[must_use]
    pub fn draw(seed: Seed, index: usize, build: Build, address: Ipv4Addr) -> Self {
        let mut rng = seed.rng("machine", index as u64);
        let product = &PRODUCTS[rng.random_range(0..PRODUCTS.len())];
        let sizes = build.sizes();
        let (cpus, memory_gib) = sizes[rng.random_range(0..sizes.len())];
        let id = seed::uuid(&mut rng);
        // Counted from a start that the whole fleet shares: no two ports get the same.
        let start = seed.rng("ports", 0).random_range(0..1_u32 << 24);
        let macs = [0, 1].map(|port| {
            let number = start.wrapping_add(index as u32 * 2 + port).to_be_bytes();
            let [_, a, b, c] = number;
            format!("{}:{a:02x}:{b:02x}:{c:02x}", product.mac_prefix)
        });
        Self {
            index,
            id,
            name: format!("{}-{index}", build.name()),
            borrowed_name: format!("{}-{}", build.name(), index.saturating_sub(1)),
            build,
            product,
            cpus,
            memory_gib,
            serial: letters(&mut rng, 7),
            macs,
            wwn: format!("5{}", hex(&mut rng, 15)),
            disk_serial: format!("S{}", letters(&mut rng, 13)),
            address,
            address6: None,
            phase: rng.random_range(0.0..1.0),
            faults: Faults::default(),
        }
    }

    /// The name it reports.
    #[must_use]
    pub fn hostname(&self) -> &str {
        if self.faults.has(Fault::DuplicateHostname) {
            &self.borrowed_name
        } else {
            &self.name
        }
    }

    /// Its own name, which the simulation uses for it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The largest model there is, for those who carry more than the cluster itself.
    pub(crate) fn enlarge(&mut self) {
        if let Some((cpus, memory)) = self.build.sizes().last() {
            (self.cpus, self.memory_gib) = (*cpus, *memory);
        }
    }

    /// Another name to borrow: that of the machine it is to be mistaken for.
    pub(crate) fn borrow_name(&mut self, other: &str) {
        other.clone_into(&mut self.borrowed_name);
    }

    /// How far its clock is off, in seconds.
    #[must_use]
    pub fn clock_offset(&self) -> i64 {
        if self.faults.has(Fault::ClockSkew) {
            -40 * 60
        } else {
            0
        }
    }
}

fn hex(rng: &mut StdRng, digits: usize) -> String {
    (0..digits)
        .map(|_| char::from_digit(rng.random_range(0..16), 16).unwrap_or('0'))
        .collect()
}

fn letters(rng: &mut StdRng, count: usize) -> String {
    (0..count)
        .map(|_| {
            char::from_digit(rng.random_range(0..36), 36)
                .unwrap_or('0')
                .to_ascii_uppercase()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn machine(seed: u64, index: usize) -> Machine {
        let address = Ipv4Addr::new(192, 168, 126, 20);
        Machine::draw(Seed(seed), index, Build::Worker, address)
    }

    #[test]
    fn the_same_seed_builds_the_same_machine() {
        assert_eq!(
            format!("{:?}", machine(1, 2)),
            format!("{:?}", machine(1, 2))
        );
        assert_ne!(machine(1, 2).id, machine(2, 2).id);
        assert_ne!(machine(1, 2).serial, machine(1, 3).serial);
    }

    #[test]
    fn no_two_ports_of_a_large_fleet_share_a_mac_address() {
        let macs: BTreeSet<String> = (0..2000).flat_map(|index| machine(1, index).macs).collect();
        assert_eq!(macs.len(), 4000);
        let well_formed = |mac: &String| {
            mac.len() == 17
                && mac
                    .split(':')
                    .all(|part| u8::from_str_radix(part, 16).is_ok())
        };
        assert!(macs.iter().all(well_formed));
    }
}
