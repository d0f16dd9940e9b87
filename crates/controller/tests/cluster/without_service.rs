//! Agent-based installations: the service disappears with the node it runs on.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_controller::{
    End,
    kube::{Kind, Patch, text},
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    bed::{BOOTSTRAPPER, Cluster, cluster_version, config_map, ended, options, pace, until},
    service::Service,
};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_service_the_record_carries_the_installation_over() {
    let cluster = Cluster::start("agent-installer").await;
    let (kube, client) = (&cluster.kube, "kube-apiserver-client-kubelet");
    // While the service lives, the controller learns which hosts there are.
    let service = Service::start(&[
        (1, "master-0", "master", "Done"),
        (2, "master-1", "master", "Done"),
        (3, "master-2", "master", "Rebooting"),
        (4, "worker-0", "worker", "Rebooting"),
    ]);
    let first = cluster.run(&service.url);
    let record = Kind::CONFIG_MAP.within("assisted-installer", "muster-installation");
    until("record", async || {
        kube.find(&record).await.unwrap().is_some()
    })
    .await;
    first.abort();

    // What the desk left in the cluster for it: manifests of an operator.
    let about = "namespace: openshift-local-storage\nsubscriptionName: local-storage\n\
                 manifests: [lso-01.yaml]\n";
    // The account of the controller may not write Secrets.
    let manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: made, namespace: default}\n";
    let mut map = config_map(
        "assisted-installer/olm-operator-manifests",
        "lso.metadata.yaml",
        about,
    );
    map["data"]["lso-01.yaml"] = json!(STANDARD.encode(manifest));
    kube.apply(&map).await.unwrap();

    let writer = prepare_bare_metal(&cluster).await;

    // Its successor finds no service any more, and the administrator's kubeconfig on its node.
    let mut options = options("http://127.0.0.1:1");
    options.node_kubeconfig = cluster.plane.kubeconfig();
    let second = cluster.run_with(options, pace());
    check_bare_metal(&cluster).await;
    writer.abort();
    let made = Kind::SECRET.within("default", "made");
    assert!(
        kube.find(&made).await.unwrap().is_none(),
        "its operator does not run yet"
    );
    let object = |kind: &str, name: &str, status: Value| {
        json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": kind,
               "metadata": {"name": name, "namespace": "openshift-local-storage"},
               "spec": {}, "status": status})
    };
    let csv = object(
        "ClusterServiceVersion",
        "lso.v1",
        json!({"phase": "Succeeded"}),
    );
    kube.apply(&csv).await.unwrap();
    let subscription = object(
        "Subscription",
        "local-storage",
        json!({"currentCSV": "lso.v1"}),
    );
    kube.apply(&subscription).await.unwrap();
    until("its manifest", async || {
        kube.find(&made).await.unwrap().is_some()
    })
    .await;
    cluster.request("known", BOOTSTRAPPER, client, "master-2", &[]);
    cluster.request("stranger", BOOTSTRAPPER, client, "intruder", &[]);
    until("approval", async || cluster.approvals("known").await == 1).await;
    for (number, name) in [(1, "master-0"), (2, "master-1"), (3, "master-2")] {
        cluster.node(number, name).await;
        cluster.make_ready(name).await;
    }
    until("done", async || {
        let (status, _) = cluster.record().await;
        status["hosts"][2]["stage"] == "Done"
    })
    .await;
    assert!(
        !second.is_finished(),
        "the cluster version is not there yet"
    );
    let version = Kind::CLUSTER_VERSION.named("version");
    cluster.create(&version, &cluster_version("True")).await;

    // The cluster is installed, and a worker is late: its certificate is still approved.
    until("the outcome", async || {
        cluster.record().await.0["outcome"] == "installed"
    })
    .await;
    until("the wait", async || {
        cluster.note("Waiting for late hosts: worker-0").await
    })
    .await;
    cluster.request("late", BOOTSTRAPPER, client, "worker-0", &[]);
    until("approval", async || cluster.approvals("late").await == 1).await;
    assert!(!second.is_finished(), "a worker is late");
    cluster.node(4, "worker-0").await;
    cluster.make_ready("worker-0").await;
    assert_eq!(ended(second).await, End::Installed);
    let worker = kube.get(&Kind::NODE.named("worker-0")).await.unwrap();
    assert_eq!(
        text(&worker, "/metadata/labels/zone"),
        "1",
        "labels are set too"
    );
    assert_eq!(cluster.approvals("stranger").await, 0);
    let (status, history) = cluster.record().await;
    assert_eq!(status["outcome"], "installed");
    assert_eq!(status["service_reachable"], false);
    assert_eq!(status["operators"]["cvo"][0], "available");
    assert!(history.to_string().contains("Operator cvo is available"));
    assert!(
        history
            .to_string()
            .contains("Host master-2 reached stage Done")
    );
    a_single_node_does_not_wait_for_its_service(&cluster).await;
}

/// The service ran on the only node, before that rebooted.
async fn a_single_node_does_not_wait_for_its_service(cluster: &Cluster) {
    let mut options = options("http://127.0.0.1:1");
    options.control_plane_count = 1;
    let mut pace = pace();
    pace.readiness_without_service = Duration::from_secs(600);
    // Without an administrator's kubeconfig the manifest cannot be applied; that ends too.
    pace.leftovers = Duration::from_secs(1);
    assert_eq!(ended(cluster.run_with(options, pace)).await, End::Installed);
    assert!(
        cluster
            .note("Not all hosts and objects were finished in time")
            .await
    );
}

const STATUS: &str = "baremetalhost.metal3.io/status";

/// A BareMetalHost with a part of its status in an annotation, as it is where Metal3 does not look
/// after hosts, and a Machine for it. Another writer changes the host all the time.
async fn prepare_bare_metal(cluster: &Cluster) -> JoinHandle<()> {
    let namespace = "openshift-machine-api";
    let handed_over = json!({"poweredOn": true, "hardware": {"hostname": "worker-0"}});
    for object in [
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "worker-0", "namespace": namespace,
                "annotations": {STATUS: handed_over.to_string()}},
            "spec": {"online": true},
        }),
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "worker"}, "spec": {},
        }),
        json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": "m-0", "namespace": namespace,
                "labels": {"machine.openshift.io/cluster-api-machine-role": "worker"}},
            "spec": {},
        }),
    ] {
        cluster.kube.apply(&object).await.unwrap();
    }
    let kube = cluster.kube.clone();
    tokio::spawn(async move {
        let at = Kind::BARE_METAL_HOST.within(namespace, "worker-0");
        for number in 0u64.. {
            let patch = json!({"metadata": {"labels": {"round": number.to_string()}}});
            kube.patch(&at, Patch::Merge, &patch).await.unwrap();
        }
    })
}

async fn check_bare_metal(cluster: &Cluster) {
    let at = Kind::BARE_METAL_HOST.within("openshift-machine-api", "worker-0");
    until("adoption", async || {
        let host = cluster.kube.get(&at).await.unwrap();
        host["spec"]["consumerRef"]["name"] == "m-0"
    })
    .await;
    let host = cluster.kube.get(&at).await.unwrap();
    assert_eq!(host["status"]["poweredOn"], true);
    assert_eq!(host["status"]["hardware"]["hostname"], "worker-0");
    assert!(!text(&host, "/status/lastUpdated").is_empty());
    assert!(
        host["metadata"]["annotations"].get(STATUS).is_none(),
        "{host}"
    );
    assert!(host["spec"]["externallyProvisioned"].is_null(), "{host}");
}
