//! What the network description of a machine (nmstate) says about its cards and its neighbours.

use std::{collections::HashSet, net::IpAddr};

use anyhow::{Context, Result};
use muster_api::wire;
use muster_documents::nmstate_layers::lies_upon;
use serde_json::Value;

use super::{
    addresses::Addresses,
    described::{Card, Described, canonical},
};

/// Interfaces stacked on one another at most; more is a loop.
const DEEPEST: u32 = 8;

/// The part of a description that a rehearsal must play along with.
#[derive(Default)]
pub struct Wiring {
    /// How it can be reached.
    pub endpoints: Vec<Endpoint>,
    /// Where it sends what it cannot deliver itself.
    pub gateways: Vec<IpAddr>,
    /// Its name servers.
    pub servers: Vec<IpAddr>,
    /// The largest packet it may send, if it says so.
    pub mtu: Option<u64>,
    /// Cards: what they are called, if they have a name; hardware address.
    cards: Vec<(Option<String>, String)>,
}

/// An interface with addresses.
pub struct Endpoint {
    /// Addresses the machine gives itself there.
    pub addresses: Vec<IpAddr>,
    /// It asks for one.
    pub dhcp: bool,
    /// The VLAN it is in.
    pub vlan: Option<u16>,
}

impl Wiring {
    /// Reads a description; the machine's number makes up what is missing.
    pub fn of(described: &Described, number: u8) -> Self {
        let network = described.network.as_ref().unwrap_or(&Value::Null);
        let interfaces: Vec<&Value> = list(&network["interfaces"]).collect();
        let ip = |value: &Value| value.as_str()?.parse::<IpAddr>().ok();
        let mut wiring = Self {
            cards: cards(described, &interfaces, number),
            mtu: interfaces
                .iter()
                .filter_map(|interface| interface["mtu"].as_u64())
                .max(),
            ..Self::default()
        };
        for interface in &interfaces {
            let families = ["ipv4", "ipv6"].map(|family| &interface[family]);
            let addresses = families.iter().flat_map(|family| list(&family["address"]));
            let asks = |family: &&Value| family["enabled"] == true && family["dhcp"] == true;
            let endpoint = Endpoint {
                addresses: addresses.filter_map(|address| ip(&address["ip"])).collect(),
                dhcp: families.iter().any(asks),
                vlan: vlan(&interfaces, interface, DEEPEST),
            };
            let asks_first =
                endpoint.dhcp && !wiring.endpoints.iter().any(|endpoint| endpoint.dhcp);
            if asks_first && let Some(card) = lowest(&interfaces, interface, DEEPEST) {
                wiring.put_first(card);
            }
            if endpoint.dhcp || !endpoint.addresses.is_empty() {
                wiring.endpoints.push(endpoint);
            }
        }
        let routes = list(&network["routes"]["config"]);
        wiring
            .gateways
            .extend(routes.filter_map(|route| ip(&route["next-hop-address"])));
        let servers = list(&network["dns-resolver"]["config"]["server"]);
        wiring.servers.extend(servers.filter_map(ip));
        wiring
    }

    /// The first card is the one that DHCP knows.
    fn put_first(&mut self, name: &str) {
        let mut cards = self.cards.iter();
        let place = cards.position(|(known, _)| known.as_deref() == Some(name));
        if let Some(place) = place {
            let card = self.cards.remove(place);
            self.cards.insert(0, card);
        }
    }

