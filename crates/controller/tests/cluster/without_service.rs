//! Agent-based installations: the service disappears with the node it runs on.

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_controller::{End, kube::Kind};
use serde_json::{Value, json};

use crate::{
    bed::{BOOTSTRAPPER, Cluster, cluster_version, config_map, ended, until},
    service::Service,
};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_service_the_record_carries_the_installation_over() {
    let cluster = Cluster::start("controller-without-service", "agent-installer").await;
    let (kube, client) = (&cluster.kube, "kube-apiserver-client-kubelet");
    // While the service lives, the controller learns which hosts there are.
    let service = Service::start(&[
        (1, "master-0", "master", "Done"),
        (2, "master-1", "master", "Done"),
        (3, "master-2", "master", "Rebooting"),
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
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made, namespace: default}\n";
    let mut map = config_map(
        "assisted-installer/olm-operator-manifests",
        "lso.metadata.yaml",
        about,
    );
    map["data"]["lso-01.yaml"] = json!(STANDARD.encode(manifest));
    kube.apply(&map).await.unwrap();

    // Its successor finds no service any more.
    let second = cluster.run("http://127.0.0.1:1");
    let made = Kind::CONFIG_MAP.within("default", "made");
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
    assert_eq!(ended(second).await, End::Installed);
    assert_eq!(cluster.approvals("stranger").await, 0);
    let (status, history) = cluster.record().await;
    assert_eq!(status["outcome"], "installed");
    assert_eq!(status["service_reachable"], false);
    assert!(
        history
            .to_string()
            .contains("Host master-2 reached stage Done")
    );
}
