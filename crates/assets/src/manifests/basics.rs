//! What the first programs of a cluster look for: its configuration, version, secrets.

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_model::Secret;
use serde_json::{Value, json};

use super::{Source, data, object};
use crate::plan::feature_gates;
use muster_documents::install_config::types::{FeatureSet, InstallConfig};
use muster_documents::yaml;

/// Where OKD builds ask for updates.
const OKD_UPDATES: &str = "https://amd64.origin.releases.ci.openshift.org/graph";

pub(super) fn cluster_config(source: Source<'_>) -> Option<Value> {
    let config = yaml::text(&yaml::value(&without_secrets(&source.plan.config)));
    let note = "The install-config this cluster was made from, without credentials. \
                Changing it changes nothing in the running cluster.";
    Some(object(
        "v1",
        "ConfigMap",
        "kube-system",
        "cluster-config-v1",
        json!({
            "metadata": { "annotations": { "kubernetes.io/description": note } },
            "data": { "install-config": config },
        }),
    ))
}

/// Many components read it; none of them needs a password, nor that of a neighbour's controller.
fn without_secrets(config: &InstallConfig) -> InstallConfig {
    let mut config = config.redacted();
    for pool in config.control_plane.iter_mut().chain(&mut config.arbiter) {
        let fencing = pool.fencing.iter_mut();
        for credential in fencing.flat_map(|fencing| &mut fencing.credentials) {
            credential.username.clear();
            credential.password = Secret::default();
        }
    }
    config
}

pub(super) fn cluster_version(source: Source<'_>) -> Option<Value> {
    let plan = source.plan;
    let (major, minor) = plan.profile.release;
    let mut spec = json!({
        "channel": format!("stable-{major}.{minor}"),
        "clusterID": plan.identity.uuid,
    });
    if plan.release.is_okd() {
        spec["channel"] = json!(format!("stable-scos-{major}"));
        spec["upstream"] = json!(OKD_UPDATES);
    }
    if let Some(wanted) = &plan.config.capabilities {
        spec["capabilities"] = yaml::value(wanted);
    }
    let namespace = "openshift-cluster-version";
    Some(object(
        "config.openshift.io/v1",
        "ClusterVersion",
        namespace,
        "version",
        json!({
            "spec": spec,
        }),
    ))
}

pub(super) fn kube_cloud_config(_: Source<'_>) -> Option<Value> {
    Some(object(
        "v1",
        "Secret",
        "kube-system",
        "kube-cloud-cfg",
        json!({
            "type": "Opaque",
            "data": { "config": "" },
        }),
    ))
}

pub(super) fn root_ca(source: Source<'_>) -> Option<Value> {
    let pem = &source.pki.get("root-ca")?.certificate_pem;
    Some(object(
        "v1",
        "ConfigMap",
        "kube-system",
        "root-ca",
        json!({ "data": { "ca.crt": pem } }),
    ))
}

pub(super) fn pull_secret(source: Source<'_>) -> Option<Value> {
    Some(object(
        "v1",
        "Secret",
        "openshift-config",
        "pull-secret",
        json!({
            "type": "kubernetes.io/dockerconfigjson",
            "data": { ".dockerconfigjson": data(source.plan.config.pull_secret.reveal()) },
        }),
    ))
}

pub(super) fn user_ca_bundle(source: Source<'_>) -> Option<Value> {
    let bundle = pem_blocks(&source.plan.config.additional_trust_bundle);
    (!bundle.is_empty()).then(|| {
        object(
            "v1",
            "ConfigMap",
            "openshift-config",
            "user-ca-bundle",
            json!({
                "metadata": { "annotations": { "openshift.io/owning-component": "End User" } },
                "data": { "ca-bundle.crt": bundle },
            }),
        )
    })
}

/// The PEM blocks of a text, without what people write between them.
fn pem_blocks(text: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in text.lines().map(str::trim) {
        inside |= line.starts_with("-----BEGIN ");
        if inside {
            out.push_str(line);
            out.push('\n');
        }
        inside &= !line.starts_with("-----END ");
    }
    out
}

pub(super) fn kubeadmin(source: Source<'_>) -> Option<Value> {
    Some(object(
        "v1",
        "Secret",
        "kube-system",
        "kubeadmin",
        json!({
            "type": "Opaque",
            "data": { "kubeadmin": STANDARD.encode(&source.plan.kubeadmin.hash) },
        }),
    ))
}

pub(super) fn install_manifests(source: Source<'_>) -> Option<Value> {
    let invoker = match source.plan.extras.invoker.as_str() {
        "" => "user",
        named => named,
    };
    Some(object(
        "v1",
        "ConfigMap",
        "openshift-config",
        "openshift-install-manifests",
        json!({
            "data": { "invoker": invoker, "version": format!("v{}", source.plan.release.version) },
        }),
    ))
}

pub(super) fn feature_gate(source: Source<'_>) -> Option<Value> {
    let config = &source.plan.config;
    let mut spec = json!({});
    if let Some(set) = config.feature_set {
        spec["featureSet"] = json!(set.word());
    }
    if config.feature_set == Some(FeatureSet::CustomNoUpgrade) {
        spec["customNoUpgrade"] = custom_gates(&config.feature_gates);
    }
    Some(object(
        "config.openshift.io/v1",
        "FeatureGate",
        "",
        "cluster",
        json!({
            "spec": spec,
            "status": { "featureGates": null },
        }),
    ))
}

/// Gates of the form `Name=true`, sorted out by what was said.
pub(crate) fn custom_gates(gates: &[String]) -> Value {
    let gates = feature_gates(gates);
    let mut out = json!({});
    for (key, wanted) in [("enabled", true), ("disabled", false)] {
        let names: Vec<&str> = gates
            .iter()
            .filter(|(_, on)| *on == wanted)
            .map(|(name, _)| *name)
            .collect();
        if !names.is_empty() {
            out[key] = json!(names);
        }
    }
    out
}

pub(super) fn os_image_stream(source: Source<'_>) -> Option<Value> {
    let plan = source.plan;
    plan.has_os_streams().then(|| {
        object(
            "machineconfiguration.openshift.io/v1",
            "OSImageStream",
            "",
            "cluster",
            json!({
                "spec": { "defaultStream": plan.os_stream().word() },
            }),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_between_certificates_are_left_out() {
        let text = "mine\n-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n\nand\n";
        assert_eq!(
            pem_blocks(text),
            "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"
        );
    }

    #[test]
    fn custom_gates_are_sorted_out() {
        let gates = ["A=true", "B=false", "C=1"].map(str::to_owned);
        assert_eq!(
            custom_gates(&gates),
            json!({"enabled": ["A", "C"], "disabled": ["B"]})
        );
    }
}
