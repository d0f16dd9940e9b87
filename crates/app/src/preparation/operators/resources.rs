//! Custom resources of operators.

use std::{sync::Arc, time::Duration};

use muster_assets::node_settings::Role;
use muster_catalog::Operator;
use muster_model::{Cluster, Host, OpenshiftVersion};
use serde_json::{Value, json};

use super::storage;
use crate::preparation::site::{NodeHealth, Site};

/// The cluster that operators come to.
#[derive(Debug)]
pub struct Scene<'a> {
    /// All that were chosen.
    pub operators: Vec<Operator>,
    /// Version of the release.
    pub version: &'a OpenshiftVersion,
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Its hosts.
    pub hosts: &'a [Arc<Host>],
    /// What the service's settings say.
    pub site: &'a Site,
}

impl Scene<'_> {
    /// Whether it was chosen.
    pub fn has(&self, operator: Operator) -> bool {
        self.operators.contains(&operator)
    }
}

/// Manifests that need no operator to be understood, by path.
pub fn at_once(operator: Operator, scene: &Scene<'_>) -> Vec<(String, Value)> {
    // The descheduler looks at pressure, which kernels measure only on request.
    let measures_pressure = operator == Operator::KubeDescheduler
        && scene.has(Operator::Cnv)
        && scene.version.at_least(4, 18);
    if operator == Operator::Cnv {
        [Role::Master, Role::Worker]
            .map(|role| {
                let path = format!(
                    "openshift/50_openshift-cnv_{}s_schedstats.yaml",
                    role.word()
                );
                let name = format!("50-{}s-enable-schedstats", role.word());
                (path, kernel_argument(&name, role, "schedstats=enable"))
            })
            .into()
    } else if operator == Operator::Lso {
        monitoring_rights(operator.namespace()).into()
    } else if measures_pressure {
        [Role::Master, Role::Worker]
            .map(|role| {
                let name = format!("99-openshift-machineconfig-{}-psi-karg", role.word());
                let path = format!("openshift/{name}.yaml");
                (path, kernel_argument(&name, role, "psi=1"))
            })
            .into()
    } else {
        Vec::new()
    }
}

fn kernel_argument(name: &str, role: Role, argument: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {
            "name": name,
            "labels": { "machineconfiguration.openshift.io/role": role.word() },
        },
        "spec": { "kernelArguments": [argument] },
    })
}

/// The cluster's monitoring may look for what it measures in a namespace.
fn monitoring_rights(namespace: &str) -> [(String, Value); 2] {
    let name = format!("{namespace}-prometheus-k8s");
    let api = "rbac.authorization.k8s.io";
    let of = |kind: &str, mut rest: Value| {
        rest["apiVersion"] = json!(format!("{api}/v1"));
        rest["kind"] = json!(kind);
        rest["metadata"] = json!({ "name": name, "namespace": namespace });
        rest
    };
    let role = of(
        "Role",
        json!({ "rules": [{
            "apiGroups": [""],
            "resources": ["services", "endpoints", "pods"],
            "verbs": ["get", "list", "watch"],
        }] }),
    );
    let binding = of(
        "RoleBinding",
        json!({
            "roleRef": { "apiGroup": api, "kind": "Role", "name": name },
            "subjects": [{
                "kind": "ServiceAccount",
                "name": "prometheus-k8s",
                "namespace": "openshift-monitoring",
            }],
        }),
    );
    let path = |what: &str| format!("openshift/50_openshift-lso_prometheus-{what}.yaml");
    [(path("role"), role), (path("rolebinding"), binding)]
}

