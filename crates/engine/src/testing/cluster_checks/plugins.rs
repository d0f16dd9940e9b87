//! Network plugins and platforms, and the manifests some of them need.

use super::*;

#[test]
fn network_plugins_and_what_they_can_do() {
    let id = "network-type-valid";
    stands(&[
        (|c| c.network_type = None, id, 'S', ""),
        (|c| c.network_type = Some("Cilium".into()), id, 'S', ""),
        (|c| c.network_type = Some("None".into()), id, 'S', ""),
        (|c| c.network_type = Some("Weave".into()), id, 'F', "Weave"),
        (
            |c| c.network_type = Some("OpenShiftSDN".into()),
            id,
            'S',
            "",
        ),
        (
            |c| {
                c.network_type = Some("OpenShiftSDN".into());
                c.networks.service = texts(&["172.30.0.0/16", "fd02::/112"]);
            },
            id,
            'F',
            "IPv6",
        ),
        (
            |c| {
                c.network_type = Some("OpenShiftSDN".into());
                c.control_plane_count = Some(1);
            },
            id,
            'F',
            "single node",
        ),
        (|c| c.vip_dhcp_allocation = Some(true), id, 'F', "DHCP"),
        (leased, id, 'S', ""),
    ]);
}

#[test]
fn plugins_and_platforms_that_need_manifests_of_the_user() {
    let id = "custom-manifests-requirements-satisfied";
    stands(&[
        (|_| {}, id, 'S', "part of the release"),
        (
            |c| c.network_type = Some("Cilium".into()),
            id,
            'F',
            "Cilium",
        ),
        (|c| c.network_type = Some("None".into()), id, 'F', "add"),
        (
            |c| {
                c.network_type = Some("Calico".into());
                bring_manifests(c);
            },
            id,
            'S',
            "Calico",
        ),
        (
            |c| {
                c.install_config_overrides =
                    Some(r#"{"networking":{"networkType":"CiscoACI"}}"#.into());
            },
            id,
            'F',
            "CiscoACI",
        ),
        (
            |c| {
                c.network_type = Some("Cilium".into());
                c.install_config_overrides =
                    Some(r#"{"networking":{"networkType":"OVNKubernetes"}}"#.into());
            },
            id,
            'S',
            "",
        ),
        (oracle, "platform-requirements-satisfied", 'F', "Oracle"),
        (
            |c| {
                oracle(c);
                bring_manifests(c);
            },
            "platform-requirements-satisfied",
            'S',
            "Oracle",
        ),
        (
            |c| {
                oracle(c);
                c.platform.as_mut().unwrap().external_name = Some("other".into());
            },
            "platform-requirements-satisfied",
            'S',
            "no additional",
        ),
    ]);
}

#[test]
fn foreign_plugins_hold_the_cluster_back_and_oracle_does_not() {
    let cilium = changed(|c| c.network_type = Some("Cilium".into()));
    assert_eq!(cilium.cluster.status, ClusterStatus::Insufficient);
    let mut fleet = Fleet::new(3, 3);
    fleet.cluster.api_vips = Some(Vec::new());
    fleet.cluster.ingress_vips = Some(Vec::new());
    oracle(&mut fleet.cluster);
    fleet.cluster.ignored_host_validations = Some(r#"["all"]"#.into());
    fleet.boot_all();
    fleet.settle();
    assert_eq!(evaluated(&fleet, "platform-requirements-satisfied").0, 'F');
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
}
