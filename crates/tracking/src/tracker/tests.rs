//! Installations as scripts of observations.

use serde_json::json;

use super::*;
use crate::observation::{OperatorView, RecordView, ServiceView, VersionView};

struct Script {
    tracker: Tracker,
    at: Duration,
    lines: Vec<Line>,
    outcome: Option<Outcome>,
    status: Option<Status>,
}

impl Script {
    fn new(goal: Goal) -> Self {
        Self {
            tracker: Tracker::new(goal, Limits::default()),
            at: Duration::ZERO,
            lines: Vec::new(),
            outcome: None,
            status: None,
        }
    }

    fn see(&mut self, seconds: u64, service: ServiceSeen, api: ApiSeen) -> &mut Self {
        assert_eq!(self.outcome, None, "over already");
        self.at += Duration::from_secs(seconds);
        let seen = Observation {
            at: self.at,
            service,
            api,
            host_answers: None,
        };
        let (lines, outcome) = self.tracker.take(&seen);
        self.lines.extend(lines);
        self.status = Some(self.tracker.status(&seen));
        self.outcome = outcome;
        self
    }

    fn said(&self, part: &str) -> usize {
        self.lines
            .iter()
            .filter(|line| line.text.contains(part))
            .count()
    }

    fn phase(&self) -> Phase {
        self.status.as_ref().unwrap().phase
    }

    fn warnings(&self) -> Vec<&str> {
        let warnings = self
            .lines
            .iter()
            .filter(|line| line.level >= Level::Warning);
        warnings.map(|line| line.text.as_str()).collect()
    }
}

fn service(status: &str, stage: &str) -> ServiceSeen {
    service_since("2026-01-02T03:04:05Z", status, stage, &[])
}

/// A service that knows its cluster since this moment, with more hosts than the rendezvous host.
fn service_since(registered: &str, status: &str, stage: &str, others: &[&str]) -> ServiceSeen {
    let mut hosts = vec![
        json!({"id": "1", "requested_hostname": "node-0", "status": "installing-in-progress",
               "bootstrap": true, "progress": {"current_stage": stage}}),
    ];
    hosts.extend(others.iter().map(|name| {
        json!({"id": name, "requested_hostname": name, "status": "installing-in-progress",
               "progress": {"current_stage": "Rebooting"}})
    }));
    let cluster =
        json!({"name": "lab", "created_at": registered, "status": status, "hosts": hosts});
    let events = json!([{"event_time": "1", "severity": "info", "message": "registered"}]);
    ServiceSeen::Cluster(Box::new(ServiceView::read(&cluster, &events)))
}

fn gone() -> ServiceSeen {
    ServiceSeen::Silent("connection refused".to_owned())
}

fn quiet() -> ApiSeen {
    ApiSeen::Silent("connection refused".to_owned())
}

fn cluster(change: impl FnOnce(&mut ClusterView)) -> ApiSeen {
    let mut view = ClusterView::default();
    change(&mut view);
    ApiSeen::Alive(Box::new(view))
}

fn finished(progressing: Option<&str>) -> ApiSeen {
    cluster(|view| {
        view.bootstrap_complete = true;
        view.nodes.insert("node-0".to_owned(), true);
        view.version = Some(VersionView {
            available: true,
            failing: None,
            progressing: None,
            cluster_id: "of-the-seed".to_owned(),
        });
        view.operators.insert(
            "dns".to_owned(),
            OperatorView {
                available: true,
                degraded: None,
                progressing: progressing.map(str::to_owned),
            },
        );
    })
}