/// Resources of the operator's own kinds, applied once it runs.
pub fn later(operator: Operator, scene: &Scene<'_>) -> Vec<Value> {
    use Operator::*;
    let namespace = operator.namespace();
    let one = |api: &str, kind: &str, name: &str, namespaced: bool, spec: Value| {
        let mut object = json!({
            "apiVersion": api,
            "kind": kind,
            "metadata": { "name": name },
            "spec": spec,
        });
        if namespaced {
            object["metadata"]["namespace"] = json!(namespace);
        }
        vec![object]
    };
    match operator {
        Lso => one(
            "local.storage.openshift.io/v1alpha1",
            "LocalVolumeSet",
            "local-disks",
            true,
            json!({
                "storageClassName": "localblock-sc",
                "volumeMode": "Block",
                "deviceInclusionSpec": { "deviceTypes": ["disk"] },
            }),
        ),
        Lvm => one(
            "lvm.topolvm.io/v1alpha1",
            "LVMCluster",
            "lvmcluster-sample",
            true,
            json!({ "storage": { "deviceClasses": [{
                "name": "vg1",
                "thinPoolConfig": {
                    "name": "thin-pool-1", "sizePercent": 90, "overprovisionRatio": 10,
                },
            }] } }),
        ),
        Odf => storage::cluster(scene),
        Cnv => one(
            "hco.kubevirt.io/v1beta1",
            "HyperConverged",
            "kubevirt-hyperconverged",
            true,
            json!({ "BareMetalPlatform": true }),
        ),
        Mce => one(
            "multicluster.openshift.io/v1",
            "MultiClusterEngine",
            "mce",
            false,
            json!({ "targetNamespace": namespace }),
        ),
        Osc => one(
            "kataconfiguration.openshift.io/v1",
            "KataConfig",
            "cluster-kataconfig",
            true,
            json!({ "enablePeerPods": false, "logLevel": "info" }),
        ),
        Nmstate => one("nmstate.io/v1", "NMState", "nmstate", false, json!({})),
        Mtv => one(
            "forklift.konveyor.io/v1beta1",
            "ForkliftController",
            "forklift-controller",
            true,
            json!({ "olm_managed": true }),
        ),
        Metallb => one("metallb.io/v1beta1", "MetalLB", "metallb", true, json!({})),
        NodeFeatureDiscovery => one(
            "nfd.openshift.io/v1",
            "NodeFeatureDiscovery",
            "nfd-instance",
            true,
            json!({
                "instance": "",
                "operand": { "imagePullPolicy": "IfNotPresent", "servicePort": 12000 },
                "topologyUpdater": false,
                "workerConfig": { "configData": DETECTED_DEVICES },
            }),
        ),
        NodeHealthcheck => one(
            "remediation.medik8s.io/v1alpha1",
            "NodeHealthCheck",
            "node-healthcheck-self-node-remediation-workers",
            false,
            health_check(namespace, &scene.site.health),
        ),
        Numaresources => one(
            "nodetopology.openshift.io/v1",
            "NUMAResourcesOperator",
            "numaresources",
            false,
            json!({ "nodeGroups": [{ "machineConfigPoolSelector": { "matchLabels": {
                "pools.operator.machineconfiguration.openshift.io/worker": "",
            } } }] }),
        ),
        Oadp => one(
            "oadp.openshift.io/v1alpha1",
            "DataProtectionApplication",
            "dpa-sample",
            true,
            json!({ "configuration": { "velero": { "defaultPlugins": ["openshift"] } } }),
        ),
        KubeDescheduler => one(
            "operator.openshift.io/v1",
            "KubeDescheduler",
            "cluster",
            true,
            descheduler(scene),
        ),
        OpenshiftAi => data_science(scene),
        AmdGpu
        | Authorino
        | ClusterObservability
        | FenceAgentsRemediation
        | Kmm
        | Loki
        | NodeMaintenance
        | NvidiaGpu
        | OpenshiftLogging
        | Pipelines
        | SelfNodeRemediation
        | Serverless
        | Servicemesh => Vec::new(),
    }
}

/// Network cards, displays and accelerators.
const DETECTED_DEVICES: &str = "core:
  sleepInterval: 60s
