//! One claim per family of rules: time, stages, roles.

use std::time::Duration;

use muster_model::{
    ClusterStatus, FinalizingStage, HostRole, HostStage, HostStatus, LogsState, Timestamp,
};

use super::{Fleet, key, minutes, validations::outcome};
use crate::{RefusalKind, StepType, install, progress};

#[test]
pub(super) fn the_smallest_machines_that_fit_become_masters_and_keep_that_role() {
    let mut fleet = Fleet::new(3, 5)
        .edit(1, |m| m.cores = 64)
        .edit(5, |m| m.cores = 2);
    fleet.boot_all();
    fleet.settle();
    let role = |fleet: &Fleet, number| fleet.host(number).suggested_role;
    assert_eq!(role(&fleet, 1), HostRole::Worker);
    assert_eq!(role(&fleet, 5), HostRole::Worker);
    for number in 2..=4 {
        assert_eq!(role(&fleet, number), HostRole::Master);
    }
    let roles: Vec<_> = fleet.hosts.iter().map(|h| h.suggested_role).collect();
    fleet.skip(minutes(5));
    assert_eq!(
        roles,
        fleet
            .hosts
            .iter()
            .map(|h| h.suggested_role)
            .collect::<Vec<_>>()
    );
    fleet.start();
    assert_eq!(fleet.host(2).role, HostRole::Master);
    assert!(fleet.host(2).bootstrap, "the smallest id leads");
}

#[test]
pub(super) fn a_cluster_that_is_not_ready_cannot_be_installed() {
    let fleet = Fleet::new(3, 2);
    let refusal = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Conflict);
    assert!(refusal.reason.contains("not ready"), "{}", refusal.reason);
}

#[test]
fn an_unusable_host_is_a_bad_request_once_every_host_has_reported() {
    let mut fleet = Fleet::new(3, 4).edit(4, |m| m.memory_gib = 1);
    let refusal =
        |fleet: &Fleet| install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap_err();
    fleet.boot_all();
    assert!(
        fleet
            .hosts
            .iter()
            .any(|host| host.status == HostStatus::Discovering)
    );
    assert_eq!(
        refusal(&fleet).kind,
        RefusalKind::Conflict,
        "hosts are still unknown"
    );
    fleet.settle();
    assert_eq!(fleet.status(4), HostStatus::Insufficient);
    let refused = refusal(&fleet);
    assert_eq!(refused.kind, RefusalKind::Invalid);
    let name = crate::inventory::hostname(fleet.host(4));
    assert!(refused.reason.contains(&name), "{}", refused.reason);
    for host in &mut fleet.hosts {
        host.role = host.suggested_role;
    }
    assert_eq!(
        refusal(&fleet).kind,
        RefusalKind::Conflict,
        "all roles are fixed"
    );
}

#[test]
fn roles_that_were_chosen_among_many_hosts_are_recorded_as_a_feature_in_use() {
    for (hosts, recorded) in [(3, false), (5, true)] {
        let mut fleet = Fleet::ready(3, hosts);
        fleet.start();
        let uses = &fleet.cluster.feature_usage;
        assert_eq!(
            uses.contains_key("auto assign role"),
            recorded,
            "{hosts} hosts"
        );
    }
}

#[test]
fn an_installed_host_leaves_figures_about_its_machine_and_its_stages() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    let number = fleet.follower();
    let figures = |fleet: &Fleet, what: &str| -> Vec<serde_json::Value> {
        let id = fleet.host(number).id;
        let metrics = fleet
            .events
            .iter()
            .filter(|event| event.category == muster_model::Category::Metrics)
            .filter(|event| event.message == what && event.scope.host == Some(id));
        metrics
            .map(|event| serde_json::from_str(event.props.as_deref().unwrap()).unwrap())
            .collect()
    };
    let stages = fleet.stages_of(number);
    for stage in stages {
        assert!(figures(&fleet, "host.mem.cpu").is_empty(), "before the end");
        fleet.now = fleet.now.plus(Duration::from_secs(7));
        fleet.stage(number, *stage).unwrap();
    }
    let machine = crate::inventory::Inventory::known(fleet.host(number)).unwrap();
    let cores = machine.cpu.as_ref().unwrap().count;
    let hardware = figures(&fleet, "host.mem.cpu");
    assert_eq!(hardware.len(), 1);
    assert_eq!(hardware[0]["core_count"], cores);
    assert_eq!(hardware[0]["host_result"], "Done");
    assert_eq!(hardware[0]["host_role"], "master");
    assert_eq!(
        figures(&fleet, "disk.size.type").len(),
        machine.disks.items().len()
    );
    assert_eq!(
        figures(&fleet, "nic.speed").len(),
        machine.interfaces.items().len()
    );
    let durations = figures(&fleet, "host.stage.duration");
    assert_eq!(
        durations.len(),
        stages.len() - 1,
        "the last stage has no end"
    );
    assert!(
        durations.iter().all(|one| one["duration"] == 7.0),
        "{durations:?}"
    );
}