    /// Addresses the machine gives itself.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let addresses = self
            .endpoints
            .iter()
            .flat_map(|endpoint| &endpoint.addresses);
        addresses.copied()
    }

    /// The VLANs in which it has the machine networks, or asks for them.
    pub fn vlans(&self, machine_networks: &Addresses) -> Vec<Option<u16>> {
        let on_wire = |endpoint: &&Endpoint| {
            let mut addresses = endpoint.addresses.iter();
            addresses.any(|address| machine_networks.contain(*address))
        };
        let endpoints: Vec<&Endpoint> = self.endpoints.iter().filter(on_wire).collect();
        let asking = self.endpoints.iter().find(|endpoint| endpoint.dhcp);
        match (endpoints.is_empty(), asking) {
            (false, _) => endpoints.iter().map(|endpoint| endpoint.vlan).collect(),
            (true, asking) => vec![asking.and_then(|endpoint| endpoint.vlan)],
        }
    }

    /// The hardware addresses of its cards.
    pub fn macs(&self) -> Vec<String> {
        self.cards.iter().map(|(_, mac)| mac.clone()).collect()
    }

    /// The description in the form the service takes, with the hardware address of each card that has
    /// a name.
    pub fn request(
        &self,
        network: Option<&Value>,
    ) -> Result<Option<wire::HostStaticNetworkConfig>> {
        let Some(network) = network else {
            return Ok(None);
        };
        let named = self.cards.iter().filter_map(|(name, mac)| {
            let name = name.as_ref()?;
            Some(wire::MacInterfaceMapItem {
                mac_address: Some(mac.clone()),
                logical_nic_name: Some(name.clone()),
            })
        });
        let yaml = serde_yaml_ng::to_string(network).context("networkConfig as YAML")?;
        Ok(Some(wire::HostStaticNetworkConfig {
            mac_interface_map: Some(named.collect()),
            network_yaml: Some(yaml),
        }))
    }
}

/// The machine's cards: those its network speaks of, then those only its files name. A card without
/// an address gets the next that no name was given to, else one made up.
fn cards(
    described: &Described,
    interfaces: &[&Value],
    number: u8,
) -> Vec<(Option<String>, String)> {
    let spoken_of = spoken_of(interfaces);
    let given: Vec<Option<String>> = spoken_of
        .iter()
        .map(|name| {
            let interface = interfaces.iter().find(|one| one["name"] == **name);
            let mac = interface.and_then(|interface| interface["mac-address"].as_str());
            let named = |card: &&Card| card.name.as_deref() == Some(name);
            mac.map(canonical).or_else(|| {
                let card = described.cards.iter().find(named);
                card.map(|card| card.mac.clone())
            })
        })
        .collect();
    let used: HashSet<&String> = given.iter().flatten().collect();
    let rest = described
        .cards
        .iter()
        .filter(|card| !used.contains(&card.mac));
    let (mut nameless, others): (Vec<_>, Vec<_>) = rest.partition(|card| card.name.is_none());
    nameless.reverse();
    let mut cards: Vec<(Option<String>, String)> = spoken_of
        .iter()
        .zip(&given)
        .enumerate()
        .map(|(index, (name, mac))| {
            let made_up = || format!("52:54:00:{index:02x}:72:{number:02x}");
            let next = || nameless.pop().map(|card| card.mac.clone());
            let mac = mac.clone().or_else(next).unwrap_or_else(made_up);
            (Some((*name).to_owned()), mac)
        })
        .collect();
    let left = others.into_iter().chain(nameless.into_iter().rev());
    cards.extend(left.map(|card| (card.name.clone(), card.mac.clone())));
    cards
}

/// Names of cards: Ethernet interfaces, and what others are stacked on without being described.
fn spoken_of<'a>(interfaces: &[&'a Value]) -> Vec<&'a str> {
    let known: HashSet<&str> = interfaces
        .iter()
        .filter_map(|interface| interface["name"].as_str())
        .collect();
    let mut names = Vec::new();
    for interface in interfaces {
        let name = interface["name"].as_str();
        let kind = interface["type"].as_str();
        if matches!(kind, Some("ethernet" | "802-3-ethernet")) {
            names.extend(name);
        }
        names.extend(lies_upon(interface).filter(|name| !known.contains(name)));
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// The first card below an interface; it may be one itself.
fn lowest<'a>(interfaces: &[&'a Value], interface: &'a Value, depth: u32) -> Option<&'a str> {
    let depth = depth.checked_sub(1)?;
    let Some(below) = lies_upon(interface).next() else {
        return interface["name"].as_str();
    };
    match interfaces.iter().find(|one| one["name"] == below) {
        Some(lower) => lowest(interfaces, lower, depth),
        None => Some(below),
    }
}

