//! An installation from the start of the controller to its end, and what may follow.

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_controller::{
    End,
    kube::{Kind, Patch, text},
};
use serde_json::{Value, json};

use crate::{
    bed::{BOOTSTRAPPER, Cluster, cluster_operator, cluster_version, config_map, ended, until},
    service::{self, Service},
};

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_is_brought_to_the_end() {
    let cluster = Cluster::start("assisted-installer").await;
    let service = Service::start(&[
        (1, "master-0", "master", "Rebooting"),
        (2, "master-1", "master", "Rebooting"),
        (3, "worker-0", "worker", "Rebooting"),
    ]);
    service.state().operators = vec![
        json!({"name": "console", "operator_type": "builtin", "status": ""}),
        json!({"name": "cvo", "operator_type": "builtin", "status": ""}),
        json!({"name": "lso", "operator_type": "olm", "status": "",
               "namespace": "openshift-local-storage", "subscription_name": "local-storage"}),
    ];
    let kube = &cluster.kube;
    for object in [
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "Provisioning",
            "metadata": {"name": "provisioning-configuration"}, "spec": {},
        }),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "worker-0", "namespace": "openshift-machine-api",
                "annotations": {"baremetalhost.metal3.io/paused": ""}},
            "spec": {"online": true},
        }),
    ] {
        kube.apply(&object).await.unwrap();
    }
    // A service that is restarting at first.
    service.state().refusals = vec![503, 502];
    let thief = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "thief", "namespace": "default"},
        "spec": {"clusterIP": "172.30.0.10", "ports": [{"port": 80}]},
    });
    kube.apply(&thief).await.unwrap();
    let pool = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": "worker"}, "spec": {},
    });
    kube.apply(&pool).await.unwrap();
    let controller = cluster.run(&service.url);

    let ready = Kind::EVENT.within("assisted-installer", "AssistedControllerIsReady");
    until("the event", async || {
        kube.find(&ready).await.unwrap().is_some()
    })
    .await;

    // Certificates: those of known hosts, and no others.
    let client = "kube-apiserver-client-kubelet";
    cluster.request("first", BOOTSTRAPPER, client, "master-0", &[]);
    cluster.request("stranger", BOOTSTRAPPER, client, "intruder", &[]);
    until("approval", async || cluster.approvals("first").await == 1).await;
    cluster.node(1, "master-0").await;
    let user = "system:node:master-0";
    let names = ["master-0", "10.0.0.1"];
    cluster.request("second", user, "kubelet-serving", "master-0", &names);
    let names = ["master-0", "10.0.0.2"];
    cluster.request("greedy", user, "kubelet-serving", "master-0", &names);
    until("approval", async || cluster.approvals("second").await == 1).await;
    until("reports", async || service.state().events.len() == 2).await;
    for name in ["stranger", "greedy"] {
        assert_eq!(cluster.approvals(name).await, 0, "{name}");
        let events = service.state().events.clone();
        let about = events
            .iter()
            .filter(|one| text(one, "/message").contains(name));
        assert_eq!(about.count(), 1, "{events:?}");
    }

    // Nodes. The bootstrap host has reported one of them further than we would.
    until("joined", async || service.stage(1) == "Joined").await;
    service.state().cluster["hosts"][1]["progress"]["current_stage"] = json!("Joined");
    cluster.node(2, "master-1").await;
    cluster.make_ready("master-0").await;
    cluster.make_ready("master-1").await;
    until("done", async || {
        service.stage(1) == "Done" && service.stage(2) == "Done"
    })
    .await;

    // The API is away for a while, and every watch breaks.
    cluster.plane.restart();
    // This is how the server says that a version is no longer kept; the answer that the tests of
    // the watch itself work with.
    let old = "/api/v1/nodes?watch=true&resourceVersion=1&timeoutSeconds=2";
    let answer: Value =
        serde_json::from_str(&cluster.plane.kubectl(&["get", "--raw", old], "")).unwrap();
    assert_eq!(
        (&answer["type"], &answer["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    cluster.node(3, "worker-0").await;
    until("joined", async || service.stage(3) == "Joined").await;
    let pool = Kind::MACHINE_CONFIG_POOL.named("worker");
    let is_paused = async || kube.get(&pool).await.unwrap()["spec"]["paused"] == true;
    until("the pool rests", is_paused).await;
    cluster.make_ready("worker-0").await;
    until("done", async || service.stage(3) == "Done").await;
    let worker = Kind::NODE.named("worker-0");
    let zone = "/metadata/labels/zone";
    until("labels", async || {
        text(&kube.get(&worker).await.unwrap(), zone) == "1"
    })
    .await;
    until("the pool goes on", async || !is_paused().await).await;

    // The address of DNS is free again, and stays so for its owner.
    let at = Kind::SERVICE.within("default", "thief");
    until("eviction", async || kube.find(&at).await.unwrap().is_none()).await;
    let mut dns = thief;
    dns["metadata"] = json!({"name": "dns-default", "namespace": "openshift-dns"});
    kube.apply(&dns).await.unwrap();

    // A BareMetalHost waits for its Machine.
    let host = Kind::BARE_METAL_HOST.within("openshift-machine-api", "worker-0");
    let adopted = async || kube.get(&host).await.unwrap()["spec"]["consumerRef"]["name"] == "m-0";
    assert!(!adopted().await);
    kube.apply(&json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": "m-0", "namespace": "openshift-machine-api",
            "labels": {"machine.openshift.io/cluster-api-machine-role": "worker"}},
        "spec": {},
    }))
    .await
    .unwrap();
    until("adoption", adopted).await;
    let adopted = kube.get(&host).await.unwrap();
    assert_eq!(adopted["spec"]["externallyProvisioned"], true);
    assert!(adopted["metadata"]["annotations"].is_null(), "{adopted}");

    // Operators of the release.
    let stage = "Waiting for cluster operators";
    until("finalizing", async || service.state().finalizing == [stage]).await;
    let console = Kind::CLUSTER_OPERATOR.named("console");
    cluster
        .create(&console, &cluster_operator("console", "False"))
        .await;
    let version = Kind::CLUSTER_VERSION.named("version");
    cluster.create(&version, &cluster_version("False")).await;
    until("progressing", async || {
        service.operator("console") == "progressing"
    })
    .await;
    until("progressing", async || {
        service.operator("cvo") == "progressing"
    })
    .await;
    let at = Kind::CLUSTER_OPERATOR.named("console");
    cluster
        .set_status(&at, cluster_operator("console", "True")["status"].clone())
        .await;
    until("available", async || {
        service.operator("console") == "available"
    })
    .await;
    let at = Kind::CLUSTER_VERSION.named("version");
    cluster
        .set_status(&at, cluster_version("True")["status"].clone())
        .await;
    until("available", async || service.operator("cvo") == "available").await;

    // The ingress CA appears late.
    until("stage", async || service.state().finalizing.len() == 2).await;
    assert!(service.state().ingress_ca.is_none());
    let place = "openshift-config-managed/default-ingress-cert";
    let map = config_map(place, "ca-bundle.crt", "the CA");
    kube.apply(&map).await.unwrap();
    until("CA", async || {
        service.state().ingress_ca.as_deref() == Some("the CA")
    })
    .await;

    // An operator that a user chose.
    let applied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made, namespace: default}\n";
    service.state().manifests =
        json!([{"Name": "lso", "Content": STANDARD.encode(applied)}]).to_string();
    let object = |kind: &str, name: &str, status: Value| {
        json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": kind,
               "metadata": {"name": name, "namespace": "openshift-local-storage"},
               "spec": {"version": "1.2.3"}, "phase": "", "status": status})
    };
    let subscription = object(
        "Subscription",
        "local-storage",
        json!({"currentCSV": "lso.v1"}),
    );
    kube.apply(&subscription).await.unwrap();
    let installing = json!({"phase": "Installing"});
    let csv = object("ClusterServiceVersion", "lso.v1", installing);
    kube.apply(&csv).await.unwrap();
    until("progressing", async || {
        service.operator("lso") == "progressing"
    })
    .await;
    let made = Kind::CONFIG_MAP.within("default", "made");
    assert!(kube.find(&made).await.unwrap().is_some());
    let csv = Kind::CSV.within("openshift-local-storage", "lso.v1");
    let succeeded = json!({"status": {"phase": "Succeeded"}});
    kube.patch(&csv, Patch::Merge, &succeeded).await.unwrap();

    assert_eq!(ended(controller).await, End::Installed);
    let (status, history) = cluster.record().await;
    check_reports(&service.state());
    assert_eq!(status["outcome"], "installed");
    assert_eq!(status["hosts"].as_array().unwrap().len(), 3);
    assert_eq!(status["operators"]["console"][0], "available");
    assert!(
        history
            .to_string()
            .contains("Approved certificate request first")
    );
    a_user_s_operator_that_never_comes_fails_alone(&cluster, &service).await;
    a_failed_installation_is_reported_with_its_operators(&cluster, &service).await;
    a_controller_unknown_to_the_service_ends(&cluster, &service).await;
}

