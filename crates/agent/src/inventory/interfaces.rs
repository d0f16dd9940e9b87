//! Network interfaces, every one the kernel has.

use std::net::{IpAddr, Ipv6Addr};

use muster_api::wire;
use muster_machine::{Address, Link, Machine, Network, Route};

use super::set;

const CLASS: &str = "/sys/class/net";

/// The flags the wire knows, in its order.
const FLAGS: &[(u32, &str)] = &[
    (Link::UP, "up"),
    (Link::BROADCAST, "broadcast"),
    (Link::LOOPBACK, "loopback"),
    (Link::POINT_TO_POINT, "pointtopoint"),
    (Link::MULTICAST, "multicast"),
    (Link::RUNNING, "running"),
];

/// The interfaces of a machine, in the order of the kernel.
pub fn interfaces(
    machine: &dyn Machine,
    network: &Network,
    is_virtual: bool,
) -> Vec<wire::Interface> {
    network
        .links
        .iter()
        .map(|link| interface(machine, network, link, is_virtual))
        .collect()
}

fn interface(
    machine: &dyn Machine,
    network: &Network,
    link: &Link,
    is_virtual: bool,
) -> wire::Interface {
    let class = format!("{CLASS}/{}", link.name);
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for address in network.addresses_of(link.index) {
        match address.ip {
            IpAddr::V4(ip) if ip.is_link_local() => {}
            IpAddr::V4(ip) => ipv4.push(format!("{ip}/{}", address.prefix)),
            IpAddr::V6(ip) if ip.is_unicast_link_local() => {}
            IpAddr::V6(ip) => ipv6.push(format!("{ip}/{}", ipv6_prefix(network, address, ip))),
        }
    }
    let kind = kind(machine, link);
    let in_slot = (kind == "physical" && !is_virtual)
        .then(|| biosdevname(machine, &class))
        .flatten();
    wire::Interface {
        biosdevname: in_slot,
        client_id: client_id(link),
        flags: Some(
            FLAGS
                .iter()
                .filter(|(flag, _)| link.has(*flag))
                .map(|(_, name)| (*name).to_owned())
                .collect(),
        ),
        has_carrier: set(machine.value(format!("{class}/carrier")) == Some(1)),
        ipv4_addresses: Some(ipv4),
        ipv6_addresses: Some(ipv6),
        // Within a bond all cards wear the address of the bond; each is known by its own.
        mac_address: link.permanent_mac.clone().or_else(|| link.mac.clone()),
        mtu: Some(i64::from(link.mtu)).filter(|mtu| *mtu != 0),
        name: Some(link.name.clone()),
        product: machine.text(format!("{class}/device/device")),
        speed_mbps: machine
            .value::<i32>(format!("{class}/speed"))
            .map(i64::from)
            .filter(|speed| *speed != 0),
        r#type: Some(kind),
        vendor: machine.text(format!("{class}/device/vendor")),
    }
}

fn kind(machine: &dyn Machine, link: &Link) -> String {
    let path = machine.resolve(format!("{CLASS}/{}", link.name).as_ref());
    match path {
        Ok(path) if path.iter().any(|part| part == "virtual") => {
            link.kind.clone().unwrap_or_else(|| "device".to_owned())
        }
        _ => "physical".to_owned(),
    }
}

/// An address from DHCPv6 is reported with a prefix of 128; the network it is in is known from the
/// router's advertisement.
fn ipv6_prefix(network: &Network, address: &Address, ip: Ipv6Addr) -> u8 {
    network
        .routes
        .iter()
        .filter(|route| route.index == Some(address.index))
        .filter(|route| route.protocol == Route::ADVERTISED && route.prefix > 0)
        .find(|route| match route.destination {
            IpAddr::V6(destination) => same_prefix(destination, ip, route.prefix),
            IpAddr::V4(_) => false,
        })
        .map_or(address.prefix, |route| route.prefix)
}

fn same_prefix(a: Ipv6Addr, b: Ipv6Addr, length: u8) -> bool {
    let difference = a.to_bits() ^ b.to_bits();
    difference.leading_zeros() >= u32::from(length)
}

