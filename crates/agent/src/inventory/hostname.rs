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

/// The kernel's name of the machine. A machine that has no name of its own is called by the
/// hardware address of its first card that has an address.
pub fn hostname(machine: &dyn Machine, interfaces: &[wire::Interface]) -> String {
    let name = machine.kernel().hostname.trim().to_owned();
    if !NO_NAMES.contains(&name.as_str()) {
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
    interface
        .ipv4_addresses
        .iter()
        .chain(&interface.ipv6_addresses)
        .flatten()
        .filter_map(|cidr| cidr.split('/').next()?.parse().ok())
        .any(|address: IpAddr| match address {
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
        })
}
