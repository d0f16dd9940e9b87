//! One claim per family of rules and validations.

use std::time::Duration;

use muster_model::{
    ClusterStatus, FinalizingStage, HostRole, HostStage, HostStatus, LogsState, Timestamp,
};

use super::{Fleet, good_cluster, key, minutes, vip};
use crate::{
    RefusalCode, StepType, install, progress,
    rules::{cluster::CLUSTER_RULES, host::HOST_RULES, pool::POOL_RULES},
};

fn outcome(found: Option<(String, String)>) -> String {
    found.map_or_else(|| "absent".to_owned(), |(status, _)| status)
}

#[test]
fn every_rule_has_a_name_of_its_own() {
    let hosts = HOST_RULES.iter().map(|rule| rule.name);
    let mut names: Vec<&str> = hosts.collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for names in [
        POOL_RULES.iter().map(|r| r.name).collect::<Vec<_>>(),
        CLUSTER_RULES.iter().map(|r| r.name).collect(),
    ] {
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
    }
}

#[test]
fn a_host_with_too_little_memory_is_insufficient_and_says_how_much_is_missing() {
    let mut fleet = Fleet::new(3, 3).edit(2, |m| m.memory_gib = 4);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(fleet.status(2), HostStatus::Insufficient);
    let (status, message) = fleet.check(2, "has-min-memory").unwrap();
    assert_eq!(status, "failure");
    assert!(
        message.contains("4096 MiB") && message.contains("add 4096 MiB"),
        "{message}"
    );
    assert!(fleet.host(2).status_info.contains(&message));
    assert_eq!(
        outcome(fleet.cluster_check("all-hosts-are-ready-to-install")),
        "failure"
    );
}

#[test]
fn a_disk_below_the_minimum_makes_the_host_insufficient() {
    let mut fleet = Fleet::new(3, 3).edit(1, |m| m.disk_gb = 60);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(outcome(fleet.check(1, "has-min-valid-disks")), "failure");
    assert_eq!(fleet.status(1), HostStatus::Insufficient);
    assert_eq!(fleet.host(1).installation_disk_id, None);
}

#[test]
fn two_hosts_of_one_name_fail_both_and_renaming_one_heals_both() {
    let mut fleet = Fleet::new(3, 3).edit(2, |m| m.hostname = "host-1".into());
    fleet.boot_all();
    fleet.settle();
    for number in [1, 2] {
        assert_eq!(fleet.status(number), HostStatus::Insufficient);
        assert_eq!(outcome(fleet.check(number, "hostname-unique")), "failure");
    }
    let index = fleet.index(2);
    fleet.hosts[index].requested_hostname = Some("other".into());
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert_eq!(fleet.told("host_validation_fixed"), 2);
}

#[test]
fn a_machine_called_localhost_needs_another_name() {
    let mut fleet = Fleet::new(3, 3).edit(1, |m| m.hostname = "localhost".into());
    fleet.boot_all();
    fleet.settle();
    assert_eq!(outcome(fleet.check(1, "hostname-valid")), "failure");
}

#[test]
fn without_vips_hosts_and_cluster_wait_for_the_user() {
    let mut fleet = Fleet::new(3, 3);
    fleet.cluster.api_vips = Some(Vec::new());
    fleet.cluster.ingress_vips = Some(Vec::new());
    fleet.boot_all();
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::PendingForInput);
    assert!(
        fleet
            .statuses()
            .iter()
            .all(|s| *s == HostStatus::PendingForInput)
    );
    assert_eq!(outcome(fleet.cluster_check("api-vips-defined")), "failure");
    assert_eq!(outcome(fleet.cluster_check("api-vips-valid")), "pending");
    fleet.cluster.api_vips = Some(vec![vip("192.0.2.200")]);
    fleet.cluster.ingress_vips = Some(vec![vip("192.0.2.201")]);
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
}

#[test]
fn a_vip_that_is_taken_outside_or_broadcast_is_refused_with_the_reason() {
    for (address, reason) in [
        ("192.0.2.11", "used by another"),
        ("198.51.100.7", "No host has a network"),
        ("192.0.2.255", "broadcast"),
    ] {
        let mut fleet = Fleet::new(3, 3);
        fleet.settings.disabled_steps.insert(StepType::VerifyVips);
        fleet.cluster.api_vips = Some(vec![vip(address)]);
        fleet.boot_all();
        fleet.settle();
        assert_ne!(fleet.cluster.status, ClusterStatus::Ready, "{address}");
        let told = fleet.cluster.validations_info.clone().unwrap();
        assert!(told.contains(reason), "{address}: {told}");
    }
}

