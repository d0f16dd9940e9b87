//! Control-plane nodes that are added to a running cluster on bare metal.

use muster_controller::{
    control_plane::{Newcomer, adopt},
    kube::{At, Kind, Patch, text},
};
use serde_json::{Value, json};

use crate::bed::Cluster;

const NAMESPACE: &str = "openshift-machine-api";
const STATUS: &str = "baremetalhost.metal3.io/status";

#[tokio::test(flavor = "multi_thread")]
async fn an_added_control_plane_node_gets_its_machine_and_its_host() {
    let cluster = Cluster::start("assisted-service").await;
    let kube = &cluster.kube;
    cluster.node(13, "master-3").await;
    let newcomer = newcomer(&cluster, "master-3", "52:54:00:aa:00:03").await;
    let (machine, host) = places("lab-x-master-3", "master-3");

    // A cluster whose control plane has no Machines is not given one.
    assert_eq!(adopt(kube, &newcomer).await.unwrap(), [""; 0]);
    assert!(kube.find(&host).await.unwrap().is_none());

    kube.apply(&pattern()).await.unwrap();
    // Another writer changes the Machine while it is linked, fewer times than conflicts are retried.
    let writer = {
        let (kube, at) = (kube.clone(), machine.clone());
        tokio::spawn(async move {
            let mut written = 0;
            while written < 3 {
                let patch = json!({"metadata": {"labels": {"round": written.to_string()}}});
                let is_there = kube.patch(&at, Patch::Merge, &patch).await.is_ok();
                written += i32::from(is_there);
            }
        })
    };
    let done = adopt(kube, &newcomer).await.unwrap();
    writer.await.unwrap();
    assert_eq!(
        done,
        [
            "Machine lab-x-master-3 created",
            "BareMetalHost master-3 created",
            "Machine lab-x-master-3 linked to its node",
        ]
    );
    let made = kube.get(&machine).await.unwrap();
    assert_eq!(
        made["spec"]["providerSpec"],
        pattern()["spec"]["providerSpec"]
    );
    assert_eq!(made["status"]["nodeRef"]["name"], "master-3");
    assert_eq!(
        made["status"]["nodeRef"]["uid"],
        newcomer.node["metadata"]["uid"]
    );
    assert_eq!(made["status"]["addresses"][0]["address"], "10.0.0.13");
    let made = kube.get(&host).await.unwrap();
    assert_eq!(made["spec"]["consumerRef"]["name"], "lab-x-master-3");
    assert_eq!(made["spec"]["externallyProvisioned"], true);
    // No Metal3 runs here, so the status was taken over from its annotation.
    assert_eq!(made["status"]["hardware"]["hostname"], "master-3");
    assert_eq!(made["status"]["hardware"]["nics"][0]["ip"], "10.0.0.13");
    assert_eq!(annotation(&made), "");

    // A second look changes nothing.
    let versions = async || {
        let objects = [kube.get(&machine).await, kube.get(&host).await];
        objects.map(|object| text(&object.unwrap(), "/metadata/resourceVersion").to_owned())
    };
    let before = versions().await;
    assert_eq!(adopt(kube, &newcomer).await.unwrap(), [""; 0]);
    assert_eq!(versions().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_created_for_an_added_node_is_completed() {
    let cluster = Cluster::start("assisted-service").await;
    let kube = &cluster.kube;
    cluster.node(14, "master-4").await;
    let newcomer = newcomer(&cluster, "master-4", "52:54:00:aa:00:04").await;
    // Metal3 runs, so a status in an annotation is its own business.
    for object in [
        pattern(),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "Provisioning",
            "metadata": {"name": "provisioning-configuration"},
            "spec": {"provisioningNetwork": "Disabled"},
        }),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "rack-4", "namespace": NAMESPACE, "annotations": {STATUS: "{}"}},
            "spec": {"online": true, "bootMACAddress": "52:54:00:AA:00:04"},
        }),
    ] {
        kube.apply(&object).await.unwrap();
    }
    let done = adopt(kube, &newcomer).await.unwrap();
    assert_eq!(
        done,
        [
            "Machine lab-x-master-4 created",
            "BareMetalHost rack-4 given to its Machine",
            "Machine lab-x-master-4 linked to its node",
        ]
    );
    let (machine, host) = places("lab-x-master-4", "rack-4");
    let host = kube.get(&host).await.unwrap();
    assert_eq!(host["spec"]["consumerRef"]["name"], "lab-x-master-4");
    assert_eq!(annotation(&host), "{}");
    let machine = kube.get(&machine).await.unwrap();
    let place = &machine["metadata"]["annotations"]["metal3.io/BareMetalHost"];
    assert_eq!(*place, "openshift-machine-api/rack-4");
    let (hosts, _) = kube
        .list(Kind::BARE_METAL_HOST, Some(NAMESPACE), "")
        .await
        .unwrap();
    assert_eq!(hosts.len(), 1, "no second host: {hosts:?}");
}

async fn newcomer(cluster: &Cluster, name: &str, mac: &str) -> Newcomer {
    let node = cluster.kube.get(&Kind::NODE.named(name)).await.unwrap();
    let address = text(&node, "/status/addresses/0/address").to_owned();
    Newcomer {
        node,
        name: name.to_owned(),
        mac: mac.to_owned(),
        status: json!({
            "errorCount": 0, "errorMessage": "", "goodCredentials": {}, "triedCredentials": {},
            "operationalStatus": "", "poweredOn": true,
            "provisioning": {"ID": "", "image": {"url": ""}, "state": ""},
            "hardware": {
                "hostname": name,
                "cpu": {"arch": "x86_64", "count": 8},
                "nics": [{"name": "eno1", "mac": mac, "ip": address}],
            },
        }),
    }
}

/// The Machine of a control-plane node of the first day.
fn pattern() -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {
            "name": "lab-x-master-0", "namespace": NAMESPACE,
            "labels": {
                "machine.openshift.io/cluster-api-cluster": "lab-x",
                "machine.openshift.io/cluster-api-machine-role": "master",
                "machine.openshift.io/cluster-api-machine-type": "master",
            },
        },
        "spec": {"metadata": {}, "providerSpec": {"value": {
            "apiVersion": "baremetal.cluster.k8s.io/v1alpha1",
            "kind": "BareMetalMachineProviderSpec",
            "customDeploy": {"method": "install_coreos"},
            "hostSelector": {},
            "image": {"checksum": "", "url": ""},
            "userData": {"name": "master-user-data-managed"},
        }}},
    })
}

fn places(machine: &str, host: &str) -> (At, At) {
    let machine = Kind::MACHINE.within(NAMESPACE, machine);
    (machine, Kind::BARE_METAL_HOST.within(NAMESPACE, host))
}

fn annotation(host: &Value) -> &str {
    let annotations = &host["metadata"]["annotations"];
    annotations[STATUS].as_str().unwrap_or_default()
}