/// The VLAN an interface is in, by itself or by an interface below it.
fn vlan(interfaces: &[&Value], interface: &Value, depth: u32) -> Option<u16> {
    if let Some(id) = interface["vlan"]["id"].as_u64() {
        return u16::try_from(id).ok();
    }
    let depth = depth.checked_sub(1)?;
    lies_upon(interface).find_map(|name| {
        let lower = interfaces.iter().find(|one| one["name"] == name)?;
        vlan(interfaces, lower, depth)
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn card(name: Option<&str>, mac: &str) -> Card {
        Card {
            name: name.map(str::to_owned),
            mac: mac.to_owned(),
        }
    }

    #[test]
    fn cards_are_found_below_bonds_bridges_and_vlans() {
        let network = json!({"interfaces": [
            {"name": "br-ex", "type": "ovs-bridge", "bridge": {"port": [{"name": "bond0.20"}]},
             "ipv4": {"enabled": true, "dhcp": true}},
            {"name": "bond0.20", "type": "vlan", "vlan": {"base-iface": "bond0", "id": 20}},
            {"name": "bond0", "type": "bond", "mtu": 9000,
             "link-aggregation": {"mode": "active-backup", "port": ["eno1", "eno2"]}},
            {"name": "eno1", "type": "ethernet", "mac-address": "52:54:00:AA:00:01"},
            {"name": "eno3", "type": "ethernet"},
        ]});
        let described = Described {
            cards: vec![
                card(Some("eno2"), "52:54:00:aa:00:02"),
                card(None, "52:54:00:aa:00:03"),
                card(Some("eno4"), "52:54:00:aa:00:04"),
            ],
            network: Some(network.clone()),
            ..Described::default()
        };
        let wiring = Wiring::of(&described, 7);
        let last = |number| format!("52:54:00:aa:00:0{number}");
        // The one under the bridge that asks by DHCP, then as the description speaks of them; what
        // has no name goes to a card without one.
        assert_eq!(wiring.macs(), [last(1), last(2), last(3), last(4)]);
        let request = wiring.request(Some(&network)).unwrap().unwrap();
        let map = request.mac_interface_map.unwrap();
        let names: Vec<_> = map
            .iter()
            .map(|card| card.logical_nic_name.as_deref().unwrap())
            .collect();
        assert_eq!(names, ["eno1", "eno2", "eno3", "eno4"]);
        assert_eq!(wiring.mtu, Some(9000));
        assert_eq!(wiring.endpoints.len(), 1);
        assert_eq!(wiring.endpoints[0].vlan, Some(20));
        assert!(wiring.endpoints[0].dhcp);
    }

    #[test]
    fn a_card_needs_no_type_if_the_files_name_it() {
        let network =
            json!({"interfaces": [{"name": "lan0", "ipv4": {"enabled": true, "dhcp": true}}]});
        let described = Described {
            cards: vec![card(Some("lan0"), "52:54:00:aa:00:01")],
            network: Some(network.clone()),
            ..Described::default()
        };
        let wiring = Wiring::of(&described, 1);
        assert_eq!(wiring.macs(), ["52:54:00:aa:00:01"]);
        let request = wiring.request(Some(&network)).unwrap().unwrap();
        let map = request.mac_interface_map.unwrap();
        assert_eq!(map[0].logical_nic_name.as_deref(), Some("lan0"));
    }

    #[test]
    fn a_circle_of_interfaces_ends_somewhere() {
        let network = json!({"interfaces": [
            {"name": "a", "type": "linux-bridge", "bridge": {"port": [{"name": "b"}]},
             "ipv4": {"address": [{"ip": "192.0.2.1"}]}},
            {"name": "b", "type": "linux-bridge", "bridge": {"port": [{"name": "a"}]}},
        ]});
        let described = Described {
            network: Some(network),
            ..Described::default()
        };
        let wiring = Wiring::of(&described, 1);
        assert_eq!(wiring.endpoints[0].vlan, None);
        assert!(wiring.macs().is_empty());
    }
}