/// What is reported to the service in an installation that succeeds.
fn check_reports(state: &service::State) {
    assert_eq!(state.operators[2]["status"], "available");
    assert_eq!(state.operators[2]["version"], "1.2.3");
    assert_eq!(state.completed.as_ref().unwrap()["is_success"], true);
    assert_eq!(
        state.finalizing,
        [
            "Waiting for cluster operators",
            "Adding router ca",
            "Waiting for olm operators csv initialization",
            "Applying olm manifests",
            "Waiting for olm operators csv",
            "Done",
        ]
    );
    assert_eq!(state.log_states, ["requested", "completed"]);
    assert!(!state.logs.is_empty());
}

/// The job starts again, and the service gives up waiting for an operator.
async fn a_user_s_operator_that_never_comes_fails_alone(cluster: &Cluster, service: &Service) {
    {
        let mut state = service.state();
        state.cluster["status"] = json!("finalizing");
        state.finalizing.clear();
        state.gives_up = &["Waiting for olm operators csv initialization"];
        state.operators[2]["status"] = json!("");
        state.operators[2]["subscription_name"] = json!("nonexistent");
        state.completed = None;
    }
    assert_eq!(ended(cluster.run(&service.url)).await, End::Installed);
    let state = service.state();
    assert_eq!(state.operators[2]["status"], "failed");
    assert_eq!(state.completed.as_ref().unwrap()["is_success"], true);
    let stages = state.finalizing.join(", ");
    assert!(
        !stages.contains("Applying olm manifests") && stages.ends_with("Done"),
        "{stages}"
    );
    assert_eq!(state.events.len(), 2, "requests are reported once");
}

