//! The service is stopped in the middle of an installation and started again while the fleet goes
//! on: nothing is lost, nothing falls back, and clocks that ran before go on running.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use muster_sim::{End, Pace, Plugs, Report, Scenario, Snapshot, Stuck, Topology};
use tokio::{sync::watch, task::JoinHandle};
use uuid::Uuid;

use crate::stage::{Stage, plan};

const WRITING: &str = "Writing image to disk";
const REBOOTING: &str = "Rebooting";
const OUTAGE: Duration = Duration::from_millis(1500);

/// A play that goes on while its service comes and goes.
struct Play {
    task: JoinHandle<Result<End, Stuck>>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    report: Arc<Report>,
    plugs: Arc<Plugs>,
}

/// Starts a cluster of five, slow enough to be interrupted at a moment of our choice.
fn begin(stage: &Stage) -> Play {
    let mut plan = plan(Topology::HighlyAvailable);
    plan.pace = Pace::new(150.0);
    plan.look_every = Duration::from_millis(25);
    let report = Arc::new(Report::default());
    let mut scenario = Scenario::new(plan, &stage.line, Arc::clone(&report)).unwrap();
    let (snapshot, plugs) = (scenario.watch(), scenario.plugs());
    let task = tokio::spawn(async move {
        let end = scenario.run().await;
        let left = scenario.clean_up().await;
        assert!(left.is_empty(), "not removed: {left:?}");
        end
    });
    Play {
        task,
        snapshot,
        report,
        plugs,
    }
}

impl Play {
    /// Waits until something shows.
    async fn until(&mut self, what: &str, shows: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let found = self.snapshot.wait_for(|snapshot| shows(snapshot));
        let found = tokio::time::timeout(Duration::from_secs(60), found).await;
        let Ok(Ok(snapshot)) = found else {
            panic!("never saw {what}: {:#?}", self.report.statuses(None));
        };
        Arc::clone(&snapshot)
    }
}

fn at(snapshot: &Snapshot, stage: &str) -> Vec<Uuid> {
    let hosts = snapshot.hosts.iter();
    hosts
        .filter(|(_, host)| host.stage == stage && host.status == "installing-in-progress")
        .map(|(id, _)| *id)
        .collect()
}

/// Follows the progress of every machine and fails when it decreases.
async fn watch_progress(mut snapshot: watch::Receiver<Arc<Snapshot>>) {
    let mut most: BTreeMap<String, i64> = BTreeMap::new();
    while snapshot.changed().await.is_ok() {
        let now = Arc::clone(&snapshot.borrow_and_update());
        let cluster = ("the cluster".to_owned(), now.cluster.percent);
        let hosts = now.hosts.values();
        let hosts = hosts.map(|host| (host.name.clone(), host.percent));
        for (name, percent) in hosts.chain([cluster]) {
            let before = most.entry(name.clone()).or_default();
            assert!(percent >= *before, "{name} fell from {before} to {percent}");
            *before = percent;
        }
    }
    assert_eq!(most["the cluster"], 100, "{most:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_outlives_a_restart_while_disks_are_written_and_a_host_reboots() {
    let mut stage = Stage::new().await;
    let mut play = begin(&stage);
    let progress = tokio::spawn(watch_progress(play.snapshot.clone()));
    let busy = |snapshot: &Snapshot| {
        !at(snapshot, WRITING).is_empty() && !at(snapshot, REBOOTING).is_empty()
    };
    play.until("a host rebooting while others write", busy)
        .await;
    stage.stop().await;
    tokio::time::sleep(OUTAGE).await;
    stage.start_again().await;
    assert_eq!(play.task.await.unwrap().unwrap(), End::Reached);
    progress.await.unwrap();
    let statuses = play.report.statuses(None);
    assert_eq!(statuses.last().map(String::as_str), Some("installed"));
    assert!(
        !statuses.iter().any(|status| status == "error"),
        "{statuses:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_died_while_the_service_was_down_is_missed_after_the_restart() {
    let mut stage = Stage::new().await;
    let mut play = begin(&stage);
    let snapshot = play
        .until("a disk being written", |snapshot| {
            at(snapshot, WRITING).len() > 1
        })
        .await;
    let victim = at(&snapshot, WRITING)[0];
    stage.stop().await;
    assert!(play.plugs.pull(victim), "the victim was not even on");
    tokio::time::sleep(OUTAGE).await;
    stage.start_again().await;
    play.until("the dead host in error", |snapshot| {
        snapshot
            .hosts
            .get(&victim)
            .is_some_and(|host| host.status == "error")
    })
    .await;
    let ended = play.task.await.unwrap().unwrap_err().to_string();
    assert!(ended.contains("the installation failed"), "{ended}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_of_a_stage_that_began_before_a_restart_goes_on_running() {
    // Too short to be met if the outage and one or two polls restarted the timeout.
    let mut stage = Stage::with(&[("host_stages.rebooting", "4s")]).await;
    let mut play = begin(&stage);
    let snapshot = play
        .until("a host rebooting", |snapshot| {
            !at(snapshot, REBOOTING).is_empty()
        })
        .await;
    let victim = at(&snapshot, REBOOTING)[0];
    let began = std::time::Instant::now();
    stage.stop().await;
    assert!(play.plugs.pull(victim), "the victim was not even on");
    tokio::time::sleep(Duration::from_millis(2500)).await;
    stage.start_again().await;
    let restarted = std::time::Instant::now();
    play.until("the host waiting for its user", |snapshot| {
        let victim = snapshot.hosts.get(&victim);
        victim.is_some_and(|host| host.status == "installing-pending-user-action")
    })
    .await;
    // Four seconds from the stage, not from the restart.
    assert!(
        began.elapsed() >= Duration::from_millis(3500),
        "{:?}",
        began.elapsed()
    );
    assert!(
        restarted.elapsed() < Duration::from_secs(4),
        "{:?}",
        restarted.elapsed()
    );
    play.task.abort();
}
