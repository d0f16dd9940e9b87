//! Waits that time out: each ends, and reports what was missing. The clock is moved, so four hours
//! pass in a moment; nothing here depends on the service, which does not exist.

use super::*;
use crate::progress::Reached;

const NOWHERE: &str = "http://127.0.0.1:1";

/// A bootstrap host for which nothing comes.
fn forsaken() -> (Arc<Simulated>, Node) {
    let (machine, node) = bootstrapped("3", NOWHERE);
    machine.change(|tree| {
        tree.remove("/opt/openshift/.bootkube.done".as_ref())
            .unwrap()
    });
    machine.on(["systemctl", "show"], Finished::with_output("active\n"));
    machine.on(["journalctl"], Finished::with_output(""));
    (machine, node)
}

fn gave_up(outcome: Result<(), InstallError>, reason: &str) {
    let failure = outcome.unwrap_err();
    let InstallError::TimedOut { limit, missing, .. } = &failure else {
        panic!("{failure}");
    };
    assert_eq!(*limit, Duration::from_secs(4 * 3600));
    assert!(missing.contains(reason), "{missing}");
    let text = failure.to_string();
    assert!(text.starts_with("gave up after 240 minutes: "), "{text}");
}

/// What the service is to see after so many minutes of work.
async fn shown_after(node: &Node, minutes: u64, work: impl Future) -> Option<String> {
    let limit = Duration::from_secs(60 * minutes);
    assert!(
        tokio::time::timeout(limit, node.alive(work)).await.is_err(),
        "it still goes on"
    );
    node.progress.newest()
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_news_shows_that_it_goes_on() {
    let (_, node) = forsaken();
    let shown = shown_after(&node, 31, node.wait_for_etcd()).await.unwrap();
    assert!(shown.ends_with("(unchanged for 28 minutes)"), "{shown}");
    let shown = shown_after(&node, 31, std::future::pending::<()>()).await;
    assert!(shown.unwrap().ends_with("(unchanged for 60 minutes)"));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_stops_to_show_progress_is_not_called_alive_until_it_is_done() {
    let (_, node) = forsaken();
    let stage = HostStage::WritingImageToDisk;
    for (percent, shown) in [(43, "43%"), (100, "100% (unchanged for 28 minutes)")] {
        let detail = format!("{percent}%");
        node.progress
            .report_reached(stage, &Reached { percent, detail });
        let newest = shown_after(&node, 31, std::future::pending::<()>()).await;
        assert_eq!(newest.as_deref(), Some(shown));
    }
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_stays_away_is_named_by_what_bootkube_said_last() {
    let (machine, node) = forsaken();
    let said = "Error: initializing source: pinging container registry: connection refused\n";
    machine.on(["journalctl"], Finished::with_output(said));
    gave_up(
        node.wait_for_bootkube().await,
        "pinging container registry: connection refused",
    );
}

#[tokio::test(start_paused = true)]
async fn nodes_that_never_come_are_counted_and_an_api_that_never_answers_is_quoted() {
    let (machine, node) = forsaken();
    machine.on(
        ["oc", "get", "nodes"],
        Finished::with_output(r#"{"items":[]}"#),
    );
    gave_up(
        node.wait_for_nodes().await,
        "0 of 2 control-plane nodes are ready",
    );
    let refused = "The connection to the server api-int:6443 was refused";
    machine.on(["oc", "get", "configmap"], Finished::failed(1, refused));
    gave_up(node.wait_for_nodes().await, refused);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_never_stands_alone_is_explained_by_its_unit() {
    let (machine, node) = forsaken();
    let said = "1 API servers run on nodes of the cluster\n";
    machine.on(["journalctl"], Finished::with_output(said));
    gave_up(node.wait_for_etcd().await, "1 API servers run");
}

/// Its bus is busy while many units start.
#[tokio::test(start_paused = true)]
async fn a_systemd_that_does_not_answer_is_asked_again() {
    let busy = || Finished::failed(1, "Failed to get properties: Connection timed out");
    let (machine, node) = forsaken();
    let answers = [busy(), busy(), Finished::with_output("inactive\n")];
    machine.on_in_turn(["systemctl", "show"], answers);
    node.wait_for_etcd().await.unwrap();
    let of_unit = |unit| {
        [
            "systemctl",
            "show",
            "--property=ActiveState",
            "--value",
            unit,
        ]
    };
    for unit in ["node-image-pull.service", "node-image-overlay.service"] {
        let active = Finished::with_output("active\n");
        machine.on_in_turn(of_unit(unit), [busy(), active]);
    }
    node.bring_node_image().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_controller_whose_image_cannot_be_pulled_is_explained_by_its_pod() {
    let (machine, node) = forsaken();
    machine.on(
        ["oc", "get", "events"],
        Finished::with_output(r#"{"items":[]}"#),
    );
    machine.on(
        ["oc", "get", "pods"],
        Finished::with_output(r#"{"items":[]}"#),
    );
    gave_up(
        node.wait_for_controller().await,
        "the controller has no pod yet",
    );
    // Its logs are asked for every five minutes.
    let ran = machine.ran();
    let looks = ran.iter().filter(|words| words[1] == "logs").count();
    assert!((40..=48).contains(&looks), "{looks}");
    let pods = r#"{"items":[{"status":{"phase":"Pending","containerStatuses":[
        {"state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image"}}}]}}]}"#;
    machine.on(["oc", "get", "pods"], Finished::with_output(pods));
    let reason = "the pod of the controller is Pending: ImagePullBackOff Back-off pulling image";
    gave_up(node.wait_for_controller().await, reason);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_disagree_about_their_config_are_not_waited_for_without_end() {
    let (machine, node) = forsaken();
    let none = Finished::with_output(r#"{"items":[]}"#);
    machine.on(["oc", "get", "machineconfigs"], none);
    let failure = node.wait_for_machine_configs().await;
    let failure = failure.unwrap_err().to_string();
    assert!(
        failure.starts_with("gave up after 30 minutes: "),
        "{failure}"
    );
    assert!(
        failure.contains("currentConfig rendered of node a does not exist"),
        "{failure}"
    );
    // A cluster without that kind is left after a minute.
    let unknown = "the server doesn't have a resource type \"machineconfigs\"";
    machine.on(
        ["oc", "get", "machineconfigs"],
        Finished::failed(1, unknown),
    );
    let began = tokio::time::Instant::now();
    let failure = node.wait_for_machine_configs().await;
    let failure = failure.unwrap_err().to_string();
    assert!(failure.contains(unknown), "{failure}");
    assert!(
        began.elapsed() < Duration::from_secs(120),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn only_an_agent_based_installation_waits_for_workers() {
    let (machine, node) = forsaken();
    node.wait_for_workers().await.unwrap();
    let invoker = r#"{"data":{"invoker":"agent-installer"}}"#;
    let map = ["oc", "get", "configmap", "openshift-install-manifests"];
    machine.on(map, Finished::with_output(invoker));
    gave_up(
        node.wait_for_workers().await,
        "the service does not list its hosts",
    );
}

/// The service of an agent-based installation went away with its node.
#[tokio::test(start_paused = true)]
async fn a_worker_whose_service_is_gone_leaves_when_its_config_is_served() {
    let machine = machine();
    let node = node(&machine, NOWHERE, "worker");
    let config = r#"{"ignition":{"version":"3.2.0","config":{"merge":[
        {"source":"http://api-int:22624/config/worker"}]}}}"#;
    machine.change(|tree| tree.line("/config.ign", config));
    let found = Found {
        ignition: Some("/config.ign".into()),
        ..Found::default()
    };
    machine.on(["curl"], Finished::failed(22, "503"));
    let failure = node.wait_for_control_plane(&found).await;
    let failure = failure.unwrap_err().to_string();
    assert!(failure.contains("the service does not report"), "{failure}");
    machine.on(["curl"], Finished::with_output(""));
    machine.change(|tree| tree.line("/run/muster-installer/pool-config.json", config));
    node.wait_for_control_plane(&found).await.unwrap();
}
