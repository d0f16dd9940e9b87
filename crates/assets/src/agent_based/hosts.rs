//! The hosts that the user named, and what the image carries about each.

use std::{collections::BTreeMap, net::IpAddr};

use muster_documents::{
    agent_config::{AgentConfig, Host, Interface},
    install_config::types::{Credential, HostRole, InstallConfig},
    yaml,
};
use serde_json::{Value, json};

use crate::file::File;

const FOLDER: &str = "etc/assisted/hostconfig";

/// Hosts of the agent-config; without any, those of platform baremetal.
#[must_use]
pub fn hosts(install: Option<&InstallConfig>, agent: Option<&AgentConfig>) -> Vec<Host> {
    let named = agent.map(|agent| agent.hosts.clone()).unwrap_or_default();
    if !named.is_empty() {
        return named;
    }
    let Some(metal) = install.and_then(|install| install.platform.baremetal.as_ref()) else {
        return Vec::new();
    };
    let mut hosts: Vec<Host> = metal
        .hosts
        .iter()
        .map(|host| Host {
            hostname: host.name.clone(),
            role: host.role,
            root_device_hints: host.root_device_hints.clone(),
            interfaces: cards(host.network_config.as_ref(), &host.boot_mac_address),
            network_config: host.network_config.clone(),
            bmc: Some(host.bmc.clone()),
        })
        .collect();
    hosts.sort_by_key(|host| match host.role {
        Some(HostRole::Master) => 0,
        Some(HostRole::Arbiter) => 1,
        Some(HostRole::Worker) => 2,
        None => 3,
    });
    hosts
}

/// Interfaces that have both a name and an address; else the card it boots from.
fn cards(network: Option<&Value>, boot: &str) -> Vec<Interface> {
    let interfaces = network.and_then(|network| network["interfaces"].as_array());
    let named: Vec<Interface> = interfaces
        .into_iter()
        .flatten()
        .filter_map(|interface| {
            Some(Interface {
                name: interface["name"].as_str()?.to_owned(),
                mac_address: interface["mac-address"].as_str()?.to_owned(),
            })
        })
        .collect();
    if named.is_empty() {
        return vec![Interface {
            name: "boot".to_owned(),
            mac_address: boot.to_owned(),
        }];
    }
    named
}

/// The first static address that can be the rendezvous address: of the control plane and arbiters,
/// else of hosts without a role.
#[must_use]
pub fn first_address(hosts: &[Host]) -> Option<IpAddr> {
    let of_control_plane =
        |host: &&Host| matches!(host.role, Some(HostRole::Master | HostRole::Arbiter));
    let without_role = |host: &&Host| host.role.is_none();
    let mut candidates = hosts
        .iter()
        .filter(of_control_plane)
        .chain(hosts.iter().filter(without_role));
    candidates.find_map(|host| host.addresses().next())
}

/// Files about single hosts: names, addresses, roles, disks, fencing.
#[must_use]
pub fn files(hosts: &[Host], fencing: &[Credential]) -> Vec<File> {
    let mut files = Vec::new();
    let mut folders: BTreeMap<String, String> = BTreeMap::new();
    for (index, host) in hosts.iter().enumerate() {
        let macs: Vec<String> = host
            .interfaces
            .iter()
            .map(|card| card.mac_address.to_lowercase())
            .collect();
        let folder = if host.hostname.is_empty() {
            format!("{FOLDER}/host-{index}")
        } else {
            format!("{FOLDER}/{}", host.hostname)
        };
        for mac in &macs {
            folders.insert(mac.clone(), folder.clone());
        }
        if let (Some(first), false) = (macs.first(), host.hostname.is_empty()) {
            let path = format!("etc/assisted/hostnames/{first}");
            files.push(File::secret(path, host.hostname.as_str()));
        }
        let lines: String = macs.iter().map(|mac| format!("{mac}\n")).collect();
        files.push(File::public(format!("{folder}/mac_addresses"), lines));
        if let Some(role) = host.role {
            files.push(File::public(format!("{folder}/role"), role.word()));
        }
        let hints = host.root_device_hints.as_ref().map(yaml::value);
        if let Some(hints) = hints.filter(|hints| hints.as_object().is_some_and(|o| !o.is_empty()))
        {
            let path = format!("{folder}/root-device-hints.yaml");
            files.push(File::public(path, yaml::text(&hints)));
        }
    }
    files.extend(fencing_files(fencing, &folders, hosts.len()));
    files
}

/// Credentials by host name in one file, those by address with their host.
fn fencing_files(
    fencing: &[Credential],
    folders: &BTreeMap<String, String>,
    mut next: usize,
) -> Vec<File> {
    let mut files = Vec::new();
    let by_name: Vec<Value> = fencing
        .iter()
        .filter(|one| !one.host_name.is_empty())
        .map(credential)
        .collect();
    if !by_name.is_empty() {
        let path = format!("{FOLDER}/fencing-credentials.yaml");
        let text = yaml::text(&json!({ "credentials": by_name }));
        files.push(File::secret(path, text));
    }
    for one in fencing.iter().filter(|one| one.host_name.is_empty()) {
        let mac = one.mac_address.to_lowercase();
        let folder = match folders.get(&mac) {
            Some(folder) => folder.clone(),
            None => {
                let folder = format!("{FOLDER}/host-{next}");
                next += 1;
                let path = format!("{folder}/mac_addresses");
                files.push(File::public(path, format!("{mac}\n")));
                folder
            }
        };
        let path = format!("{folder}/fencing-credentials.yaml");
        let text = yaml::text(&json!({ "credentials": [credential(one)] }));
        files.push(File::secret(path, text));
    }
    files
}

/// Keys are in lower case here, unlike in the install-config.
fn credential(one: &Credential) -> Value {
    let verification = one.certificate_verification.map(|word| word.to_string());
    json!({
        "hostname": one.host_name,
        "macaddress": one.mac_address.to_lowercase(),
        "username": one.username,
        "password": one.password.reveal(),
        "address": one.address,
        "certificateVerification": verification.unwrap_or_default(),
    })
}
