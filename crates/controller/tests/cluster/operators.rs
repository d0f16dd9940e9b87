//! Operators that a user chose, of which one never comes.

use std::fs;

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_controller::{End, kube::Kind};
use serde_json::{Value, json};

use crate::{
    bed::{Cluster, cluster_operator, cluster_version, config_map, ended, until},
    service::Service,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_never_comes_does_not_hold_up_another() {
    let cluster = Cluster::start("assisted-installer").await;
    let kube = &cluster.kube;
    let service = Service::start(&[]);
    let namespace = "openshift-local-storage";
    let chosen = |name: &str| {
        json!({"name": name, "operator_type": "olm", "status": "",
               "namespace": namespace, "subscription_name": name})
    };
    // Only an administrator may write Secrets.
    let manifest = |name: &str| {
        let text = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\n");
        json!({"Name": name, "Content": STANDARD.encode(text)})
    };
    {
        let mut state = service.state();
        state.cluster["status"] = json!("finalizing");
        state.operators = vec![
            json!({"name": "console", "operator_type": "builtin", "status": ""}),
            chosen("absent"),
            chosen("present"),
        ];
        state.manifests = json!([manifest("absent"), manifest("present")]).to_string();
        state.gives_up = &["Waiting for olm operators csv initialization"];
        state.kubeconfig = with_contents(&cluster);
    }
    for (at, object) in [
        (
            Kind::CLUSTER_OPERATOR.named("console"),
            cluster_operator("console", "True"),
        ),
        (
            Kind::CLUSTER_VERSION.named("version"),
            cluster_version("True"),
        ),
    ] {
        cluster.create(&at, &object).await;
    }
    let object = |kind: &str, name: &str, status: Value| {
        json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": kind,
               "metadata": {"name": name, "namespace": namespace}, "spec": {}, "status": status})
    };
    let place = "openshift-config-managed/default-ingress-cert";
    for object in [
        config_map(place, "ca-bundle.crt", "the CA"),
        object(
            "Subscription",
            "present",
            json!({"currentCSV": "present.v1"}),
        ),
        object(
            "ClusterServiceVersion",
            "present.v1",
            json!({"phase": "Succeeded"}),
        ),
    ] {
        kube.apply(&object).await.unwrap();
    }
    let controller = cluster.run(&service.url);
    until("both settled", async || {
        service.operator("absent") == "failed" && service.operator("present") == "available"
    })
    .await;
    assert_eq!(ended(controller).await, End::Installed);
    let made = |name: &str| Kind::SECRET.within("default", name);
    assert!(kube.find(&made("present")).await.unwrap().is_some());
    assert!(kube.find(&made("absent")).await.unwrap().is_none());
    let state = service.state();
    assert_eq!(state.completed.as_ref().unwrap()["is_success"], true);
    let stages = state.finalizing.join(", ");
    assert!(
        stages.contains("Applying olm manifests") && stages.ends_with("csv, Done"),
        "{stages}"
    );
}

/// The administrator's kubeconfig as a service hands it out, with everything in it.
fn with_contents(cluster: &Cluster) -> String {
    let path = cluster.plane.kubeconfig();
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for (place, name) in [
        ("/clusters/0/cluster", "certificate-authority"),
        ("/users/0/user", "client-certificate"),
        ("/users/0/user", "client-key"),
    ] {
        let fields = config.pointer_mut(place).unwrap().as_object_mut().unwrap();
        let file = fields.remove(name).unwrap();
        let content = fs::read(path.with_file_name(file.as_str().unwrap())).unwrap();
        fields.insert(format!("{name}-data"), json!(STANDARD.encode(content)));
    }
    config.to_string()
}
