//! The cluster manifests as values; fields are named as in the files.
//!
//! Objects are written with every key their consumers compare byte for byte, `status` included.

use std::collections::BTreeMap;

use ipnet::IpNet;
use muster_model::Secret;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::install_config::types::{Metadata, Proxy};

/// A Kubernetes object with a spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Object<S> {
    #[serde(default)]
    pub api_version: String,
    #[serde(default)]
    pub kind: String,
    #[serde(default)]
    pub metadata: Metadata,
    #[serde(default)]
    pub spec: S,
    /// Carried along; empty in a file that a user wrote.
    #[serde(default = "nothing_yet", skip_deserializing)]
    pub status: Value,
}

/// Kinds of objects: what `apiVersion` and `kind` say.
pub trait Named {
    /// Group and version.
    const API_VERSION: &'static str;
    /// Kind.
    const KIND: &'static str;
}

/// The cluster as the installation sees it.
pub type AgentClusterInstall = Object<AgentClusterInstallSpec>;
/// The cluster's names.
pub type ClusterDeployment = Object<ClusterDeploymentSpec>;
/// The release.
pub type ClusterImageSet = Object<ClusterImageSetSpec>;
/// What hosts boot.
pub type InfraEnv = Object<InfraEnvSpec>;
/// The network of one host.
pub type NmStateConfig = Object<NmStateConfigSpec>;

impl<S: Named> Object<S> {
    /// An object of this kind.
    pub fn new(name: &str, namespace: &str, spec: S) -> Self {
        Self {
            api_version: S::API_VERSION.to_owned(),
            kind: S::KIND.to_owned(),
            metadata: Metadata {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                ..Metadata::default()
            },
            spec,
            status: nothing_yet(),
        }
    }
}

impl<S: Named + Default> Default for Object<S> {
    fn default() -> Self {
        Self::new("", "", S::default())
    }
}

fn nothing_yet() -> Value {
    Value::Object(Map::new())
}

macro_rules! named {
    ($($spec:ident: $api:literal $kind:literal),+ $(,)?) => {$(
        impl Named for $spec {
            const API_VERSION: &'static str = $api;
            const KIND: &'static str = $kind;
        }
    )+};
}

named! {
    AgentClusterInstallSpec: "extensions.hive.openshift.io/v1beta1" "AgentClusterInstall",
    ClusterDeploymentSpec: "hive.openshift.io/v1" "ClusterDeployment",
    ClusterImageSetSpec: "hive.openshift.io/v1" "ClusterImageSet",
    InfraEnvSpec: "agent-install.openshift.io/v1beta1" "InfraEnv",
    NmStateConfigSpec: "agent-install.openshift.io/v1beta1" "NMStateConfig",
}

/// The name of another object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reference {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentClusterInstallSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_set_ref: Option<Reference>,
    pub cluster_deployment_ref: Reference,
    pub networking: ClusterNetworking,
    /// One public key per line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ssh_public_key: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<String>,
    pub provision_requirements: ProvisionRequirements,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<Pool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<Pool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<Pool>,
    /// Old spelling of the first of the next; both are written.
    #[serde(rename = "apiVIP", skip_serializing_if = "String::is_empty")]
    pub api_vip: String,
    #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_vips: Vec<String>,
    #[serde(rename = "ingressVIP", skip_serializing_if = "String::is_empty")]
    pub ingress_vip: String,
    #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_vips: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hold_installation: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_encryption: Option<DiskEncryption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub platform_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalPlatform>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masters_schedulable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    /// Fields of the kind that mean nothing here: references into a hub cluster.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterNetworking {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_network: Vec<MachineNetworkEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_network: Vec<ClusterNetworkEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_network: Vec<IpNet>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_managed_networking: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineNetworkEntry {
    pub cidr: IpNet,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterNetworkEntry {
    pub cidr: IpNet,
    #[serde(default)]
    pub host_prefix: i32,
}

/// How many hosts of each role the installation waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisionRequirements {
    pub control_plane_agents: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub arbiter_agents: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub worker_agents: u32,
}

impl ProvisionRequirements {
    /// One host is the whole cluster.
    #[must_use]
    pub const fn is_single_node(self) -> bool {
        self.control_plane_agents == 1 && self.arbiter_agents == 0 && self.worker_agents == 0
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out a reference"
)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hyperthreading: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiskEncryption {
    pub enable_on: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// A JSON list in a text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tang_servers: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalPlatform {
    pub platform_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cloud_controller_manager: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadBalancer {
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterDeploymentSpec {
    pub cluster_name: String,
    pub base_domain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_install_ref: Option<ClusterInstallReference>,
    /// Fields of the kind that mean nothing here.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterInstallReference {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterImageSetSpec {
    pub release_image: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfraEnvSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    #[serde(rename = "additionalNTPSources", skip_serializing_if = "Vec::is_empty")]
    pub additional_ntp_sources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ssh_authorized_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<Reference>,
    pub nm_state_config_label_selector: LabelSelector,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<Reference>,
    /// A JSON document in a text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ignition_config_override: String,
    /// `x86_64` and so on once it is read; empty if the user named none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cpu_architecture: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel_arguments: Vec<KernelArgument>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub additional_trust_bundle: String,
    /// Fields of the kind that mean nothing here.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelArgument {
    pub operation: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NmStateConfigSpec {
    pub interfaces: Vec<NamedCard>,
    /// State of the network as nmstate has it.
    pub config: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NamedCard {
    pub name: String,
    pub mac_address: String,
}

/// A Secret with the credentials of registries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PullSecret {
    pub api_version: String,
    pub kind: String,
    pub metadata: Metadata,
    pub string_data: PullSecretData,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PullSecretData {
    /// JSON as `podman login` writes it.
    #[serde(rename = ".dockerconfigjson")]
    pub docker_config: Secret,
}

/// The files found in the folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterManifests {
    pub agent_cluster_install: Option<AgentClusterInstall>,
    pub cluster_deployment: Option<ClusterDeployment>,
    pub cluster_image_set: Option<ClusterImageSet>,
    pub infra_env: Option<InfraEnv>,
    pub nm_state_configs: Vec<NmStateConfig>,
    pub pull_secret: Option<PullSecret>,
}

impl PullSecret {
    /// A Secret of this name.
    #[must_use]
    pub fn new(name: &str, namespace: &str, docker_config: Secret) -> Self {
        Self {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            metadata: Metadata {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                ..Metadata::default()
            },
            string_data: PullSecretData { docker_config },
        }
    }
}

impl ProvisionRequirements {
    /// Hosts of all roles.
    #[must_use]
    pub const fn total(self) -> u32 {
        self.control_plane_agents + self.arbiter_agents + self.worker_agents
    }
}

impl AgentClusterInstall {
    /// Annotation whose value, a JSON object, is merged into the install-config.
    pub const OVERRIDES: &'static str = "agent-install.openshift.io/install-config-overrides";

    /// What is merged into the install-config, if anything is.
    #[must_use]
    pub fn install_config_overrides(&self) -> Option<&str> {
        let overrides = self.metadata.annotations.get(Self::OVERRIDES);
        overrides
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }
}