#[test]
fn the_end_of_an_installation_is_counted_with_its_duration_and_the_status_before() {
    let results = |fleet: &Fleet| -> Vec<serde_json::Value> {
        let counted = fleet.events.iter().filter(|event| {
            event.category == muster_model::Category::Metrics
                && event.message == "cluster.installation.results"
        });
        counted
            .map(|event| serde_json::from_str(event.props.as_deref().unwrap()).unwrap())
            .collect()
    };
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    assert!(results(&fleet).is_empty());
    fleet.skip(minutes(21));
    assert_eq!(fleet.cluster.status, ClusterStatus::Error);
    let failed = results(&fleet);
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["result"], "error");
    assert_eq!(failed[0]["lastState"], "installing");
    let started = fleet.cluster.install_started_at.unwrap();
    let ended = fleet.cluster.install_completed_at.unwrap();
    assert_eq!(failed[0]["duration"], ended.since(started).as_secs_f64());
}

#[test]
fn a_role_the_user_gave_stays_while_the_cluster_is_not_ready() {
    let mut fleet = Fleet::new(3, 5).edit(5, |m| m.memory_gib = 1);
    fleet.boot_all();
    let index = fleet.index(2);
    fleet.hosts[index].role = HostRole::Worker;
    fleet.hosts[index].suggested_role = HostRole::Worker;
    fleet.settle();
    fleet.skip(minutes(5));
    assert_ne!(fleet.cluster.status, ClusterStatus::Ready);
    let refused = install::start(&fleet.view(), &fleet.settings, fleet.now);
    assert!(refused.is_err());
    let host = fleet.host(2);
    assert_eq!(
        (host.role, host.suggested_role),
        (HostRole::Worker, HostRole::Worker)
    );
}

#[test]
pub(super) fn a_host_that_never_starts_fails_after_twenty_minutes() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.skip(minutes(19));
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
    fleet.skip(minutes(2));
    assert_eq!(fleet.cluster.status, ClusterStatus::Error);
}

#[test]
pub(super) fn preparation_that_takes_too_long_is_given_up() {
    let mut fleet = Fleet::ready(3, 3);
    fleet
        .settings
        .disabled_steps
        .insert(StepType::ContainerImageAvailability);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    fleet.skip(minutes(16));
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::PreparingForInstallation
    );
    fleet.skip(minutes(2));
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert!(
        fleet
            .events
            .iter()
            .any(|e| e.message.contains("image availability"))
    );
}

#[test]
pub(super) fn a_stage_that_stands_still_fails_the_host_and_any_sign_of_life_restarts_its_clock() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    for number in 1..=3 {
        fleet
            .stage(number, HostStage::StartingInstallation)
            .unwrap();
    }
    fleet.skip(minutes(29));
    for number in [2, 3] {
        fleet.stage(number, HostStage::Installing).unwrap();
    }
    let report = progress::StageReport {
        stage: Some(HostStage::StartingInstallation),
        info: "alive".into(),
    };
    let host = fleet.host(1).clone();
    let decision = progress::report_host(&host, Some(&fleet.view()), &report, fleet.now).unwrap();
    fleet.store(decision);
    fleet.skip(minutes(29));
    assert_eq!(fleet.status(1), HostStatus::InstallingInProgress);
    fleet.skip(minutes(2));
    assert_eq!(fleet.status(1), HostStatus::Error);
    assert!(
        fleet.host(1).status_info.contains("Starting installation"),
        "{}",
        fleet.host(1).status_info
    );
}

#[test]
pub(super) fn a_reboot_that_never_ends_asks_for_the_user_and_freezes_the_clocks_of_the_others() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    let lead = fleet
        .hosts
        .iter()
        .find(|h| h.bootstrap)
        .unwrap()
        .id
        .0
        .as_u128();
    let others: Vec<u128> = (1..=3).filter(|n| *n != lead).collect();
    for number in 1..=3 {
        fleet
            .stage(number, HostStage::StartingInstallation)
            .unwrap();
    }
    fleet.stage(others[0], HostStage::Rebooting).unwrap();
    fleet.stage(others[1], HostStage::Joined).unwrap();
    fleet
        .stage(lead, HostStage::WaitingForControlPlane)
        .unwrap();
    fleet.skip(minutes(41));
    assert_eq!(
        fleet.status(others[0]),
        HostStatus::InstallingPendingUserAction
    );
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::InstallingPendingUserAction
    );
    fleet.stage(others[1], HostStage::Done).unwrap();
    fleet.skip(minutes(90));
    assert_eq!(
        fleet.status(lead),
        HostStatus::InstallingInProgress,
        "its clock stood still"
    );
}

