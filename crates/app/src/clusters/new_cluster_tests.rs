//! Tests of cluster creation: what is filled in, and what is refused.

use muster_config::Config;
use muster_model::{Arch, ArchName, ClusterStatus, PlatformType};
use serde_json::{Value, json};

use super::*;
use crate::{Invalid, catalog::Catalog};

fn birth() -> Birth<'static> {
    Birth {
        id: ClusterId(Uuid::from_u128(7)),
        user: "admin",
        now: Timestamp(1),
    }
}

/// A request of name, version, secret and `more`, with the images' registry public.
fn made_by(config: &Config, more: Value) -> Result<Cluster, Invalid> {
    let mut body = json!({"name": "edge", "openshift_version": "4.16", "pull_secret": r#"{"auths":{"a.test":{"auth":"YTpi"}}}"#});
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    let mut config = config.clone();
    config.images.public_registries = vec!["quay.io".into()];
    let catalog = Catalog::from_config(&config).unwrap();
    day1(
        serde_json::from_value(body).unwrap(),
        birth(),
        Site {
            config: &config,
            catalog: &catalog,
        },
    )
}

fn made(more: Value) -> Result<Cluster, Invalid> {
    made_by(&Config::default(), more)
}

#[test]
fn a_minimal_request_gets_everything_a_cluster_needs() {
    let cluster = made(json!({})).unwrap();
    assert_eq!(cluster.openshift_version, "4.16.68");
    assert!(cluster.ocp_release_image.is_some());
    assert_eq!(cluster.cpu_architecture, Some(Arch::X86_64.into()));
    assert_eq!(
        (
            cluster.control_plane_count,
            cluster.high_availability_mode.as_deref()
        ),
        (Some(3), Some("Full"))
    );
    assert_eq!(
        cluster.platform.as_ref().unwrap().kind,
        PlatformType::Baremetal
    );
    assert_eq!(
        (cluster.user_managed_networking, cluster.vip_dhcp_allocation),
        (Some(false), Some(false))
    );
    assert_eq!(cluster.network_type.as_deref(), Some("OVNKubernetes"));
    assert_eq!(
        cluster.networks.cluster.as_ref().unwrap()[0].host_prefix,
        23
    );
    assert_eq!(
        cluster.networks.service.as_deref(),
        Some(&["172.30.0.0/16".to_owned()][..])
    );
    assert_eq!(cluster.networks.machine.as_deref(), Some(&[][..]));
    assert_eq!(
        (cluster.api_vips.as_deref(), cluster.ingress_vips.as_deref()),
        (Some(&[][..]), Some(&[][..]))
    );
    assert!(cluster.schedulable_masters_forced_true && !cluster.schedulable_masters);
    assert_eq!(cluster.monitored_operators.as_ref().unwrap().len(), 1);
    assert_eq!(cluster.status, ClusterStatus::Insufficient);
    assert_eq!(cluster.validations_info, None);
    let usage: Vec<_> = cluster.feature_usage.keys().map(String::as_str).collect();
    assert_eq!(usage, ["Hyperthreading", "OVN network type"]);
}

#[test]
fn a_single_node_is_on_platform_none_with_its_own_networking() {
    for request in [
        json!({"high_availability_mode": "None"}),
        json!({"control_plane_count": 1}),
    ] {
        let cluster = made(request).unwrap();
        assert_eq!(cluster.platform.as_ref().unwrap().kind, PlatformType::None);
        assert_eq!(
            (
                cluster.user_managed_networking,
                cluster.high_availability_mode.as_deref()
            ),
            (Some(true), Some("None"))
        );
        assert!(cluster.feature_usage.contains_key("SNO"));
    }
}

#[test]
fn versions_and_architectures_are_resolved() {
    for (request, version, arch) in [
        (json!({"openshift_version": "4.16.68"}), "4.16.68", "x86_64"),
        (
            json!({"openshift_version": "4.16", "cpu_architecture": "arm64"}),
            "4.16.68",
            "arm64",
        ),
        (
            json!({"openshift_version": "4.16-multi", "cpu_architecture": "multi"}),
            "4.16.68-multi",
            "multi",
        ),
        (
            json!({"openshift_version": "4.16-multi", "cpu_architecture": "s390x"}),
            "4.16.68-multi",
            "multi",
        ),
        (
            json!({"openshift_version": "4.20.0-okd-scos.13", "pull_secret": ""}),
            "4.20.0-okd-scos.13",
            "x86_64",
        ),
    ] {
        let cluster =
            made(request.clone()).unwrap_or_else(|refusal| panic!("{request}: {refusal}"));
        assert_eq!(
            (
                cluster.openshift_version.as_str(),
                cluster.cpu_architecture.as_ref().map(ArchName::as_str)
            ),
            (version, Some(arch)),
            "{request}"
        );
    }
    let ibm =
        made(json!({"openshift_version": "4.16-multi", "cpu_architecture": "s390x"})).unwrap();
    assert_eq!(ibm.platform.unwrap().kind, PlatformType::None);
    for request in [
        json!({"openshift_version": ""}),
        json!({"openshift_version": "4"}),
        json!({"openshift_version": "4.99"}),
        json!({"cpu_architecture": "multi"}),
        json!({"cpu_architecture": "aarch64"}),
        json!({"ocp_release_image": "quay.io/unknown/release:this"}),
    ] {
        assert!(made(request.clone()).is_err(), "{request}");
    }
    let mut config = Config::default();
    config.catalog.okd_support = false;
    assert!(
        made_by(&config, json!({"openshift_version": "4.20.0-okd-scos.13"}))
            .unwrap_err()
            .contains("disabled in this service")
    );
}

#[test]
fn a_release_image_wins_over_the_version() {
    let known = made(json!({"openshift_version": "4.14"})).unwrap();
    let cluster = made(json!({"ocp_release_image": known.ocp_release_image})).unwrap();
    assert_eq!(cluster.openshift_version, known.openshift_version);
}

#[test]
fn networks_given_replace_the_usual_ones() {
    let cluster = made(json!({
        "cluster_networks": [{"cidr": "10.0.0.1/14"}],
        "machine_networks": [{"cidr": "192.0.2.0/24"}],
        "api_vips": [{"ip": "192.0.2.5"}],
        "ingress_vips": [{"ip": "192.0.2.6"}],
    }))
    .unwrap();
    assert_eq!(
        cluster.networks.cluster.unwrap(),
        [ClusterNetwork {
            cidr: "10.0.0.0/14".into(),
            host_prefix: 0
        }]
    );
    assert_eq!(cluster.api_vips.unwrap().len(), 1);
    assert_eq!(
        made(json!({"cluster_networks": []}))
            .unwrap()
            .networks
            .cluster,
        Some(Vec::new())
    );
}

#[test]
fn dual_stack_lists_hold_both_families_and_addresses_need_machine_networks() {
    let whole = json!({
        "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}, {"cidr": "fd01::/48", "host_prefix": 64}],
        "service_networks": [{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}],
        "machine_networks": [{"cidr": "192.0.2.0/24"}, {"cidr": "2001:db8::/64"}],
        "api_vips": [{"ip": "192.0.2.5"}, {"ip": "2001:db8::5"}],
        "ingress_vips": [{"ip": "192.0.2.6"}, {"ip": "2001:db8::6"}],
    });
    assert!(
        made(whole.clone())
            .unwrap()
            .feature_usage
            .contains_key("Dual-stack VIPs")
    );
    for (list, may_follow) in [
        ("cluster_networks", true),
        ("service_networks", true),
        ("machine_networks", false),
    ] {
        let mut part = whole.clone();
        part.as_object_mut().unwrap().remove(list);
        assert_eq!(made(part).is_ok(), may_follow, "without {list}");
        let mut short = whole.clone();
        short[list].as_array_mut().unwrap().pop();
        assert!(made(short).is_err(), "{list} of one family");
    }
}

#[test]
fn a_single_node_may_name_virtual_addresses_and_still_manages_its_own_network() {
    let body = json!({
        "control_plane_count": 1,
        "api_vips": [{"ip": "192.0.2.5"}],
        "ingress_vips": [{"ip": "192.0.2.6"}],
    });
    let cluster = made(body.clone()).unwrap();
    assert_eq!(cluster.user_managed_networking, Some(true));
    assert_eq!(cluster.api_vips.unwrap().len(), 1);
    let mut asked = body;
    asked["user_managed_networking"] = json!(true);
    assert!(made(asked).is_err());
}

#[test]
fn virtual_addresses_of_both_families_may_come_before_the_ranges() {
    let body = json!({
        "api_vips": [{"ip": "192.0.2.5"}, {"ip": "2001:db8::5"}],
        "ingress_vips": [{"ip": "192.0.2.6"}, {"ip": "2001:db8::6"}],
    });
    assert_eq!(made(body.clone()).unwrap().ingress_vips.unwrap().len(), 2);
    for bad in [
        json!({"openshift_version": "4.11"}),
        json!({"machine_networks": [{"cidr": "192.0.2.0/24"}]}),
        json!({"api_vips": [{"ip": "192.0.2.5"}, {"ip": "192.0.2.7"}]}),
    ] {
        let mut body = body.clone();
        body.as_object_mut()
            .unwrap()
            .extend(bad.as_object().unwrap().clone());
        assert!(made(body).is_err(), "{bad}");
    }
}

#[test]
fn settings_that_cannot_be_together_are_refused() {
    let vips = |more: Value| {
        let mut body =
            json!({"api_vips": [{"ip": "192.0.2.5"}], "ingress_vips": [{"ip": "192.0.2.6"}]});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    for request in [
        json!({"control_plane_count": 0}),
        json!({"control_plane_count": 4}),
        json!({"high_availability_mode": "None", "control_plane_count": 3}),
        json!({"control_plane_count": 1, "network_type": "OpenShiftSDN", "openshift_version": "4.14"}),
        json!({"control_plane_count": 1, "vip_dhcp_allocation": true}),
        json!({"control_plane_count": 1, "platform": {"type": "baremetal"}}),
        json!({"network_type": "OpenShiftSDN"}),
        json!({"platform": {"type": "nutanix"}, "openshift_version": "4.10"}),
        json!({"platform": {"type": "external"}}),
        json!({"olm_operators": [{"name": "odf"}], "control_plane_count": 1}),
        json!({"load_balancer": {"type": "user-managed"}, "user_managed_networking": true}),
        vips(json!({"user_managed_networking": true})),
        vips(json!({"vip_dhcp_allocation": true, "openshift_version": "4.14"})),
        vips(json!({"machine_networks": [{"cidr": "198.51.100.0/24"}]})),
        vips(json!({"ingress_vips": []})),
        json!({"machine_networks": [{"cidr": "192.0.2.0/25"}, {"cidr": "192.0.2.128/25"}]}),
        json!({"additional_ntp_source": "a.example", "ntp_sources": "b.example"}),
        json!({"disk_encryption": {"enable_on": "all", "mode": "tang"}}),
        json!({"name": "Edge"}),
        json!({"base_dns_domain": "a.b"}),
        json!({"ssh_public_key": "ssh-rsa nonsense"}),
        json!({"tags": "a, b"}),
        json!({"pull_secret": "{}"}),
        json!({"pull_secret": ""}),
    ] {
        assert!(made(request.clone()).is_err(), "{request}");
    }
}

#[test]
fn a_user_managed_load_balancer_is_accepted_on_old_versions_and_with_shared_addresses() {
    let cluster = made(json!({
        "openshift_version": "4.14",
        "load_balancer": {"type": "user-managed"},
        "machine_networks": [{"cidr": "192.0.2.0/25"}, {"cidr": "192.0.2.128/25"}],
        "api_vips": [{"ip": "192.0.2.200"}],
        "ingress_vips": [{"ip": "192.0.2.200"}],
    }));
    assert!(cluster.is_ok(), "{:?}", cluster.unwrap_err());
}

#[test]
fn the_configured_time_source_is_used_when_nothing_is_said() {
    let mut config = Config::default();
    config.cluster.ntp_default_server = "clock.example".into();
    assert_eq!(
        made_by(&config, json!({}))
            .unwrap()
            .ntp
            .additional
            .as_deref(),
        Some("clock.example")
    );
    assert_eq!(
        made_by(&config, json!({"additional_ntp_source": ""}))
            .unwrap()
            .ntp
            .additional,
        None
    );
    assert_eq!(
        made_by(&config, json!({"ntp_sources": "a1"}))
            .unwrap()
            .ntp
            .additional,
        None
    );
}

#[test]
fn an_imported_cluster_is_named_after_its_api() {
    let import = |api: &str, name: &str| {
        let id = "11111111-2222-4333-8444-555555555555";
        let params = json!({"api_vip_dnsname": api, "name": name, "openshift_cluster_id": id});
        imported(&serde_json::from_value(params).unwrap(), birth())
    };
    let cluster = import("api.real.example.com", "ignored").unwrap();
    assert_eq!(
        (cluster.name.as_str(), cluster.base_dns_domain.as_deref()),
        ("real", Some("example.com"))
    );
    assert_eq!(
        (cluster.kind, cluster.status),
        (ClusterKind::AddHostsCluster, ClusterStatus::AddingHosts)
    );
    assert!(
        cluster.imported
            && cluster.openshift_cluster_id.is_some()
            && cluster.cpu_architecture.is_none()
    );
    let by_address = import("192.0.2.5", "given").unwrap();
    assert_eq!(
        (by_address.name.as_str(), by_address.base_dns_domain),
        ("given", None)
    );
    assert!(import("192.0.2.5", "Bad_Name").is_err());
    assert!(import("api.Bad_Name.example.com", "fine").is_err());
}

#[test]
fn a_disconnected_cluster_is_a_name_and_a_version() {
    let params = |version: &str| {
        serde_json::from_value(json!({"name": "Any Name", "openshift_version": version})).unwrap()
    };
    let cluster = disconnected(&params("whatever"), birth()).unwrap();
    assert_eq!(
        (cluster.kind, cluster.status),
        (ClusterKind::DisconnectedCluster, ClusterStatus::Unmonitored)
    );
    assert_eq!(
        (
            cluster.name.as_str(),
            cluster.openshift_version.as_str(),
            cluster.platform
        ),
        ("Any Name", "whatever", None)
    );
    assert!(disconnected(&params(""), birth()).is_err());
}
