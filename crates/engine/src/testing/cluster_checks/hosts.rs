//! Hosts of the cluster: their number, their clocks, their links.

use super::*;

#[test]
fn clocks_may_differ_by_less_than_five_minutes() {
    for (seconds, letter) in [(299, 'S'), (300, 'F')] {
        let mut fleet = Fleet::ready(3, 3);
        let index = fleet.index(1);
        fleet.hosts[index].agent_clock = Some(fleet.now.unix_seconds() - seconds);
        fleet.refresh();
        assert_eq!(
            evaluated(&fleet, "ntp-server-configured").0,
            letter,
            "{seconds}"
        );
        fleet.hosts[index].status = HostStatus::Disconnected;
        fleet.last_seen[index] = muster_model::Timestamp(fleet.now.0 - 600_000_000);
        fleet.hosts[index].checked_in_at = fleet.last_seen[index];
        fleet.refresh();
        assert_eq!(
            evaluated(&fleet, "ntp-server-configured").0,
            'S',
            "a silent host does not count"
        );
    }
}

#[test]
fn roles_make_the_right_number_of_control_plane_hosts() {
    let id = "sufficient-masters-count";
    let (letter, message) = evaluated(&changed(|c| c.control_plane_count = Some(5)), id);
    assert!(letter == 'F' && message.contains("exactly 5"), "{message}");
    let unsaid = changed(|c| c.control_plane_count = None);
    assert_eq!(evaluated(&unsaid, id).0, 'S', "three unless set otherwise");
    let mut fleet = Fleet::ready(3, 4);
    for host in &mut fleet.hosts {
        host.role = HostRole::Master;
    }
    fleet.refresh();
    assert_eq!(evaluated(&fleet, id).0, 'F', "four are too many");
    fleet.hosts[0].role = HostRole::Bootstrap;
    fleet.hosts[1].role = HostRole::Worker;
    fleet.refresh();
    assert_eq!(
        evaluated(&fleet, id).0,
        'S',
        "a bootstrap host is one of them"
    );
}

#[test]
fn a_single_node_has_no_workers() {
    let id = "sufficient-masters-count";
    let mut alone = Fleet::new(1, 1);
    alone.boot_all();
    alone.settle();
    assert_eq!(evaluated(&alone, id).0, 'S');
    let mut fleet = Fleet::new(1, 2);
    fleet.boot_all();
    fleet.settle();
    fleet.hosts[1].role = HostRole::Worker;
    fleet.refresh();
    let (letter, message) = evaluated(&fleet, id);
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
    let (letter, message) = evaluated(&fleet, id);
    assert!(letter == 'F' && message.contains("arbiter"), "{message}");
    for host in &mut fleet.hosts {
        host.fencing_credentials = Some(Secret::new("{}"));
    }
    fleet.refresh();
    assert_eq!(evaluated(&fleet, id).0, 'S');
    let groups = fleet.cluster.connectivity_majority_groups.clone().unwrap();
    assert!(
        !groups.contains(r#""192.0.2.0/24":[]"#),
        "two are a majority here: {groups}"
    );
    let mut with_arbiter = Fleet::new(2, 3);
    with_arbiter.boot_all();
    with_arbiter.settle();
    assert_eq!(evaluated(&with_arbiter, id).0, 'S');
}

#[test]
fn collisions_reported_by_any_host_are_stored() {
    let mut fleet = Fleet::ready(3, 3);
    let report = json!({ "remote_hosts": [{ "host_id": key(2).host, "l2_connectivity": [
        { "outgoing_nic": "eth0", "remote_ip_address": "192.0.2.12", "remote_mac": "aa" },
        { "outgoing_nic": "eth0", "remote_ip_address": "192.0.2.12", "remote_mac": "bb" },
    ] }] });
    fleet.say(1, StepType::ConnectivityCheck, 0, &report.to_string());
    fleet.now = fleet.now.plus(minutes(1));
    fleet.refresh();
    let stored = fleet.cluster.ip_collisions.as_deref();
    assert_eq!(stored, Some(r#"{"192.0.2.12":["aa","bb"]}"#));
}