#[test]
fn networks_that_overlap_keep_the_cluster_from_installing() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.networks.service = Some(vec!["10.130.0.0/16".into()]);
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Insufficient);
    let (status, message) = fleet.cluster_check("no-cidrs-overlapping").unwrap();
    assert_eq!(status, "failure");
    assert!(message.contains("10.130.0.0/16"), "{message}");
    assert_eq!(fleet.told("cluster_validation_failed"), 1);
}

#[test]
fn garbage_in_the_networks_is_an_error_not_a_panic() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.networks.service = Some(vec!["not a range".into()]);
    fleet.cluster.networks.machine = Some(vec!["300.0.0.0/99".into()]);
    fleet.refresh();
    assert_eq!(
        outcome(fleet.cluster_check("no-cidrs-overlapping")),
        "error"
    );
    assert_eq!(outcome(fleet.check(1, "belongs-to-machine-cidr")), "error");
}

#[test]
fn a_host_cut_off_from_its_peers_is_outside_the_majority() {
    let mut fleet = Fleet::new(3, 4).edit(4, |m| m.cut_off_from = vec![1, 2, 3]);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(
        outcome(fleet.check(4, "belongs-to-majority-group")),
        "failure"
    );
    assert_eq!(
        outcome(fleet.check(1, "belongs-to-majority-group")),
        "success"
    );
    assert_eq!(fleet.status(4), HostStatus::Insufficient);
}

#[test]
fn two_hosts_are_too_few_to_judge_who_reaches_whom() {
    let mut fleet = Fleet::new(3, 2);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(
        outcome(fleet.check(1, "belongs-to-majority-group")),
        "pending"
    );
    assert_eq!(
        outcome(fleet.cluster_check("sufficient-masters-count")),
        "failure"
    );
}

#[test]
fn a_wrong_clock_is_told_and_does_not_drift_while_the_host_is_silent() {
    let mut fleet = Fleet::ready(3, 3);
    let index = fleet.index(1);
    fleet.hosts[index].agent_clock = Some(fleet.now.unix_seconds() - 21 * 60);
    fleet.refresh();
    assert_eq!(
        outcome(fleet.check(1, "time-synced-between-host-and-service")),
        "failure"
    );
    assert_eq!(
        outcome(fleet.cluster_check("ntp-server-configured")),
        "failure"
    );
    fleet.hosts[index].agent_clock = Some(fleet.now.unix_seconds() - 19 * 60);
    fleet.now = fleet.now.plus(minutes(2));
    fleet.refresh();
    assert_eq!(
        outcome(fleet.check(1, "time-synced-between-host-and-service")),
        "success"
    );
}

