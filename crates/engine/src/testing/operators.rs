//! Operators in the life of a fleet: what they hold back, what they do to roles, and how their
//! reports end an installation.

use muster_model::{ClusterStatus, FinalizingStage, HostRole, HostStatus};
use serde_json::{Value, json};

use super::{Fleet, minutes, operator, validations::outcome};
use crate::{
    RefusalKind, Refused, install,
    operators::{self, OperatorReport},
    progress,
};

fn choose(fleet: &mut Fleet, names: &[&str]) {
    let list = fleet.cluster.monitored_operators.as_mut().unwrap();
    list.extend(names.iter().map(|name| operator(name, "olm")));
}

fn booted(mut fleet: Fleet, names: &[&str]) -> Fleet {
    choose(&mut fleet, names);
    fleet.boot_all();
    fleet.settle();
    fleet
}

fn with_spare_disk(inventory: &mut Value) {
    let disks = inventory["disks"].as_array_mut().unwrap();
    disks.push(json!({ "name": "sdb", "id": "sdb", "drive_type": "HDD", "size_bytes": 30_000_000_000_i64 }));
}

fn with_guests(inventory: &mut Value) {
    inventory["cpu"]["flags"] = json!(["vmx"]);
}

#[test]
fn a_bound_host_shows_every_operator_and_a_pool_host_none() {
    let mut fleet = Fleet::ready(3, 3);
    let shown = |text: &str| {
        let all: Value = serde_json::from_str(text).unwrap();
        all["operators"].as_array().map(|list| {
            list.iter()
                .map(|entry| entry["id"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        })
    };
    let ids = shown(fleet.host(1).validations_info.as_deref().unwrap()).unwrap();
    assert_eq!(ids.len(), 28);
    assert!(ids.is_sorted());
    let cluster = shown(fleet.cluster.validations_info.as_deref().unwrap()).unwrap();
    assert_eq!(cluster, ids);
    let index = fleet.index(1);
    fleet.hosts[index].cluster = None;
    fleet.hosts[index].status = HostStatus::KnownUnbound;
    fleet.refresh();
    assert_eq!(
        shown(fleet.host(1).validations_info.as_deref().unwrap()),
        None
    );
    assert_eq!(fleet.status(1), HostStatus::KnownUnbound);
}

#[test]
fn a_host_that_an_operator_cannot_use_is_insufficient_until_it_is_ignored() {
    let mut fleet = booted(Fleet::new(3, 3), &["cnv"]);
    assert_eq!(fleet.status(1), HostStatus::Insufficient);
    assert_eq!(
        outcome(fleet.check(1, "cnv-requirements-satisfied")),
        "failure"
    );
    assert!(fleet.host(1).status_info.contains("vmx"));
    fleet.cluster.ignored_host_validations = Some(r#"["cnv-requirements-satisfied"]"#.into());
    fleet.refresh();
    assert_eq!(fleet.status(1), HostStatus::Known);
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert_eq!(
        outcome(fleet.check(1, "cnv-requirements-satisfied")),
        "failure"
    );
}

#[test]
fn the_configuration_can_switch_an_operator_check_off() {
    let mut fleet = Fleet::new(3, 3);
    fleet.settings.disabled_host_checks = ["kmm-requirements-satisfied".into()].into();
    fleet.settings.disabled_cluster_checks = ["mtv-requirements-satisfied".into()].into();
    let fleet = booted(fleet, &[]);
    assert_eq!(
        outcome(fleet.check(1, "kmm-requirements-satisfied")),
        "disabled"
    );
    assert_eq!(
        outcome(fleet.cluster_check("mtv-requirements-satisfied")),
        "disabled"
    );
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
}

#[test]
fn an_operator_the_release_lacks_makes_the_cluster_insufficient() {
    let mut fleet = booted(Fleet::new(3, 3), &["loki"]);
    assert_eq!(fleet.statuses(), [HostStatus::Known; 3]);
    assert_eq!(fleet.cluster.status, ClusterStatus::Insufficient);
    let (_, message) = fleet.cluster_check("loki-requirements-satisfied").unwrap();
    assert!(
        message.contains("4.17 or later") && message.contains("4.16.3"),
        "{message}"
    );
    fleet.cluster.ignored_cluster_validations = Some(r#"["loki-requirements-satisfied"]"#.into());
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
}

#[test]
fn the_gpus_of_openshift_ai_are_shown_only_with_it_and_hold_nothing_back() {
    let id = "openshift-ai-gpu-requirements-satisfied";
    let plain = Fleet::ready(3, 3);
    assert_eq!(plain.cluster_check(id), None);
    let large = |m: &mut super::Machine| (m.cores, m.memory_gib) = (32, 64);
    let fleet = Fleet::new(3, 5).edit(4, large).edit(5, large);
    let fleet = booted(fleet, &["openshift-ai"]);
    assert_eq!(outcome(fleet.cluster_check(id)), "success");
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert!(super::find(fleet.host(1).validations_info.as_deref().unwrap(), id).is_none());
}

#[test]
fn operators_add_to_what_a_role_needs() {
    let mut fleet = Fleet::new(3, 3);
    for machine in &mut fleet.machines {
        machine.oddity = Some(with_spare_disk);
        (machine.cores, machine.memory_gib) = (12, 40);
    }
    let mut fleet = booted(fleet.edit(2, |m| m.cores = 11), &["lso", "odf"]);
    for host in &mut fleet.hosts {
        host.role = HostRole::Master;
    }
    fleet.refresh();
    assert_eq!(fleet.status(1), HostStatus::Known);
    assert_eq!(fleet.status(2), HostStatus::Insufficient);
    assert_eq!(
        outcome(fleet.check(2, "odf-requirements-satisfied")),
        "success"
    );
    let (status, message) = fleet.check(2, "has-cpu-cores-for-role").unwrap();
    assert_eq!(status, "failure", "{message}");
}

#[test]
fn a_host_that_cannot_run_guests_is_not_suggested_as_master() {
    let mut fleet = Fleet::new(3, 5);
    for machine in &mut fleet.machines {
        machine.oddity = Some(with_guests);
    }
    // The smallest machine would be first in line.
    let fleet = fleet.edit(1, |m| {
        m.oddity = None;
        m.memory_gib = 31;
    });
    let plain = booted(fleet.clone(), &[]);
    assert_eq!(plain.host(1).suggested_role, HostRole::Master);
    let guests = booted(fleet, &["cnv"]);
    assert_eq!(guests.host(1).suggested_role, HostRole::Worker);
    let roles: Vec<HostRole> = guests.hosts.iter().map(|h| h.suggested_role).collect();
    assert_eq!(roles.iter().filter(|r| **r == HostRole::Master).count(), 3);
}

fn report(fleet: &mut Fleet, name: &str, status: &str) -> Result<(), Refused> {
    let report = OperatorReport {
        name: name.into(),
        status: status.into(),
        status_info: Some(String::new()),
        version: None,
    };
    let decision = operators::report(&fleet.view(), &report, fleet.now)?;
    fleet.store(decision);
    fleet.refresh();
    Ok(())
}

#[test]
fn reports_about_unknown_operators_and_of_unknown_states_are_refused() {
    let mut fleet = booted(Fleet::new(3, 3), &["lso"]);
    let refused = report(&mut fleet, "odf", "available").unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Missing);
    let refused = report(&mut fleet, "lso", "happy").unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Invalid);
    report(&mut fleet, "lso", "").unwrap();
    let event = fleet.events.last().unwrap();
    assert!(
        event.message.ends_with("in an unknown state: no details"),
        "{}",
        event.message
    );
}

#[test]
fn completion_waits_for_built_in_operators_and_for_optional_ones_to_settle() {
    let mut fleet = booted(Fleet::new(3, 3), &["lso", "pipelines"]);
    fleet.start();
    fleet.install_all();
    let decision = install::kubeconfig_uploaded(&fleet.view(), fleet.now).unwrap();
    fleet.store(decision);
    for (name, status) in [
        ("lso", "available"),
        ("pipelines", "progressing"),
        ("console", "available"),
        ("cvo", "failed"),
        ("pipelines", "available"),
    ] {
        report(&mut fleet, name, status).unwrap();
        assert_eq!(
            fleet.cluster.status,
            ClusterStatus::Finalizing,
            "{name} {status}"
        );
    }
    assert_eq!(fleet.cluster.progress.finalizing, 75);
    assert_eq!(fleet.event_count("cluster_operator_status"), 5);
    report(&mut fleet, "cvo", "available").unwrap();
    assert_eq!(fleet.cluster.status, ClusterStatus::Installed);
    assert_eq!(fleet.cluster.progress.total, 100);
    assert_eq!(
        fleet.event_count("cluster_degraded_OLM_operators_failed"),
        0
    );
}

#[test]
fn a_slow_optional_operator_stretches_the_stage_that_waits_for_it() {
    let mut fleet = booted(Fleet::new(3, 3), &["lso"]);
    let list = fleet.cluster.monitored_operators.as_mut().unwrap();
    list.last_mut().unwrap().timeout_seconds = 90 * 60;
    fleet.start();
    fleet.install_all();
    let stage = FinalizingStage::WaitingForOlmOperatorsCsv;
    let decision = progress::report_finalizing(&fleet.view(), stage, fleet.now).unwrap();
    fleet.store(decision);
    fleet.pass(minutes(89));
    assert!(!fleet.cluster.progress.finalizing_stage_timed_out);
    fleet.pass(minutes(2));
    assert!(fleet.cluster.progress.finalizing_stage_timed_out);
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
}

#[test]
fn reports_to_a_day_2_cluster_move_no_percentages() {
    let mut fleet = booted(Fleet::new(3, 3), &["lso"]);
    fleet.cluster.kind = muster_model::ClusterKind::AddHostsCluster;
    fleet.cluster.status = ClusterStatus::AddingHosts;
    report(&mut fleet, "lso", "available").unwrap();
    assert_eq!(fleet.cluster.progress.total, 0);
}
