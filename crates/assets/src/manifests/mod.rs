//! The `manifests/` and `openshift/` directories: every object a cluster starts with.
//!
//! What is written on one line in the fact sheet is one row here: a path and a function that
//! returns the object, or nothing where the cluster has none. Objects that come in numbers
//! (machines, hosts, machine configs) are lists of their own.

mod baremetal;
mod basics;
mod cluster_objects;
mod fencing;
mod infrastructure;
mod internal_registry;
mod machine_configs;
mod nutanix;
mod nutanix_machines;
pub mod overrides;
mod tls_secrets;
mod user_data;
pub mod user_files;
mod vsphere;
mod vsphere_machines;

pub(crate) use self::basics::custom_gates;
pub(crate) use self::cluster_objects::EffectiveProxy;
pub(crate) use self::internal_registry::bootstrap_pull_secret;
pub(crate) use self::machine_configs::machine_config;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::file::File;
use crate::ignition_configs::Pointers;
use crate::pki::Pki;
use crate::plan::Plan;
use muster_documents::yaml;

/// What objects are made from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The cluster.
    pub plan: &'a Plan,
    /// Its certificates, at least those for manifests.
    pub pki: &'a Pki,
    /// What machines of each role start with.
    pub pointers: &'a Pointers,
}

type Make = fn(Source<'_>) -> Option<Value>;

/// Objects that a cluster has once, by file.
const ROWS: &[(&str, Make)] = &[
    ("manifests/cluster-config.yaml", basics::cluster_config),
    ("manifests/cvo-overrides.yaml", basics::cluster_version),
    (
        "manifests/kube-cloud-config.yaml",
        basics::kube_cloud_config,
    ),
    (
        "manifests/kube-system-configmap-root-ca.yaml",
        basics::root_ca,
    ),
    (
        "manifests/openshift-config-secret-pull-secret.yaml",
        basics::pull_secret,
    ),
    (
        "manifests/user-ca-bundle-config.yaml",
        basics::user_ca_bundle,
    ),
    (
        "manifests/machine-config-server-ca-configmap.yaml",
        tls_secrets::server_ca_bundle,
    ),
    (
        "manifests/machine-config-server-ca-secret.yaml",
        tls_secrets::server_ca,
    ),
    (
        "manifests/machine-config-server-tls-secret.yaml",
        tls_secrets::server,
    ),
    (
        "manifests/internal-release-image-tls-secret.yaml",
        tls_secrets::internal_release_image,
    ),
    (
        "manifests/internal-release-image-registry-auth-secret.yaml",
        internal_registry::auth_secret,
    ),
    (
        "manifests/90_cluster-mco-02-config.yaml",
        vsphere::boot_images,
    ),
    (
        "manifests/cluster-ingress-02-config.yml",
        cluster_objects::ingress,
    ),
    ("manifests/cluster-dns-02-config.yml", cluster_objects::dns),
    (
        "manifests/cluster-network-02-config.yml",
        cluster_objects::network,
    ),
    (
        "manifests/cluster-network-03-config.yml",
        cluster_objects::network_operator,
    ),
    (
        "manifests/cluster-infrastructure-02-config.yml",
        infrastructure::object,
    ),
    ("manifests/cloud-provider-config.yaml", |source| {
        vsphere::cloud_provider_config(source).or_else(|| nutanix::cloud_provider_config(source))
    }),
    (
        "manifests/cluster-proxy-01-config.yaml",
        cluster_objects::proxy,
    ),
    (
        "manifests/cluster-scheduler-02-config.yml",
        cluster_objects::scheduler,
    ),
    (
        "manifests/image-content-source-policy.yaml",
        cluster_objects::content_source_policy,
    ),
    (
        "manifests/image-digest-mirror-set.yaml",
        cluster_objects::digest_mirror_set,
    ),
    (
        "manifests/bmc-verify-ca-configmap.yaml",
        baremetal::verify_ca,
    ),
    ("manifests/cluster-pki-02-config.yaml", cluster_objects::pki),
    ("manifests/bgp-vip-config.yaml", baremetal::bgp_vips),
    (
        "openshift/99_kubeadmin-password-secret.yaml",
        basics::kubeadmin,
    ),
    (
        "openshift/openshift-install-manifests.yaml",
        basics::install_manifests,
    ),
    ("openshift/99_feature-gate.yaml", basics::feature_gate),
    ("openshift/99_osimagestream.yaml", basics::os_image_stream),
    ("openshift/99_cloud-creds-secret.yaml", vsphere::credentials),
    (
        "openshift/99_role-cloud-creds-secret-reader.yaml",
        vsphere::credentials_reader,
    ),
    (
        "openshift/99_baremetal-provisioning-config.yaml",
        baremetal::provisioning,
    ),
    (
        "openshift/99_openshift-machine-api_master-control-plane-machine-set.yaml",
        |source| {
            vsphere_machines::control_plane_set(source)
                .or_else(|| nutanix_machines::control_plane_set(source))
        },
    ),
];

/// Everything that goes into the two directories, by path.
#[must_use]
pub fn generate(source: Source<'_>) -> Vec<File> {
    let mut objects: Vec<(String, Value)> = ROWS
        .iter()
        .filter_map(|(path, make)| Some(((*path).to_owned(), make(source)?)))
        .collect();
    objects.extend(user_data::objects(source));
    objects.extend(machine_configs::objects(source));
    objects.extend(baremetal::machines(source));
    objects.extend(vsphere_machines::objects(source));
    objects.extend(nutanix_machines::objects(source));
    objects.extend(fencing::objects(source));
    let mut files: Vec<File> = objects
        .into_iter()
        .map(|(path, object)| {
            let mode = if path.contains("fencing-credentials") {
                0o600
            } else {
                0o644
            };
            File::with_mode(path, yaml::text(&object), mode)
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// An object with a name and perhaps a namespace; `rest` holds everything but the head.
fn object(api: &str, kind: &str, namespace: &str, name: &str, rest: Value) -> Value {
    let mut object = json!({
        "apiVersion": api,
        "kind": kind,
        "metadata": { "name": name },
    });
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    if let Value::Object(rest) = rest {
        for (key, value) in rest {
            match (key.as_str(), value) {
                ("metadata", Value::Object(more)) => {
                    for (key, value) in more {
                        object["metadata"][key] = value;
                    }
                }
                (key, value) => object[key] = value,
            }
        }
    }
    object
}

/// Labels by which the operators select machines of a cluster and a role.
fn machine_labels(source: Source<'_>, role: &str) -> Value {
    json!({
        "machine.openshift.io/cluster-api-cluster": source.plan.identity.infra_id,
        "machine.openshift.io/cluster-api-machine-role": role,
        "machine.openshift.io/cluster-api-machine-type": role,
    })
}

/// Bytes as the data of a secret.
fn data(content: impl AsRef<[u8]>) -> Value {
    json!(STANDARD.encode(content))
}

/// `index` with as many digits as `count` has, as files in a numbered list are named.
fn padded(index: usize, count: usize) -> String {
    format!("{index:0width$}", width = count.to_string().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_file_names_are_as_wide_as_the_count() {
        assert_eq!(padded(2, 3), "2");
        assert_eq!(padded(2, 10), "02");
    }

    #[test]
    fn the_rest_of_an_object_adds_to_its_metadata() {
        let made = object(
            "v1",
            "X",
            "ns",
            "a",
            json!({"metadata": {"labels": {"l": ""}}, "spec": {}}),
        );
        assert_eq!(
            yaml::text(&made),
            "apiVersion: v1\nkind: X\nmetadata:\n  labels:\n    l: ''\n  name: a\n  namespace: ns\nspec: {}\n"
        );
    }
}
