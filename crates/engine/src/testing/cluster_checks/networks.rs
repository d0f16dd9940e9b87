//! Networks of pods, services and machines.

use super::*;

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
fn a_missing_machine_network_is_reported_with_the_way_to_set_it() {
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
    assert_eq!(evaluated(&single, "network-prefix-valid").0, 'S');
    let mut six = Fleet::new(3, 6);
    six.cluster.networks.cluster = pods(&[("10.128.0.0/21", 23)]);
    six.boot_all();
    six.settle();
    let (letter, message) = evaluated(&six, "network-prefix-valid");
    assert!(
        letter == 'F' && message.contains("6 are needed"),
        "{message}"
    );
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
            "service networks IPv6",
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
            "same number of each",
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
