//! Every result of the connectivity validations.

use muster_model::{HostRole, Secret};
use serde_json::{Value, json};

use super::super::{
    host::Gate,
    testbed::{Bed, address, connectivity, report, text},
};
use crate::{agent_json::Stored, majority::Groups, testing::key};

const MAJORITY: &str = "belongs-to-majority-group";
const MTU: &str = "mtu-valid";
const LATENCY: &str = "sufficient-network-latency-requirement-for-role";
const LOSS: &str = "sufficient-packet-loss-requirement-for-role";

fn with_groups(change: impl FnOnce(&mut Groups)) -> Bed {
    Bed::known().with(|bed| {
        let Stored::Here(groups) = &mut bed.groups else {
            panic!("the good host has groups");
        };
        change(groups);
    })
}

#[test]
fn a_host_must_be_in_the_group_of_every_machine_network() {
    Bed::known().expect(MAJORITY, "success");
    let outside = with_groups(|groups| {
        groups
            .majority_groups
            .insert("192.0.2.0/24".into(), vec![key(2).host]);
    });
    outside.expect_message(MAJORITY, "failure", &["192.0.2.0/24"]);
    assert!(!outside.is_open(Gate::Install));
    let second = |bed: Bed| {
        bed.with_cluster(|cluster| {
            cluster.networks.machine = Some(vec!["192.0.2.0/24".into(), "2001:db8::/64".into()]);
        })
    };
    second(Bed::known()).expect_message(MAJORITY, "failure", &["2001:db8::/64"]);
    let both = with_groups(|groups| {
        groups
            .majority_groups
            .insert("2001:db8::/64".into(), vec![key(1).host]);
    });
    second(both).expect(MAJORITY, "success");
    Bed::known()
        .with_cluster(|cluster| cluster.networks.machine = None)
        .expect(MAJORITY, "pending");
    Bed::known()
        .with_cluster(|cluster| cluster.networks.machine = Some(vec!["odd".into()]))
        .expect(MAJORITY, "error");
}

#[test]
fn who_did_not_answer_is_named() {
    let l2 =
        json!({ "outgoing_nic": "eth0", "remote_ip_address": address(2), "successful": false });
    let reported_text =
        json!({ "remote_hosts": [{ "host_id": key(2).host, "l2_connectivity": [l2] }] });
    let outside = with_groups(|groups| groups.majority_groups.clear())
        .with_host(|host| host.reports.connectivity = report(&reported_text));
    outside.expect_message(MAJORITY, "failure", &["host-2", &address(2), "eth0"]);
    outside
        .with_host(|host| host.reports.connectivity = None)
        .expect_message(MAJORITY, "failure", &["not reported connectivity yet"]);
}

#[test]
fn where_the_user_brings_the_network_all_others_must_ping_each_family() {
    for managed in [true, false] {
        let users = |bed: Bed| {
            bed.with_cluster(|cluster| {
                cluster.user_managed_networking = Some(managed);
                let balancer = if managed {
                    "cluster-managed"
                } else {
                    "user-managed"
                };
                cluster.load_balancer = Some(balancer.into());
            })
        };
        users(Bed::known()).expect(MAJORITY, "success");
        let unseen = with_groups(|groups| groups.l3_connected_addresses.clear());
        users(unseen).expect_message(MAJORITY, "failure", &["IPv4"]);
        let dual = |bed: Bed| {
            users(bed).with_cluster(|cluster| {
                cluster.networks.service = Some(vec!["172.30.0.0/16".into(), "fd02::/112".into()]);
            })
        };
        dual(Bed::known()).expect_message(MAJORITY, "failure", &["IPv6"]);
        let both = with_groups(|groups| {
            let own = groups.l3_connected_addresses.get_mut(&key(1).host).unwrap();
            own.push("2001:db8::11".into());
        });
        dual(both).expect(MAJORITY, "success");
        let nothing = users(Bed::known()).with_cluster(|cluster| {
            cluster.networks = muster_model::Networks::default();
        });
        nothing.expect(MAJORITY, "failure");
        let odd = users(Bed::known())
            .with_cluster(|cluster| cluster.networks.service = Some(vec!["odd".into()]));
        odd.expect(MAJORITY, "error");
    }
}

