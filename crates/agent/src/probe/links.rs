//! The interfaces that probes go out of.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use muster_machine::{Link, Machine, Network};

use super::packet::Mac;

/// An interface with what a probe needs of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Largest packet.
    pub mtu: u32,
    /// Its hardware address, if it is one of Ethernet.
    pub mac: Option<Mac>,
    /// All its addresses, those of the link included.
    pub addresses: Vec<IpNet>,
}

impl Nic {
    /// It has an address of that family.
    #[must_use]
    pub fn speaks(&self, v6: bool) -> bool {
        self.addresses.iter().any(|net| net.addr().is_ipv6() == v6)
    }

    /// Its addresses without their networks.
    pub fn own_addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().map(IpNet::addr)
    }

    /// Our address in the network that also holds `remote`.
    #[must_use]
    pub fn beside(&self, remote: Ipv4Addr) -> Option<Ipv4Addr> {
        self.addresses.iter().find_map(|net| match net {
            IpNet::V4(net) if net.contains(&remote) => Some(net.addr()),
            _ => None,
        })
    }
}

/// The interfaces of a machine that carry its traffic: cards, bonds and VLANs that have an
/// address beyond their own link.
pub fn outgoing(machine: &dyn Machine) -> std::io::Result<Vec<Nic>> {
    let network = machine.network()?;
    let carries = |link: &&Link| is_carrier(machine, link);
    let nics = network
        .links
        .iter()
        .filter(carries)
        .map(|link| nic(&network, link));
    Ok(nics
        .filter(|nic| nic.addresses.iter().any(|net| !is_link_local(net.addr())))
        .collect())
}

/// Every interface with a hardware address, for questions about a link.
pub fn all(machine: &dyn Machine) -> std::io::Result<Vec<Nic>> {
    let network = machine.network()?;
    let links = network
        .links
        .iter()
        .filter(|link| !link.has(Link::LOOPBACK));
    Ok(links.map(|link| nic(&network, link)).collect())
}

/// Every address of the machine, the loopback's included.
pub fn own_addresses(machine: &dyn Machine) -> std::io::Result<Vec<IpAddr>> {
    let network = machine.network()?;
    Ok(network.addresses.iter().map(|address| address.ip).collect())
}

fn nic(network: &Network, link: &Link) -> Nic {
    let addresses = network
        .addresses_of(link.index)
        .filter_map(|address| IpNet::new(address.ip, address.prefix).ok())
        .collect();
    Nic {
        name: link.name.clone(),
        index: link.index,
        mtu: link.mtu,
        mac: link.mac.as_deref().and_then(ethernet_mac),
        addresses,
    }
}

/// A card, a bond or a VLAN. A card is what has no virtual device behind it; where that is
/// unknown, it counts as one.
fn is_carrier(machine: &dyn Machine, link: &Link) -> bool {
    if matches!(link.kind.as_deref(), Some("bond" | "vlan")) {
        return true;
    }
    if link.has(Link::LOOPBACK) {
        return false;
    }
    let device = std::path::Path::new("/sys/class/net").join(&link.name);
    machine.resolve(&device).map_or(true, |path| {
        !path.components().any(|part| part.as_os_str() == "virtual")
    })
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

fn ethernet_mac(text: &str) -> Option<Mac> {
    let byte = |part| u8::from_str_radix(part, 16).ok();
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    bytes?.try_into().ok()
}
