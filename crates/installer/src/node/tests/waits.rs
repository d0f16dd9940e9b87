//! Waits that are in vain: each ends, and says what was missing. The clock is moved, so four hours
//! pass in a moment; nothing here depends on the service, which does not exist.

use super::*;

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

fn gave_up(outcome: Result<(), String>, reason: &str) {
    let failure = outcome.unwrap_err();
    assert!(
        failure.starts_with("gave up after 240 minutes: "),
        "{failure}"
    );
    assert!(failure.contains(reason), "{failure}");
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
    let pods = r#"{"items":[{"status":{"phase":"Pending","containerStatuses":[
        {"state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image"}}}]}}]}"#;
    machine.on(["oc", "get", "pods"], Finished::with_output(pods));
    let reason = "the pod of the controller is Pending: ImagePullBackOff Back-off pulling image";
    gave_up(node.wait_for_controller().await, reason);
}
