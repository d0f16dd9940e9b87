//! Every topology is installed, through the same statuses as a real one.

use muster_sim::{Change, End, Report, Topology, Until};

use crate::stage::{Stage, in_order, plan};

const CLUSTER: &[&str] = &[
    "ready",
    "preparing-for-installation",
    "installing",
    "finalizing",
    "installed",
];
const HOST: &[&str] = &[
    "discovering",
    "known",
    "preparing-for-installation",
    "preparing-successful",
    "installing",
    "installing-in-progress",
    "installed",
];
const CONTROL: [&str; 3] = ["control-0", "control-1", "control-2"];
const BOOTSTRAP: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Waiting for control plane",
    "Waiting for bootkube",
    "Waiting for controller",
    "Rebooting",
    "Configuring",
    "Joined",
    "Done",
];
const MASTER: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Rebooting",
    "Configuring",
    "Joined",
    "Done",
];
const WORKER: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Waiting for control plane",
    "Rebooting",
    "Waiting for ignition",
    "Configuring",
    "Joined",
    "Done",
];
const SINGLE_NODE: &[&str] = &[
    "Starting installation",
    "Installing",
    "Waiting for bootkube",
    "Writing image to disk",
    "Rebooting",
    "Joined",
    "Done",
];

/// A day-2 host counts as added with its reboot and is not observed further.
const DAY2: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Rebooting",
];

/// Statuses out of the event log, which misses none.
fn statuses(report: &Report, host: Option<&str>) -> Vec<String> {
    let wanted = if host.is_some() {
        "host_status_updated"
    } else {
        "cluster_status_updated"
    };
    let mut statuses = Vec::new();
    for moment in report.all() {
        if moment.host.as_deref() != host {
            continue;
        }
        let Change::Event { name, message, .. } = &moment.what else {
            continue;
        };
        if name != wanted {
            continue;
        }
        // "… from A to B (why)" or "… to B (why)".
        let head = message.split(" (").next().unwrap();
        let words: Vec<&str> = head.split_whitespace().collect();
        let after = |word: &str| {
            let place = words.iter().rposition(|w| *w == word)?;
            words.get(place + 1).map(|status| (*status).to_owned())
        };
        if statuses.is_empty() {
            statuses.extend(after("from"));
        }
        statuses.push(after("to").unwrap_or_else(|| panic!("no status in {message:?}")));
    }
    statuses
}

/// Stages out of the event log.
fn stages(report: &Report, host: &str) -> Vec<String> {
    let mut stages = Vec::new();
    for moment in report.all() {
        let (
            Some(name),
            Change::Event {
                name: event,
                message,
                ..
            },
        ) = (&moment.host, &moment.what)
        else {
            continue;
        };
        if name != host || event != "host_install_progress_updated" {
            continue;
        }
        let (_, rest) = message.split_once("stage ").unwrap();
        let stage = rest.split(':').next().unwrap().to_owned();
        if stages.last() != Some(&stage) {
            stages.push(stage);
        }
    }
    stages
}

fn assert_stages(report: &Report, host: &str, ways: &[&[&str]]) {
    let stages = stages(report, host);
    let went = ways.iter().any(|way| stages == *way);
    assert!(went, "stages of {host}: {stages:#?}");
}

fn assert_host(report: &Report, host: &str, ways: &[&[&str]]) {
    in_order(
        &format!("statuses of {host}"),
        &statuses(report, Some(host)),
        HOST,
    );
    assert_stages(report, host, ways);
    in_order(
        &format!("events of {host}"),
        &report.events(Some(host)),
        &[
            "host_registration_succeeded",
            "host_install_progress_updated",
        ],
    );
}

fn assert_cluster(report: &Report) {
    in_order("statuses of the cluster", &statuses(report, None), CLUSTER);
    in_order(
        "events of the cluster",
        &report.events(None),
        &[
            "cluster_registration_succeeded",
            "cluster_finalizing_stage_updated",
            "cluster_installation_completed",
        ],
    );
}