#[test]
fn an_installation_is_followed_through_the_reboot_of_node_zero_without_a_warning() {
    let mut script = Script::new(Goal::Install);
    script.see(0, gone(), quiet());
    assert_eq!(script.phase(), Phase::Booting);
    assert_eq!(script.lines.len(), 1, "it says where it begins");
    script.see(90, service("insufficient", ""), quiet());
    assert_eq!(script.phase(), Phase::Discovery);
    script.see(60, service("installing", "Installing"), quiet());
    assert_eq!(script.phase(), Phase::Installing);
    script.see(
        60,
        service("installing", "Waiting for bootkube"),
        cluster(|_| ()),
    );
    assert_eq!(script.phase(), Phase::Bootstrapping);
    script.see(
        600,
        service("installing", "Rebooting"),
        cluster(|view| view.bootstrap_complete = true),
    );
    for _ in 0..30 {
        script.see(20, gone(), quiet());
        assert_eq!(script.phase(), Phase::Handover, "{:?}", script.lines);
    }
    script.see(
        10,
        gone(),
        cluster(|view| {
            view.bootstrap_complete = true;
            view.nodes.insert("node-0".to_owned(), true);
            view.record = RecordView {
                phase: "operators".to_owned(),
                events: vec![Event {
                    time: "2".to_owned(),
                    message: "The controller is ready".to_owned(),
                    ..Event::default()
                }],
                ..RecordView::default()
            };
            view.version = Some(VersionView {
                progressing: Some("Working towards 4.20: 12% complete".to_owned()),
                ..VersionView::default()
            });
        }),
    );
    assert_eq!(script.phase(), Phase::Finalizing);
    script.see(600, gone(), finished(Some("rolling out")));
    assert_eq!(script.phase(), Phase::Settling);
    script.see(60, gone(), finished(None));
    script.see(40, gone(), finished(None));
    assert_eq!(script.outcome, Some(Outcome::Reached));
    assert_eq!(script.warnings(), Vec::<&str>::new());
    for part in [
        "registered",
        "The bootstrap is complete",
        "as planned",
        "The controller is ready",
        "12% complete",
        "Operator dns is available",
        "The cluster is initialized",
    ] {
        assert_eq!(script.said(part), 1, "{part}: {:?}", script.lines);
    }
}

#[test]
fn the_handover_lasts_until_the_rendezvous_host_itself_has_joined() {
    let nodes = |names: &[&str]| {
        cluster(|view| {
            view.bootstrap_complete = true;
            let names = names.iter().map(|name| ((*name).to_owned(), true));
            view.nodes.extend(names);
        })
    };
    let mut script = Script::new(Goal::Install);
    // The bootstrap of three nodes is complete when two others have joined.
    script.see(
        0,
        service("installing", "Waiting for controller"),
        nodes(&["node-1", "node-2"]),
    );
    assert_eq!(script.phase(), Phase::Bootstrapping);
    script.see(20, gone(), nodes(&["node-1", "node-2"]));
    assert_eq!(script.phase(), Phase::Handover);
    let waiting = &script.status.as_ref().unwrap().waiting_for;
    assert_eq!(waiting, "the rendezvous host to join the cluster");
    script.see(
        20,
        gone(),
        nodes(&["node-1", "node-2", "node-0.example.com"]),
    );
    assert_eq!(script.phase(), Phase::Finalizing);
    assert_eq!(script.warnings(), Vec::<&str>::new());
}

#[test]
fn an_account_that_starts_late_catches_up_with_one_look() {
    let mut script = Script::new(Goal::Install);
    script.see(0, gone(), finished(None));
    assert_eq!(script.phase(), Phase::Settling);
    script.see(31, gone(), finished(None));
    assert_eq!(script.outcome, Some(Outcome::Reached));
    let mut script = Script::new(Goal::Bootstrap);
    script.see(
        0,
        ServiceSeen::None,
        cluster(|view| view.bootstrap_complete = true),
    );
    assert_eq!(script.outcome, Some(Outcome::Reached));
}

#[test]
fn a_service_that_vanishes_too_early_is_a_warning_and_may_return() {
    let mut script = Script::new(Goal::Install);
    script.see(0, service("insufficient", ""), quiet());
    script.see(10, gone(), quiet());
    assert_eq!(script.warnings().len(), 0, "a restart takes a moment");
    script.see(40, gone(), quiet());
    script.see(40, gone(), quiet());
    assert_eq!(script.said("does not answer any more"), 1);
    assert_eq!(script.phase(), Phase::Discovery);
    script.see(10, service("insufficient", ""), quiet());
    assert_eq!(script.said("answers again"), 1);
}

const FIRST: &str = "2026-01-02T03:00:00Z";
const SECOND: &str = "2026-01-02T03:50:00Z";

