//! What the network description of a machine (nmstate) says about its cards and its neighbours.

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use muster_assets::install_config::types::Host;
use serde_json::{Value, json};

/// The part of a description that a rehearsal must play along with.
#[derive(Default)]
pub struct Wiring {
    /// Addresses the machine gives itself.
    pub addresses: Vec<Ipv4Addr>,
    /// Where it sends what it cannot deliver itself.
    pub gateways: Vec<Ipv4Addr>,
    /// Whom it asks for names.
    pub servers: Vec<Ipv4Addr>,
    boot_mac: String,
    /// Ethernet cards: name, and hardware address if it is told.
    cards: Vec<(String, Option<String>)>,
}

impl Wiring {
    pub fn of(host: &Host) -> Self {
        let network = host.network_config.as_ref().unwrap_or(&Value::Null);
        let v4 = |value: &Value| value.as_str()?.parse::<Ipv4Addr>().ok();
        let mut wiring = Self {
            boot_mac: host.boot_mac_address.to_ascii_lowercase(),
            ..Self::default()
        };
        for interface in list(&network["interfaces"]) {
            let addresses = list(&interface["ipv4"]["address"]);
            wiring
                .addresses
                .extend(addresses.filter_map(|address| v4(&address["ip"])));
            if interface["type"] == "ethernet"
                && let Some(name) = interface["name"].as_str()
            {
                let mac = interface["mac-address"]
                    .as_str()
                    .map(str::to_ascii_lowercase);
                wiring.cards.push((name.to_owned(), mac));
            }
        }
        let routes = list(&network["routes"]["config"]);
        wiring
            .gateways
            .extend(routes.filter_map(|route| v4(&route["next-hop-address"])));
        let servers = list(&network["dns-resolver"]["config"]["server"]);
        wiring.servers.extend(servers.filter_map(v4));
        wiring
    }

    /// The hardware addresses of its cards; those that nobody told are made up from its number.
    pub fn macs(&self, number: u8) -> Vec<String> {
        if self.cards.is_empty() {
            return vec![self.boot_mac.clone()];
        }
        let told = self.cards.iter().filter_map(|(_, mac)| mac.as_deref());
        let mut boot =
            (!told.clone().any(|mac| mac == self.boot_mac)).then(|| self.boot_mac.clone());
        let cards = self.cards.iter().enumerate();
        cards
            .map(|(index, (_, mac))| match mac {
                Some(mac) => mac.clone(),
                // The card it boots from is the first that says nothing else.
                None => boot
                    .take()
                    .unwrap_or_else(|| format!("52:54:00:{index:02x}:72:{number:02x}")),
            })
            .collect()
    }

    /// The description in the form the service takes, with a hardware address for each card.
    pub fn request(&self, network: &Value, number: u8) -> Result<Value> {
        let cards = self.cards.iter().zip(self.macs(number));
        let map: Vec<Value> = cards
            .map(|((name, _), mac)| json!({"mac_address": mac, "logical_nic_name": name}))
            .collect();
        let yaml = serde_yaml_ng::to_string(network).context("networkConfig as YAML")?;
        Ok(json!({"network_yaml": yaml, "mac_interface_map": map}))
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