#[test]
fn ignored_validations_open_the_gate_but_are_still_shown_and_some_cannot_be_ignored() {
    let mut fleet = Fleet::new(3, 3)
        .edit(1, |m| m.hostname = "localhost".into())
        .edit(2, |m| m.cores = 1);
    fleet.cluster.ignored_host_validations = Some(r#"["all"]"#.into());
    fleet.boot_all();
    fleet.settle();
    assert_eq!(fleet.status(2), HostStatus::Known);
    assert_eq!(outcome(fleet.check(2, "has-min-cpu-cores")), "failure");
    assert_eq!(fleet.status(1), HostStatus::Insufficient);
}

#[test]
fn a_disabled_validation_is_shown_as_such_unless_the_cluster_has_its_own_list() {
    let mut fleet = Fleet::new(3, 3).edit(1, |m| m.cores = 1);
    fleet.settings.disabled_host_checks =
        ["has-min-cpu-cores".into(), "has-cpu-cores-for-role".into()].into();
    fleet.boot_all();
    fleet.settle();
    assert_eq!(outcome(fleet.check(1, "has-min-cpu-cores")), "disabled");
    assert_eq!(fleet.status(1), HostStatus::Known);
    fleet.cluster.ignored_host_validations = Some("[]".into());
    fleet.refresh();
    assert_eq!(outcome(fleet.check(1, "has-min-cpu-cores")), "failure");
}

#[test]
fn the_smallest_machines_that_fit_become_masters_and_keep_that_role() {
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
    fleet.pass(minutes(5));
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
fn a_cluster_that_is_not_ready_cannot_be_installed() {
    let fleet = Fleet::new(3, 2);
    let refusal = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap_err();
    assert_eq!(refusal.code, RefusalCode::Conflict);
    assert!(refusal.reason.contains("not ready"), "{}", refusal.reason);
}

#[test]
fn a_host_that_never_starts_fails_after_twenty_minutes() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.pass(minutes(19));
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
    fleet.pass(minutes(2));
    assert_eq!(fleet.cluster.status, ClusterStatus::Error);
}

#[test]
fn preparation_that_takes_too_long_is_given_up() {
    let mut fleet = Fleet::ready(3, 3);
    fleet
        .settings
        .disabled_steps
        .insert(StepType::ContainerImageAvailability);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    fleet.pass(minutes(16));
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::PreparingForInstallation
    );
    fleet.pass(minutes(2));
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert!(
        fleet
            .events
            .iter()
            .any(|e| e.message.contains("image availability"))
    );
}

#[test]
fn a_stage_that_stands_still_fails_the_host_and_any_sign_of_life_restarts_its_clock() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    for number in 1..=3 {
        fleet
            .stage(number, HostStage::StartingInstallation)
            .unwrap();
    }
    fleet.pass(minutes(29));
    for number in [2, 3] {
        fleet.stage(number, HostStage::Installing).unwrap();
    }
    let report = progress::StageReport {
        stage: Some(HostStage::StartingInstallation),
        info: "alive".into(),
    };
    let host = fleet.host(1).clone();
    let decision = progress::report_host(
        &host,
        Some(&fleet.view()),
        &report,
        &fleet.settings,
        fleet.now,
    )
    .unwrap();
    fleet.store(decision);
    fleet.pass(minutes(29));
    assert_eq!(fleet.status(1), HostStatus::InstallingInProgress);
    fleet.pass(minutes(2));
    assert_eq!(fleet.status(1), HostStatus::Error);
    assert!(
        fleet.host(1).status_info.contains("Starting installation"),
        "{}",
        fleet.host(1).status_info
    );
}

#[test]
fn a_reboot_that_never_ends_asks_for_the_user_and_freezes_the_clocks_of_the_others() {
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
    fleet.pass(minutes(41));
    assert_eq!(
        fleet.status(others[0]),
        HostStatus::InstallingPendingUserAction
    );
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::InstallingPendingUserAction
    );
    fleet.stage(others[1], HostStage::Done).unwrap();
    fleet.pass(minutes(90));
    assert_eq!(
        fleet.status(lead),
        HostStatus::InstallingInProgress,
        "its clock stood still"
    );
}

#[test]
fn progress_of_the_wrong_kind_is_refused() {
    let mut fleet = Fleet::ready(3, 3);
    assert_eq!(
        fleet.stage(1, HostStage::Installing).unwrap_err().code,
        RefusalCode::Conflict
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
        fleet.stage(plain, HostStage::Installing).unwrap_err().code,
        RefusalCode::Conflict
    );
    assert_eq!(
        fleet
            .stage(plain, HostStage::WaitingForBootkube)
            .unwrap_err()
            .code,
        RefusalCode::Conflict
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
    let refusal =
        progress::report_host(&host, None, &report, &fleet.settings, fleet.now).unwrap_err();
    assert_eq!(refusal.code, RefusalCode::BadRequest);
}

#[test]
fn finalizing_has_a_limit_and_optional_operators_have_a_softer_one() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.install_all();
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
    let report = |fleet: &mut Fleet, stage| {
        let decision = progress::report_finalizing(&fleet.view(), stage, fleet.now).unwrap();
        fleet.store(decision);
    };
    report(&mut fleet, FinalizingStage::ApplyingOlmManifests);
    fleet.pass(minutes(11));
    assert!(fleet.cluster.progress.finalizing_stage_timed_out);
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
    assert_eq!(fleet.told("finalizing_stage_timed_out"), 1);
    report(&mut fleet, FinalizingStage::WaitingForClusterOperators);
    assert!(!fleet.cluster.progress.finalizing_stage_timed_out);
    fleet.pass(minutes(5 * 60));
    assert_eq!(fleet.cluster.status, ClusterStatus::Error);
}