#[test]
fn an_installation_that_starts_over_is_followed_to_its_end() {
    let others = &["node-1", "node-2"];
    let mut script = Script::new(Goal::Install);
    script.see(0, gone(), quiet());
    script.see(
        60,
        service_since(FIRST, "insufficient", "", others),
        quiet(),
    );
    script.see(
        60,
        service_since(FIRST, "installing", "Installing", others),
        quiet(),
    );
    let joined = || {
        cluster(|view| {
            view.nodes.insert("node-1".to_owned(), true);
        })
    };
    // Longer than a bootstrap may take, because something moved to the end.
    script.see(
        3500,
        service_since(FIRST, "installing", "Waiting for bootkube", others),
        joined(),
    );
    assert_eq!(script.phase(), Phase::Bootstrapping);
    for _ in 0..6 {
        script.see(20, gone(), quiet());
        assert_eq!(script.phase(), Phase::Bootstrapping, "{:?}", script.lines);
    }
    assert_eq!(script.said("does not answer any more"), 1);
    script.see(5, ServiceSeen::Empty, quiet());
    assert_eq!(script.said("The service answers again"), 1);
    script.see(5, service_since(SECOND, "insufficient", "", &[]), quiet());
    assert_eq!(script.phase(), Phase::Discovery);
    let warning = script.warnings().pop().unwrap().to_owned();
    assert!(
        warning.contains("starts it over") && warning.contains("booted from the image again, too"),
        "{warning}"
    );
    assert!(!warning.contains("boot order"), "{warning}");
    // The limit starts again, and a node of the first attempt is none of the second.
    script.see(
        3000,
        service_since(SECOND, "installing", "Installing", others),
        quiet(),
    );
    assert_eq!(script.phase(), Phase::Installing);
    script.see(
        599,
        service_since(SECOND, "installing", "Installing", others),
        quiet(),
    );
    script.see(
        1,
        service_since(SECOND, "installing", "Waiting for controller", others),
        cluster(|view| {
            view.bootstrap_complete = true;
            view.nodes.insert("node-1".to_owned(), true);
        }),
    );
    assert_eq!(script.said("The Kubernetes API answers"), 2);
    assert_eq!(script.said("Node node-1 is ready"), 2);
    script.see(60, gone(), quiet());
    assert_eq!(script.phase(), Phase::Handover);
    script.see(60, gone(), finished(None));
    script.see(40, gone(), finished(None));
    assert_eq!(script.outcome, Some(Outcome::Reached));
    assert_eq!(script.said("starts it over"), 1);
    assert_eq!(script.warnings().len(), 2, "{:?}", script.warnings());
}

#[test]
fn a_single_node_that_dies_while_its_disk_is_written_starts_over() {
    let mut script = Script::new(Goal::Install);
    let single = |since, status, stage| service_since(since, status, stage, &[]);
    script.see(
        0,
        single(FIRST, "installing", "Writing image to disk"),
        quiet(),
    );
    script.see(20, gone(), quiet());
    assert_eq!(script.phase(), Phase::Handover);
    assert_eq!(script.said("as planned"), 1);
    script.see(90, single(SECOND, "insufficient", ""), quiet());
    assert_eq!(script.phase(), Phase::Discovery);
    let warning = script.warnings().pop().unwrap().to_owned();
    assert!(
        warning.contains("starts it over") && warning.contains("change the boot order"),
        "{warning}"
    );
    assert!(!warning.contains("other hosts"), "{warning}");
    script.see(90, single(SECOND, "installing", "Installing"), quiet());
    script.see(5, gone(), quiet());
    assert_eq!(script.phase(), Phase::Installing, "it may not go yet");
    script.see(
        5,
        single(SECOND, "installing", "Writing image to disk"),
        quiet(),
    );
    script.see(60, gone(), quiet());
    assert_eq!(script.said("as planned"), 2, "of the second attempt, too");
}

#[test]
fn a_host_that_restarts_before_anything_was_installed_is_discovered_again() {
    let mut script = Script::new(Goal::Install);
    script.see(0, service_since(FIRST, "insufficient", "", &[]), quiet());
    script.see(60, service_since(SECOND, "insufficient", "", &[]), quiet());
    assert_eq!(script.said("discovered and validated again"), 1);
    assert_eq!(script.said("Cluster: insufficient"), 2);
    // A service that restarts by itself has kept its data.
    script.see(60, gone(), quiet());
    script.see(60, service_since(SECOND, "ready", "", &[]), quiet());
    assert_eq!(script.said("booted the image again"), 1);
}

#[test]
fn failed_validations_are_named_once_with_what_they_check_and_when_they_pass() {
    let with = |status: &str| {
        let info = format!(
            r#"{{"network":[{{"id":"api-vips-defined","status":"{status}","message":"{status}!"}}]}}"#
        );
        let cluster = json!({"name": "lab", "status": "insufficient", "validations_info": info});
        ServiceSeen::Cluster(Box::new(ServiceView::read(&cluster, &json!([]))))
    };
    let mut script = Script::new(Goal::Install);
    script
        .see(0, with("failure"), quiet())
        .see(5, with("failure"), quiet());
    assert_eq!(
        script.said("Validation failed, cluster lab: failure! (api-vips-defined)"),
        1
    );
    assert_eq!(
        script.said("muster explain validations api-vips-defined"),
        1
    );
    let waiting = &script.status.as_ref().unwrap().waiting_for;
    assert!(waiting.contains("api-vips-defined"), "{waiting}");
    script.see(5, with("success"), quiet());
    assert_eq!(script.said("Validation passed now"), 1);
}

