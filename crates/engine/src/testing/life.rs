//! Complete installations, in memory.

use muster_model::{ClusterStatus, FinalizingStage, HostKind, HostRole, HostStage, HostStatus};

use super::{Fleet, key, operator};
use crate::{
    Environment, Job, RefusalKind, Settings, binding, install,
    operators::{self, OperatorReport},
    progress, reset,
    settings::Polling,
    steps,
};

fn report_operators(fleet: &mut Fleet, status: &str) {
    let names: Vec<String> = fleet
        .cluster
        .monitored_operators
        .iter()
        .flatten()
        .map(|o| o.name.clone())
        .collect();
    for name in names {
        let report = OperatorReport {
            name,
            status: status.into(),
            status_info: None,
            version: None,
        };
        let decision = operators::report(&fleet.view(), &report, fleet.now).unwrap();
        fleet.store(decision);
        fleet.refresh();
    }
}

fn finalize(fleet: &mut Fleet) {
    for stage in [
        FinalizingStage::WaitingForClusterOperators,
        FinalizingStage::Done,
    ] {
        let decision = progress::report_finalizing(&fleet.view(), stage, fleet.now).unwrap();
        fleet.store(decision);
        fleet.refresh();
    }
    report_operators(fleet, "available");
    let decision = install::kubeconfig_uploaded(&fleet.view(), fleet.now).unwrap();
    fleet.store(decision);
    fleet.refresh();
}

#[test]
pub(super) fn three_hosts_and_two_workers_become_a_cluster() {
    let mut fleet = Fleet::new(3, 5);
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::PendingForInput);
    fleet.boot_all();
    fleet.refresh();
    assert!(
        fleet
            .statuses()
            .iter()
            .all(|s| *s == HostStatus::Discovering)
    );
    fleet.settle();
    assert!(
        fleet.statuses().iter().all(|s| *s == HostStatus::Known),
        "{:?}",
        fleet.hosts[0].status_info
    );
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::Ready,
        "{:?}",
        fleet.cluster.validations_info
    );
    assert_eq!(
        fleet.cluster.networks.machine,
        Some(vec!["192.0.2.0/24".to_owned()])
    );
    assert_eq!(
        fleet.host(1).installation_disk_path.as_deref(),
        Some("/dev/sda")
    );

    fleet.start();
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
    assert!(
        fleet
            .statuses()
            .iter()
            .all(|s| *s == HostStatus::Installing)
    );
    assert_eq!(
        fleet
            .hosts
            .iter()
            .filter(|h| h.role == HostRole::Master)
            .count(),
        3
    );
    assert_eq!(fleet.hosts.iter().filter(|h| h.bootstrap).count(), 1);
    assert_eq!(
        (
            fleet.cluster.progress.preparing,
            fleet.cluster.progress.total
        ),
        (100, 10)
    );

    fleet.install_all();
    assert!(fleet.statuses().iter().all(|s| *s == HostStatus::Installed));
    assert_eq!(fleet.cluster.status, ClusterStatus::Finalizing);
    assert_eq!(
        (
            fleet.cluster.progress.installing,
            fleet.cluster.progress.total
        ),
        (100, 80)
    );

    finalize(&mut fleet);
    assert_eq!(fleet.cluster.status, ClusterStatus::Installed);
    assert_eq!(fleet.cluster.progress.total, 100);
    assert!(fleet.cluster.install_completed_at.is_some());
    assert_eq!(fleet.event_count("host_registration_succeeded"), 5);
    assert_eq!(fleet.event_count("cluster_installation_completed"), 1);
    let results = fleet.events.iter();
    let results = results.filter(|event| event.message == "cluster.installation.results");
    assert_eq!(results.count(), 1);
    assert_eq!(fleet.event_count("cluster_prepare_installation_started"), 1);
    assert_eq!(fleet.event_count("host_bootstrap_set"), 1);
}

