//! Every wait has a timeout: for hosts, for files, for stages, for users.

use muster_model::{ClusterStatus, FinalizingStage, HostRole, HostStage, HostStatus};

use super::{Fleet, minutes, requests::with};
use crate::{install, progress};

use HostStatus::*;

pub(super) const SCENARIOS: &[fn()] = &[
    a_bound_host_that_never_comes_is_given_up,
    an_installation_waits_for_the_user_only_so_long,
    a_host_that_is_never_booted_is_given_up_when_the_others_suffice,
    too_few_hosts_while_one_waits_for_the_user_fail_the_cluster,
    the_user_helps_and_the_cluster_finalizes,
    a_finalizing_stage_that_must_not_fail_fails_the_cluster,
    a_host_that_waits_for_the_user_may_be_done_at_once,
    a_host_that_falls_silent_while_preparing_stops_the_preparation,
    files_that_never_come_end_the_preparation,
    a_host_that_failed_to_prepare_is_ready_when_the_cluster_gives_up,
    reclaiming_has_a_limit,
];

#[test]
pub(super) fn reclaiming_has_a_limit() {
    let mut fleet = with(Reclaiming).edit(1, |machine| machine.alive = false);
    let index = fleet.index(1);
    fleet.hosts[index].cluster = None;
    fleet.skip(minutes(60));
    assert_eq!(fleet.status(1), Reclaiming);
    fleet.skip(minutes(1));
    assert_eq!(fleet.status(1), UnbindingPendingUserAction);
}

#[test]
pub(super) fn a_host_that_waits_for_the_user_may_be_done_at_once() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    let number = fleet.follower();
    for stage in [HostStage::StartingInstallation, HostStage::Rebooting] {
        fleet.stage(number, stage).unwrap();
    }
    fleet.boot(number).unwrap();
    assert_eq!(fleet.status(number), InstallingPendingUserAction);
    fleet.stage(number, HostStage::Done).unwrap();
    assert_eq!(fleet.status(number), Installed);
}

#[test]
pub(super) fn a_bound_host_that_never_comes_is_given_up() {
    let mut fleet = with(Binding).edit(1, |machine| machine.alive = false);
    fleet.skip(minutes(10));
    assert_eq!(fleet.status(1), Binding);
    fleet.skip(minutes(1));
    assert_eq!(fleet.status(1), Disconnected);
    let event = fleet.events.last().unwrap();
    assert!(event.message.contains("10 minutes"), "{}", event.message);
    fleet.boot(1).unwrap();
    assert_eq!(fleet.status(1), Discovering);
}

/// A fleet of which one follower waits for the user, and that follower.
fn waiting() -> (Fleet, u128) {
    let mut fleet = Fleet::ready(3, 5);
    fleet.start();
    let number = fleet.follower();
    for stage in [HostStage::StartingInstallation, HostStage::Rebooting] {
        fleet.stage(number, stage).unwrap();
    }
    fleet.boot(number).unwrap();
    fleet.refresh();
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::InstallingPendingUserAction
    );
    (fleet, number)
}

#[test]
pub(super) fn an_installation_waits_for_the_user_only_so_long() {
    let (mut fleet, number) = waiting();
    for other in (1..=5).filter(|n| *n != number) {
        for stage in fleet.stages_of(other) {
            fleet.stage(other, *stage).unwrap();
        }
    }
    fleet.now = fleet.now.plus(minutes(24 * 60));
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Error);
    assert!(
        fleet.cluster.status_info.contains("user"),
        "{}",
        fleet.cluster.status_info
    );
}

#[test]
pub(super) fn a_host_that_is_never_booted_is_given_up_when_the_others_suffice() {
    let mut fleet = Fleet::ready(3, 6);
    fleet.start();
    let worker = fleet
        .hosts
        .iter()
        .find(|h| h.role == HostRole::Worker)
        .unwrap()
        .id
        .0
        .as_u128();
    for stage in [HostStage::StartingInstallation, HostStage::Rebooting] {
        fleet.stage(worker, stage).unwrap();
    }
    fleet.boot(worker).unwrap();
    for other in (1..=6).filter(|n| *n != worker) {
        for stage in fleet.stages_of(other) {
            fleet.stage(other, *stage).unwrap();
        }
    }
    fleet.refresh();
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::InstallingPendingUserAction
    );
    fleet.skip(minutes(61));
    assert_eq!(fleet.status(worker), Error);
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
}

#[test]
pub(super) fn too_few_hosts_while_one_waits_for_the_user_fail_the_cluster() {
    let (mut fleet, _) = waiting();
    let lead = fleet.lead();
    fleet.stage(lead, HostStage::Failed).unwrap();
    assert_eq!(fleet.cluster.status, ClusterStatus::Error);
    assert!(fleet.statuses().iter().all(|status| *status == Error));
}

#[test]
pub(super) fn the_user_helps_and_the_cluster_finalizes() {
    let (mut fleet, number) = waiting();
    for other in (1..=5).filter(|n| *n != number) {
        for stage in fleet.stages_of(other) {
            fleet.stage(other, *stage).unwrap();
        }
    }
    let stage = FinalizingStage::WaitingForClusterOperators;
    let decision = progress::report_finalizing(&fleet.view(), stage, fleet.now).unwrap();
    fleet.store(decision);
    fleet.now = fleet.now.plus(minutes(30));
    fleet.stage(number, HostStage::Done).unwrap();
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
    let started = fleet.cluster.progress.finalizing_stage_started_at;
    assert_eq!(
        started,
        Some(fleet.now),
        "the clock of the stage begins again"
    );
}

#[test]
pub(super) fn a_finalizing_stage_that_must_not_fail_fails_the_cluster() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.install_all();
    let stage = FinalizingStage::AddingRouterCa;
    let decision = progress::report_finalizing(&fleet.view(), stage, fleet.now).unwrap();
    fleet.store(decision);
    fleet.skip(minutes(70));
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
    fleet.skip(minutes(1));
    assert_eq!(fleet.cluster.status, ClusterStatus::Error);
    assert!(
        fleet.cluster.status_info.contains("Adding router ca"),
        "{}",
        fleet.cluster.status_info
    );
}

#[test]
pub(super) fn a_host_that_failed_to_prepare_is_ready_when_the_cluster_gives_up() {
    let mut fleet = with(PreparingFailed);
    fleet.cluster.status = ClusterStatus::PreparingForInstallation;
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert_eq!(fleet.status(1), Known);
}

#[test]
pub(super) fn a_host_that_falls_silent_while_preparing_stops_the_preparation() {
    let mut fleet = Fleet::ready(3, 3).edit(2, |machine| machine.alive = false);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    assert_eq!(fleet.status(2), PreparingForInstallation);
    fleet.skip(minutes(6));
    assert_eq!(fleet.status(2), Disconnected);
    assert_eq!(fleet.cluster.status, ClusterStatus::Insufficient);
    assert_eq!(fleet.status(1), Known);
}

#[test]
pub(super) fn files_that_never_come_end_the_preparation() {
    let mut fleet = Fleet::ready(3, 3);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    for number in 1..=3 {
        fleet.force(number, PreparingSuccessful);
    }
    fleet.skip(minutes(18));
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::PreparingForInstallation
    );
    fleet.skip(minutes(1));
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert_eq!(fleet.cluster.preparation.status.as_deref(), Some("failed"));
    assert_eq!(fleet.event_count("installation_preparing_timed_out"), 1);
}
