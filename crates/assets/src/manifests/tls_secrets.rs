//! Certificates that live on in the cluster as secrets, with notes on what they are.

use serde_json::{Value, json};

use super::{Source, data, object};
use crate::pki::Issued;

const NAMESPACE: &str = "openshift-machine-config-operator";
const OWNER: &str = "Machine Config Operator";

pub(super) fn server_ca_bundle(source: Source<'_>) -> Option<Value> {
    if !source.plan.profile.mcs_signer {
        return None;
    }
    let pem = &source.pki.get("root-ca")?.certificate_pem;
    Some(object(
        "v1",
        "ConfigMap",
        NAMESPACE,
        "machine-config-server-ca",
        json!({
            "metadata": {
                "annotations": {
                    "openshift.io/description": "Signer of the machine config server's certificate",
                    "openshift.io/owning-component": OWNER,
                },
                "labels": { "auth.openshift.io/managed-certificate-type": "ca-bundle" },
            },
            "data": { "ca-bundle.crt": pem },
        }),
    ))
}

pub(super) fn server_ca(source: Source<'_>) -> Option<Value> {
    if !source.plan.profile.mcs_signer {
        return None;
    }
    let root = source.pki.get("root-ca")?;
    let about = "Signer of the machine config server's certificate, with its key";
    let mut secret = tls("machine-config-server-ca", root);
    secret["metadata"]["annotations"] = notes(root, about);
    secret["metadata"]["labels"] =
        json!({ "auth.openshift.io/managed-certificate-type": "signer" });
    Some(secret)
}

pub(super) fn server(source: Source<'_>) -> Option<Value> {
    let issued = source.pki.get("machine-config-server")?;
    let mut secret = tls("machine-config-server-tls", issued);
    if source.plan.profile.mcs_signer {
        let mut notes = notes(issued, "Certificate of the machine config server");
        notes["auth.openshift.io/certificate-hostnames"] = json!(host_names(issued));
        secret["metadata"]["annotations"] = notes;
        secret["metadata"]["labels"] =
            json!({ "auth.openshift.io/managed-certificate-type": "target" });
    }
    Some(secret)
}

pub(super) fn internal_release_image(source: Source<'_>) -> Option<Value> {
    if !source.plan.has_internal_release_image() {
        return None;
    }
    let issued = source.pki.get("internal-release-image")?;
    let mut secret = tls("internal-release-image-tls", issued);
    let mut notes = notes(issued, "Certificate of the registry that holds the release");
    notes["auth.openshift.io/certificate-hostnames"] = json!(host_names(issued));
    secret["metadata"]["annotations"] = notes;
    secret["metadata"]["labels"] =
        json!({ "auth.openshift.io/managed-certificate-type": "target" });
    Some(secret)
}

fn tls(name: &str, issued: &Issued) -> Value {
    object(
        "v1",
        "Secret",
        NAMESPACE,
        name,
        json!({
            "type": "kubernetes.io/tls",
            "data": { "tls.crt": data(&issued.file_pem), "tls.key": data(&issued.key_pem) },
        }),
    )
}

fn notes(issued: &Issued, about: &str) -> Value {
    json!({
        "auth.openshift.io/certificate-issuer": "root-ca",
        "auth.openshift.io/certificate-not-after": issued.not_after.to_string(),
        "auth.openshift.io/certificate-not-before": issued.not_before.to_string(),
        "openshift.io/description": about,
        "openshift.io/owning-component": OWNER,
    })
}

/// Names and addresses, each once, sorted.
fn host_names(issued: &Issued) -> String {
    let addresses = issued.hosts.addresses.iter().map(ToString::to_string);
    let mut all: Vec<String> = issued
        .hosts
        .names
        .iter()
        .cloned()
        .chain(addresses)
        .collect();
    all.sort();
    all.dedup();
    all.join(",")
}