#[test]
pub(super) fn a_single_node_becomes_a_cluster_and_its_total_follows_the_contract() {
    let mut fleet = Fleet::ready(1, 1);
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::Ready,
        "{:?}",
        fleet.cluster.validations_info
    );
    assert_eq!(fleet.host(1).effective_role(), HostRole::Master);
    fleet.start();
    assert_eq!(
        fleet.cluster.api_vips.as_ref().unwrap()[0].ip.to_string(),
        "192.0.2.11"
    );
    let mut totals = vec![fleet.cluster.progress.total];
    let mut percentages = Vec::new();
    for stage in fleet.stages_of(1) {
        fleet.stage(1, *stage).unwrap();
        totals.push(fleet.cluster.progress.total);
        percentages.push(fleet.host(1).progress.percentage);
    }
    assert_eq!(totals, [10, 18, 27, 35, 45, 53, 62, 70, 80]);
    assert_eq!(percentages, [12, 25, 37, 50, 62, 75, 87, 100]);
    finalize(&mut fleet);
    assert_eq!(fleet.cluster.status, ClusterStatus::Installed);
}

#[test]
pub(super) fn the_request_for_files_is_repeated_until_they_are_there() {
    let mut fleet = Fleet::ready(3, 3);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    let wanted = Job::MakeClusterFiles(fleet.cluster.id);
    let again = crate::refresh(&fleet.view(), &fleet.settings, fleet.now);
    assert_eq!(again.jobs, [wanted]);
    assert!(again.changes_nothing());
    let decision = install::files_ready(&fleet.view(), None, fleet.now);
    fleet.store(decision);
    assert!(
        crate::refresh(&fleet.view(), &fleet.settings, fleet.now)
            .jobs
            .is_empty()
    );
}

#[test]
pub(super) fn a_pool_host_is_bound_installed_with_the_cluster_and_may_not_leave_meanwhile() {
    let mut fleet = Fleet::new(3, 3);
    let cluster = fleet.cluster.clone();
    for number in 1..=3 {
        let new = crate::registration::NewHost {
            key: key(number),
            cluster: None,
            agent_version: None,
            user_name: "admin",
        };
        let registered = crate::registration::register(None, &new, fleet.now).unwrap();
        fleet.hosts.push(registered.host);
        fleet.last_seen.push(fleet.now);
    }
    fleet.refresh();
    assert_eq!(fleet.status(1), HostStatus::DiscoveringUnbound);
    assert_eq!(
        binding::bind(fleet.host(1), cluster.id, Some(&cluster), fleet.now)
            .unwrap_err()
            .kind,
        RefusalKind::Conflict
    );
    fleet.settle();
    assert!(
        fleet
            .statuses()
            .iter()
            .all(|s| *s == HostStatus::KnownUnbound),
        "{:?}",
        fleet.hosts[0].status_info
    );
    let unknown = binding::bind(fleet.host(1), cluster.id, None, fleet.now).unwrap_err();
    assert_eq!(
        (unknown.kind, unknown.events[0].name.as_str()),
        (RefusalKind::Invalid, "host_bind_failed")
    );
    for number in 1..=3 {
        let decision =
            binding::bind(fleet.host(number), cluster.id, Some(&cluster), fleet.now).unwrap();
        fleet.store(decision);
    }
    assert_eq!(fleet.status(1), HostStatus::Binding);
    fleet.settle();
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::Ready,
        "{:?}",
        fleet.statuses()
    );
    fleet.start();
    assert_eq!(
        binding::unbind(fleet.host(1), false, fleet.now)
            .unwrap_err()
            .kind,
        RefusalKind::Conflict
    );
}

