//! Virtual addresses and their machine network.

use super::*;

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
            "the hosts are requesting",
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
            "no machine network; set one",
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
fn behind_the_users_load_balancer_any_machine_network_will_do_and_hosts_are_not_asked() {
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
        // Only the first address is evaluated.
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
    assert_eq!(evaluated(&fleet, "api-vips-valid").0, 'P');
    let id = "machine-cidr-equals-to-calculated-cidr";
    assert_eq!(evaluated(&fleet, id).0, 'P');
    assert_eq!(evaluated(&fleet, "machine-cidr-defined").0, 'S');
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
            "user manages",
        ),
        (
            |c| c.load_balancer = Some("user-managed".into()),
            id,
            'S',
            "user manages",
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
fn a_machine_network_that_does_not_fit_is_reported() {
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
        let (letter, message) = evaluated(&fleet, id);
        assert_eq!(letter, 'F', "{message}");
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn an_address_without_a_machine_network_at_its_place_is_reported() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.status = ClusterStatus::PreparingForInstallation;
    for host in &mut fleet.hosts {
        host.status = HostStatus::PreparingForInstallation;
    }
    fleet.cluster.api_vips = Some(vec![vip("192.0.2.200"), vip("192.0.2.202")]);
    fleet.refresh();
    let (letter, message) = evaluated(&fleet, "machine-cidr-equals-to-calculated-cidr");
    assert!(
        letter == 'F' && message.contains("not among the machine networks"),
        "{message}"
    );
}

#[test]
fn a_preparing_cluster_is_still_validated_by_what_its_hosts_found() {
    let mut fleet = Fleet::new(3, 3);
    fleet.settings.disabled_steps.insert(StepType::VerifyVips);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready, "by scans alone");
    fleet.start();
    assert_eq!(evaluated(&fleet, "api-vips-valid").0, 'S');
}