#[test]
fn each_phase_has_its_exit_code_and_progress_extends_it() {
    let code = |script: &Script| match &script.outcome {
        Some(Outcome::Failed { code, .. }) => Some(*code),
        Some(Outcome::Reached) | None => None,
    };
    let mut script = Script::new(Goal::Install);
    script.see(0, gone(), quiet()).see(3601, gone(), quiet());
    assert_eq!(code(&script), Some(5));

    let mut script = Script::new(Goal::Install);
    script.see(0, service("installing", "Installing"), quiet());
    script.see(
        3500,
        service("installing", "Writing image to disk"),
        quiet(),
    );
    script.see(200, service("installing", "Writing image to disk"), quiet());
    assert_eq!(script.outcome, None, "it moved three minutes ago");
    script.see(500, service("installing", "Writing image to disk"), quiet());
    assert_eq!(code(&script), Some(5));

    let mut script = Script::new(Goal::Install);
    let bootstrapped = || cluster(|view| view.bootstrap_complete = true);
    script.see(3000, ServiceSeen::None, bootstrapped());
    script.see(2401, ServiceSeen::None, bootstrapped());
    assert_eq!(code(&script), Some(6));

    let mut script = Script::new(Goal::Install);
    script.see(0, ServiceSeen::None, finished(Some("moving")));
    script.see(1801, ServiceSeen::None, finished(Some("moving")));
    assert_eq!(code(&script), Some(7));
    let Some(Outcome::Failed { reason, .. }) = &script.outcome else {
        panic!()
    };
    assert!(reason.contains("dns"), "{reason}");

    let mut script = Script::new(Goal::Install);
    script.see(0, service("cancelled", ""), quiet());
    assert_eq!(code(&script), Some(5));
}

#[test]
fn users_keep_their_bootstrap_host_until_etcd_has_let_it_go() {
    let view = |removed| {
        cluster(|view| {
            view.bootstrap_complete = true;
            view.etcd_bootstrap_removed = Some(removed);
        })
    };
    let mut script = Script::new(Goal::Bootstrap);
    script.see(0, ServiceSeen::None, view(false));
    assert_eq!(script.outcome, None);
    assert!(script.status.as_ref().unwrap().waiting_for.contains("etcd"));
    script.see(5, ServiceSeen::None, view(true));
    assert_eq!(script.outcome, Some(Outcome::Reached));
}

#[test]
fn a_rendezvous_host_that_boots_the_image_again_is_recognized() {
    let mut script = Script::new(Goal::Install);
    script.see(
        0,
        service("installing", "Rebooting"),
        cluster(|view| view.bootstrap_complete = true),
    );
    script.see(60, gone(), cluster(|view| view.bootstrap_complete = true));
    script.see(
        120,
        ServiceSeen::Empty,
        cluster(|view| view.bootstrap_complete = true),
    );
    assert_eq!(script.said("booted from the image again"), 1);
    let again = service_since(SECOND, "insufficient", "", &[]);
    script.see(5, again, cluster(|view| view.bootstrap_complete = true));
    assert_eq!(script.said("booted from the image again"), 1);
    assert_eq!(script.said("starts it over"), 0, "{:?}", script.lines);
}

#[test]
fn the_finished_cluster_of_a_seed_is_not_yet_that_of_its_site() {
    let mut script = Script::new(Goal::Install);
    script.tracker = Tracker::new(Goal::Install, Limits::default()).restored("of-the-site");
    script.see(0, ServiceSeen::None, quiet());
    assert_eq!(script.phase(), Phase::Booting);
    for _ in 0..3 {
        script.see(60, ServiceSeen::None, finished(None));
        assert_eq!(script.phase(), Phase::Finalizing, "{:?}", script.lines);
    }
    let waiting = |script: &Script| script.status.as_ref().unwrap().waiting_for.clone();
    assert_eq!(waiting(&script), "the node to become cluster of-the-site");
    let own = |is_ready: bool| {
        let ApiSeen::Alive(mut view) = finished(None) else {
            unreachable!()
        };
        view.version.as_mut().unwrap().cluster_id = "of-the-site".to_owned();
        view.nodes.insert("node-0".to_owned(), is_ready);
        ApiSeen::Alive(view)
    };
    script.see(60, ServiceSeen::None, own(false));
    assert_eq!(waiting(&script), "nodes to be ready: node-0");
    script.see(60, ServiceSeen::None, own(true));
    assert_eq!(script.phase(), Phase::Settling);
    script.see(40, ServiceSeen::None, own(true));
    assert_eq!(script.outcome, Some(Outcome::Reached));
    assert_eq!(script.said("bootstrap"), 0, "{:?}", script.lines);
}
