//! Every branch of every cluster validation, as tables: what is changed, what is answered.

use muster_model::{
    Cluster, ClusterNetwork, ClusterStatus, FeatureUse, HostRole, HostStatus, Platform,
    PlatformType, Secret,
};
use serde_json::json;

use super::{Fleet, good_cluster, minutes, validations::outcome, vip};
use crate::{
    StepType,
    checks::cluster::{CLUSTER_CHECKS, Gate},
};

/// Letters of the statuses, as the tables below write them.
fn letter(status: &str) -> char {
    match status {
        "success" => 'S',
        "failure" => 'F',
        "pending" => 'P',
        "error" => 'E',
        "disabled" => 'D',
        _ => '-',
    }
}

fn judged(fleet: &Fleet, id: &str) -> (char, String) {
    let found = fleet.cluster_check(id);
    let message = found.clone().map(|(_, message)| message);
    (letter(&outcome(found)), message.unwrap_or_default())
}

fn empty(change: impl FnOnce(&mut Cluster)) -> Fleet {
    let mut fleet = Fleet::new(3, 0);
    fleet.cluster.api_vips = None;
    fleet.cluster.ingress_vips = None;
    change(&mut fleet.cluster);
    fleet.refresh();
    fleet
}

/// A ready cluster with one thing changed.
fn changed(change: impl FnOnce(&mut Cluster)) -> Fleet {
    let mut fleet = Fleet::ready(3, 3);
    change(&mut fleet.cluster);
    fleet.refresh();
    fleet
}

fn pods(list: &[(&str, i64)]) -> Option<Vec<ClusterNetwork>> {
    let list = list.iter().map(|(cidr, host_prefix)| ClusterNetwork {
        cidr: (*cidr).into(),
        host_prefix: *host_prefix,
    });
    Some(list.collect())
}

fn texts(list: &[&str]) -> Option<Vec<String>> {
    Some(list.iter().map(|text| (*text).to_owned()).collect())
}

fn oracle(cluster: &mut Cluster) {
    cluster.user_managed_networking = Some(true);
    cluster.platform = Some(Platform {
        kind: PlatformType::External,
        external_name: Some("oci".into()),
        cloud_controller_manager: Some("External".into()),
    });
}

fn bring_manifests(cluster: &mut Cluster) {
    let entry = FeatureUse {
        id: "CUSTOM_MANIFEST".into(),
        data: [].into(),
    };
    cluster
        .feature_usage
        .insert("Custom manifest".into(), entry);
}

fn leased(cluster: &mut Cluster) {
    cluster.vip_dhcp_allocation = Some(true);
    cluster.network_type = Some("OpenShiftSDN".into());
}

