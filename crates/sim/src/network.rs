//! The wires between the machines of one fleet: which machines reach each other, which addresses are taken,
//! what names mean. All replies of a fleet come from here, so they agree with each other.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ipnet::{Ipv4Net, Ipv6Net};

use crate::{
    fault::{Fault, Faults},
    machine::{Build, Machine},
    seed::{Seed, mix},
};

/// Where machines begin; below are gateway, services and virtual addresses.
const FIRST_MACHINE: u32 = 20;
/// Ranges for fleets of growing size.
const RANGES: [(&str, usize); 3] = [
    ("192.168.126.0/24", 200),
    ("192.168.124.0/22", 950),
    ("10.96.0.0/12", 1_000_000),
];

/// The range of the second family: large enough for every machine.
const RANGE_6: Ipv6Net =
    Ipv6Net::new_assert(Ipv6Addr::new(0xfd2e, 0x6f44, 0x5dd8, 0, 0, 0, 0, 0), 64);

/// What a fleet needs beyond its machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Addresses of both families.
    pub dual_stack: bool,
    /// Machines that carry more than the cluster itself.
    pub roomy: bool,
}

/// One layer-2 network with everything in it.
#[derive(Debug)]
pub struct Network {
    range: Ipv4Net,
    /// Host part of the virtual addresses' first one.
    first_vip: u32,
    machines: Vec<Arc<Machine>>,
    by_address: HashMap<IpAddr, usize>,
    /// Faults that belong to no host in particular.
    anywhere: Faults,
    /// Counts changes, so that replies are made again only after one.
    revision: AtomicU64,
}

/// What happens to packets between two machines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link {
    /// Nothing comes through.
    Cut,
    /// They arrive.
    Up {
        /// Round trip, ms.
        rtt_ms: f64,
        /// Share that is lost, percent.
        loss_percent: f64,
    },
}

