//! Hosts that join a running cluster whose API the service reaches.

use std::time::Duration;

use muster_model::{ClusterKind, ClusterStatus, HostStage, HostStatus::*};

use super::{Fleet, key};
use crate::{
    install,
    progress::{JoinReport, StageReport, follow_host, release_host},
};

/// A day-2 host that is installing.
fn joining(followed: bool) -> Fleet {
    let mut fleet = Fleet::new(3, 1);
    fleet.cluster.kind = ClusterKind::AddHostsCluster;
    fleet.cluster.status = ClusterStatus::AddingHosts;
    fleet.cluster.api_vip_dns_name = Some("api.muster.example.com".into());
    fleet.boot_all();
    fleet.settle();
    let decision = install::start_host(&fleet.view(), key(1), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    fleet.refresh();
    fleet.hosts[0].followed = followed;
    fleet.stage(1, HostStage::StartingInstallation).unwrap();
    fleet
}

fn see(fleet: &mut Fleet, stage: HostStage, info: &str, waits_for_person: bool) {
    let reached = StageReport {
        stage: Some(stage),
        info: info.to_owned(),
    };
    let report = JoinReport {
        reached,
        waits_for_person,
    };
    let decision = {
        let (host, view) = (fleet.host(1), fleet.view());
        follow_host(host, &view, &report, fleet.now).unwrap()
    };
    fleet.store(decision);
    fleet.refresh();
}

#[test]
fn a_host_whose_cluster_is_watched_is_followed_to_its_ready_node() {
    let mut fleet = joining(true);
    // A node of that name is not this host's before it has left its live system.
    see(&mut fleet, HostStage::Done, "node a is ready", false);
    assert_eq!(fleet.status(1), InstallingInProgress);
    fleet.stage(1, HostStage::Rebooting).unwrap();
    assert_eq!(fleet.host(1).progress.stage, Some(HostStage::Rebooting));
    see(&mut fleet, HostStage::Joined, "node a is not ready", false);
    assert_eq!(fleet.status(1), InstallingInProgress);
    // What lies behind changes nothing.
    see(&mut fleet, HostStage::Configuring, "", false);
    assert_eq!(fleet.host(1).progress.stage, Some(HostStage::Joined));
    see(&mut fleet, HostStage::Done, "node a is ready", false);
    assert_eq!(fleet.status(1), AddedToExistingCluster);
    assert_eq!(fleet.host(1).progress.percentage, 100);
}

#[test]
fn a_person_may_take_long_to_approve_and_a_node_may_not() {
    for (waits_for_person, status) in [(true, InstallingInProgress), (false, Error)] {
        let mut fleet = joining(true);
        fleet.stage(1, HostStage::Rebooting).unwrap();
        for _ in 0..9 {
            see(
                &mut fleet,
                HostStage::Configuring,
                "approve csr-1",
                waits_for_person,
            );
            fleet.skip(Duration::from_secs(600));
            fleet.refresh();
        }
        assert_eq!(fleet.status(1), status);
    }
}

#[test]
fn a_cluster_that_is_not_reached_any_more_leaves_the_host_as_one_that_rebooted() {
    let mut fleet = joining(true);
    fleet.stage(1, HostStage::Rebooting).unwrap();
    let reason = "the API does not answer";
    let decision = release_host(fleet.host(1), &fleet.view(), reason, fleet.now).unwrap();
    fleet.store(decision);
    let mut unwatched = joining(false);
    unwatched.stage(1, HostStage::Rebooting).unwrap();
    assert_eq!(unwatched.status(1), AddedToExistingCluster);
    assert_eq!(fleet.status(1), AddedToExistingCluster);
    assert_eq!(fleet.host(1).status_info, unwatched.host(1).status_info);
    assert_eq!(fleet.host(1).progress.info.as_deref(), Some(reason));
}