#[test]
fn groups_are_not_asked_of_single_hosts_and_wait_for_enough_of_them() {
    let empty = || with_groups(|groups| *groups = Groups::default());
    empty().single_node().expect(MAJORITY, "success");
    empty().day2().expect(MAJORITY, "success");
    empty().unbound().expect(MAJORITY, "absent");
    Bed::known()
        .with(|bed| bed.groups = Stored::Missing)
        .expect(MAJORITY, "pending");
    Bed::known()
        .with(|bed| bed.groups = Stored::Broken)
        .expect(MAJORITY, "error");
    empty().expect(MAJORITY, "failure");
    let two = || empty().with(|bed| drop(bed.others.pop()));
    two().expect_message(MAJORITY, "pending", &["2 hosts", "at least 3"]);
    two().user_managed().expect(MAJORITY, "pending");
    let fencing = two()
        .with_cluster(|cluster| cluster.control_plane_count = Some(2))
        .with(|bed| {
            bed.host.fencing_credentials = Some(Secret::new("{}"));
            bed.others[0].host.fencing_credentials = Some(Secret::new("{}"));
        });
    fencing.expect(MAJORITY, "failure");
    fencing
        .with(|bed| bed.others[0].host.fencing_credentials = None)
        .expect(MAJORITY, "pending");
}

fn with_mtu(nic: &str, remote: &str, successful: bool) -> Bed {
    let mtu =
        json!({ "outgoing_nic": nic, "remote_ip_address": remote, "mtu_successful": successful });
    let reported_text =
        json!({ "remote_hosts": [{ "host_id": key(2).host, "mtu_report": [mtu] }] });
    Bed::known().with_host(|host| host.reports.connectivity = report(&reported_text))
}

#[test]
fn packets_of_full_size_must_pass_inside_the_machine_network() {
    with_mtu("eth0", &address(2), true).expect(MTU, "success");
    let dropped = with_mtu("eth0", &address(2), false);
    dropped.expect_message(MTU, "failure", &["host-2", &address(2), "eth0"]);
    assert!(dropped.is_open(Gate::Install), "it is advice");
    with_mtu("eth0", "198.51.100.9", false).expect(MTU, "success");
    with_mtu("eth9", &address(2), false).expect(MTU, "success");
    with_mtu("eth0", "nowhere", false).expect(MTU, "success");
    // A card with an address of another family is not on the way.
    with_mtu("eth0", "2001:db8::5", false)
        .with_cluster(|cluster| {
            cluster.networks.machine = Some(vec!["192.0.2.0/24".into(), "2001:db8::/64".into()]);
        })
        .expect(MTU, "success");
    // Nor is one that is in another network.
    with_mtu("eth0", &address(2), false)
        .with_inventory(|inventory| {
            inventory.interfaces.0.as_mut().unwrap()[0].ipv4_addresses =
                vec!["198.51.100.1/24".to_owned()].into();
        })
        .expect(MTU, "success");
    with_mtu("eth0", "198.51.100.9", false)
        .user_managed()
        .expect(MTU, "failure");
}

#[test]
fn what_cannot_be_read_makes_no_guess_about_packets() {
    let odd_card = with_mtu("eth0", &address(2), true).with_inventory(|inventory| {
        inventory.interfaces.0.as_mut().unwrap()[0].ipv6_addresses = vec!["odd".to_owned()].into();
    });
    odd_card.expect_message(MTU, "error", &["odd"]);
    with_mtu("eth0", &address(2), true)
        .with_cluster(|cluster| cluster.networks.machine = Some(vec!["odd".into()]))
        .expect(MTU, "failure");
    let with = |reported_text: Option<&str>| {
        Bed::known().with_host(|host| host.reports.connectivity = reported_text.map(text))
    };
    with(Some("garbage")).expect(MTU, "error");
    with(None).expect(MTU, "pending");
}

#[test]
fn packets_are_not_measured_without_other_hosts() {
    Bed::known().unbound().expect(MTU, "absent");
    Bed::known().single_node().expect(MTU, "absent");
    Bed::known().day2().expect(MTU, "success");
    Bed::discovering().expect(MTU, "pending");
    Bed::discovering().single_node().expect(MTU, "pending");
}

fn measured(role: HostRole, rtt: f64, loss: f64) -> Bed {
    Bed::known().with(|bed| {
        bed.host.role = role;
        bed.others[0].host.role = role;
        bed.host.reports.connectivity = report(&connectivity(&[(2, rtt, loss)]));
    })
}