impl Network {
    /// Builds machines for `builds` and connects them.
    #[must_use]
    pub fn with(seed: Seed, builds: &[Build], site: Site) -> Self {
        let (text, _) = RANGES
            .iter()
            .find(|(_, most)| builds.len() <= *most)
            .unwrap_or(&RANGES[2]);
        // The table above holds ranges; the fallback only keeps this total.
        let range = text
            .parse()
            .unwrap_or_else(|_| Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8));
        let mut machines: Vec<Machine> = builds
            .iter()
            .enumerate()
            .map(|(index, build)| {
                let address = address(range, FIRST_MACHINE + index as u32);
                let mut machine = Machine::draw(seed, index, *build, address);
                machine.address6 = site
                    .dual_stack
                    .then(|| address6(FIRST_MACHINE + index as u32));
                if site.roomy {
                    machine.enlarge();
                }
                machine
            })
            .collect();
        // A machine with a duplicate name has that of the machine before it.
        for index in 0..machines.len() {
            let other = match index {
                0 => machines.get(1),
                _ => machines.get(index - 1),
            };
            if let Some(name) = other.map(|other| other.name().to_owned()) {
                machines[index].borrow_name(&name);
            }
        }
        let machines: Vec<Arc<Machine>> = machines.into_iter().map(Arc::new).collect();
        let by_address = machines
            .iter()
            .flat_map(|machine| {
                let both = [
                    Some(machine.address.into()),
                    machine.address6.map(IpAddr::from),
                ];
                both.into_iter()
                    .flatten()
                    .map(|address| (address, machine.index))
            })
            .collect();
        Self {
            range,
            first_vip: 5,
            machines,
            by_address,
            anywhere: Faults::default(),
            revision: AtomicU64::new(1),
        }
    }

    /// Every machine.
    #[must_use]
    pub fn machines(&self) -> &[Arc<Machine>] {
        &self.machines
    }

    /// The range of addresses.
    #[must_use]
    pub const fn range(&self) -> Ipv4Net {
        self.range
    }

    /// The range of the second family.
    #[must_use]
    pub const fn range6(&self) -> Ipv6Net {
        RANGE_6
    }

    /// Addresses of the second family kept free for API and ingress.
    #[must_use]
    pub fn vips6(&self) -> [Ipv6Addr; 2] {
        [self.first_vip, self.first_vip + 1].map(address6)
    }

    /// The way out.
    #[must_use]
    pub fn gateway(&self) -> Ipv4Addr {
        address(self.range, 1)
    }

    /// The time source, which is also the DNS server.
    #[must_use]
    pub fn clock(&self) -> Ipv4Addr {
        address(self.range, 2)
    }

    /// Address kept free for the API.
    #[must_use]
    pub fn api_vip(&self) -> Ipv4Addr {
        address(self.range, self.first_vip)
    }

    /// Address kept free for ingress.
    #[must_use]
    pub fn ingress_vip(&self) -> Ipv4Addr {
        address(self.range, self.first_vip + 1)
    }

    /// Management port of a machine, in a network of its own.
    #[must_use]
    pub fn bmc(&self, index: usize) -> Ipv4Addr {
        address(
            Ipv4Net::new_assert(Ipv4Addr::new(172, 22, 0, 0), 16),
            FIRST_MACHINE + index as u32,
        )
    }

    /// How often something changed.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    /// Breaks something about a machine.
    pub fn set(&self, machine: &Machine, fault: Fault) {
        machine.faults.set(fault);
        self.revision.fetch_add(1, Ordering::Relaxed);
    }

    /// Breaks something about a machine, or about another one if that leads an installation.
    pub fn set_somewhere(&self, machine: &Machine, fault: Fault) {
        self.anywhere.set(fault);
        self.set(machine, fault);
    }

    /// A machine leads the installation: faults that break installations go to the machine
    /// before it, unless the user wanted them here.
    pub(crate) fn spare(&self, lead: &Machine) {
        let Some(heir) = lead.index.checked_sub(1).and_then(|i| self.machines.get(i)) else {
            return;
        };
        for fault in Fault::all().filter(|fault| fault.strikes_the_installer()) {
            if self.anywhere.has(fault) && lead.faults.lift(fault) {
                self.set(heir, fault);
            }
        }
    }

    /// Repairs something about a machine.
    pub fn lift(&self, machine: &Machine, fault: Fault) {
        if machine.faults.lift(fault) {
            self.revision.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Who has an address.
    #[must_use]
    pub fn at(&self, address: IpAddr) -> Option<&Machine> {
        self.by_address
            .get(&address)
            .map(|index| &*self.machines[*index])
    }

    /// The way from one machine to another.
    #[must_use]
    pub fn link(&self, from: &Machine, to: &Machine) -> Link {
        let either = |fault| from.faults.has(fault) || to.faults.has(fault);
        if either(Fault::SplitNetwork) && from.index != to.index {
            return Link::Cut;
        }
        let (a, b) = (from.index.min(to.index), from.index.max(to.index));
        // The same pair always has the same distance: 0.10 to 0.59 ms.
        let step = mix(a as u64, b as u64) % 50;
        let rtt_ms = if either(Fault::HighLatency) {
            1500.0
        } else {
            0.1 + step as f64 / 100.0
        };
        let loss_percent = if either(Fault::PacketLoss) { 25.0 } else { 0.0 };
        Link::Up {
            rtt_ms,
            loss_percent,
        }
    }

    /// Whether something in the range answers on an address.
    #[must_use]
    pub fn is_taken(&self, address: Ipv4Addr) -> bool {
        self.by_address.contains_key(&IpAddr::V4(address))
            || address == self.gateway()
            || address == self.clock()
    }

    /// What DNS says about a name, as seen by a machine.
    #[must_use]
    pub fn resolve(&self, from: &Machine, name: &str) -> Option<Ipv4Addr> {
        let name = name.trim_end_matches('.');
        let single = from.build == Build::Single;
        let own = |vip| if single { from.address } else { vip };
        if name.starts_with("validateNoWildcardDNS.") {
            let wild = from.faults.has(Fault::WildcardDns);
            return wild.then(|| own(self.ingress_vip()));
        }
        if name.starts_with("api.") || name.starts_with("api-int.") {
            return Some(own(self.api_vip()));
        }
        if name.contains(".apps.") {
            return Some(own(self.ingress_vip()));
        }
        // Somewhere on the internet: the range kept for examples.
        let last = mix(crate::seed::text(name), 0) % 254 + 1;
        Some(Ipv4Addr::new(203, 0, 113, u8::try_from(last).unwrap_or(1)))
    }

    /// The addresses of a range that are not in use; ranges that are not ours are all free.
    pub fn free_in(&self, range: Ipv4Net) -> impl Iterator<Item = Ipv4Addr> + '_ {
        let first = u32::from(range.network());
        let last = u32::from(range.broadcast());
        (first..=last)
            .map(Ipv4Addr::from)
            .filter(|address| !self.is_taken(*address))
    }
}

