//! The name of the machine, or a name made for it.

use std::net::IpAddr;

use muster_api::wire;
use muster_machine::Machine;

/// Names that every machine has before it gets one.
const NO_NAMES: &[&str] = &[
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];

/// The machine has no name of its own.
pub fn is_unnamed(machine: &dyn Machine) -> bool {
    NO_NAMES.contains(&machine.kernel().hostname.trim())
}

/// Addresses by which other machines may know this one, in the order of its cards.
pub fn global_addresses(interfaces: &[wire::Interface]) -> Vec<IpAddr> {
    interfaces
        .iter()
        .flat_map(|interface| {
            let v4 = interface.ipv4_addresses.iter().flatten();
            v4.chain(interface.ipv6_addresses.iter().flatten())
        })
        .filter_map(|cidr| cidr.split('/').next()?.parse().ok())
        .filter(is_global)
        .collect()
}

/// Whether a name that a server gave can be the name of a machine.
pub fn is_usable(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label) && !NO_NAMES.contains(&name)
}

/// The kernel's name of the machine. A machine that has no name of its own is called by the
/// hardware address of its first card that has an address.
pub fn hostname(machine: &dyn Machine, interfaces: &[wire::Interface]) -> String {
    let name = machine.kernel().hostname.trim().to_owned();
    if !is_unnamed(machine) {
        return name;
    }
    let mut candidates: Vec<&wire::Interface> = interfaces
        .iter()
        .filter(|interface| {
            matches!(
                interface.r#type.as_deref(),
                Some("physical" | "vlan" | "bond")
            )
        })
        .filter(|interface| has_global_address(interface))
        .collect();
    candidates.sort_by(|a, b| a.name.cmp(&b.name));
    candidates
        .into_iter()
        .find_map(|interface| interface.mac_address.as_deref())
        .map_or(name, |mac| mac.replace(':', "-"))
}

fn has_global_address(interface: &wire::Interface) -> bool {
    !global_addresses(std::slice::from_ref(interface)).is_empty()
}

fn is_global(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            !(v4.is_unspecified()
                || v4.is_loopback()
                || v4.is_multicast()
                || v4.is_link_local()
                || v4.is_broadcast())
        }
        IpAddr::V6(v6) => {
            !(v6.is_unspecified()
                || v6.is_loopback()
                || v6.is_multicast()
                || v6.is_unicast_link_local())
        }
    }
}
