//! Storage that operators provide, and who uses it.

use std::sync::Arc;

use muster_catalog::Operator;
use muster_engine::inventory::Inventory;
use muster_model::{Host, HostRole};
use serde_json::{Value, json};

use super::resources::Scene;

/// Replicated storage over the disks of the nodes that carry it.
pub fn cluster(scene: &Scene<'_>) -> Vec<Value> {
    let workers = |host: &&Arc<Host>| host.effective_role() == HostRole::Worker;
    let compact = scene.hosts.iter().filter(workers).count() == 0;
    let carries = |host: &&Arc<Host>| compact || workers(host);
    let disks: usize = scene
        .hosts
        .iter()
        .filter(carries)
        .map(|host| data_disks(host, scene.site.least_storage_gb))
        .sum();
    let on_workers = |values: bool| {
        let mut rule = json!({ "key": "node-role.kubernetes.io/worker", "operator": "Exists" });
        if values {
            rule = json!({
                "key": "node-role.kubernetes.io/worker", "operator": "In", "values": [""],
            });
        }
        json!([rule])
    };
    let placement = |app: &str| {
        let apart = json!({ "matchExpressions": [
            { "key": "app", "operator": "In", "values": [app] },
        ] });
        json!({
            "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{ "matchExpressions": on_workers(false) }],
            } },
            "podAntiAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{
                "podAffinityTerm": {
                    "labelSelector": apart, "topologyKey": "kubernetes.io/hostname",
                },
                "weight": 100,
            }] },
        })
    };
    let amount = |cpu: &str, most: &str, memory: &str| {
        json!({
            "limits": { "cpu": most, "memory": memory },
            "requests": { "cpu": cpu, "memory": memory },
        })
    };
    let mut devices = json!({
        "name": "ocs-deviceset",
        "count": disks,
        "replica": 1,
        "portable": false,
        "dataPVCTemplate": { "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1" } },
            "storageClassName": "localblock-sc",
            "volumeMode": "Block",
        } },
        "placement": placement("rook-ceph-osd"),
        "preparePlacement": placement("rook-ceph-osd-prepare"),
    });
    let mut spec = json!({
        "labelSelector": { "matchExpressions": on_workers(true) },
        "manageNodes": false,
        "flexibleScaling": true,
        "monDataDirHostPath": "/var/lib/rook",
    });
    if compact {
        devices["resources"] = amount("1", "2", "5Gi");
        spec["resources"] = json!({
            "mds": amount("1", "3", "8Gi"),
            "rgw": amount("1", "2", "4Gi"),
        });
    }
    spec["storageDeviceSets"] = json!([devices]);
    let (name, namespace) = ("ocs-storagecluster", Operator::Odf.namespace());
    let mut made = Vec::new();
    if !scene.version.at_least(4, 19) {
        made.push(json!({
            "apiVersion": "odf.openshift.io/v1alpha1",
            "kind": "StorageSystem",
            "metadata": { "name": format!("{name}-storagesystem"), "namespace": namespace },
            "spec": {
                "kind": "storagecluster.ocs.openshift.io/v1",
                "name": name,
                "namespace": namespace,
            },
        }));
    }
    made.push(json!({
        "apiVersion": "ocs.openshift.io/v1",
        "kind": "StorageCluster",
        "metadata": { "name": name, "namespace": namespace },
        "spec": spec,
    }));
    made
}

/// Disks besides the one that is installed to that are large enough.
fn data_disks(host: &Host, least_gb: u32) -> usize {
    let Some(inventory) = Inventory::known(host) else {
        return 0;
    };
    let least = i64::from(least_gb) * 1_000_000_000;
    let chosen = host.installation_disk_id.as_deref();
    inventory
        .disks
        .items()
        .iter()
        .filter(|disk| matches!(disk.drive_type.as_str(), "SSD" | "HDD"))
        .filter(|disk| disk.size_bytes >= least)
        .filter(|disk| chosen != Some(disk.id.as_str()) && chosen != Some(disk.path.as_str()))
        .count()
}

/// The hub's own service keeps its data on volumes of the storage that comes along; applied when
/// that storage runs.
pub fn of_hub(scene: &Scene<'_>) -> Option<(Operator, Vec<Value>)> {
    let (storage, class) = if scene.has(Operator::Odf) {
        (Operator::Odf, "ocs-storagecluster-cephfs")
    } else if scene.has(Operator::Lvm) {
        (Operator::Lvm, "lvms-vg1")
    } else {
        return None;
    };
    let claim = |size: &str| {
        json!({
            "storageClassName": class,
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": size } },
        })
    };
    scene.has(Operator::Mce).then(|| {
        let object = json!({
            "apiVersion": "agent-install.openshift.io/v1beta1",
            "kind": "AgentServiceConfig",
            "metadata": { "name": "agent" },
            "spec": {
                "databaseStorage": claim("10Gi"),
                "filesystemStorage": claim("10Gi"),
                "imageStorage": claim("50Gi"),
            },
        });
        (storage, vec![object])
    })
}