fn address(range: Ipv4Net, number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(range.network()).wrapping_add(number))
}

fn address6(number: u32) -> Ipv6Addr {
    Ipv6Addr::from(u128::from(RANGE_6.network()) + u128::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(count: usize) -> Network {
        Network::with(Seed(1), &vec![Build::Worker; count], Site::default())
    }

    #[test]
    fn every_machine_has_an_address_of_its_own_inside_the_range() {
        for count in [1, 200, 201, 951, 5000] {
            let network = network(count);
            assert_eq!(network.by_address.len(), count);
            assert!(
                network
                    .machines
                    .iter()
                    .all(|machine| network.range.contains(&machine.address))
            );
        }
    }

    #[test]
    fn the_way_there_is_as_long_as_the_way_back() {
        let network = network(4);
        let [a, b, ..] = network.machines() else {
            panic!("no machines")
        };
        assert_eq!(network.link(a, b), network.link(b, a));
        network.set(a, Fault::SplitNetwork);
        assert_eq!(network.link(b, a), Link::Cut);
        network.lift(a, Fault::SplitNetwork);
        assert!(matches!(network.link(b, a), Link::Up { .. }));
    }

    #[test]
    fn a_leader_is_spared_what_breaks_installations_unless_it_was_named() {
        let network = network(3);
        let [_, heir, lead] = network.machines() else {
            panic!("no machines")
        };
        network.set_somewhere(lead, Fault::HostLost);
        network.set_somewhere(lead, Fault::SlowDisk);
        network.set(lead, Fault::StageFailure);
        network.spare(lead);
        assert!(heir.faults.has(Fault::HostLost) && !lead.faults.has(Fault::HostLost));
        assert!(lead.faults.has(Fault::SlowDisk) && lead.faults.has(Fault::StageFailure));
    }

    #[test]
    fn machines_of_both_families_are_found_by_either_address() {
        let site = Site {
            dual_stack: true,
            roomy: true,
        };
        let network = Network::with(Seed(1), &[Build::ControlPlane; 2], site);
        let second = &network.machines()[1];
        let address = second.address6.unwrap();
        assert!(network.range6().contains(&address));
        assert_eq!(network.at(address.into()).map(|m| m.id), Some(second.id));
        assert_eq!((second.cpus, second.memory_gib), (32, 128));
    }

    #[test]
    fn virtual_addresses_are_free_and_machines_are_not() {
        let network = network(3);
        let free: Vec<Ipv4Addr> = network.free_in(network.range()).collect();
        assert!(free.contains(&network.api_vip()) && free.contains(&network.ingress_vip()));
        assert!(!free.contains(&network.machines()[1].address));
        assert_eq!(free.len(), 256 - 3 - 2);
    }
}