#[test]
pub(super) fn an_unbound_host_goes_back_to_the_pool_with_its_role_forgotten() {
    let mut fleet = Fleet::ready(3, 3);
    assert_eq!(
        binding::unbind(fleet.host(1), true, fleet.now)
            .unwrap_err()
            .kind,
        RefusalKind::Conflict
    );
    let decision = binding::unbind(fleet.host(1), false, fleet.now).unwrap();
    fleet.store(decision);
    assert_eq!(fleet.status(1), HostStatus::Unbinding);
    fleet.settle();
    assert_eq!(fleet.status(1), HostStatus::KnownUnbound);
    assert_eq!(fleet.host(1).role, HostRole::AutoAssign);
    assert_eq!(fleet.cluster.status, ClusterStatus::Insufficient);
}

#[test]
pub(super) fn a_day2_host_is_installed_on_its_own_and_ends_with_its_reboot() {
    let mut fleet = Fleet::new(3, 1);
    fleet.cluster.kind = muster_model::ClusterKind::AddHostsCluster;
    fleet.cluster.status = ClusterStatus::AddingHosts;
    fleet.cluster.api_vip_dns_name = Some("api.muster.example.com".into());
    fleet.boot_all();
    fleet.settle();
    assert_eq!(
        fleet.status(1),
        HostStatus::Known,
        "{}",
        fleet.host(1).status_info
    );
    assert_eq!(
        (fleet.host(1).kind, fleet.host(1).role),
        (HostKind::AddToExistingClusterHost, HostRole::Worker)
    );
    let decision = install::start_host(&fleet.view(), key(1), &fleet.settings, fleet.now).unwrap();
    assert_eq!(decision.jobs, [Job::MakeHostFiles(key(1))]);
    fleet.store(decision);
    fleet.refresh();
    let mut percentages = Vec::new();
    for stage in fleet.stages_of(1) {
        fleet.stage(1, *stage).unwrap();
        percentages.push(fleet.host(1).progress.percentage);
    }
    assert_eq!(percentages, [20, 40, 60, 80, 100]);
    assert_eq!(fleet.status(1), HostStatus::AddedToExistingCluster);
    assert_eq!(fleet.host(1).progress.stage, Some(HostStage::Done));
    let decision = reset::reset_host(&fleet.view(), key(1), fleet.now).unwrap();
    fleet.store(decision);
    assert_eq!(fleet.status(1), HostStatus::ResettingPendingUserAction);
}

#[test]
pub(super) fn failed_optional_operators_leave_the_cluster_installed_but_degraded() {
    let mut fleet = Fleet::new(3, 3);
    fleet
        .cluster
        .monitored_operators
        .as_mut()
        .unwrap()
        .push(operator("pipelines", "olm"));
    fleet.boot_all();
    fleet.settle();
    fleet.start();
    fleet.install_all();
    for (name, status) in [
        ("console", "available"),
        ("cvo", "available"),
        ("pipelines", "failed"),
    ] {
        let report = OperatorReport {
            name: name.into(),
            status: status.into(),
            status_info: None,
            version: None,
        };
        let decision = operators::report(&fleet.view(), &report, fleet.now).unwrap();
        fleet.store(decision);
    }
    let decision = install::kubeconfig_uploaded(&fleet.view(), fleet.now).unwrap();
    fleet.store(decision);
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Installed);
    assert!(fleet.cluster.status_info.contains("pipelines"));
    assert_eq!(
        fleet.event_count("cluster_degraded_OLM_operators_failed"),
        1
    );
}

#[test]
pub(super) fn hosts_are_hurried_only_when_a_change_is_near() {
    let near_change = std::time::Duration::from_secs(5);
    let settings = Settings {
        polling: Polling {
            near_change,
            ..Polling::default()
        },
        ..Settings::default()
    };
    let fleet = Fleet::ready(3, 3);
    let interval =
        |fleet: &Fleet| steps::next(fleet.host(1), &Environment::default(), &settings).interval;
    assert_eq!(interval(&fleet).as_secs(), 60);
    let mut fleet = fleet;
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    assert_eq!(interval(&fleet).as_secs(), 5);
}