/// How an InfiniBand card calls itself when it asks for an address: a fixed beginning and its
/// GUID, the last eight bytes of its hardware address.
fn client_id(link: &Link) -> Option<String> {
    const BEGINNING: &str = "ff:00:00:00:00:00:02:00:00:02:c9:00";
    const ADDRESS_LENGTH: usize = 20 * 3 - 1;
    const GUID_LENGTH: usize = 8 * 3 - 1;
    let mac = link.mac.as_deref()?;
    let guid = mac.get(mac.len().checked_sub(GUID_LENGTH)?..)?;
    (link.hardware == Link::INFINIBAND && mac.len() == ADDRESS_LENGTH)
        .then(|| format!("{BEGINNING}:{guid}"))
}

/// The name of a card by its place: `em1` for the first on the board, `p3p2` for the second port
/// in slot 3. Only x86 machines have firmware that describes these places.
fn biosdevname(machine: &dyn Machine, class: &str) -> Option<String> {
    const SLOTS: &str = "/sys/bus/pci/slots";
    if machine.kernel().architecture != "x86_64" {
        return None;
    }
    let device = format!("{class}/device");
    if machine.exists(format!("{device}/physfn")) {
        return None;
    }
    let on_board = ["acpi_index", "index"]
        .iter()
        .find_map(|file| machine.value::<u32>(format!("{device}/{file}")));
    if let Some(number) = on_board.filter(|number| *number > 0) {
        return Some(format!("em{number}"));
    }
    let path = machine.resolve(device.as_ref()).ok()?;
    // Domain, bus and device of the card, without the function: that is what a slot has.
    let (address, function) = path.file_name()?.to_str()?.rsplit_once('.')?;
    let slot = machine.names(SLOTS).into_iter().find(|slot| {
        slot.parse::<u32>().is_ok()
            && machine.text(format!("{SLOTS}/{slot}/address")).as_deref() == Some(address)
    })?;
    let function: u32 = function.parse().ok()?;
    Some(format!("p{slot}p{}", function.checked_add(1)?))
}

#[cfg(test)]
mod tests {
    use muster_machine::{Simulated, Tree};

    use super::*;

    #[test]
    fn a_dhcpv6_address_gets_the_prefix_its_router_advertised() {
        let route = |protocol, destination: &str| Route {
            index: Some(2),
            destination: destination.parse().unwrap(),
            prefix: 64,
            gateway: None,
            metric: 0,
            table: Route::MAIN,
            protocol,
        };
        let network = Network {
            routes: vec![
                route(2, "2001:db8:1::"),
                route(9, "2001:db8:2::"),
                route(9, "2001:db8:1::"),
            ],
            ..Network::default()
        };
        let prefix = |ip: &str, index| {
            let address = Address {
                index,
                ip: ip.parse().unwrap(),
                prefix: 128,
            };
            ipv6_prefix(&network, &address, ip.parse().unwrap())
        };
        assert_eq!(prefix("2001:db8:1::5", 2), 64);
        assert_eq!(prefix("2001:db8:1::5", 3), 128);
        assert_eq!(prefix("2001:db8:3::5", 2), 128);
    }

    #[test]
    fn a_card_is_called_by_its_place_on_the_board_or_in_a_slot() {
        let tree = Tree::parse(
            "[/sys/class/net]\na -> ../../devices/pci0000:00/0000:00:1f.6/net/a\n\
             b -> ../../devices/pci0000:3a/0000:3b:00.1/net/b\n\
             [/sys/devices/pci0000:00/0000:00:1f.6]\nacpi_index = 1\n\
             net/a/device -> ../../../0000:00:1f.6\n\
             [/sys/devices/pci0000:3a/0000:3b:00.1]\nnet/b/device -> ../../../0000:3b:00.1\n\
             [/sys/bus/pci/slots]\n3/address = 0000:3b:00\n0-1/address = 0000:3b:00\n",
        )
        .unwrap();
        let machine = Simulated::new(tree);
        let name = |card: &str| biosdevname(&machine, &format!("{CLASS}/{card}"));
        assert_eq!(name("a"), None, "not on another architecture");
        machine.set_kernel(muster_machine::Kernel {
            architecture: "x86_64".into(),
            ..Default::default()
        });
        assert_eq!(name("a").as_deref(), Some("em1"));
        assert_eq!(name("b").as_deref(), Some("p3p2"));
        assert_eq!(name("c"), None);
    }
}
