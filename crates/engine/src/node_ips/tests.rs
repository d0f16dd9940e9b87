//! Addresses of nodes that manage their own network.

use serde_json::{Value, json};

use super::*;
use crate::testing::{START, good_cluster, key};

/// A card: its address and the metric of its default route, if it has one.
type Card = (&'static str, Option<i64>);

fn host(number: u128, cards: &[Card]) -> Host {
    let mut host = Host::registered(key(number), None, "", START);
    let nics: Vec<Value> = cards
        .iter()
        .enumerate()
        .map(|(i, (address, _))| {
            let list = if address.contains(':') {
                "ipv6_addresses"
            } else {
                "ipv4_addresses"
            };
            json!({ "name": format!("eth{i}"), list: [address] })
        })
        .collect();
    let routes: Vec<Value> = cards
        .iter()
        .enumerate()
        .filter_map(|(i, (address, metric))| {
            let v6 = address.contains(':');
            let (to, gateway) = if v6 { ("::", "fe80::1") } else { ("0.0.0.0", "192.0.2.254") };
            Some(json!({ "destination": to, "gateway": gateway, "interface": format!("eth{i}"), "metric": (*metric)? }))
        })
        .collect();
    let inventory = json!({ "interfaces": nics, "routes": routes });
    host.reports.inventory = Some(inventory.to_string().into());
    host
}

/// Every address of every host is reached by all others.
fn cluster(hosts: &[Host]) -> Cluster {
    let mut cluster = good_cluster(3);
    cluster.user_managed_networking = Some(true);
    let reached: BTreeMap<HostId, Vec<String>> = hosts
        .iter()
        .map(|host| {
            let inventory = Inventory::of(host).ok().unwrap();
            let all = inventory.addresses().map(|(_, a)| a.addr().to_string());
            (host.id, all.collect())
        })
        .collect();
    cluster.connectivity_majority_groups = Some(wire::text(&Groups {
        l3_connected_addresses: reached,
        ..Groups::default()
    }));
    cluster
}

fn chosen(cluster: &Cluster, hosts: &[Host]) -> Option<Vec<String>> {
    let hosts: Vec<&Host> = hosts.iter().collect();
    let all = choose(cluster, &hosts)?;
    Some(all.values().map(|node| node.ip.to_string()).collect())
}

#[test]
fn the_best_route_decides() {
    let hosts = [
        host(
            1,
            &[("192.0.2.1/24", Some(200)), ("10.0.0.1/24", Some(100))],
        ),
        host(
            2,
            &[("192.0.2.2/24", Some(200)), ("10.0.0.2/24", Some(100))],
        ),
    ];
    let all = cluster(&hosts);
    assert_eq!(chosen(&all, &hosts).unwrap(), ["10.0.0.1", "10.0.0.2"]);
    let refs: Vec<&Host> = hosts.iter().collect();
    let one = choose(&all, &refs).unwrap()[&key(1).host];
    assert_eq!(one.hint.to_string(), "10.0.0.0");
    assert_eq!(one.network.to_string(), "10.0.0.0/24");
}

#[test]
fn a_network_that_is_not_chosen_everywhere_it_exists_is_chosen_nowhere() {
    // Host 1 prefers 10.0.0.0/24, but host 2 has no way out there.
    let hosts = [
        host(
            1,
            &[("192.0.2.1/24", Some(200)), ("10.0.0.1/24", Some(100))],
        ),
        host(2, &[("192.0.2.2/24", Some(100)), ("10.0.0.2/24", None)]),
        host(3, &[("198.51.100.3/24", Some(100))]),
    ];
    let all = cluster(&hosts);
    assert_eq!(
        chosen(&all, &hosts).unwrap(),
        ["192.0.2.1", "192.0.2.2", "198.51.100.3"]
    );
}

#[test]
fn without_a_choice_that_fits_all_there_is_none() {
    let hosts = [
        host(1, &[("10.0.0.1/24", Some(100)), ("192.0.2.1/24", None)]),
        host(2, &[("192.0.2.2/24", Some(100)), ("10.0.0.2/24", None)]),
    ];
    assert_eq!(chosen(&cluster(&hosts), &hosts), None);
}

#[test]
fn an_address_must_be_reached_by_all_and_every_host_must_have_one() {
    let hosts = [
        host(1, &[("192.0.2.1/24", Some(1))]),
        host(2, &[("192.0.2.2/24", Some(1))]),
    ];
    let mut all = cluster(&hosts[..1]);
    assert_eq!(chosen(&all, &hosts), None, "host 2 is reached by nobody");
    all.connectivity_majority_groups = None;
    assert_eq!(chosen(&all, &hosts), None);
}

#[test]
fn ipv6_is_taken_only_where_no_ipv4_is_configured() {
    let hosts = [host(
        1,
        &[("192.0.2.1/24", Some(1)), ("2001:db8::1/64", Some(1))],
    )];
    let mut all = cluster(&hosts);
    assert_eq!(chosen(&all, &hosts).unwrap(), ["192.0.2.1"]);
    all.networks.service = Some(vec!["fd02::/112".into()]);
    all.networks.cluster = Some(vec![muster_model::ClusterNetwork {
        cidr: "fd01::/48".into(),
        host_prefix: 64,
    }]);
    assert_eq!(chosen(&all, &hosts).unwrap(), ["2001:db8::1"]);
}

#[test]
fn clusters_that_know_their_network_need_no_choice() {
    let hosts = [host(1, &[("192.0.2.1/24", Some(1))])];
    let mut all = cluster(&hosts);
    assert_eq!(chosen(&all, &[]), None);
    all.control_plane_count = Some(1);
    assert_eq!(chosen(&all, &hosts), None);
    all.control_plane_count = Some(3);
    all.user_managed_networking = Some(false);
    assert_eq!(chosen(&all, &hosts), None);
}

#[test]
fn a_hopeless_search_ends() {
    // Each host could go by any of twenty networks; the last one fits with none of them.
    let cards: Vec<Vec<(String, Option<i64>)>> = (1..=40)
        .map(|n| {
            (0..20)
                .map(|net| (format!("10.{net}.0.{n}/24"), Some(net)))
                .collect()
        })
        .collect();
    let mut hosts: Vec<Host> = Vec::new();
    for (n, list) in cards.iter().enumerate() {
        let nics: Vec<Value> = list
            .iter()
            .enumerate()
            .map(|(i, (address, _))| json!({ "name": format!("eth{i}"), "ipv4_addresses": [address] }))
            .collect();
        let gone = n == 39;
        let routes: Vec<Value> = (0..if gone { 0 } else { 20 })
            .map(|i| json!({ "destination": "0.0.0.0", "gateway": "10.0.0.254", "interface": format!("eth{i}"), "metric": i }))
            .collect();
        let mut host = Host::registered(key(n as u128 + 1), None, "", START);
        host.reports.inventory = Some(
            json!({ "interfaces": nics, "routes": routes })
                .to_string()
                .into(),
        );
        hosts.push(host);
    }
    assert_eq!(chosen(&cluster(&hosts), &hosts), None);
}
