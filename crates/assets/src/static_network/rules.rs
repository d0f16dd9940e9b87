//! What must be true of the static networks of an infra-env.

use std::{collections::HashMap, sync::LazyLock};

use muster_model::{HostNetwork, MacInterface};
use regex::Regex;
use serde_yaml_ng::Value;

use super::{
    document,
    keyfiles::{check_interface, keyfiles},
};

/// Names the kernel gives by place in the machine, so they mean the same card at every boot.
static PREDICTABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^en[PsvxXbucaipod]").expect("the pattern is fixed and valid"));

static MAC_ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$").expect("the pattern is fixed and valid")
});

/// Longest name of an interface; the kernel's are shorter, those of profiles need not be.
const LONGEST_NAME: usize = 64;

/// Checks what a user sent; the result is sorted, so equal networks are stored equally.
///
/// # Errors
/// All faults of all hosts, each with the position of its host and, where there is one, the
/// interface and the line.
pub fn read(given: Vec<HostNetwork>) -> Result<Vec<HostNetwork>, Vec<String>> {
    let mut faults = Vec::new();
    let mut cards: HashMap<String, usize> = HashMap::new();
    for (index, host) in given.iter().enumerate() {
        let mut found = faults_of(host);
        for item in &host.mac_interface_map {
            let card = item.mac_address.to_ascii_uppercase();
            match cards.insert(card.clone(), index) {
                Some(other) if other != index => found.push(format!(
                    "mac_interface_map: the address {card} is also in \
                     static_network_config[{other}], so a machine with it could be either host"
                )),
                Some(_) | None => {}
            }
        }
        faults.extend(
            found
                .iter()
                .map(|fault| format!("static_network_config[{index}]: {fault}")),
        );
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut hosts = given;
    for host in &mut hosts {
        host.mac_interface_map.sort();
    }
    hosts.sort_by(|a, b| {
        a.network_yaml
            .cmp(&b.network_yaml)
            .then_with(|| a.mac_interface_map.len().cmp(&b.mac_interface_map.len()))
            .then_with(|| a.mac_interface_map.cmp(&b.mac_interface_map))
    });
    Ok(hosts)
}

fn faults_of(host: &HostNetwork) -> Vec<String> {
    let mut faults = map_faults(&host.mac_interface_map);
    if let Err(found) = document_faults(host) {
        faults.extend(found);
    }
    faults
}

fn document_faults(host: &HostNetwork) -> Result<(), Vec<String>> {
    let yaml = &host.network_yaml;
    let places = document::survey(yaml).map_err(|why| vec![format!("network_yaml: {why}")])?;
    let document: Value = serde_yaml_ng::from_str(yaml)
        .map_err(|cause| vec![format!("network_yaml is not YAML: {cause}")])?;
    let Value::Mapping(members) = &document else {
        return Err(vec![
            "network_yaml is not an nmstate document (a YAML mapping)".to_owned(),
        ]);
    };
    let interfaces = match members.get("interfaces") {
        Some(Value::Sequence(interfaces)) if !interfaces.is_empty() => interfaces,
        Some(_) | None => {
            return Err(vec![
                "network_yaml has no list of interfaces; add at least one".to_owned(),
            ]);
        }
    };
    let mut faults = Vec::new();
    for (index, interface) in interfaces.iter().enumerate() {
        let name = interface["name"].as_str().unwrap_or_default();
        let place = match (name, places.interface(index)) {
            ("", Some(line)) => format!("network_yaml, interface {index} (line {line})"),
            ("", None) => format!("network_yaml, interface {index}"),
            (name, Some(line)) => format!("network_yaml, interface {name:?} (line {line})"),
            (name, None) => format!("network_yaml, interface {name:?}"),
        };
        let found = interface_faults(interface, interfaces, &host.mac_interface_map);
        faults.extend(found.into_iter().map(|fault| format!("{place}: {fault}")));
    }
    // What nmstate says makes sense only of a document that has names.
    if faults.is_empty()
        && let Err(why) = keyfiles(yaml)
    {
        faults.push(match culprit(&why.to_string(), interfaces) {
            Some((index, name)) => match places.interface(index) {
                Some(line) => format!("network_yaml, interface {name:?} (line {line}): {why}"),
                None => format!("network_yaml, interface {name:?}: {why}"),
            },
            None => format!("network_yaml: {why}"),
        });
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

/// The interface a message of nmstate's is about: the one it names.
fn culprit<'a>(message: &str, interfaces: &'a [Value]) -> Option<(usize, &'a str)> {
    let words: Vec<&str> = message
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '\'' | '"' | '`'))
        .collect();
    let names = interfaces.iter().enumerate();
    names
        .filter_map(|(index, interface)| Some((index, interface["name"].as_str()?)))
        .find(|(_, name)| words.contains(name))
}

