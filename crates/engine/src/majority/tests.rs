//! Connectivity groups, from whole reports.

use muster_model::Host;
use serde_json::{Value, json};

use super::*;
use crate::testing::{START, key};

/// A host with these addresses that reaches these peers (number, address, by ARP, by ping).
fn host(number: u128, addresses: &[&str], reached: &[(u128, &str, bool, bool)]) -> Host {
    let mut host = Host::registered(key(number), None, "", START);
    let (v6, v4): (Vec<&str>, Vec<&str>) = addresses.iter().partition(|a| a.contains(':'));
    host.reports.inventory = Some(
        json!({ "interfaces": [{ "name": "eth0", "ipv4_addresses": v4, "ipv6_addresses": v6 }] })
            .to_string()
            .into(),
    );
    let entry = |(peer, ip, link, ping): &(u128, &str, bool, bool)| -> Value {
        json!({
            "host_id": key(*peer).host,
            "l2_connectivity": [{ "remote_ip_address": ip, "successful": link, "outgoing_nic": "eth0" }],
            "l3_connectivity": [{ "remote_ip_address": ip, "successful": ping }],
        })
    };
    let remote: Vec<Value> = reached.iter().map(entry).collect();
    host.reports.connectivity = Some(json!({ "remote_hosts": remote }).to_string().into());
    host
}

fn web(hosts: &[Host], least: usize) -> Web {
    let witness = |host| Witness::new(host, Inventory::known(host).as_ref());
    let witnesses: Vec<Witness> = hosts.iter().map(witness).collect();
    Web::of(&witnesses, least)
}

fn ids(numbers: &[u128]) -> Vec<HostId> {
    numbers.iter().map(|n| key(*n).host).collect()
}

/// Three hosts that all ping each other in one network of each family.
fn three(arp: bool) -> Vec<Host> {
    (1..=3_u128)
        .map(|me| {
            let mut reached = Vec::new();
            let peers: Vec<(u128, String, String)> = (1..=3)
                .filter(|peer| *peer != me)
                .map(|peer| (peer, format!("192.0.2.{peer}"), format!("2001:db8::{peer}")))
                .collect();
            for (peer, v4, v6) in &peers {
                reached.push((*peer, v4.as_str(), arp, true));
                reached.push((*peer, v6.as_str(), false, true));
            }
            let (v4, v6) = (format!("192.0.2.{me}/24"), format!("2001:db8::{me}/64"));
            host(me, &[&v4, &v6], &reached)
        })
        .collect()
}

#[test]
fn hosts_that_reach_each_other_are_one_group_per_network_and_family() {
    let groups = web(&three(true), 3).groups();
    for name in ["192.0.2.0/24", "2001:db8::/64", "IPv4", "IPv6"] {
        assert_eq!(groups.majority_groups[name], ids(&[1, 2, 3]), "{name}");
    }
    let all = &groups.l3_connected_addresses[&key(2).host];
    assert_eq!(*all, ["192.0.2.2", "2001:db8::2"]);
}

#[test]
fn a_ping_proves_a_link_in_ipv6_only() {
    let groups = web(&three(false), 3).groups();
    assert!(groups.majority_groups["192.0.2.0/24"].is_empty());
    assert_eq!(groups.majority_groups["IPv4"].len(), 3);
    assert_eq!(groups.majority_groups["2001:db8::/64"].len(), 3);
}

#[test]
fn a_family_needs_every_address_of_the_peer_while_a_network_needs_one() {
    let mut hosts = three(true);
    hosts[2] = {
        let reached = [(1, "192.0.2.1", true, true), (2, "192.0.2.2", true, true)];
        host(3, &["192.0.2.3/24", "198.51.100.3/24"], &reached)
    };
    let groups = web(&hosts, 3).groups();
    assert_eq!(groups.majority_groups["192.0.2.0/24"].len(), 3);
    assert!(groups.majority_groups["IPv4"].is_empty());
    assert!(groups.majority_groups["198.51.100.0/24"].is_empty());
}