/// Exactly one host led the installation.
fn assert_one_bootstrap(report: &Report, hosts: &[&str]) {
    let led = |host: &&&str| stages(report, host) == BOOTSTRAP;
    assert_eq!(hosts.iter().filter(led).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compact_cluster_is_installed() {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan(Topology::Compact)).await;
    assert_eq!(end.unwrap(), End::Reached);
    assert_cluster(&report);
    for host in CONTROL {
        assert_host(&report, host, &[MASTER, BOOTSTRAP]);
    }
    assert_one_bootstrap(&report, &CONTROL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_is_installed() {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan(Topology::SingleNode)).await;
    assert_eq!(end.unwrap(), End::Reached);
    assert_cluster(&report);
    assert_host(&report, "node-0", &[SINGLE_NODE]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_join_after_the_control_plane() {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan(Topology::HighlyAvailable)).await;
    assert_eq!(end.unwrap(), End::Reached);
    assert_cluster(&report);
    for host in CONTROL {
        assert_host(&report, host, &[MASTER, BOOTSTRAP]);
    }
    for host in ["worker-3", "worker-4"] {
        assert_host(&report, host, &[WORKER]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_control_plane_nodes_and_an_arbiter_are_installed() {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan(Topology::Arbiter)).await;
    assert_eq!(end.unwrap(), End::Reached);
    assert_cluster(&report);
    assert_host(&report, "arbiter-2", &[MASTER]);
    assert_one_bootstrap(&report, &["control-0", "control-1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_are_added_to_an_installed_cluster() {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan(Topology::Day2)).await;
    assert_eq!(end.unwrap(), End::Reached);
    assert_cluster(&report);
    for host in ["worker-3", "worker-4"] {
        in_order(
            host,
            &statuses(&report, Some(host)),
            &[
                "discovering",
                "known",
                "installing",
                "installing-in-progress",
                "added-to-existing-cluster",
            ],
        );
        assert_stages(&report, host, &[DAY2]);
    }
    for host in CONTROL {
        assert_host(&report, host, &[MASTER, BOOTSTRAP]);
    }
    assert_one_bootstrap(&report, &CONTROL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_of_a_pool_are_bound_and_installed() {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan(Topology::LateBinding)).await;
    assert_eq!(end.unwrap(), End::Reached);
    assert_cluster(&report);
    for host in CONTROL {
        in_order(
            host,
            &statuses(&report, Some(host)),
            &[
                "known-unbound",
                "binding",
                "discovering",
                "known",
                "installed",
            ],
        );
        assert_host(&report, host, &[MASTER, BOOTSTRAP]);
    }
    assert_one_bootstrap(&report, &CONTROL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_go_from_one_cluster_to_another_and_are_installed_there() {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan(Topology::Rebinding)).await;
    assert_eq!(end.unwrap(), End::Reached);
    for host in CONTROL {
        in_order(
            host,
            &statuses(&report, Some(host)),
            &[
                "binding",
                "discovering",
                "unbinding",
                "known-unbound",
                "binding",
                "known",
                "installed",
            ],
        );
        assert_stages(&report, host, &[MASTER, BOOTSTRAP]);
    }
    assert_one_bootstrap(&report, &CONTROL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_that_was_cancelled_and_reset_can_be_begun_again() {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan(Topology::Restarted)).await;
    assert_eq!(end.unwrap(), End::Reached);
    in_order(
        "statuses of the cluster",
        &statuses(&report, None),
        &[
            "installing",
            "cancelled",
            "ready",
            "installing",
            "installed",
        ],
    );
    // The first host that begins is enough for the user to cancel: the others may not have.
    let mut begun_before = 0;
    for host in CONTROL {
        in_order(
            host,
            &statuses(&report, Some(host)),
            &[
                "cancelled",
                "resetting-pending-user-action",
                "discovering",
                "known",
                "installing-in-progress",
                "installed",
            ],
        );
        let stages = stages(&report, host);
        let begun = stages.iter().rposition(|stage| stage == MASTER[0]).unwrap();
        let again = &stages[begun..];
        begun_before += usize::from(begun > 0);
        assert!(again == MASTER || again == BOOTSTRAP, "{host}: {again:?}");
    }
    assert!(begun_before > 0, "no host had begun when it was cancelled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_that_can_switch_each_other_off_are_installed() {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan(Topology::Fencing)).await;
    assert_eq!(end.unwrap(), End::Reached);
    assert_cluster(&report);
    let hosts = ["control-0", "control-1"];
    for host in hosts {
        assert_host(&report, host, &[MASTER, BOOTSTRAP]);
    }
    assert_one_bootstrap(&report, &hosts);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_can_end_when_all_hosts_are_discovered() {
    let stage = Stage::new().await;
    let mut plan = plan(Topology::Compact);
    plan.until = Until::Discovered;
    let (end, report) = stage.play(plan).await;
    assert_eq!(end.unwrap(), End::Reached);
    assert!(!report.statuses(None).contains(&"ready".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_seed_acts_the_same_twice() {
    let stage = Stage::new().await;
    let mut runs = Vec::new();
    for _ in 0..2 {
        let mut plan = plan(Topology::Compact);
        plan.until = Until::Ready;
        let (end, report) = stage.play(plan).await;
        assert_eq!(end.unwrap(), End::Reached);
        let acts: Vec<Change> = report
            .all()
            .into_iter()
            .map(|moment| moment.what)
            .filter(|what| matches!(what, Change::Act { .. }))
            .collect();
        runs.push(acts);
    }
    assert_eq!(runs[0], runs[1]);
}