fn map_faults(map: &[MacInterface]) -> Vec<String> {
    let mut faults = Vec::new();
    if map.is_empty() {
        faults.push(
            "mac_interface_map is empty; name at least one card, so the host can be recognised"
                .to_owned(),
        );
    }
    let (mut names, mut cards) = (HashMap::new(), HashMap::new());
    for item in map {
        let (name, card) = (&item.logical_nic_name, &item.mac_address);
        if name.is_empty() {
            faults.push(format!("mac_interface_map: {card} has no logical_nic_name"));
        } else if let Err(why) = check_name(name) {
            faults.push(format!(
                "mac_interface_map: logical_nic_name {name:?} {why}"
            ));
        } else if names.insert(name, card).is_some() {
            faults.push(format!("mac_interface_map: the name {name:?} occurs twice"));
        }
        if !MAC_ADDRESS.is_match(card) {
            faults.push(format!(
                "mac_interface_map: mac_address {card:?} is not six pairs of hexadecimal digits \
                 with colons between them"
            ));
        } else if cards.insert(card.to_ascii_uppercase(), name).is_some() {
            faults.push(format!(
                "mac_interface_map: the address {} occurs twice",
                card.to_ascii_uppercase()
            ));
        }
    }
    faults
}

/// Names become names of files, and stand in lists with `=` in them.
fn check_name(name: &str) -> Result<(), &'static str> {
    let is_plain = |c: char| {
        !c.is_control() && !c.is_whitespace() && !matches!(c, '/' | '\\' | '=' | '"' | '\'')
    };
    if name.len() > LONGEST_NAME {
        Err("is longer than 64 bytes")
    } else if name.starts_with(['.', '-']) {
        Err("begins with a dot or a dash")
    } else if !name.chars().all(is_plain) {
        Err("has a space, a quote, a slash or an equals sign in it")
    } else {
        Ok(())
    }
}

fn interface_faults(nic: &Value, all: &[Value], map: &[MacInterface]) -> Vec<String> {
    let Some(name) = nic["name"].as_str().filter(|name| !name.is_empty()) else {
        return vec!["it has no name".to_owned()];
    };
    let mut faults = Vec::new();
    if let Err(why) = check_name(name) {
        faults.push(format!("the name {why}"));
    }
    if let Some(profile) = nic["profile-name"].as_str()
        && let Err(why) = check_name(profile)
    {
        faults.push(format!("profile-name {profile:?} {why}"));
    }
    let is_known = |name: &str| {
        let by_address = || {
            all.iter().any(|nic| {
                nic["name"].as_str() == Some(name)
                    && nic["identifier"].as_str() == Some("mac-address")
            })
        };
        map.iter().any(|item| item.logical_nic_name == name)
            || PREDICTABLE.is_match(name)
            || by_address()
    };
    let is_card = matches!(nic["type"].as_str(), Some("ethernet" | "802-3-ethernet"));
    if is_card && !is_known(name) {
        faults.push("it is not in mac_interface_map, so its NIC is not known".to_owned());
    }
    let ports = nic["link-aggregation"]["port"].as_sequence();
    for port in ports.into_iter().flatten().filter_map(Value::as_str) {
        if !is_known(port) {
            faults.push(format!(
                "its port {port:?} is not in mac_interface_map, so its NIC is not known"
            ));
        }
    }
    // nmstate leaves this one to the kernel of the host.
    if let Some(id) = nic["vlan"]["id"].as_i64()
        && !(0..=4094).contains(&id)
    {
        faults.push(format!("vlan.id {id} is not between 0 and 4094"));
    }
    // By itself, so that a fault in one interface is not reported as one of the whole list.
    if let Err(why) = check_interface(nic) {
        faults.push(why.to_string());
    }
    faults
}
