//! How the machine network is derived.

use muster_model::ClusterNetwork;
use serde_json::{Value, json};

use super::*;
use crate::testing::{good_cluster, vip};

/// A machine with these addresses, one card each, and a default route by this gateway.
fn machine_with(addresses: &[&str], gateways: &[(&str, i64)]) -> Option<Arc<Inventory>> {
    let nics: Vec<Value> = addresses
        .iter()
        .map(|address| {
            let list = if address.contains(':') {
                "ipv6_addresses"
            } else {
                "ipv4_addresses"
            };
            json!({ list: [address] })
        })
        .collect();
    let routes: Vec<Value> = gateways
        .iter()
        .map(|(gateway, metric)| {
            let to = if gateway.contains(':') {
                "::"
            } else {
                "0.0.0.0"
            };
            json!({ "destination": to, "gateway": gateway, "metric": metric })
        })
        .collect();
    let text = json!({ "interfaces": nics, "routes": routes }).to_string();
    Some(Arc::new(Inventory::parse(&text).unwrap()))
}

fn leasing() -> Cluster {
    let mut cluster = good_cluster(3);
    cluster.vip_dhcp_allocation = Some(true);
    cluster
}

fn dual(mut cluster: Cluster) -> Cluster {
    cluster.networks.service = Some(vec!["172.30.0.0/16".into(), "fd02::/112".into()]);
    let pods = [("10.128.0.0/14", 23), ("fd01::/48", 64)];
    cluster.networks.cluster = Some(
        pods.map(|(cidr, host_prefix)| ClusterNetwork {
            cidr: cidr.into(),
            host_prefix,
        })
        .into(),
    );
    cluster
}

fn found(cluster: &Cluster, inventories: &[Option<Arc<Inventory>>]) -> Vec<String> {
    automatic(cluster, inventories).unwrap_or_default()
}

#[test]
fn leases_need_one_network_that_is_the_only_one() {
    let one = machine_with(&["192.0.2.1/24"], &[]);
    let two = machine_with(&["192.0.2.2/24", "198.51.100.2/24"], &[]);
    assert_eq!(found(&leasing(), &[one.clone(), None]), ["192.0.2.0/24"]);
    assert!(found(&leasing(), &[one.clone(), two]).is_empty());
    assert!(found(&leasing(), &[None]).is_empty());
    let mut set = leasing();
    set.networks.machine = Some(vec!["192.0.2.0/24".into()]);
    assert_eq!(automatic(&set, &[one]), None, "nothing new");
}

#[test]
fn a_single_node_lives_where_its_default_route_leads() {
    let single = good_cluster(1);
    let only = machine_with(&["192.0.2.1/24"], &[]);
    assert_eq!(found(&single, &[only]), ["192.0.2.0/24"]);
    let several = ["192.0.2.1/24", "198.51.100.1/24"];
    let routed = machine_with(&several, &[("192.0.2.254", 200), ("198.51.100.254", 100)]);
    assert_eq!(
        found(&single, std::slice::from_ref(&routed)),
        ["198.51.100.0/24"]
    );
    assert!(found(&single, &[machine_with(&several, &[])]).is_empty());
    assert!(found(&single, &[None]).is_empty());
    let mut set = single;
    set.networks.machine = Some(vec!["203.0.113.0/24".into()]);
    assert_eq!(automatic(&set, &[routed]), None, "the user decided");
}

#[test]
fn a_single_node_of_two_families_gets_a_network_of_each_in_the_order_of_the_services() {
    let both = machine_with(&["2001:db8::1/64", "192.0.2.1/24"], &[]);
    let cluster = dual(good_cluster(1));
    let expected = ["192.0.2.0/24", "2001:db8::/64"];
    assert_eq!(found(&cluster, std::slice::from_ref(&both)), expected);
    let mut turned = cluster.clone();
    turned.networks.service.as_mut().unwrap().reverse();
    let expected = ["2001:db8::/64", "192.0.2.0/24"];
    assert_eq!(found(&turned, std::slice::from_ref(&both)), expected);
    let v4 = machine_with(&["192.0.2.1/24"], &[]);
    assert!(found(&cluster, &[v4]).is_empty(), "IPv6 is missing");
    turned.networks.service = Some(vec!["172.30.0.0/16".into()]);
    assert!(found(&turned, &[both]).is_empty(), "families disagree");
}