/// All results but the successes, and the status; the count of ids must be nineteen.
fn not_successful(fleet: &Fleet) -> (Vec<(char, &'static str)>, ClusterStatus) {
    let all: Vec<(char, &'static str)> = CLUSTER_CHECKS
        .iter()
        .filter(|check| check.category != "operators")
        .map(|check| (judged(fleet, check.id).0, check.id))
        .collect();
    assert_eq!(all.len(), 19);
    let other = all.into_iter().filter(|(letter, _)| *letter != 'S');
    (other.collect(), fleet.cluster.status)
}

const EMPTY_HA: &[(char, &str)] = &[
    ('F', "sufficient-masters-count"),
    ('F', "api-vips-defined"),
    ('P', "api-vips-valid"),
    ('F', "ingress-vips-defined"),
    ('P', "ingress-vips-valid"),
    ('P', "machine-cidr-defined"),
    ('P', "machine-cidr-equals-to-calculated-cidr"),
    ('P', "networks-same-address-families"),
    ('P', "no-cidrs-overlapping"),
];

#[test]
fn an_empty_cluster_of_several_nodes_waits_for_the_user() {
    let fleet = empty(|_| {});
    assert_eq!(
        not_successful(&fleet),
        (EMPTY_HA.to_vec(), ClusterStatus::PendingForInput)
    );
}

#[test]
fn an_empty_cluster_that_leases_its_addresses_waits_for_a_network() {
    let expected: Vec<(char, &str)> = EMPTY_HA
        .iter()
        .map(|&(letter, id)| match id {
            "api-vips-defined" | "ingress-vips-defined" => ('P', id),
            _ => (letter, id),
        })
        .collect();
    assert_eq!(
        not_successful(&empty(leased)),
        (expected, ClusterStatus::PendingForInput)
    );
}

#[test]
fn an_empty_single_node_waits_for_its_host() {
    let fleet = empty(|cluster| *cluster = good_cluster(1));
    let expected = vec![
        ('F', "sufficient-masters-count"),
        ('P', "machine-cidr-defined"),
        ('P', "networks-same-address-families"),
        ('P', "no-cidrs-overlapping"),
    ];
    assert_eq!(
        not_successful(&fleet),
        (expected, ClusterStatus::PendingForInput)
    );
}

#[test]
fn an_empty_cluster_in_the_users_network_needs_only_hosts_and_on_oracle_manifests() {
    let fleet = empty(|cluster| cluster.user_managed_networking = Some(true));
    let hosts = ('F', "sufficient-masters-count");
    assert_eq!(
        not_successful(&fleet),
        (vec![hosts], ClusterStatus::Insufficient)
    );
    let platform = ('F', "platform-requirements-satisfied");
    assert_eq!(
        not_successful(&empty(oracle)),
        (vec![platform, hosts], ClusterStatus::Insufficient)
    );
}

#[test]
fn with_inventories_the_missing_machine_network_is_a_failure() {
    let mut fleet = Fleet::new(3, 3);
    fleet.cluster.api_vips = None;
    fleet.cluster.ingress_vips = None;
    fleet.boot_all();
    fleet.settle();
    let (other, status) = not_successful(&fleet);
    assert_eq!(status, ClusterStatus::PendingForInput);
    assert!(other.contains(&('F', "machine-cidr-defined")));
    assert!(other.contains(&('F', "all-hosts-are-ready-to-install")));
    assert_eq!(judged(&fleet, "sufficient-masters-count").0, 'S');
}

#[test]
fn a_ready_cluster_passes_everything_and_a_day2_cluster_is_not_asked() {
    let fleet = Fleet::ready(3, 3);
    assert_eq!(not_successful(&fleet), (Vec::new(), ClusterStatus::Ready));
    let mut day2 = Fleet::new(3, 0);
    day2.cluster.kind = muster_model::ClusterKind::AddHostsCluster;
    day2.cluster.status = ClusterStatus::AddingHosts;
    day2.refresh();
    assert_eq!(day2.cluster.validations_info, None);
}

/// One row: a change to a ready cluster, the check, the answer, a word of the message.
type Row = (fn(&mut Cluster), &'static str, char, &'static str);

fn stands(rows: &[Row]) {
    for (number, (change, id, expected, word)) in rows.iter().enumerate() {
        let fleet = changed(change);
        let (found, message) = judged(&fleet, id);
        assert_eq!(found, *expected, "row {number}, {id}: {message}");
        assert!(message.contains(word), "row {number}, {id}: {message}");
    }
}

#[test]
fn networks_are_defined_or_not() {
    stands(&[
        (
            |c| c.networks.cluster = None,
            "cluster-cidr-defined",
            'F',
            "cluster_networks",
        ),
        (
            |c| c.networks.cluster = pods(&[("", 0)]),
            "cluster-cidr-defined",
            'F',
            "not set",
        ),
        (
            |c| c.networks.cluster = pods(&[("", 23)]),
            "cluster-cidr-defined",
            'S',
            "",
        ),
        (
            |c| c.networks.service = None,
            "service-cidr-defined",
            'F',
            "service_networks",
        ),
        (
            |c| c.networks.service = texts(&[""]),
            "service-cidr-defined",
            'F',
            "not set",
        ),
        (
            |c| c.base_dns_domain = None,
            "dns-domain-defined",
            'F',
            "base_dns_domain",
        ),
        (
            |c| c.base_dns_domain = Some(String::new()),
            "dns-domain-defined",
            'F',
            "",
        ),
        (
            |c| c.pull_secret = Secret::default(),
            "pull-secret-set",
            'F',
            "pull secret",
        ),
    ]);
}

#[test]
fn a_missing_machine_network_is_told_with_the_way_to_set_it() {
    stands(&[
        (
            |c| {
                c.networks.machine = None;
                c.load_balancer = Some("user-managed".into());
            },
            "machine-cidr-defined",
            'F',
            "set machine_networks",
        ),
        (
            |c| {
                c.networks.machine = None;
                c.api_vips = None;
                c.ingress_vips = None;
            },
            "machine-cidr-defined",
            'F',
            "set the virtual addresses",
        ),
        (
            |c| {
                c.networks.machine = None;
                c.user_managed_networking = Some(true);
            },
            "machine-cidr-defined",
            'S',
            "user manages",
        ),
    ]);
}

#[test]
fn prefixes_of_the_pods_network() {
    let id = "network-prefix-valid";
    stands(&[
        (|c| c.networks.cluster = None, id, 'P', "not set yet"),
        (
            |c| c.networks.cluster = pods(&[("", 0)]),
            id,
            'P',
            "not set yet",
        ),
        (
            |c| c.networks.cluster = pods(&[("10.128.0.0/14", 0)]),
            id,
            'F',
            "between 1 and 25",
        ),
        (
            |c| c.networks.cluster = pods(&[("10.128.0.0/14", 26)]),
            id,
            'F',
            "between 1 and 25",
        ),
        (
            |c| c.networks.cluster = pods(&[("10.128.0.0/14", 25)]),
            id,
            'S',
            "",
        ),
        (
            |c| c.networks.cluster = pods(&[("10.128.0.0/22", 23)]),
            id,
            'F',
            "4 are needed",
        ),
        (
            |c| c.networks.cluster = pods(&[("10.128.0.0/21", 23)]),
            id,
            'S',
            "",
        ),
        (
            |c| c.networks.cluster = pods(&[("10.128.0.0/24", 23)]),
            id,
            'F',
            "room for 1",
        ),
        (
            |c| c.networks.cluster = pods(&[("fd01::/48", 122)]),
            id,
            'F',
            "between 1 and 121",
        ),
        (
            |c| c.networks.cluster = pods(&[("10.128.0.0/14", 23), ("x", 64)]),
            id,
            'F',
            "CIDR",
        ),
        // Plugins of the user's own do not look at the host prefix.
        (
            |c| {
                c.network_type = Some("Calico".into());
                c.networks.cluster = pods(&[("10.128.0.0/14", 0)]);
            },
            id,
            'S',
            "",
        ),
        (
            |c| {
                c.install_config_overrides =
                    Some(r#"{"networking":{"networkType":"Cilium"}}"#.into());
                c.networks.cluster = pods(&[("10.128.0.0/24", 0)]);
            },
            id,
            'F',
            "room for 2",
        ),
        (
            |c| {
                c.network_type = Some("Calico".into());
                c.networks.cluster = pods(&[("fd01::/63", 0)]);
            },
            id,
            'F',
            "room for 2",
        ),
    ]);
}

#[test]
fn one_host_needs_one_share_and_six_need_six() {
    let mut single = Fleet::new(1, 1);
    single.cluster.networks.cluster = pods(&[("10.128.0.0/23", 23)]);
    single.boot_all();
    single.settle();
    assert_eq!(judged(&single, "network-prefix-valid").0, 'S');
    let mut six = Fleet::new(3, 6);
    six.cluster.networks.cluster = pods(&[("10.128.0.0/21", 23)]);
    six.boot_all();
    six.settle();
    let (letter, message) = judged(&six, "network-prefix-valid");
    assert!(
        letter == 'F' && message.contains("6 are needed"),
        "{message}"
    );
}

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
            "nothing",
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
    assert_eq!(judged(&fleet, "platform-requirements-satisfied").0, 'F');
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
}

#[test]
fn families_must_agree() {
    let id = "networks-same-address-families";
    stands(&[
        (|c| c.networks.service = None, id, 'P', "services missing"),
        (|c| c.networks.cluster = None, id, 'P', "pods"),
        (|c| c.networks.service = texts(&["x"]), id, 'E', "CIDR"),
        (
            |c| c.networks.service = texts(&["fd02::/112"]),
            id,
            'F',
            "services IPv6",
        ),
        (
            |c| c.networks.service = texts(&["172.30.0.0/16", "172.31.0.0/16"]),
            id,
            'F',
            "each once",
        ),
        (
            |c| c.networks.cluster = pods(&[("10.128.0.0/14", 23), ("10.132.0.0/14", 23)]),
            id,
            'S',
            "",
        ),
        (
            |c| {
                c.networks.cluster = pods(&[("10.128.0.0/14", 23), ("fd01::/48", 64)]);
                c.networks.service = texts(&["172.30.0.0/16", "fd02::/112"]);
            },
            id,
            'F',
            "Machine networks are IPv4",
        ),
        (
            |c| {
                c.networks.cluster = pods(&[("10.128.0.0/14", 23), ("fd01::/48", 64)]);
                c.networks.service = texts(&["fd02::/112", "172.30.0.0/16"]);
                c.networks.machine = texts(&["192.0.2.0/24", "2001:db8::/64"]);
            },
            id,
            'S',
            "",
        ),
        (
            |c| {
                c.user_managed_networking = Some(true);
                c.networks.machine = texts(&["2001:db8::/64"]);
            },
            id,
            'S',
            "",
        ),
    ]);
}

#[test]
fn networks_must_not_overlap() {
    let id = "no-cidrs-overlapping";
    stands(&[
        (|c| c.networks.cluster = None, id, 'P', "pods"),
        (|c| c.networks.service = None, id, 'P', "services"),
        (
            |c| c.networks.service = texts(&["172.30.0.0/16", "y"]),
            id,
            'E',
            "CIDR",
        ),
        (
            |c| c.networks.service = texts(&["172.30.0.0/16", "172.31.0.0/16"]),
            id,
            'E',
            "as many of each",
        ),
        (
            |c| c.networks.service = texts(&["10.130.0.0/16"]),
            id,
            'F',
            "10.130.0.0/16",
        ),
        (
            |c| c.networks.service = texts(&["192.0.2.128/25"]),
            id,
            'F',
            "machines",
        ),
        (
            |c| c.networks.cluster = pods(&[("192.0.0.0/16", 23)]),
            id,
            'F',
            "machines",
        ),
        // Machines do not matter where the user manages their network.
        (
            |c| {
                c.user_managed_networking = Some(true);
                c.networks.cluster = pods(&[("192.0.0.0/16", 23)]);
                c.networks.machine = texts(&["192.0.2.0/24"]);
            },
            id,
            'S',
            "",
        ),
        // The second machine network of a user's load balancer counts as well.
        (
            |c| {
                c.load_balancer = Some("user-managed".into());
                c.networks.machine = texts(&["192.0.2.0/24", "172.30.4.0/24"]);
            },
            id,
            'F',
            "172.30.4.0/24",
        ),
    ]);
}

#[test]
fn virtual_addresses_are_defined_or_needless() {
    let id = "api-vips-defined";
    stands(&[
        (|_| {}, id, 'S', "192.0.2.200"),
        (
            |c| c.api_vips = Some(Vec::new()),
            id,
            'F',
            "choose a free one",
        ),
        (
            |c| c.ingress_vips = None,
            "ingress-vips-defined",
            'F',
            "ingress",
        ),
        (
            |c| {
                c.api_vips = None;
                c.user_managed_networking = Some(true);
            },
            id,
            'S',
            "No virtual address",
        ),
        (
            |c| {
                c.ingress_vips = None;
                c.control_plane_count = Some(1);
            },
            "ingress-vips-defined",
            'S',
            "No virtual address",
        ),
        (
            |c| {
                leased(c);
                c.api_vips = None;
            },
            id,
            'F',
            "the hosts are asking",
        ),
    ]);
}

#[test]
fn virtual_addresses_are_valid_or_not() {
    let id = "api-vips-valid";
    stands(&[
        (|_| {}, id, 'S', "192.0.2.200"),
        (|c| c.api_vips = None, id, 'P', "not set yet"),
        (
            |c| {
                c.networks.machine = None;
                c.load_balancer = Some("user-managed".into());
            },
            id,
            'P',
            "machine network",
        ),
        (
            |c| {
                c.user_managed_networking = Some(true);
                c.api_vips = Some(vec![vip("198.51.100.1")]);
            },
            id,
            'S',
            "No virtual address",
        ),
        (
            |c| {
                c.control_plane_count = Some(1);
                c.api_vips = Some(vec![vip("198.51.100.1")]);
            },
            id,
            'S',
            "No virtual address",
        ),
        (
            |c| c.api_vips = Some(vec![vip("192.0.2.200"), vip("2001:db8::9")]),
            id,
            'F',
            "no machine network of its own",
        ),
        (
            |c| c.api_vips = Some(vec![vip("192.0.2.11")]),
            id,
            'F',
            "used by another machine",
        ),
        (
            |c| c.api_vips = Some(vec![vip("192.0.2.255")]),
            id,
            'F',
            "broadcast",
        ),
        (
            |c| c.ingress_vips = Some(vec![vip("198.51.100.1")]),
            "ingress-vips-valid",
            'F',
            "outside the machine network 192.0.2.0/24",
        ),
        (
            |c| {
                c.load_balancer = Some("user-managed".into());
                c.networks.machine = texts(&["oops"]);
            },
            id,
            'F',
            "CIDR",
        ),
    ]);
}

#[test]
fn behind_the_users_load_balancer_any_machine_network_will_do_and_nobody_is_asked() {
    let id = "api-vips-valid";
    stands(&[
        (
            |c| {
                c.load_balancer = Some("user-managed".into());
                c.networks.machine = texts(&["203.0.113.0/24", "198.51.100.0/24"]);
                c.api_vips = Some(vec![vip("198.51.100.9")]);
            },
            id,
            'S',
            "",
        ),
        (
            |c| {
                c.load_balancer = Some("user-managed".into());
                c.api_vips = Some(vec![vip("192.0.2.11")]);
            },
            id,
            'S',
            "",
        ),
        (
            |c| {
                c.load_balancer = Some("user-managed".into());
                c.api_vips = Some(vec![vip("198.51.100.9")]);
            },
            id,
            'F',
            "outside",
        ),
        (
            |c| {
                c.load_balancer = Some("user-managed".into());
                c.api_vips = Some(vec![vip("192.0.2.255")]);
            },
            id,
            'F',
            "broadcast",
        ),
        // Only the first address is judged.
        (
            |c| {
                c.load_balancer = Some("user-managed".into());
                c.api_vips = Some(vec![vip("192.0.2.9"), vip("2001:db8::9")]);
            },
            id,
            'S',
            "",
        ),
    ]);
}

#[test]
fn without_inventories_nothing_is_said_about_set_addresses() {
    let fleet = empty(|c| {
        c.api_vips = Some(vec![vip("192.0.2.200")]);
        c.ingress_vips = Some(vec![vip("192.0.2.201")]);
        c.networks.machine = texts(&["192.0.2.0/24"]);
    });
    assert_eq!(judged(&fleet, "api-vips-valid").0, 'P');
    let id = "machine-cidr-equals-to-calculated-cidr";
    assert_eq!(judged(&fleet, id).0, 'P');
    assert_eq!(judged(&fleet, "machine-cidr-defined").0, 'S');
}

#[test]
fn the_machine_network_follows_from_the_addresses() {
    let id = "machine-cidr-equals-to-calculated-cidr";
    stands(&[
        (|_| {}, id, 'S', ""),
        (
            |c| {
                c.api_vips = None;
                c.ingress_vips = Some(Vec::new());
            },
            id,
            'P',
            "not set yet",
        ),
        (
            |c| c.user_managed_networking = Some(true),
            id,
            'S',
            "user decides",
        ),
        (
            |c| c.load_balancer = Some("user-managed".into()),
            id,
            'S',
            "user decides",
        ),
        (
            |c| c.api_vips = Some(vec![vip("203.0.113.1")]),
            id,
            'F',
            "No host has a network",
        ),
        (
            |c| {
                c.api_vips = None;
                c.ingress_vips = Some(vec![vip("203.0.113.1")]);
            },
            id,
            'F',
            "203.0.113.1",
        ),
        (
            |c| c.api_vips = Some(vec![vip("203.0.113.1"), vip("2001:db8::1")]),
            id,
            'F',
            "2001:db8::1",
        ),
    ]);
}

/// While a cluster is ready the machine network is not recomputed, so a stale one is seen.
#[test]
fn a_machine_network_that_does_not_fit_is_told() {
    let id = "machine-cidr-equals-to-calculated-cidr";
    for (machine, word) in [
        (
            texts(&["203.0.113.0/24"]),
            "but 192.0.2.200 belongs to 192.0.2.0/24",
        ),
        (texts(&["nonsense"]), "CIDR form"),
    ] {
        let mut fleet = Fleet::ready(3, 3);
        fleet.cluster.status = ClusterStatus::PreparingForInstallation;
        for host in &mut fleet.hosts {
            host.status = HostStatus::PreparingForInstallation;
        }
        fleet.cluster.networks.machine = machine;
        fleet.refresh();
        let (letter, message) = judged(&fleet, id);
        assert_eq!(letter, 'F', "{message}");
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn an_address_without_a_machine_network_at_its_place_is_told() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.status = ClusterStatus::PreparingForInstallation;
    for host in &mut fleet.hosts {
        host.status = HostStatus::PreparingForInstallation;
    }
    fleet.cluster.api_vips = Some(vec![vip("192.0.2.200"), vip("192.0.2.202")]);
    fleet.refresh();
    let (letter, message) = judged(&fleet, "machine-cidr-equals-to-calculated-cidr");
    assert!(
        letter == 'F' && message.contains("not among the machine networks"),
        "{message}"
    );
}

#[test]
fn clocks_may_differ_by_less_than_five_minutes() {
    for (seconds, letter) in [(299, 'S'), (300, 'F')] {
        let mut fleet = Fleet::ready(3, 3);
        let index = fleet.index(1);
        fleet.hosts[index].agent_clock = Some(fleet.now.unix_seconds() - seconds);
        fleet.refresh();
        assert_eq!(
            judged(&fleet, "ntp-server-configured").0,
            letter,
            "{seconds}"
        );
        fleet.hosts[index].status = HostStatus::Disconnected;
        fleet.last_seen[index] = muster_model::Timestamp(fleet.now.0 - 600_000_000);
        fleet.hosts[index].checked_in_at = fleet.last_seen[index];
        fleet.refresh();
        assert_eq!(
            judged(&fleet, "ntp-server-configured").0,
            'S',
            "a host nobody hears does not count"
        );
    }
}

#[test]
fn roles_make_the_right_number_of_control_plane_hosts() {
    let id = "sufficient-masters-count";
    let (letter, message) = judged(&changed(|c| c.control_plane_count = Some(5)), id);
    assert!(letter == 'F' && message.contains("exactly 5"), "{message}");
    let mut fleet = Fleet::ready(3, 4);
    for host in &mut fleet.hosts {
        host.role = HostRole::Master;
    }
    fleet.refresh();
    assert_eq!(judged(&fleet, id).0, 'F', "four are too many");
    fleet.hosts[0].role = HostRole::Bootstrap;
    fleet.hosts[1].role = HostRole::Worker;
    fleet.refresh();
    assert_eq!(judged(&fleet, id).0, 'S', "a bootstrap host is one of them");
}

#[test]
fn a_single_node_has_no_workers() {
    let id = "sufficient-masters-count";
    let mut fleet = Fleet::new(1, 2);
    fleet.boot_all();
    fleet.settle();
    let (letter, message) = judged(&fleet, id);
    assert!(letter == 'F' && message.contains("no workers"), "{message}");
}

#[test]
fn two_control_planes_need_an_arbiter_or_fencing() {
    let id = "sufficient-masters-count";
    let mut fleet = Fleet::new(2, 2);
    fleet.boot_all();
    fleet.settle();
    for host in &mut fleet.hosts {
        host.role = HostRole::Master;
    }
    fleet.refresh();
    let (letter, message) = judged(&fleet, id);
    assert!(letter == 'F' && message.contains("arbiter"), "{message}");
    for host in &mut fleet.hosts {
        host.fencing_credentials = Some(Secret::new("{}"));
    }
    fleet.refresh();
    assert_eq!(judged(&fleet, id).0, 'S');
    let groups = fleet.cluster.connectivity_majority_groups.clone().unwrap();
    assert!(
        !groups.contains(r#""192.0.2.0/24":[]"#),
        "two are a majority here: {groups}"
    );
    let mut with_arbiter = Fleet::new(2, 3);
    with_arbiter.boot_all();
    with_arbiter.settle();
    assert_eq!(judged(&with_arbiter, id).0, 'S');
}

#[test]
fn a_disabled_check_is_shown_as_such_and_an_ignored_one_opens_its_gate() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.network_type = Some("Cilium".into());
    let id = "custom-manifests-requirements-satisfied";
    fleet.settings.disabled_cluster_checks.insert(id.into());
    fleet.refresh();
    assert_eq!(judged(&fleet, id).0, 'D');
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    fleet.cluster.ignored_cluster_validations = Some(format!("[{id:?}]"));
    fleet.refresh();
    assert_eq!(judged(&fleet, id).0, 'F');
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    fleet.cluster.ignored_cluster_validations = Some(r#"["all"]"#.into());
    fleet.cluster.pull_secret = Secret::default();
    fleet.refresh();
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::PendingForInput,
        "a pull secret cannot be done without"
    );
}

#[test]
fn every_row_explains_itself_and_ids_are_sorted_in_their_category() {
    for check in CLUSTER_CHECKS {
        assert!(check.asks.ends_with('?'), "{}", check.id);
        assert!(!check.gate.about().is_empty());
    }
    let never = CLUSTER_CHECKS.iter().filter(|check| check.never_ignored());
    assert_eq!(never.count(), 5);
    let advisory = CLUSTER_CHECKS.iter().filter(|c| c.gate == Gate::Nothing);
    let advisory: Vec<&str> = advisory.map(|check| check.id).collect();
    assert!(advisory.contains(&"platform-requirements-satisfied"));
    let places: Vec<(&str, &str)> = CLUSTER_CHECKS
        .iter()
        .map(|check| (check.category, check.id))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn a_preparing_cluster_is_still_judged_by_what_its_hosts_found() {
    let mut fleet = Fleet::new(3, 3);
    fleet.settings.disabled_steps.insert(StepType::VerifyVips);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready, "by scans alone");
    fleet.start();
    assert_eq!(judged(&fleet, "api-vips-valid").0, 'S');
}

#[test]
fn collisions_reported_by_any_host_are_stored() {
    let mut fleet = Fleet::ready(3, 3);
    let report = json!({ "remote_hosts": [{ "host_id": super::key(2).host, "l2_connectivity": [
        { "outgoing_nic": "eth0", "remote_ip_address": "192.0.2.12", "remote_mac": "aa" },
        { "outgoing_nic": "eth0", "remote_ip_address": "192.0.2.12", "remote_mac": "bb" },
    ] }] });
    fleet.say(1, StepType::ConnectivityCheck, 0, &report.to_string());
    fleet.now = fleet.now.plus(minutes(1));
    fleet.refresh();
    let stored = fleet.cluster.ip_collisions.as_deref();
    assert_eq!(stored, Some(r#"{"192.0.2.12":["aa","bb"]}"#));
}
