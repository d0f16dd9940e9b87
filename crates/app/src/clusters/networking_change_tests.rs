//! Tests of network changes: what follows from a change, and what is refused.

use muster_config::Config;
use muster_model::{ClusterId, HostId, HostKey, InfraEnvId, PlatformType, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::{
    Invalid,
    catalog::Catalog,
    clusters::{
        new_cluster::{Birth, day1},
        site::Site,
    },
};

/// A cluster made by a request with `more` in it.
fn cluster(more: Value) -> Cluster {
    let mut body = json!({"name": "edge", "openshift_version": "4.14", "pull_secret": r#"{"auths":{"quay.io":{}}}"#});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let config = Config::default();
    let catalog = Catalog::from_config(&config).unwrap();
    let birth = Birth {
        id: ClusterId(Uuid::nil()),
        user: "admin",
        now: Timestamp(0),
    };
    day1(
        serde_json::from_value(body).unwrap(),
        birth,
        Site {
            config: &config,
            catalog: &catalog,
        },
    )
    .unwrap()
}

fn host(address: &str) -> Host {
    let key = HostKey {
        infra_env: InfraEnvId(Uuid::nil()),
        host: HostId(Uuid::nil()),
    };
    let mut host = Host::registered(key, None, "admin", Timestamp(0));
    host.reports.inventory = Some(
        json!({"interfaces": [{"name": "eth0", "ipv4_addresses": [address]}]})
            .to_string()
            .into(),
    );
    host
}

fn change(cluster: &Cluster, hosts: &[Host], request: Value) -> Result<Cluster, Invalid> {
    let mut changed = cluster.clone();
    apply(
        &mut changed,
        hosts,
        &serde_json::from_value(request).unwrap(),
        true,
    )?;
    Ok(changed)
}

fn vips(api: &str, ingress: &str) -> Value {
    json!({"api_vips": [{"ip": api}], "ingress_vips": [{"ip": ingress}]})
}

fn machines(cluster: &Cluster) -> Vec<&str> {
    cluster
        .networks
        .machine
        .iter()
        .flatten()
        .map(String::as_str)
        .collect()
}

#[test]
fn the_machine_network_is_found_from_the_addresses() {
    let plain = cluster(json!({}));
    let hosts = [host("192.0.2.10/24")];
    let set = change(&plain, &hosts, vips("192.0.2.5", "192.0.2.6")).unwrap();
    assert_eq!(machines(&set), ["192.0.2.0/24"]);
    let only_ingress = change(
        &plain,
        &hosts,
        json!({"ingress_vips": [{"ip": "192.0.2.6"}]}),
    )
    .unwrap();
    assert_eq!(machines(&only_ingress), ["192.0.2.0/24"]);
    assert_eq!(
        change(&set, &[], vips("192.0.2.5", "192.0.2.6")),
        Ok(set.clone()),
        "nothing changes, nothing is asked"
    );
    let cleared = change(&set, &hosts, json!({"api_vips": [], "ingress_vips": []})).unwrap();
    assert_eq!(machines(&cleared), ["192.0.2.0/24"], "what was found stays");
    assert!(
        change(&plain, &hosts, vips("198.51.100.5", "198.51.100.6"))
            .unwrap_err()
            .contains("no host has an interface")
    );
    assert!(change(&plain, &[], vips("192.0.2.5", "192.0.2.6")).is_err());
    assert!(
        change(&plain, &hosts, vips("192.0.2.5", "198.51.100.6"))
            .unwrap_err()
            .contains("is not in")
    );
    assert!(change(&plain, &hosts, vips("192.0.2.5", "192.0.2.5")).is_err());
}

#[test]
fn a_plain_cluster_does_not_take_machine_networks() {
    let plain = cluster(json!({}));
    let given = json!({"machine_networks": [{"cidr": "192.0.2.0/24"}]});
    assert!(
        change(&plain, &[], given.clone())
            .unwrap_err()
            .contains("cannot be set")
    );
    assert_eq!(
        change(&plain, &[], json!({"machine_networks": []})),
        Ok(plain)
    );
    for other in [
        json!({"user_managed_networking": true}),
        json!({"vip_dhcp_allocation": true}),
        json!({"load_balancer": {"type": "user-managed"}}),
    ] {
        let changed = change(&cluster(other), &[], given.clone()).unwrap();
        assert_eq!(machines(&changed), ["192.0.2.0/24"]);
    }
}

#[test]
fn user_managed_networking_takes_addresses_away() {
    let given = cluster(json!({
        "machine_networks": [{"cidr": "192.0.2.0/24"}],
        "api_vips": [{"ip": "192.0.2.5"}], "ingress_vips": [{"ip": "192.0.2.6"}],
    }));
    let changed = change(&given, &[], json!({"user_managed_networking": true})).unwrap();
    assert_eq!(changed.platform.as_ref().unwrap().kind, PlatformType::None);
    assert_eq!(
        (changed.api_vips.as_deref(), changed.ingress_vips.as_deref()),
        (Some(&[][..]), Some(&[][..]))
    );
    assert!(machines(&changed).is_empty());
    assert_eq!(changed.vip_dhcp_allocation, Some(false));
    assert!(change(&changed, &[], vips("192.0.2.5", "192.0.2.6")).is_err());
    assert!(change(&changed, &[], json!({"vip_dhcp_allocation": true})).is_err());
    let back = change(&changed, &[], json!({"platform": {"type": "baremetal"}})).unwrap();
    assert_eq!(back.user_managed_networking, Some(false));
}

#[test]
fn switching_dhcp_starts_afresh() {
    let given = cluster(json!({
        "machine_networks": [{"cidr": "192.0.2.0/24"}],
        "api_vips": [{"ip": "192.0.2.5"}], "ingress_vips": [{"ip": "192.0.2.6"}],
    }));
    let leased = change(&given, &[], json!({"vip_dhcp_allocation": true})).unwrap();
    assert!(machines(&leased).is_empty() && leased.api_vips.as_ref().unwrap().is_empty());
    assert!(
        change(&leased, &[], vips("192.0.2.5", "192.0.2.6"))
            .unwrap_err()
            .contains("DHCP")
    );
    let mut with_leases = change(
        &leased,
        &[],
        json!({"machine_networks": [{"cidr": "192.0.2.0/24"}]}),
    )
    .unwrap();
    with_leases.api_vips = given.api_vips.clone();
    let six = json!({"machine_networks": [{"cidr": "2001:db8::/64"}]});
    assert!(change(&leased, &[], six).unwrap_err().contains("IPv6"));
    let moved = change(
        &with_leases,
        &[],
        json!({"machine_networks": [{"cidr": "198.51.100.0/24"}]}),
    )
    .unwrap();
    assert!(moved.api_vips.as_ref().unwrap().is_empty());
    let off = change(&with_leases, &[], json!({"vip_dhcp_allocation": false})).unwrap();
    assert!(machines(&off).is_empty() && off.api_vips.as_ref().unwrap().is_empty());
    assert_eq!(
        change(&given, &[], json!({"vip_dhcp_allocation": false})),
        Ok(given.clone())
    );
}

#[test]
fn changed_ranges_must_be_exact_large_enough_and_apart() {
    let plain = cluster(json!({}));
    for request in [
        json!({"cluster_networks": [{"cidr": "10.0.0.1/14", "host_prefix": 23}]}),
        json!({"cluster_networks": [{"cidr": "10.0.0.0/14"}]}),
        json!({"cluster_networks": [{"cidr": "10.0.0.0/23", "host_prefix": 24}]}),
        json!({"service_networks": [{"cidr": "172.30.0.0/26"}]}),
        json!({"service_networks": [{"cidr": "10.128.0.0/16"}]}),
        json!({"network_type": "OVNKubernetes", "service_networks": [{"cidr": "nonsense"}]}),
    ] {
        assert!(change(&plain, &[], request.clone()).is_err(), "{request}");
    }
    let changed = change(
        &plain,
        &[],
        json!({"service_networks": [{"cidr": "172.31.0.0/25"}]}),
    )
    .unwrap();
    assert_eq!(changed.networks.service.unwrap(), ["172.31.0.0/25"]);
    let legacy = json!({"cluster_network_cidr": "10.9.0.0/16", "service_network_cidr": "10.8.0.0/16", "machine_network_cidr": "10.7.0.0/16"});
    assert_eq!(
        change(&plain, &[], legacy),
        Ok(plain),
        "the old single members change nothing"
    );
}

#[test]
fn a_cluster_can_become_dual_stack_and_go_back() {
    let plain = cluster(json!({}));
    let dual = json!({
        "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}, {"cidr": "fd01::/48", "host_prefix": 64}],
        "service_networks": [{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}],
        "machine_networks": [{"cidr": "192.0.2.0/24"}, {"cidr": "2001:db8::/64"}],
    });
    let both = change(&plain, &[], dual.clone()).unwrap();
    assert_eq!(machines(&both).len(), 2);
    let addressed = change(
        &both,
        &[],
        json!({
            "api_vips": [{"ip": "192.0.2.5"}, {"ip": "2001:db8::5"}], "ingress_vips": [{"ip": "192.0.2.6"}, {"ip": "2001:db8::6"}],
        }),
    );
    assert!(addressed.is_ok(), "{:?}", addressed.unwrap_err());
    assert!(
        change(&both, &[], vips("2001:db8::5", "2001:db8::6"))
            .unwrap_err()
            .contains("must agree")
    );
    let begun = change(
        &plain,
        &[],
        json!({"machine_networks": dual["machine_networks"]}),
    );
    assert_eq!(
        machines(&begun.unwrap()).len(),
        2,
        "the other lists may follow"
    );
    let half = json!({
        "cluster_networks": dual["cluster_networks"], "service_networks": [{"cidr": "172.30.0.0/16"}],
    });
    assert!(change(&plain, &[], half).is_err());
    let back = change(&both, &[], json!({
        "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}], "service_networks": [{"cidr": "172.30.0.0/16"}],
    }))
    .unwrap();
    assert_eq!(machines(&back), ["192.0.2.0/24"]);
}

#[test]
fn addresses_that_stay_keep_what_hosts_found_out() {
    let mut given = cluster(json!({
        "machine_networks": [{"cidr": "192.0.2.0/24"}],
        "api_vips": [{"ip": "192.0.2.5"}], "ingress_vips": [{"ip": "192.0.2.6"}],
    }));
    given.api_vips.as_mut().unwrap()[0].verification = Some("succeeded".into());
    let changed = change(
        &given,
        &[host("192.0.2.10/24")],
        vips("192.0.2.5", "192.0.2.7"),
    )
    .unwrap();
    assert_eq!(
        changed.api_vips.unwrap()[0].verification.as_deref(),
        Some("succeeded")
    );
    assert_eq!(changed.ingress_vips.unwrap()[0].verification, None);
}