#[test]
pub(super) fn progress_of_the_wrong_kind_is_refused() {
    let mut fleet = Fleet::ready(3, 3);
    assert_eq!(
        fleet.stage(1, HostStage::Installing).unwrap_err().kind,
        RefusalKind::Conflict
    );
    fleet.start();
    let plain = fleet
        .hosts
        .iter()
        .find(|h| !h.bootstrap)
        .unwrap()
        .id
        .0
        .as_u128();
    fleet.stage(plain, HostStage::WritingImageToDisk).unwrap();
    assert_eq!(
        fleet.stage(plain, HostStage::Installing).unwrap_err().kind,
        RefusalKind::Conflict
    );
    assert_eq!(
        fleet
            .stage(plain, HostStage::WaitingForBootkube)
            .unwrap_err()
            .kind,
        RefusalKind::Conflict
    );
    let before = fleet.events.len();
    fleet.stage(plain, HostStage::WritingImageToDisk).unwrap();
    assert_eq!(
        fleet.events.len(),
        before,
        "the same report twice is no news"
    );
    let host = fleet.host(1).clone();
    let report = progress::StageReport {
        stage: Some(HostStage::Joined),
        info: String::new(),
    };
    let refusal = progress::report_host(&host, None, &report, fleet.now).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Invalid);
}

#[test]
pub(super) fn finalizing_has_a_limit_and_optional_operators_have_a_softer_one() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.install_all();
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
    let report = |fleet: &mut Fleet, stage| {
        let decision = progress::report_finalizing(&fleet.view(), stage, fleet.now).unwrap();
        fleet.store(decision);
    };
    report(&mut fleet, FinalizingStage::ApplyingOlmManifests);
    fleet.skip(minutes(11));
    assert!(fleet.cluster.progress.finalizing_stage_timed_out);
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
    assert_eq!(fleet.event_count("finalizing_stage_timed_out"), 1);
    report(&mut fleet, FinalizingStage::WaitingForClusterOperators);
    assert!(!fleet.cluster.progress.finalizing_stage_timed_out);
    fleet.skip(minutes(5 * 60));
    assert_eq!(fleet.cluster.status, ClusterStatus::Error);
}

#[test]
pub(super) fn logs_that_never_come_are_given_up() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.stage(1, HostStage::Failed).unwrap();
    fleet.skip(minutes(3));
    assert_eq!(fleet.host(1).logs_info, Some(LogsState::Timeout));
    fleet.skip(minutes(8));
    assert_eq!(fleet.cluster.logs_info, Some(LogsState::Timeout));
}

#[test]
pub(super) fn after_the_reboot_polling_of_the_agent_is_not_checked() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.stage(1, HostStage::StartingInstallation).unwrap();
    fleet.stage(1, HostStage::Rebooting).unwrap();
    let mut fleet = fleet.edit(1, |m| m.alive = false);
    fleet.stage(2, HostStage::StartingInstallation).unwrap();
    fleet.stage(3, HostStage::StartingInstallation).unwrap();
    fleet.skip(minutes(10));
    assert_eq!(fleet.status(1), HostStatus::InstallingInProgress);
    assert_eq!(outcome(fleet.check(1, "connected")), "absent");
}

#[test]
pub(super) fn the_same_machine_in_another_infra_env_is_another_host() {
    let fleet = Fleet::ready(3, 3);
    let mut other = key(1);
    other.infra_env = muster_model::InfraEnvId(uuid::Uuid::from_u128(0xF));
    assert!(fleet.view().host(other).is_none());
    assert!(fleet.view().host(key(1)).is_some());
}

#[test]
pub(super) fn the_engine_always_asks_to_be_woken_in_the_future() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    for hours in 0..30 {
        fleet.now = Timestamp(fleet.now.0).plus(Duration::from_secs(hours * 3600));
        let decision = crate::refresh(&fleet.view(), &fleet.settings, fleet.now);
        assert!(decision.wake_at.is_none_or(|at| at > fleet.now));
        fleet.store(decision);
    }
}
