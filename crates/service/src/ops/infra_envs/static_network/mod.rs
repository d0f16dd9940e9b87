//! Static networks: one nmstate document per host, and which card each name in it means.
//!
//! Checked here: that the document is YAML with named interfaces, and that every card it
//! configures can be told apart by its hardware address. Whether nmstate itself could apply the
//! document is found out by the host; nmstate as a library, and with it the keyfiles for images
//! before 4.18, come with a later issue. Until then all versions get nmstate documents.

mod carried;
mod policy;

use std::{collections::HashSet, sync::LazyLock};

use muster_api::wire;
use muster_model::{HostNetwork, MacInterface};
use regex::Regex;
use serde_yaml_ng::Value;

use crate::ops::fields::yaml;

pub use carried::{INITRD_UNIT, SCRIPT, SCRIPT_PATH, UNIT_NAME, files, full_iso_unit, tar};

/// Names the kernel gives by place in the machine, so they mean the same card at every boot.
static PREDICTABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^en[PsvxXbucaipod]").expect("the pattern is fixed and valid"));

/// Reads what a user sent; the result is sorted, so equal networks are stored equally.
///
/// # Errors
/// All faults of all hosts, each with the position of its host.
pub fn read(given: &[wire::HostStaticNetworkConfig]) -> Result<Vec<HostNetwork>, Vec<String>> {
    let mut faults = Vec::new();
    let mut hosts: Vec<HostNetwork> = Vec::new();
    for (index, host) in given.iter().enumerate() {
        let network = network(host);
        let found = faults_of(&network);
        faults.extend(
            found
                .iter()
                .map(|fault| format!("static_network_config[{index}]: {fault}")),
        );
        hosts.push(network);
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    hosts.sort_by(|a, b| {
        let order = |host: &HostNetwork| (host.network_yaml.clone(), host.mac_interface_map.len());
        order(a)
            .cmp(&order(b))
            .then_with(|| a.mac_interface_map.cmp(&b.mac_interface_map))
    });
    Ok(hosts)
}

fn network(host: &wire::HostStaticNetworkConfig) -> HostNetwork {
    let mut mac_interface_map: Vec<MacInterface> = host
        .mac_interface_map
        .iter()
        .flatten()
        .map(|item| MacInterface {
            logical_nic_name: item.logical_nic_name.clone().unwrap_or_default(),
            mac_address: item.mac_address.clone().unwrap_or_default(),
        })
        .collect();
    mac_interface_map.sort();
    HostNetwork {
        network_yaml: host.network_yaml.clone().unwrap_or_default(),
        mac_interface_map,
    }
}

fn faults_of(host: &HostNetwork) -> Vec<String> {
    let mut faults = map_faults(&host.mac_interface_map);
    if let Err(why) = yaml::check_depth(&host.network_yaml) {
        faults.push(format!("network_yaml: {why}"));
        return faults;
    }
    match serde_yaml_ng::from_str::<Value>(&host.network_yaml) {
        Ok(Value::Mapping(document)) => match document.get("interfaces") {
            Some(Value::Sequence(interfaces)) if !interfaces.is_empty() => {
                faults.extend(interface_faults(interfaces, &host.mac_interface_map));
            }
            Some(_) | None => {
                faults.push("network_yaml has no list of interfaces; add at least one".to_owned());
            }
        },
        Ok(_) => faults.push("network_yaml is not an nmstate document (a YAML mapping)".to_owned()),
        Err(cause) => faults.push(format!("network_yaml is not YAML: {cause}")),
    }
    faults
}

fn map_faults(map: &[MacInterface]) -> Vec<String> {
    let mut faults = Vec::new();
    if map.is_empty() {
        faults.push(
            "mac_interface_map is empty; name at least one card, so the host can be recognised"
                .to_owned(),
        );
    }
    let (mut names, mut cards) = (HashSet::new(), HashSet::new());
    for item in map {
        let (name, card) = (
            &item.logical_nic_name,
            item.mac_address.to_ascii_uppercase(),
        );
        if name.is_empty() {
            faults.push(format!("mac_interface_map: {card} has no logical_nic_name"));
        } else if !names.insert(name) {
            faults.push(format!("mac_interface_map: the name {name:?} occurs twice"));
        }
        if cards.contains(&card) {
            faults.push(format!(
                "mac_interface_map: the address {card} occurs twice"
            ));
        }
        cards.insert(card);
    }
    faults
}

fn interface_faults(interfaces: &[Value], map: &[MacInterface]) -> Vec<String> {
    let mut faults = Vec::new();
    let by_address: HashSet<&str> = interfaces
        .iter()
        .filter(|nic| nic["identifier"].as_str() == Some("mac-address"))
        .filter_map(|nic| nic["name"].as_str())
        .collect();
    let is_known = |name: &str| {
        map.iter().any(|item| item.logical_nic_name == name)
            || by_address.contains(name)
            || PREDICTABLE.is_match(name)
    };
    for (index, nic) in interfaces.iter().enumerate() {
        let Some(name) = nic["name"].as_str().filter(|name| !name.is_empty()) else {
            faults.push(format!("interface {index} of network_yaml has no name"));
            continue;
        };
        let is_card = matches!(nic["type"].as_str(), Some("ethernet" | "802-3-ethernet"));
        if is_card && !is_known(name) {
            faults.push(format!(
                "interface {name:?} is not in mac_interface_map, so nobody knows which card it is"
            ));
        }
        let ports = nic["link-aggregation"]["port"]
            .as_sequence()
            .into_iter()
            .flatten();
        for port in ports
            .filter_map(Value::as_str)
            .filter(|port| !is_known(port))
        {
            faults.push(format!(
                "port {port:?} of {name:?} is not in mac_interface_map"
            ));
        }
    }
    faults
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn wire_host(yaml: &str, map: &[(&str, &str)]) -> wire::HostStaticNetworkConfig {
        let items = map.iter().map(|(name, card)| wire::MacInterfaceMapItem {
            logical_nic_name: Some((*name).to_owned()),
            mac_address: Some((*card).to_owned()),
        });
        wire::HostStaticNetworkConfig {
            network_yaml: Some(yaml.to_owned()),
            mac_interface_map: Some(items.collect()),
        }
    }

    const ETH0: &str = "interfaces:\n- name: eth0\n  type: ethernet\n";

    #[test]
    fn hosts_and_cards_are_stored_sorted() {
        let a = wire_host(
            ETH0,
            &[("eth1", "02:00:00:00:00:02"), ("eth0", "02:00:00:00:00:01")],
        );
        let b = wire_host(ETH0, &[("eth0", "02:00:00:00:00:09")]);
        let stored = read(&[a.clone(), b.clone()]).unwrap();
        assert_eq!(stored, read(&[b, a]).unwrap());
        assert_eq!(stored[0].mac_interface_map.len(), 1);
        assert_eq!(stored[1].mac_interface_map[0].logical_nic_name, "eth0");
    }

    #[test]
    fn all_faults_of_all_hosts_come_at_once() {
        let card = "02:00:00:00:00:01";
        let faults = read(&[
            wire_host("", &[]),
            wire_host("interfaces: [", &[("eth0", card)]),
            wire_host(ETH0, &[("a", card), ("a", &card.to_lowercase())]),
            wire_host("interfaces:\n- type: bond\n", &[("eth0", card)]),
            wire_host("dns-resolver: {}", &[("", card)]),
        ])
        .unwrap_err();
        let wanted = [
            ("[0]", "is empty"),
            ("[0]", "nmstate document"),
            ("[1]", "not YAML"),
            ("[2]", "name \"a\" occurs twice"),
            ("[2]", "02:00:00:00:00:01 occurs twice"),
            ("[2]", "\"eth0\" is not in"),
            ("[3]", "has no name"),
            ("[4]", "no logical_nic_name"),
            ("[4]", "no list of interfaces"),
        ];
        for (host, text) in wanted {
            let hit = faults
                .iter()
                .any(|fault| fault.contains(host) && fault.contains(text));
            assert!(hit, "{host} {text}: {faults:#?}");
        }
        assert_eq!(faults.len(), wanted.len(), "{faults:#?}");
    }

    #[test]
    fn cards_known_by_address_or_place_need_no_entry() {
        let yaml = "interfaces:\n- {name: enp1s0, type: ethernet}\n\
            - {name: lan, type: ethernet, identifier: mac-address, mac-address: x}\n\
            - {name: bond0, type: bond, link-aggregation: {port: [eth0, lan, enp1s0]}}\n";
        let card = [("eth0", "02:00:00:00:00:01")];
        assert!(read(&[wire_host(yaml, &card)]).is_ok());
        let faults = read(&[wire_host(&yaml.replace("eth0", "eth7"), &card)]).unwrap_err();
        assert!(faults[0].contains("port \"eth7\""), "{faults:?}");
    }
}
