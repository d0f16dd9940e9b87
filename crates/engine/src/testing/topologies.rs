//! Clusters of every topology: roles, the bootstrap host, and how many hosts may fail.

use muster_model::{ClusterStatus, Host, HostRole, HostStatus, Secret};

use super::{Fleet, key};
use crate::{install, roles};

/// Hosts of these roles, each with a status.
fn hosts(of: &[(HostRole, HostStatus)]) -> Vec<Host> {
    let fleet = Fleet::ready(3, 3);
    let make = |(n, (role, status)): (usize, &(HostRole, HostStatus))| {
        let mut host = fleet.host(1).clone();
        host.id = key(n as u128 + 1).host;
        (host.role, host.suggested_role, host.status) = (*role, *role, *status);
        host.bootstrap = false;
        host
    };
    of.iter().enumerate().map(make).collect()
}

fn fence(hosts: &mut [Host]) {
    for host in hosts {
        host.fencing_credentials = Some(Secret::new("{}"));
    }
}

#[test]
fn how_many_hosts_a_cluster_can_lose() {
    use HostRole::{Arbiter as A, Master as M, Worker as W};
    let (up, down) = (HostStatus::Installed, HostStatus::Error);
    type Case<'a> = (i64, &'a [(HostRole, HostStatus)], bool);
    let cases: &[Case<'_>] = &[
        (1, &[(M, up)], true),
        (1, &[(M, up), (W, up)], false),
        (1, &[(M, down)], false),
        (3, &[(M, up), (M, up), (M, up)], true),
        (3, &[(M, up), (M, up), (M, down)], false),
        (3, &[(M, up), (M, up)], false),
        (3, &[(M, up), (M, up), (M, up), (W, down)], true),
        (3, &[(M, up), (M, up), (M, up), (W, up), (W, down)], false),
        (
            3,
            &[(M, up), (M, up), (M, up), (W, up), (W, up), (W, down)],
            true,
        ),
        (2, &[(M, up), (M, up), (A, up)], true),
        (2, &[(M, up), (M, up), (A, down)], false),
        (2, &[(M, up), (M, up)], false),
        (5, &[(M, up), (M, up), (M, up), (M, up), (M, down)], false),
    ];
    for (planes, of, enough) in cases {
        let mut fleet = Fleet::new(*planes, 0);
        fleet.cluster.control_plane_count = Some(*planes);
        let found = roles::enough(&fleet.cluster, &hosts(of), &[up]);
        assert_eq!(found, *enough, "{planes} {of:?}");
    }
    let mut pair = hosts(&[(M, up), (M, up)]);
    fence(&mut pair);
    let fleet = Fleet::new(2, 0);
    assert!(
        roles::enough(&fleet.cluster, &pair, &[up]),
        "a pair that can fence needs no third"
    );
    pair[1].status = down;
    assert!(!roles::enough(&fleet.cluster, &pair, &[up]));
    let open = hosts(&[(HostRole::AutoAssign, up); 3]);
    assert!(
        !roles::enough(&Fleet::new(3, 0).cluster, &open, &[up]),
        "open roles promise nothing"
    );
}

fn roles_of(fleet: &Fleet) -> Vec<HostRole> {
    let mut roles: Vec<HostRole> = fleet.hosts.iter().map(Host::effective_role).collect();
    roles.sort_unstable();
    roles
}

#[test]
fn two_control_planes_get_an_arbiter_unless_they_can_fence_each_other() {
    use HostRole::{Arbiter, Master, Worker};
    let mut fleet = Fleet::new(2, 4);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(roles_of(&fleet), [Master, Master, Arbiter, Worker]);

    let mut fleet = Fleet::new(2, 3);
    fleet.boot_all();
    fence(&mut fleet.hosts[..2]);
    fleet.settle();
    assert_eq!(roles_of(&fleet), [Master, Master, Worker]);
}