#[test]
fn two_hosts_are_a_group_only_where_two_are_enough() {
    let pair = [
        host(1, &["192.0.2.1/24"], &[(2, "192.0.2.2", true, true)]),
        host(2, &["192.0.2.2/24"], &[(1, "192.0.2.1", true, true)]),
    ];
    assert!(web(&pair, 3).groups().majority_groups["192.0.2.0/24"].is_empty());
    let groups = web(&pair, 2).groups();
    assert_eq!(groups.majority_groups["192.0.2.0/24"], ids(&[1, 2]));
}

#[test]
fn unknown_hosts_and_the_host_itself_do_not_count_and_repeated_entries_count_once() {
    let hosts = [
        host(
            1,
            &["192.0.2.1/24"],
            &[
                (1, "192.0.2.1", true, true),
                (9, "192.0.2.9", true, true),
                (2, "192.0.2.2", true, true),
                (2, "192.0.2.2", true, true),
            ],
        ),
        host(2, &["192.0.2.2/24"], &[]),
        host(3, &["192.0.2.3/24"], &[]),
    ];
    let groups = web(&hosts, 3).groups();
    assert!(groups.majority_groups["192.0.2.0/24"].is_empty());
    assert!(groups.l3_connected_addresses.is_empty());
}

#[test]
fn a_smaller_network_inside_a_larger_one_counts_for_both() {
    let hosts: Vec<Host> = (1..=3_u128)
        .map(|me| {
            let peers: Vec<(u128, String)> = (1..=3)
                .filter(|peer| *peer != me)
                .map(|peer| (peer, format!("10.0.0.{peer}")))
                .collect();
            let reached: Vec<(u128, &str, bool, bool)> = peers
                .iter()
                .map(|(peer, ip)| (*peer, ip.as_str(), true, true))
                .collect();
            let prefix = if me == 1 { 8 } else { 24 };
            host(me, &[&format!("10.0.0.{me}/{prefix}")], &reached)
        })
        .collect();
    let groups = web(&hosts, 3).groups();
    assert_eq!(groups.majority_groups["10.0.0.0/8"], ids(&[1, 2, 3]));
    assert!(
        groups.majority_groups["10.0.0.0/24"].is_empty(),
        "only two hosts live there"
    );
}

fn heard(number: u128, entries: &[(&str, &str, &str)]) -> Host {
    let mut host = Host::registered(key(number), None, "", START);
    let l2: Vec<Value> = entries
        .iter()
        .map(|(nic, ip, mac)| json!({ "outgoing_nic": nic, "remote_ip_address": ip, "remote_mac": mac }))
        .collect();
    let report = json!({ "remote_hosts": [{ "host_id": key(99).host, "l2_connectivity": l2 }] });
    host.reports.connectivity = Some(report.to_string().into());
    host
}

#[test]
fn collisions_of_all_hosts_count_not_only_those_of_the_last() {
    let hosts = [
        heard(
            1,
            &[("eth0", "192.0.2.9", "bb"), ("eth0", "192.0.2.9", "aa")],
        ),
        heard(
            2,
            &[("eth0", "192.0.2.9", "cc"), ("eth0", "192.0.2.9", "aa")],
        ),
        heard(3, &[]),
    ];
    let seen = web(&hosts, 3).collisions();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen["192.0.2.9"], ["aa", "bb", "cc"]);
}

#[test]
fn other_links_silence_and_spelling_are_no_collisions() {
    let host = heard(
        1,
        &[
            ("eth0", "192.0.2.9", "aa"),
            ("eth1", "192.0.2.9", "bb"),
            ("eth0", "192.0.2.9", ""),
            ("eth0", "192.0.2.9", "AA"),
        ],
    );
    assert!(web(&[host], 3).collisions().is_empty());
}

#[test]
fn unreadable_reports_count_as_silence() {
    let mut host = heard(1, &[]);
    host.reports.connectivity = Some("{".into());
    let groups = web(&[host], 3).groups();
    assert!(groups.l3_connected_addresses.is_empty());
}
