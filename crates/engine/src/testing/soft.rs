//! Soft timeouts: what is overdue is reported, and the installation continues.

use muster_model::{ClusterStatus, FinalizingStage, HostStage, HostStatus};

use super::{Fleet, minutes};
use crate::progress;

pub(super) const SCENARIOS: &[fn()] = &[
    a_silent_host_is_waited_for_and_welcomed_back,
    an_overdue_stage_is_reported_once_and_continues,
    writing_that_stands_still_fails_a_host_only_where_timeouts_are_hard,
    a_reboot_that_never_ends_asks_for_the_user_softly_too,
    the_whole_installation_has_a_limit,
    finalizing_is_waited_for,
    an_imported_cluster_has_hard_timeouts,
];

fn installing(soft: bool) -> Fleet {
    let mut fleet = Fleet::ready(3, 3);
    fleet.settings.soft_timeouts = soft;
    fleet.start();
    for number in 1..=3 {
        fleet
            .stage(number, HostStage::StartingInstallation)
            .unwrap();
    }
    fleet
}

#[test]
pub(super) fn a_silent_host_is_waited_for_and_welcomed_back() {
    let mut hard = installing(false).edit(1, |machine| machine.alive = false);
    hard.skip(minutes(6));
    assert_eq!(hard.status(1), HostStatus::Error);

    let mut fleet = installing(true).edit(1, |machine| machine.alive = false);
    fleet.skip(minutes(6));
    assert_eq!(fleet.status(1), HostStatus::InstallingInProgress);
    assert!(fleet.host(1).connection_timed_out);
    assert!(fleet.host(1).status_info.contains("stopped polling"));
    let mut fleet = fleet.edit(1, |machine| machine.alive = true);
    fleet.skip(minutes(1));
    assert!(!fleet.host(1).connection_timed_out);
    assert!(fleet.host(1).status_info.contains("again"));
}

#[test]
pub(super) fn an_overdue_stage_is_reported_once_and_continues() {
    let mut fleet = installing(true);
    fleet.skip(minutes(35));
    assert_eq!(fleet.status(1), HostStatus::InstallingInProgress);
    assert!(fleet.host(1).progress.stage_timed_out);
    assert_eq!(fleet.event_count("host_stage_timed_out"), 3);
    let event = fleet
        .events
        .iter()
        .find(|e| e.name == "host_stage_timed_out")
        .unwrap();
    assert!(
        event.message.contains("Starting installation") && event.message.contains("30 minutes")
    );
    fleet.stage(1, HostStage::Installing).unwrap();
    assert!(
        !fleet.host(1).progress.stage_timed_out,
        "a new stage has a new clock"
    );
}

#[test]
pub(super) fn writing_that_stands_still_fails_a_host_only_where_timeouts_are_hard() {
    for soft in [false, true] {
        let mut fleet = installing(soft);
        for number in 1..=3 {
            fleet.stage(number, HostStage::WritingImageToDisk).unwrap();
        }
        fleet.skip(minutes(31));
        let expected = if soft {
            HostStatus::InstallingInProgress
        } else {
            HostStatus::Error
        };
        assert_eq!(fleet.status(1), expected);
        assert_eq!(fleet.host(1).progress.stage_timed_out, soft);
    }
}

#[test]
pub(super) fn a_reboot_that_never_ends_asks_for_the_user_softly_too() {
    let mut fleet = installing(true);
    let number = fleet.follower();
    fleet.stage(number, HostStage::Rebooting).unwrap();
    fleet.skip(minutes(41));
    assert_eq!(
        fleet.status(number),
        HostStatus::InstallingPendingUserAction
    );
    assert!(!fleet.host(number).progress.stage_timed_out);
}

#[test]
pub(super) fn the_whole_installation_has_a_limit() {
    let mut hard = Fleet::ready(3, 3);
    hard.start();
    let started = hard.cluster.install_started_at.unwrap();
    let mut soft = installing(true);
    let decision = crate::refresh(&soft.view(), &soft.settings, soft.now);
    assert!(decision.wake_at.is_some());
    soft.now = started.plus(minutes(24 * 60));
    soft.last_seen.fill(soft.now);
    soft.refresh();
    assert_eq!(soft.cluster.status, ClusterStatus::Installing);
    soft.now = soft.now.plus(minutes(1));
    soft.refresh();
    assert_eq!(soft.cluster.status, ClusterStatus::Error);
    assert!(
        soft.cluster.status_info.contains("1440 minutes"),
        "{}",
        soft.cluster.status_info
    );
}

#[test]
pub(super) fn finalizing_is_waited_for() {
    let mut fleet = installing(true);
    fleet.install_all();
    let stage = FinalizingStage::AddingRouterCa;
    let decision = progress::report_finalizing(&fleet.view(), stage, fleet.now).unwrap();
    fleet.store(decision);
    fleet.skip(minutes(6 * 60));
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
    assert!(fleet.cluster.progress.finalizing_stage_timed_out);
    assert_eq!(fleet.event_count("finalizing_stage_timed_out"), 1);
}

#[test]
pub(super) fn an_imported_cluster_has_hard_timeouts() {
    let mut fleet = installing(true).edit(1, |machine| machine.alive = false);
    fleet.cluster.imported = true;
    fleet.skip(minutes(6));
    assert_eq!(fleet.status(1), HostStatus::Error);
}