#[test]
fn logs_that_never_come_are_given_up() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.stage(1, HostStage::Failed).unwrap();
    fleet.pass(minutes(3));
    assert_eq!(fleet.host(1).logs_info, Some(LogsState::Timeout));
    fleet.pass(minutes(8));
    assert_eq!(fleet.cluster.logs_info, Some(LogsState::Timeout));
}

#[test]
fn a_fresh_cluster_shows_what_the_contract_shows() {
    let mut fleet = Fleet::new(3, 0);
    fleet.cluster = good_cluster(3);
    fleet.cluster.api_vips = None;
    fleet.cluster.ingress_vips = None;
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::PendingForInput);
    assert_eq!(fleet.cluster.ip_collisions.as_deref(), Some("{}"));
    assert_eq!(
        fleet.cluster.connectivity_majority_groups.as_deref(),
        Some(r#"{"majority_groups":{"IPv4":[],"IPv6":[]},"l3_connected_addresses":{}}"#)
    );
    for (id, status) in [
        ("sufficient-masters-count", "failure"),
        ("api-vips-defined", "failure"),
        ("ingress-vips-defined", "failure"),
        ("api-vips-valid", "pending"),
        ("machine-cidr-defined", "pending"),
        ("machine-cidr-equals-to-calculated-cidr", "pending"),
        ("networks-same-address-families", "pending"),
        ("no-cidrs-overlapping", "pending"),
        ("all-hosts-are-ready-to-install", "success"),
    ] {
        assert_eq!(outcome(fleet.cluster_check(id)), status, "{id}");
    }
}

#[test]
fn a_discovering_host_shows_what_the_contract_shows() {
    let mut fleet = Fleet::new(3, 3);
    fleet.cluster.api_vips = None;
    fleet.cluster.ingress_vips = None;
    fleet.boot_all();
    fleet.refresh();
    for (id, status) in [
        ("has-inventory", "failure"),
        ("hostname-valid", "failure"),
        ("machine-cidr-defined", "failure"),
        ("ntp-synced", "failure"),
        ("sufficient-installation-disk-speed", "error"),
        ("has-min-cpu-cores", "pending"),
        ("hostname-unique", "pending"),
        ("belongs-to-machine-cidr", "pending"),
        ("belongs-to-majority-group", "pending"),
        ("time-synced-between-host-and-service", "pending"),
        ("connected", "success"),
        ("ignition-downloadable", "absent"),
    ] {
        assert_eq!(outcome(fleet.check(1, id)), status, "{id}");
    }
}

#[test]
fn after_the_reboot_nobody_asks_whether_the_agent_polls() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.stage(1, HostStage::StartingInstallation).unwrap();
    fleet.stage(1, HostStage::Rebooting).unwrap();
    let mut fleet = fleet.edit(1, |m| m.alive = false);
    fleet.stage(2, HostStage::StartingInstallation).unwrap();
    fleet.stage(3, HostStage::StartingInstallation).unwrap();
    fleet.pass(minutes(10));
    assert_eq!(fleet.status(1), HostStatus::InstallingInProgress);
    assert_eq!(outcome(fleet.check(1, "connected")), "absent");
}

#[test]
fn the_same_machine_in_another_infra_env_is_another_host() {
    let fleet = Fleet::ready(3, 3);
    let mut other = key(1);
    other.infra_env = muster_model::InfraEnvId(uuid::Uuid::from_u128(0xF));
    assert!(fleet.view().host(other).is_none());
    assert!(fleet.view().host(key(1)).is_some());
}

#[test]
fn the_engine_always_asks_to_be_woken_in_the_future() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    for hours in 0..30 {
        fleet.now = Timestamp(fleet.now.0).plus(Duration::from_secs(hours * 3600));
        let decision = crate::refresh(&fleet.view(), &fleet.settings, fleet.now);
        assert!(decision.wake_at.is_none_or(|at| at > fleet.now));
        fleet.store(decision);
    }
}
