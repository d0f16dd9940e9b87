//! A host's nmstate document made independent of kernel names.
//!
//! A document says `eth0`, the machine may call the same card `enp3s0`. nmstate can look cards
//! up itself: each card is captured by its hardware address, and the logical name in the
//! document is replaced by what was captured.

use muster_model::HostNetwork;
use serde_yaml_ng::{Mapping, Value};

use super::NetworkFault;

/// The policy for a host, as YAML text.
///
/// # Errors
/// The stored document is not YAML (it was checked when it was stored).
pub fn policy(host: &HostNetwork) -> Result<String, NetworkFault> {
    let mut desired: Value = serde_yaml_ng::from_str(&host.network_yaml)?;
    if let Some(Value::Sequence(interfaces)) = desired.get_mut("interfaces") {
        interfaces.iter_mut().for_each(fix_addresses);
    }
    let mut capture = Mapping::new();
    for (index, item) in host.mac_interface_map.iter().enumerate() {
        let card = item.mac_address.to_ascii_uppercase();
        let search = format!("interfaces.mac-address == \"{card}\"");
        capture.insert(format!("iface{index}").into(), search.into());
        let found = format!("{{{{ capture.iface{index}.interfaces.0.name }}}}");
        rename(&mut desired, &item.logical_nic_name, &found);
    }
    let mut document = Mapping::new();
    document.insert("capture".into(), Value::Mapping(capture));
    document.insert("desiredState".into(), sorted(desired));
    Ok(serde_yaml_ng::to_string(&Value::Mapping(document))?)
}

/// Who configures addresses by hand does not want others beside them, unless they say so.
fn fix_addresses(interface: &mut Value) {
    for (family, switches) in [("ipv4", &["dhcp"][..]), ("ipv6", &["dhcp", "autoconf"])] {
        if let Some(Value::Mapping(settings)) = interface.get_mut(family) {
            for switch in switches
                .iter()
                .filter(|switch| !settings.contains_key(**switch))
                .collect::<Vec<_>>()
            {
                settings.insert((**switch).into(), false.into());
            }
        }
    }
}

/// Replaces every value that is exactly the name; keys stay.
fn rename(value: &mut Value, name: &str, found: &str) {
    match value {
        Value::String(text) if text == name => found.clone_into(text),
        Value::Sequence(items) => items.iter_mut().for_each(|item| rename(item, name, found)),
        Value::Mapping(members) => {
            members
                .iter_mut()
                .for_each(|(_, member)| rename(member, name, found));
        }
        Value::Tagged(tagged) => rename(&mut tagged.value, name, found),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Keys in alphabetical order, so that equal documents give equal bytes.
fn sorted(value: Value) -> Value {
    match value {
        Value::Mapping(members) => {
            let mut members: Vec<_> = members.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            members.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
            Value::Mapping(members.into_iter().collect())
        }
        Value::Sequence(items) => Value::Sequence(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use muster_model::MacInterface;

    use super::*;

    #[test]
    fn names_become_captured_cards_and_addresses_are_fixed() {
        let host = HostNetwork {
            network_yaml: "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4: {enabled: true}\n  \
                ipv6: {enabled: true, dhcp: true}\n- name: eth0.7\n  type: vlan\n  vlan: {base-iface: eth0}\n\
                - name: bond0\n  link-aggregation: {port: [eth0]}\n"
                .to_owned(),
            mac_interface_map: vec![MacInterface {
                logical_nic_name: "eth0".to_owned(),
                mac_address: "02:00:00:00:00:ab".to_owned(),
            }],
        };
        let text = policy(&host).unwrap();
        let value: Value = serde_yaml_ng::from_str(&text).unwrap();
        assert_eq!(
            value["capture"]["iface0"],
            "interfaces.mac-address == \"02:00:00:00:00:AB\""
        );
        let nics = &value["desiredState"]["interfaces"];
        let card = "{{ capture.iface0.interfaces.0.name }}";
        assert_eq!(nics[0]["name"], card);
        assert_eq!(nics[0]["ipv4"]["dhcp"], false);
        assert_eq!(nics[0]["ipv6"]["dhcp"], true);
        assert_eq!(nics[0]["ipv6"]["autoconf"], false);
        assert_eq!(nics[1]["name"], "eth0.7");
        assert_eq!(nics[1]["vlan"]["base-iface"], card);
        assert_eq!(nics[2]["link-aggregation"]["port"][0], card);
    }
}
