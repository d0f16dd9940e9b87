//! Ports between hosts that a firewall drops, found before the installation gets stuck.
//!
//! Reported by an event and not by a validation: clients know the reference's validations, and in a
//! network of segments some ports are closed on purpose until roles are known.

use std::collections::BTreeMap;

use muster_model::{Event, Host, Timestamp};

use crate::{
    agent_json::Stored, checks::examples, events, history, inventory, reports::connectivity_of,
};

/// What each port is for, and who needs it.
const USES: &[(u16, &str)] = &[
    (2379, "etcd, among control-plane nodes"),
    (2380, "etcd, among control-plane nodes"),
    (6443, "Kubernetes API of control-plane nodes"),
    (10250, "kubelet of all nodes"),
    (22623, "machine configs of control-plane nodes"),
];

/// The event for a report whose blocked ports differ from those of the one before.
pub(super) fn changed(before: &Host, after: &Host, now: Timestamp) -> Option<Event> {
    let (old, new) = (blocked(before), blocked(after));
    if old == new {
        return None;
    }
    let name = inventory::hostname(after);
    if new.is_empty() {
        let text = format!("Host {name}: no ports of other hosts are blocked any more");
        return Some(history::about_host(
            events::HOST_PORTS_REACHABLE,
            after,
            now,
            text,
        ));
    }
    let lines: Vec<String> = new
        .iter()
        .map(|(ip, ports)| of_address(ip, ports))
        .collect();
    let text = format!(
        "Host {name}: packets to other hosts are dropped, as by a firewall: {}",
        examples(&lines)
    );
    Some(history::about_host(
        events::HOST_PORTS_BLOCKED,
        after,
        now,
        text,
    ))
}

fn of_address(ip: &str, ports: &[u16]) -> String {
    let ports = ports.iter().map(|port| {
        let known = USES.iter().find(|(known, _)| known == port);
        known.map_or_else(
            || port.to_string(),
            |(_, usage)| format!("{port} ({usage})"),
        )
    });
    let ports: Vec<String> = ports.collect();
    format!("{ip} TCP {}", ports.join(", "))
}

fn blocked(host: &Host) -> BTreeMap<String, Vec<u16>> {
    let Stored::Here(report) = connectivity_of(host) else {
        return BTreeMap::new();
    };
    let remotes = report.remote_hosts.items().iter();
    remotes
        .flat_map(|remote| &remote.blocked_ports)
        .map(|blocked| (blocked.remote_ip_address.clone(), blocked.ports.clone()))
        .collect()
}
