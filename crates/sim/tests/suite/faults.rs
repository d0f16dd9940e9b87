//! Every fault is noticed, with the right message, and what can be fixed recovers.

use std::sync::Arc;

use muster_sim::{
    Change, End, Ending, Fault, Pace, Planned, Report, Seed, Topology, Until,
    machine::Build,
    network::{Network, Site},
};

use crate::stage::{Stage, in_order, plan};

/// The last host of the cluster of five.
const HOST: &str = "worker-4";

/// Plays a cluster of five with one fault.
async fn play(fault: Fault, heal: bool, until: Until) -> (End, Arc<Report>) {
    let stage = Stage::new().await;
    let mut plan = plan(Topology::HighlyAvailable);
    plan.faults = vec![Planned { fault, host: None }];
    plan.heal = heal;
    plan.until = until;
    // A silent host must not be missed because the others were faster than the service's limit.
    if fault == Fault::HostLost {
        plan.pace = Pace::new(200.0);
    }
    let (end, report) = stage.play(plan).await;
    (
        end.unwrap_or_else(|stuck| panic!("{fault}: {stuck}")),
        report,
    )
}

/// What the service said about the fault, when it had been showing it for some time.
fn assert_words(report: &Report, fault: Fault) {
    let head = format!("the service noticed {fault}: ");
    let all = report.all();
    let words = all.iter().find_map(|moment| match &moment.what {
        Change::Act { what } => what.strip_prefix(&head),
        _ => None,
    });
    let words = words.unwrap_or_else(|| panic!("{fault} was never noticed"));
    assert!(words.len() > 20, "{fault}: {words:?} explains nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_of_discovery_are_noticed_with_the_right_validation() {
    for fault in Fault::all() {
        let sign = fault.sign();
        if sign.ending != Ending::Waits || sign.failing.is_none() {
            continue;
        }
        let (end, report) = play(fault, false, Until::Ready).await;
        assert_eq!(end, End::Noticed(vec![fault]));
        assert_words(&report, fault);
        if let Some(status) = sign.host_status {
            let seen = report.statuses(Some(HOST));
            assert_eq!(
                seen.last().map(String::as_str),
                Some(status),
                "{fault}: {seen:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_of_discovery_are_forgotten_once_repaired() {
    for fault in Fault::all() {
        let sign = fault.sign();
        let Some(failing) = sign.failing.filter(|_| sign.ending == Ending::Waits) else {
            continue;
        };
        let (end, report) = play(fault, true, Until::Ready).await;
        assert_eq!(end, End::Reached, "{fault}");
        let about: Vec<Change> = report.all().into_iter().map(|moment| moment.what).collect();
        let passes = Change::Passing {
            id: failing.to_owned(),
        };
        assert!(
            about.contains(&passes),
            "{fault}: {failing} never passed again"
        );
        assert_eq!(
            report.statuses(None).last().map(String::as_str),
            Some("ready")
        );
        let host = report.statuses(Some(HOST));
        assert_eq!(
            host.last().map(String::as_str),
            Some("known"),
            "{fault}: {host:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_without_a_time_source_is_reported_and_installed() {
    let (end, report) = play(Fault::NoNtp, false, Until::Installed).await;
    assert_eq!(end, End::Reached);
    assert_words(&report, Fault::NoNtp);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_disk_is_reported_and_installed() {
    let (end, report) = play(Fault::SlowDisk, false, Until::Installed).await;
    assert_eq!(end, End::Reached);
    let events = report.events(Some(HOST));
    assert!(
        events.contains(&"disk_speed_slower_than_supported".to_owned()),
        "{events:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_boots_the_image_again_waits_for_its_user_and_then_goes_on() {
    let (end, _) = play(Fault::WrongBootOrder, false, Until::Installed).await;
    assert_eq!(end, End::Noticed(vec![Fault::WrongBootOrder]));
    let (end, report) = play(Fault::WrongBootOrder, true, Until::Installed).await;
    assert_eq!(end, End::Reached);
    in_order(
        "statuses of the host",
        &report.statuses(Some(HOST)),
        &[
            "installing-in-progress",
            "installing-pending-user-action",
            "installing-in-progress",
            "installed",
        ],
    );
    in_order(
        "statuses of the cluster",
        &report.statuses(None),
        &["installing-pending-user-action", "installed"],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_falls_silent_fails_the_installation() {
    let (end, report) = play(Fault::HostLost, false, Until::Installed).await;
    assert_eq!(end, End::Noticed(vec![Fault::HostLost]));
    in_order(
        "events of the cluster",
        &report.events(None),
        &["cluster_installation_failed"],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installer_that_gives_up_fails_the_installation_with_its_own_words() {
    let (end, report) = play(Fault::StageFailure, true, Until::Installed).await;
    assert_eq!(end, End::Noticed(vec![Fault::StageFailure]));
    let all = report.all();
    let reported = all.iter().any(|moment| match &moment.what {
        Change::Status { status, info } => status == "error" && info.contains("input/output error"),
        _ => false,
    });
    assert!(reported, "the reason of the installer was lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_hellos_leaves_one_host_that_is_installed() {
    let (end, report) = play(Fault::RegisterFlood, false, Until::Installed).await;
    assert_eq!(end, End::Reached);
    let events = report.events(Some(HOST));
    let hellos = events
        .iter()
        .filter(|name| *name == "host_registration_succeeded");
    assert_eq!(
        hellos.count(),
        1,
        "one host is registered once, however often it says hello"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bootstrap_host_is_not_the_victim_unless_it_is_named() {
    // The service lets the smallest id lead, and ids come from the seed: one where the last
    // host, the usual victim, leads.
    let last_leads = |seed: &Seed| {
        let fleet = Network::with(*seed, &[Build::ControlPlane; 3], Site::default());
        let lead = fleet.machines().iter().min_by_key(|machine| machine.id);
        lead.is_some_and(|machine| machine.index == 2)
    };
    let stage = Stage::new().await;
    let mut plan = plan(Topology::Compact);
    plan.seed = (1..).map(Seed).find(last_leads).unwrap();
    plan.faults = vec!["stage-failure".parse().unwrap()];
    let (end, report) = stage.play(plan).await;
    assert_eq!(end.unwrap(), End::Noticed(vec![Fault::StageFailure]));
    let events = report.events(Some("control-2"));
    assert!(
        events.contains(&"host_bootstrap_set".to_owned()),
        "{events:?}"
    );
    let all = report.all();
    let gave_up = all.iter().find_map(|moment| match &moment.what {
        Change::Event { message, .. } if message.contains("input/output error") => {
            moment.host.clone()
        }
        _ => None,
    });
    assert_eq!(gave_up.as_deref(), Some("control-1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_of_a_host_that_does_not_exist_is_refused() {
    let stage = Stage::new().await;
    let mut plan = plan(Topology::SingleNode);
    plan.faults = vec!["no-ntp:7".parse().unwrap()];
    let refused = muster_sim::Scenario::new(plan, &stage.line, Arc::default()).unwrap_err();
    assert!(refused.to_string().contains("no host 7"), "{refused}");
}
