//! A cluster that is to become a seed, checked through a real kube-apiserver with the kinds of
//! OpenShift.

use std::{fs, path::Path, process::Output};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_controller::kube::{Access, At, Kind, Kube};
use muster_kubetest::ControlPlane;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{INSTALL_CONFIG, SITE_CONFIG, muster, other, succeeded};

const RENDERED: &str = "rendered-master-1";
const CONFIG: &str = "config.openshift.io/v1";

fn define_kinds(plane: &ControlPlane) {
    let published = muster_kubetest::published();
    let kinds = [
        (CONFIG, "ClusterVersion"),
        (CONFIG, "Proxy"),
        (CONFIG, "ImageDigestMirrorSet"),
        ("machineconfiguration.openshift.io/v1", "MachineConfig"),
    ];
    let kinds = kinds.map(|(group, kind)| published[&(group.to_owned(), kind.to_owned())].clone());
    plane.create(&kinds);
    for name in ["openshift-config", "openshift-ingress-operator"] {
        let _ = plane.kubectl(&["create", "namespace", name], "");
    }
}

/// Creates an object, and its status where that is apart.
async fn put(kube: &Kube, at: &At, object: Value) {
    kube.apply(&object).await.unwrap();
    if let Some(status) = object.get("status") {
        let set = |stored: &mut Value| {
            stored["status"] = status.clone();
            true
        };
        kube.update(at, "status", set).await.unwrap();
    }
}

/// A single node as an assisted installation leaves it, that is still being updated.
async fn create_cluster(kube: &Kube, ingress: &str) {
    put(
        kube,
        &Kind::CLUSTER_VERSION.named("version"),
        version("True"),
    )
    .await;
    put(
        kube,
        &Kind::NODE.named("seed"),
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "seed", "annotations": {
                "machineconfiguration.openshift.io/currentConfig": RENDERED,
            }},
            "status": {
                "addresses": [
                    {"type": "InternalIP", "address": "192.168.10.4"},
                    {"type": "Hostname", "address": "seed"},
                ],
                "capacity": {"cpu": "8", "memory": "32Gi"},
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"architecture": "amd64", "bootID": "", "containerRuntimeVersion": "",
                    "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "",
                    "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": ""},
            },
        }),
    )
    .await;
    let install_config = "baseDomain: example.com\nmetadata: {name: lab}\n\
                          networking: {machineNetwork: [{cidr: 192.168.10.0/24}]}\n";
    let secret = |namespace: &str, name: &str, key: &str, text: &str| {
        json!({"apiVersion": "v1", "kind": "Secret",
               "metadata": {"name": name, "namespace": namespace}, "stringData": {key: text}})
    };
    for object in [
        json!({"apiVersion": CONFIG, "kind": "Proxy", "metadata": {"name": "cluster"}, "spec": {}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap",
               "metadata": {"name": "cluster-config-v1", "namespace": "kube-system"},
               "data": {"install-config": install_config}}),
        secret(
            "openshift-config",
            "pull-secret",
            ".dockerconfigjson",
            r#"{"auths":{"quay.io":{"auth":"YTpi"}}}"#,
        ),
        secret(
            "openshift-ingress-operator",
            "router-ca",
            "tls.crt",
            ingress,
        ),
        machine_config(json!([])),
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv1"},
               "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                        "hostPath": {"path": "/x"}}}),
        json!({"apiVersion": "v1", "kind": "Namespace",
               "metadata": {"name": "open-cluster-management-addon-observability"}}),
    ] {
        kube.apply(&object).await.unwrap();
    }
}

fn version(progressing: &str) -> Value {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    json!({
        "apiVersion": CONFIG, "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "11111111-1111-4111-8111-111111111111"},
        "status": {
            "availableUpdates": null, "observedGeneration": 1, "versionHash": "x",
            "desired": {"version": "4.18.5", "image": "quay.io/ocp/release@sha256:00"},
            "history": [],
            "conditions": [condition("Available", "True"), condition("Progressing", progressing)],
        },
    })
}