async fn a_failed_installation_is_reported_with_its_operators(
    cluster: &Cluster,
    service: &Service,
) {
    {
        let mut state = service.state();
        state.cluster["status"] = json!("error");
        state.cluster["status_info"] = json!("took too long");
        state.log_states.clear();
    }
    let end = ended(cluster.run(&service.url)).await;
    assert_eq!(end, End::Failed("took too long".to_owned()));
    // Without `oc` the API is asked.
    let files = service.last_logs();
    let operators = &files["cluster-state/clusteroperators.json"];
    assert!(String::from_utf8_lossy(operators).contains("\"console\""));
    assert!(files.contains_key("cluster-state/nodes.json"));
    let state = service.state();
    let completed = state.completed.as_ref().unwrap();
    assert_eq!(completed["is_success"], false);
    assert_eq!(completed["error_info"], "took too long");
    let report = &completed["data"]["CLUSTER_OPERATORS_REPORT"][0];
    assert_eq!(
        (&report["name"], &report["status"]),
        (&json!("console"), &json!("available"))
    );
    assert_eq!(state.log_states, ["requested", "completed"]);
}

async fn a_controller_unknown_to_the_service_ends(cluster: &Cluster, service: &Service) {
    service.state().refusals = vec![401; 50];
    assert_eq!(ended(cluster.run(&service.url)).await, End::Unauthorized);
    service.state().refusals = vec![404; 50];
    assert_eq!(ended(cluster.run(&service.url)).await, End::Gone);
}