#[test]
fn the_lead_is_who_was_named_else_the_smallest_id_and_never_a_worker() {
    use HostRole::{Master, Worker};
    let known = HostStatus::Known;
    let mut fleet = hosts(&[(Worker, known), (Master, known), (Master, known)]);
    assert_eq!(roles::choose_bootstrap(&fleet), Some(1));
    fleet[2].bootstrap = true;
    assert_eq!(roles::choose_bootstrap(&fleet), Some(2));
    fleet[0].bootstrap = true;
    assert_eq!(
        roles::choose_bootstrap(&fleet),
        Some(2),
        "a worker with an old flag does not lead"
    );
    fleet[1].status = HostStatus::Insufficient;
    fleet[2].bootstrap = false;
    fleet[2].status = HostStatus::Disconnected;
    assert_eq!(roles::choose_bootstrap(&fleet), None);
}

#[test]
fn among_equals_the_host_that_reaches_most_others_leads() {
    use HostRole::Master;
    let mut fleet = hosts(&[(Master, HostStatus::Known); 3]);
    let ids: Vec<String> = fleet.iter().map(|host| host.id.to_string()).collect();
    let mut reaches = |from: usize, to: &[(usize, bool)]| {
        let remotes: Vec<_> = to
            .iter()
            .map(|(peer, successful)| {
                serde_json::json!({"host_id": ids[*peer], "l3_connectivity": [{"successful": successful}]})
            })
            .collect();
        let report = serde_json::json!({ "remote_hosts": remotes }).to_string();
        fleet[from].reports.connectivity = Some(report.into());
        roles::choose_bootstrap(&fleet)
    };
    assert_eq!(reaches(0, &[(1, true), (2, false)]), Some(0));
    assert_eq!(
        reaches(1, &[(0, true), (2, false)]),
        Some(0),
        "equals: the smallest id"
    );
    assert_eq!(reaches(2, &[(0, true), (1, true)]), Some(2));
    assert_eq!(reaches(1, &[(0, true), (2, true)]), Some(1));
}

#[test]
fn flags_of_an_earlier_shape_do_not_make_two_leads() {
    let mut fleet = Fleet::ready(3, 3);
    for host in &mut fleet.hosts {
        host.bootstrap = true;
    }
    fleet.start();
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
    assert_eq!(fleet.hosts.iter().filter(|host| host.bootstrap).count(), 1);
}

#[test]
fn roles_are_left_open_until_the_start_where_the_site_wants_it() {
    let mut fleet = Fleet::new(3, 5);
    fleet.settings.leave_roles_open = true;
    fleet.boot_all();
    fleet.settle();
    assert!(
        fleet
            .hosts
            .iter()
            .all(|host| host.suggested_role == HostRole::AutoAssign)
    );
    assert_eq!(fleet.event_count("host_role_updated"), 0);
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    let masters = fleet.hosts.iter().filter(|h| h.role == HostRole::Master);
    assert_eq!(masters.count(), 3);
}

#[test]
fn control_planes_take_workloads_where_workers_are_few() {
    use HostRole::{Master, Worker};
    let known = HostStatus::Known;
    let few = hosts(&[
        (Master, known),
        (Master, known),
        (Master, known),
        (Worker, known),
    ]);
    let fleet = Fleet::new(3, 0);
    assert!(roles::masters_must_work(&fleet.cluster, &few));
    let many = hosts(&[(Master, known), (Worker, known), (Worker, known)]);
    assert!(!roles::masters_must_work(&fleet.cluster, &many));
    assert!(roles::masters_must_work(&Fleet::new(1, 0).cluster, &many));
}

#[test]
fn two_fenced_hosts_are_a_group_as_soon_as_their_roles_are_suggested() {
    let mut fleet = Fleet::ready(2, 2);
    fence(&mut fleet.hosts);
    for host in &mut fleet.hosts {
        host.role = HostRole::AutoAssign;
        host.suggested_role = HostRole::AutoAssign;
    }
    // One look must do: nothing else may happen for a long time.
    fleet.refresh();
    for number in [1, 2] {
        let (status, message) = fleet.check(number, "belongs-to-majority-group").unwrap();
        assert_eq!(status, "success", "{message}");
    }
}
