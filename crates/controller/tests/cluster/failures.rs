//! Installations that fail, and what is handed over to explain it.

use std::{fs, time::Duration};

use muster_controller::{End, kube::Kind};
use serde_json::json;

use crate::{
    bed::{Cluster, cluster_operator, cluster_version, ended, options, pace, until},
    service::Service,
};

/// Remembers how it was called, collects one file, and counts two reboots of any node.
const OC: &str = r#"
echo "$@" >> "$FOLDER/oc-calls"
case "$*" in *"debug node/"*) printf 'reboot  system boot\nreboot  system boot\n\nwtmp begins\n';; esac
for word; do
    if [ "$before" = --dest-dir ]; then mkdir -p "$word" && echo broken > "$word/state.txt"; fi
    before=$word
done
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_handed_over_with_what_must_gather_collected() {
    let cluster = Cluster::start("assisted-installer").await;
    let service = Service::start(&[
        (1, "master-0", "master", "Rebooting"),
        (2, "master-1", "master", "Rebooting"),
    ]);
    let kubeconfig = fs::read_to_string(cluster.plane.kubeconfig()).unwrap();
    service.state().kubeconfig = kubeconfig;
    let mut options = options(&service.url);
    options.oc = cluster.oc(OC);
    options.notify_num_reboots = true;
    options.must_gather_image = r#"{"ocp": "image-of-release", "lso": "image-of-lso"}"#.to_owned();
    let calls = options.oc.with_file_name("oc-calls");
    let _ = fs::remove_file(&calls);
    let controller = cluster.run_with(options, pace());

    // A node may have the long name of its host, and is asked by its own.
    let long = "master-0.c.example.org";
    cluster.node(1, long).await;
    cluster.make_ready(long).await;
    until("done", async || service.stage(1) == "Done").await;
    until("the count", async || service.state().events.len() == 1).await;
    {
        let mut state = service.state();
        let event = &state.events[0];
        assert_eq!(event["name"], "reboots_for_node");
        let message = event["message"].as_str().unwrap();
        assert!(
            message.contains(long) && message.contains("2 times"),
            "{message}"
        );
        assert!(
            fs::read_to_string(&calls)
                .unwrap()
                .contains(&format!("debug node/{long} "))
        );
        state.cluster["status"] = json!("error");
        state.cluster["status_info"] = json!("a host failed");
    }
    assert_eq!(
        ended(controller).await,
        End::Failed("a host failed".to_owned())
    );
    let files = service.last_logs();
    let mut packed = tar::Archive::new(flate2::read::GzDecoder::new(
        files["must-gather.tar.gz"].as_slice(),
    ));
    let names: Vec<String> = packed
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    assert!(
        names.contains(&"must-gather/state.txt".to_owned()),
        "{names:?}"
    );
    let calls = fs::read_to_string(&calls).unwrap();
    assert!(
        calls.contains("--image=image-of-release") && !calls.contains("image-of-lso"),
        "{calls}"
    );
    {
        let state = service.state();
        assert_eq!(state.completed.as_ref().unwrap()["is_success"], false);
        assert_eq!(state.log_states, ["requested", "completed"]);
    }
    let (status, history) = cluster.record().await;
    assert_eq!(status["outcome"], "failed");
    assert!(
        history.to_string().contains("failed: a host failed"),
        "{history}"
    );
}

/// A cluster that failed may not run the pods of must-gather either.
#[tokio::test(flavor = "multi_thread")]
async fn a_must_gather_that_hangs_is_stopped_and_what_it_has_is_sent() {
    let cluster = Cluster::start("assisted-installer").await;
    let service = Service::start(&[]);
    let kubeconfig = fs::read_to_string(cluster.plane.kubeconfig()).unwrap();
    {
        let mut state = service.state();
        state.kubeconfig = kubeconfig;
        state.cluster["status"] = json!("error");
        state.cluster["status_info"] = json!("a host failed");
    }
    let mut options = options(&service.url);
    options.oc = cluster.oc(&format!("{OC}\nexec sleep 1000"));
    let gathered = options.gather_dir.clone();
    let mut pace = pace();
    pace.must_gather = Duration::from_secs(2);
    let end = ended(cluster.run_with(options, pace)).await;
    assert_eq!(end, End::Failed("a host failed".to_owned()));
    assert!(service.last_logs().contains_key("must-gather.tar.gz"));
    let left: Vec<_> = fs::read_dir(gathered).unwrap().collect();
    assert!(left.is_empty(), "credentials are left: {left:?}");
}

/// The service may have no limit of its own.
#[tokio::test(flavor = "multi_thread")]
async fn operators_that_never_come_end_the_wait() {
    let cluster = Cluster::start("assisted-installer").await;
    let service = Service::start(&[]);
    {
        let mut state = service.state();
        state.cluster["status"] = json!("finalizing");
        state.operators =
            vec![json!({"name": "console", "operator_type": "builtin", "status": ""})];
    }
    let at = Kind::CLUSTER_OPERATOR.named("console");
    cluster
        .create(&at, &cluster_operator("console", "False"))
        .await;
    let at = Kind::CLUSTER_VERSION.named("version");
    cluster.create(&at, &cluster_version("False")).await;
    let mut pace = pace();
    pace.operators = Duration::from_secs(1);
    let controller = cluster.run_with(options(&service.url), pace);
    until("the report", async || service.state().completed.is_some()).await;
    until("logs", async || {
        service.state().log_states == ["requested", "completed"]
    })
    .await;
    assert!(
        service
            .last_logs()
            .contains_key("cluster-state/clusterversions.json")
    );
    {
        let mut state = service.state();
        let completed = state.completed.clone().unwrap();
        assert_eq!(completed["is_success"], false);
        assert_eq!(
            completed["error_info"],
            "Operators are not available after 1s"
        );
        let report = &completed["data"]["CLUSTER_OPERATORS_REPORT"][0];
        assert_eq!(report["name"], "console");
        assert_eq!(state.finalizing, ["Waiting for cluster operators"]);
        state.cluster["status"] = json!("cancelled");
    }
    assert_eq!(ended(controller).await, End::Cancelled);
}