#[test]
fn each_role_has_its_own_limits() {
    for (role, rtt, latency, loss, lost) in [
        (HostRole::Master, 100.0, "success", 0.0, "success"),
        (HostRole::Master, 100.01, "failure", 0.01, "failure"),
        (HostRole::Arbiter, 1000.0, "success", 0.01, "failure"),
        (HostRole::Worker, 1000.0, "success", 10.0, "success"),
        (HostRole::Worker, 1000.1, "failure", 10.1, "failure"),
        (HostRole::AutoAssign, 5000.0, "success", 50.0, "success"),
    ] {
        let bed = measured(role, rtt, loss).with(|bed| {
            bed.host.suggested_role = HostRole::AutoAssign;
            bed.others[0].host.suggested_role = HostRole::AutoAssign;
        });
        bed.expect(LATENCY, latency);
        bed.expect(LOSS, lost);
        assert_eq!(
            bed.is_open(Gate::Install),
            latency == "success" && lost == "success"
        );
    }
    let slow = measured(HostRole::Master, 150.5, 2.5);
    slow.expect_message(
        LATENCY,
        "failure",
        &["host-2", "150.5 ms", "100 ms", "master"],
    );
    slow.expect_message(LOSS, "failure", &["host-2", "2.5 %", "0 %"]);
}

#[test]
fn only_peers_of_the_same_role_count_and_what_they_would_be_counts() {
    let slow = |change: fn(&mut Bed)| {
        let bed = measured(HostRole::Master, 999.0, 9.0).with(change);
        (bed.found(LATENCY).unwrap().0, bed.found(LOSS).unwrap().0)
    };
    let both = |status: &str| (status.to_owned(), status.to_owned());
    assert_eq!(slow(|_| {}), both("failure"));
    assert_eq!(
        slow(|bed| bed.others[0].host.role = HostRole::Worker),
        both("success")
    );
    assert_eq!(
        slow(|bed| {
            bed.others[0].host.role = HostRole::AutoAssign;
            bed.others[0].host.suggested_role = HostRole::Master;
        }),
        both("failure")
    );
    assert_eq!(slow(|bed| bed.others[0].inventory = None), both("success"));
    assert_eq!(
        slow(|bed| {
            bed.others[0].inventory = None;
            bed.others[0].broken = true;
        }),
        both("failure")
    );
    assert_eq!(
        slow(|bed| drop(bed.others.remove(0))),
        both("failure"),
        "a stranger"
    );
}

#[test]
fn an_address_is_named_once_however_often_and_however_it_is_spelled() {
    let l3 =
        |ip: &str| json!({ "remote_ip_address": ip, "average_rtt_ms": 500, "successful": true });
    let twice = json!([l3("2001:db8::2"), l3("2001:db8:0::2"), l3("2001:db8::2")]);
    let reported_text =
        json!({ "remote_hosts": [{ "host_id": key(2).host, "l3_connectivity": twice }] });
    let bed = Bed::known().with_host(|host| host.reports.connectivity = report(&reported_text));
    let message = bed.expect(LATENCY, "failure");
    assert_eq!(message.matches("host-2").count(), 1, "{message}");
}

#[test]
fn nothing_is_asked_of_hosts_without_peers_role_or_limit() {
    for id in [LATENCY, LOSS] {
        let slow = || measured(HostRole::Master, 999.0, 9.0);
        slow().with(|bed| bed.others.clear()).expect(id, "success");
        slow().day2().expect(id, "success");
        slow().unbound().expect(id, "absent");
        slow()
            .with_host(|host| host.role = HostRole::AutoAssign)
            .expect(id, "success");
        slow()
            .with_cluster(|cluster| cluster.control_plane_count = Some(1))
            .expect(id, "success");
        Bed::discovering().expect(id, "pending");
        Bed::discovering().unbound().expect(id, "pending");
        let with = |reported_text: Option<Value>| {
            let reported_text = reported_text.map(|reported_text| text(&reported_text.to_string()));
            Bed::known().with_host(|host| host.reports.connectivity = reported_text)
        };
        with(None).expect(id, "pending");
        with(Some(json!(3))).expect(id, "error");
        with(Some(
            json!({ "remote_hosts": [{ "l3_connectivity": [{}] }] }),
        ))
        .expect(id, "success");
    }
}