sources:
  pci:
    deviceClassWhitelist: [\"0200\", \"03\", \"12\"]
    deviceLabelFields: [vendor]
";

fn health_check(namespace: &str, health: &NodeHealth) -> Value {
    let absent = |key: &str| json!({ "key": key, "operator": "DoesNotExist" });
    let unhealthy = |status: &str, after: Duration| {
        let duration = format!("{}s", after.as_secs());
        json!({ "type": "Ready", "status": status, "duration": duration })
    };
    json!({
        "selector": { "matchExpressions": [
            absent("node-role.kubernetes.io/control-plane"),
            absent("node-role.kubernetes.io/master"),
        ] },
        "remediationTemplate": {
            "apiVersion": "self-node-remediation.medik8s.io/v1alpha1",
            "kind": "SelfNodeRemediationTemplate",
            "name": health.template,
            "namespace": namespace,
        },
        "minHealthy": health.min_healthy,
        "unhealthyConditions": [
            unhealthy("False", health.unready),
            unhealthy("Unknown", health.unknown),
        ],
    })
}

/// Virtual machines are moved as they run, and the way to say so was renamed with nearly every
/// release.
fn descheduler(scene: &Scene<'_>) -> Value {
    let version = scene.version;
    let common = json!({
        "logLevel": "Normal",
        "operatorLogLevel": "Normal",
        "managementState": "Managed",
    });
    let with = |more: Value| {
        let mut spec = common.clone();
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        spec
    };
    if !scene.has(Operator::Cnv) {
        return with(json!({
            "mode": "Predictive",
            "profiles": ["AffinityAndTaints"],
            "deschedulingIntervalSeconds": 3600,
        }));
    }
    let old = ["EvictPodsWithPVC", "EvictPodsWithLocalStorage"];
    let background = json!({ "devEnableEvictionsInBackground": true });
    let (profiles, customizations) = if version.at_least(4, 20) {
        (json!(["KubeVirtRelieveAndMigrate"]), Value::Null)
    } else if version.at_least(4, 19) {
        (json!(["DevKubeVirtRelieveAndMigrate"]), Value::Null)
    } else if version.at_least(4, 18) {
        let customizations = json!({
            "devEnableSoftTainter": true,
            "devDeviationThresholds": "AsymmetricLow",
            "devActualUtilizationProfile": "PrometheusCPUCombined",
            "devEnableEvictionsInBackground": true,
        });
        (json!(["DevKubeVirtRelieveAndMigrate"]), customizations)
    } else if version.at_least(4, 17) {
        (json!(["LongLifecycle", old[0], old[1]]), background)
    } else {
        (
            json!(["DevPreviewLongLifecycle", old[0], old[1]]),
            background,
        )
    };
    let mut spec = with(json!({
        "mode": "Automatic",
        "profiles": profiles,
        "deschedulingIntervalSeconds": 60,
    }));
    if !customizations.is_null() {
        spec["profileCustomizations"] = customizations;
    }
    spec
}

fn data_science(scene: &Scene<'_>) -> Vec<Value> {
    let state = |on: bool| json!({ "managementState": if on { "Managed" } else { "Removed" } });
    let large = !scene.cluster.is_single_node();
    let mut serving = state(large);
    serving["serving"] = json!({
        "ingressGateway": { "certificate": { "type": "OpenshiftDefaultIngress" } },
        "managementState": "Managed",
        "name": "knative-serving",
    });
    let monitoring = json!({ "managementState": "Managed", "namespace": "redhat-ods-monitoring" });
    vec![
        json!({
            "apiVersion": "dscinitialization.opendatahub.io/v1",
            "kind": "DSCInitialization",
            "metadata": { "name": "default-dsci" },
            "spec": {
                "applicationsNamespace": "redhat-ods-applications",
                "monitoring": monitoring,
                "serviceMesh": state(large),
                "trustedCABundle": { "managementState": "Managed", "customCABundle": "" },
            },
        }),
        json!({
            "apiVersion": "datasciencecluster.opendatahub.io/v1",
            "kind": "DataScienceCluster",
            "metadata": { "name": "default-dsc" },
            "spec": { "components": {
                "codeflare": state(true),
                "dashboard": state(true),
                "datasciencepipelines": state(true),
                "kserve": serving,
                "kueue": state(true),
                "modelmeshserving": state(true),
                "ray": state(true),
                "trainingoperator": state(false),
                "trustyai": state(false),
                "workbenches": state(true),
            } },
        }),
    ]
}