fn machine_config(files: Value) -> Value {
    json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
           "metadata": {"name": RENDERED}, "spec": {"fips": false, "config": {
        "ignition": {"version": "3.2.0"},
        "storage": {"files": files},
        "systemd": {"units": [{"name": "var-lib-containers.mount", "enabled": true,
            "contents": "[Mount]\nWhat=/dev/disk/by-partlabel/var-lib-containers\n"}]},
    }}})
}

fn create_seed(at: &Path, kubeconfig: &Path) -> Output {
    let kubeconfig = kubeconfig.display().to_string();
    let words = ["create", "seed", "--image", "registry.example.com/seed:1"];
    let more = ["--push-secret", "push.json", "--kubeconfig", &kubeconfig];
    muster(at, &[&words[..], &more].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_cluster_is_checked_before_it_becomes_a_seed() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let plane = ControlPlane::start(&at.join("cluster"));
    let kube = Kube::new(Access::from_kubeconfig(&plane.kubeconfig()).unwrap()).unwrap();
    define_kinds(&plane);
    other(
        at,
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out ca.pem -days 9 \
         -subj /CN=ingress-operator@7",
    );
    create_cluster(&kube, &fs::read_to_string(at.join("ca.pem")).unwrap()).await;
    let secret = format!(
        r#"{{"auths":{{"registry.example.com":{{"auth":"{}"}}}}}}"#,
        STANDARD.encode("a:b")
    );
    fs::write(at.join("push.json"), secret).unwrap();

    let refused = create_seed(at, &plane.kubeconfig());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    for words in [
        "the cluster is being updated",
        "dnsmasq, which names the API on the node, is not configured",
        "the cluster has persistent volumes: pv1",
        "add-ons of a hub are there: open-cluster-management-addon-observability",
    ] {
        assert!(said.contains(&format!("error: {words}")), "{words}: {said}");
    }
    assert_eq!(said.matches("\nerror: ").count(), 4, "{said}");
    assert!(!at.join("seed-generator.yaml").exists());

    put(
        &kube,
        &Kind::CLUSTER_VERSION.named("version"),
        version("False"),
    )
    .await;
    let script =
        json!([{"path": "/usr/local/bin/dnsmasq_config.sh", "contents": {"source": "data:,"}}]);
    kube.apply(&machine_config(script)).await.unwrap();
    let pv = ["delete", "pv", "pv1", "--wait=false"];
    let _ = plane.kubectl(&pv, "");
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    let _ = plane.kubectl(&["patch", "pv", "pv1", "--type=merge", "-p", patch], "");
    // There is no controller that would empty the namespace.
    let name = "open-cluster-management-addon-observability";
    let _ = plane.kubectl(&["delete", "namespace", name, "--wait=false"], "");
    let finalize = format!("/api/v1/namespaces/{name}/finalize");
    let object =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {}});
    let _ = plane.kubectl(
        &["replace", "--raw", &finalize, "-f", "-"],
        &object.to_string(),
    );

    let made = create_seed(at, &plane.kubeconfig());
    let said = succeeded(&made);
    assert!(said.contains("release 4.18.5 from quay.io"), "{said}");
    assert!(said.contains("8 processors and 32Gi of memory"), "{said}");
    let out = String::from_utf8_lossy(&made.stdout).into_owned();
    for words in [
        "oc apply -f ./lifecycle-agent.yaml",
        "oc apply -f ./seed-generator.yaml",
        "create seed --verify --image registry.example.com/seed:1",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let agent = fs::read_to_string(at.join("lifecycle-agent.yaml")).unwrap();
    assert_eq!(agent.matches("\nkind: ").count(), 3, "{agent}");
    let forecast = fs::read(at.join("seed-forecast.json")).unwrap();
    let forecast: Value = serde_json::from_slice(&forecast).unwrap();
    assert_eq!(
        forecast["cluster"]["ingress_certificate_cn"],
        "ingress-operator@7"
    );
    assert_eq!(forecast["cluster"]["node_ips"], json!(["192.168.10.4"]));

    // Sites can be compared with it before there is a seed.
    fs::write(at.join("install-config.yaml"), INSTALL_CONFIG).unwrap();
    fs::write(at.join("image-based-config.yaml"), SITE_CONFIG).unwrap();
    let words = ["create", "config-image", "--seed", "seed-forecast.json"];
    succeeded(&muster(at, &words));
}