#[test]
fn elsewhere_it_follows_from_the_virtual_addresses_unless_the_user_manages_it() {
    let here = [machine_with(&["192.0.2.1/24"], &[])];
    let mut cluster = good_cluster(3);
    assert_eq!(found(&cluster, &here), ["192.0.2.0/24"]);
    cluster.load_balancer = Some("user-managed".into());
    assert_eq!(automatic(&cluster, &here), None);
    cluster.load_balancer = None;
    cluster.user_managed_networking = Some(true);
    assert_eq!(automatic(&cluster, &here), None);
    cluster.user_managed_networking = None;
    cluster.networks.machine = Some(vec!["203.0.113.0/24".into()]);
    cluster.api_vips = Some(Vec::new());
    assert_eq!(found(&cluster, &here), ["192.0.2.0/24"], "ingress will do");
    cluster.ingress_vips = None;
    assert_eq!(
        automatic(&cluster, &here),
        None,
        "cleared addresses keep it"
    );
}

#[test]
fn what_was_found_is_forgotten_with_the_last_host_and_what_was_set_stays() {
    type Setting = (&'static str, fn(&mut Cluster));
    let mut cluster = good_cluster(3);
    cluster.networks.machine = Some(vec!["192.0.2.0/24".into()]);
    let set: &[Setting] = &[
        ("leases", |c| c.vip_dhcp_allocation = Some(true)),
        ("user-managed networking", |c| {
            c.user_managed_networking = Some(true)
        }),
        ("user's balancer", |c| {
            c.load_balancer = Some("user-managed".into())
        }),
        ("single node", |c| c.control_plane_count = Some(1)),
        ("dual stack", |c| {
            c.networks.machine = Some(vec!["192.0.2.0/24".into(), "2001:db8::/64".into()]);
        }),
        ("installing", |c| {
            c.status = muster_model::ClusterStatus::Installing
        }),
    ];
    for (name, change) in set {
        let mut cluster = cluster.clone();
        change(&mut cluster);
        let before = cluster.networks.machine.clone();
        assert!(!forget_derived_machine_networks(&mut cluster), "{name}");
        assert_eq!(cluster.networks.machine, before, "{name}");
    }
    assert!(forget_derived_machine_networks(&mut cluster));
    assert_eq!(cluster.networks.machine, Some(Vec::new()));
    assert!(!forget_derived_machine_networks(&mut cluster), "once");
}

#[test]
fn two_families_of_addresses_give_two_networks_and_the_users_second_one_stays() {
    let here = [machine_with(&["192.0.2.1/24", "2001:db8::1/64"], &[])];
    let mut cluster = dual(good_cluster(3));
    cluster.api_vips = Some(vec![vip("192.0.2.200"), vip("2001:db8::200")]);
    assert_eq!(found(&cluster, &here), ["192.0.2.0/24", "2001:db8::/64"]);
    cluster.api_vips = Some(vec![vip("192.0.2.200")]);
    cluster.networks.machine = Some(vec!["203.0.113.0/24".into(), "2001:db8:1::/64".into()]);
    assert_eq!(found(&cluster, &here), ["192.0.2.0/24", "2001:db8:1::/64"]);
    cluster.api_vips = Some(vec![vip("203.0.113.9"), vip("2001:db8::200")]);
    cluster.ingress_vips = None;
    assert_eq!(automatic(&cluster, &here), None, "the first one leads");
}

#[test]
fn the_first_network_of_the_first_host_that_holds_the_address_is_taken() {
    let here = [
        None,
        machine_with(&["10.0.0.1/8"], &[]),
        machine_with(&["10.1.0.1/16"], &[]),
    ];
    let network = containing("10.1.2.3".parse().unwrap(), &here);
    assert_eq!(network.unwrap().to_string(), "10.0.0.0/8");
    assert_eq!(containing("192.0.2.1".parse().unwrap(), &here), None);
}

#[test]
fn the_users_override_of_the_plugin_wins_if_it_can_be_read() {
    let mut cluster = good_cluster(3);
    for (text, kind) in [
        (None, "OVNKubernetes"),
        (Some(r#"{"networking":{"networkType":"Cilium"}}"#), "Cilium"),
        (
            Some(r#"{"networking":{"networkType":""}}"#),
            "OVNKubernetes",
        ),
        (Some(r#"{"networking":{"networkType":7}}"#), "OVNKubernetes"),
        (Some(r#"{"fips":true}"#), "OVNKubernetes"),
        (Some("not json"), "OVNKubernetes"),
    ] {
        cluster.install_config_overrides = text.map(Into::into);
        assert_eq!(network_type(&cluster), kind, "{text:?}");
    }
}
