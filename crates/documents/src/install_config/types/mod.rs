//! The install-config as a value.
//!
//! Field names are those of the file, in snake case. Fields whose old spelling is still accepted
//! keep the old one too (`deprecated_…`), because the reference writes both back. What is absent
//! from the file is `None`, empty or zero here; after [`super::load`] every default is filled in.
//!
//! Serialising gives the fields that the reference gives: those it leaves out when empty are
//! left out when empty.

mod baremetal;
mod choices;
mod networking;
mod nutanix;
mod pki;
mod pools;
mod vsphere;

use std::{collections::BTreeMap, fmt, net::IpAddr};

use muster_model::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use baremetal::{
    BareMetal, BgpPeer, BgpVipConfig, Bmc, DefaultMachinePlatform, Host, RootDeviceHints,
};
pub use choices::{
    Architecture, BootMode, CloudControllerManager, CpuPartitioning, CredentialsMode, DiskPurpose,
    DnsRecordsType, EcdsaCurve, FailureDomainType, FeatureSet, HostRole, Hyperthreading,
    KeyAlgorithm, LoadBalancerType, Management, NutanixAdapterType, NutanixBootType,
    NutanixDeviceType, NutanixDiskMode, NutanixGpuType, NutanixIdentifierType, ObservabilityPolicy,
    OsImageStream, ProvisioningMode, ProvisioningNetwork, Publish, SourcePolicy, TextBool,
    TrustBundlePolicy, Verification, VsphereDiskType, VsphereHostRole,
};
pub use networking::{
    ClusterNetwork, Ipv4OvnConfig, MachineNetwork, NetworkObservability, Networking, OvnConfig,
};
pub use nutanix::{
    Nutanix, NutanixCategory, NutanixDataDisk, NutanixDevice, NutanixDomain, NutanixGpu,
    NutanixIdentifier, NutanixOsDisk, NutanixPool, NutanixStorage, PrismCentral, PrismElement,
    PrismEndpoint, StorageReference,
};
pub use pki::{EcdsaKey, Pki, RsaKey, SignerCertificates, SignerKey};
pub use pools::{
    Credential, Disk, Fencing, MachinePool, PlatformDisk, PoolPlatform, UserDefinedDisk,
};
pub use vsphere::{
    DataDisk, FailureDomain, NetworkDevice, NodeNetworking, NodeNetworkingSpec, OsDisk, Topology,
    VCenter, Vsphere, VsphereHost, VspherePool,
};

/// Everything a cluster is installed from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct InstallConfig {
    pub api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    pub metadata: Metadata,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub additional_trust_bundle: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_trust_bundle_policy: Option<TrustBundlePolicy>,
    /// One public key per line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ssh_key: String,
    pub base_domain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<Networking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<MachinePool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<MachinePool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<MachinePool>,
    pub platform: Platform,
    pub pull_secret: Secret,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// The old spelling of [`Self::image_digest_sources`], kept apart: it makes another object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_content_sources: Vec<ImageContentSource>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_digest_sources: Vec<ImageDigestSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<Publish>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_publishing_strategy: Option<OperatorPublishingStrategy>,
    #[serde(skip_serializing_if = "is_false")]
    pub fips: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_partitioning_mode: Option<CpuPartitioning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_mode: Option<CredentialsMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_in_place: Option<BootstrapInPlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature_set: Option<FeatureSet>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feature_gates: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_image_stream: Option<OsImageStream>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pki: Option<Pki>,
}

/// Ordinary object metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The name of the cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The rest of what object metadata may hold; accepted and carried along.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// Where the cluster lives; exactly one of them after loading.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Platform {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none: Option<NonePlatform>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<External>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baremetal: Option<BareMetal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vsphere: Option<Vsphere>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nutanix: Option<Nutanix>,
}

/// Which platform it is, without what is set about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlatformName {
    /// No integration at all.
    None,
    /// Integration by a third party.
    External,
    /// Bare metal hosts with virtual addresses.
    BareMetal,
    /// VMware vSphere.
    Vsphere,
    /// Nutanix AHV.
    Nutanix,
}

/// The platform without integration has no settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NonePlatform {}

/// A platform whose integration a third party provides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct External {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub platform_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_controller_manager: Option<CloudControllerManager>,
}

/// Proxies for the whole cluster. Their URLs may carry a password, so `Debug` hides it.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Proxy {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub http_proxy: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub https_proxy: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub no_proxy: String,
}

/// Mirrors of a repository, old spelling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ImageContentSource {
    pub source: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<String>,
}

/// Mirrors of a repository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ImageDigestSource {
    pub source: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<String>,
    /// Written even when unset, as an empty text.
    #[serde(with = "empty_is_none")]
    pub source_policy: Option<SourcePolicy>,
}

/// Publishing per endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OperatorPublishingStrategy {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ingress: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub apiserver: String,
}

/// A single node that bootstraps itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BootstrapInPlace {
    pub installation_disk: String,
}

/// Optional components.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Capabilities {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub baseline_capability_set: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_enabled_capabilities: Vec<String>,
}

/// Who balances load in front of API and ingress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LoadBalancer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<LoadBalancerType>,
}

impl InstallConfig {
    /// The domain below which all names of the cluster live.
    #[must_use]
    pub fn cluster_domain(&self) -> String {
        let base = &self.base_domain;
        let base = base.strip_suffix('.').unwrap_or(base);
        format!("{}.{base}", self.metadata.name)
    }

    /// Control-plane machines; zero only before defaults are filled in.
    #[must_use]
    pub fn control_plane_replicas(&self) -> i64 {
        self.control_plane
            .as_ref()
            .map_or(0, MachinePool::replica_count)
    }

    /// Compute machines of all pools.
    #[must_use]
    pub fn compute_replicas(&self) -> i64 {
        self.compute
            .iter()
            .fold(0, |sum, pool| pool.replica_count().saturating_add(sum))
    }

    /// Arbiter machines.
    #[must_use]
    pub fn arbiter_replicas(&self) -> i64 {
        self.arbiter.as_ref().map_or(0, MachinePool::replica_count)
    }

    /// There is a pool of arbiters with machines in it.
    #[must_use]
    pub fn has_arbiter(&self) -> bool {
        self.arbiter_replicas() > 0
    }

    /// One node that bootstraps itself from the live system.
    #[must_use]
    pub fn is_single_node(&self) -> bool {
        self.bootstrap_in_place.is_some()
    }

    /// The architecture of the control plane, once defaults are filled in.
    #[must_use]
    pub fn architecture(&self) -> Option<Architecture> {
        self.control_plane
            .as_ref()
            .and_then(|pool| pool.architecture)
    }

    /// Who balances load in front of this cluster, where the platform has a say.
    #[must_use]
    pub fn load_balancer_type(&self) -> Option<LoadBalancerType> {
        let platform = &self.platform;
        let baremetal = platform.baremetal.as_ref();
        let balancer = baremetal
            .and_then(|p| p.load_balancer.as_ref())
            .or_else(|| platform.vsphere.as_ref()?.load_balancer.as_ref())
            .or_else(|| platform.nutanix.as_ref()?.load_balancer.as_ref());
        balancer.and_then(|balancer| balancer.r#type)
    }
}

/// Virtual addresses of API and ingress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vips<'a> {
    /// Of the API.
    pub api: &'a [IpAddr],
    /// Of ingress.
    pub ingress: &'a [IpAddr],
}

impl Platform {
    /// Virtual addresses, where the platform has them.
    #[must_use]
    pub fn vips(&self) -> Option<Vips<'_>> {
        let (api, ingress) = if let Some(p) = &self.baremetal {
            (&p.api_vips, &p.ingress_vips)
        } else if let Some(p) = &self.vsphere {
            (&p.api_vips, &p.ingress_vips)
        } else if let Some(p) = &self.nutanix {
            (&p.api_vips, &p.ingress_vips)
        } else {
            return None;
        };
        Some(Vips { api, ingress })
    }

    /// Who answers for the names of the cluster, where the platform lets one choose.
    #[must_use]
    pub fn dns_records_type(&self) -> Option<DnsRecordsType> {
        let baremetal = self.baremetal.as_ref().and_then(|p| p.dns_records_type);
        baremetal
            .or_else(|| self.vsphere.as_ref()?.dns_records_type)
            .or_else(|| self.nutanix.as_ref()?.dns_records_type)
    }

    /// Which one it is, if it is one.
    #[must_use]
    pub fn name(&self) -> Option<PlatformName> {
        if self.baremetal.is_some() {
            Some(PlatformName::BareMetal)
        } else if self.none.is_some() {
            Some(PlatformName::None)
        } else if self.external.is_some() {
            Some(PlatformName::External)
        } else if self.vsphere.is_some() {
            Some(PlatformName::Vsphere)
        } else if self.nutanix.is_some() {
            Some(PlatformName::Nutanix)
        } else {
            None
        }
    }
}

impl PlatformName {
    /// All of them, by name.
    pub const ALL: [Self; 5] = [
        Self::BareMetal,
        Self::External,
        Self::None,
        Self::Nutanix,
        Self::Vsphere,
    ];

    /// The key in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::External => "external",
            Self::BareMetal => "baremetal",
            Self::Vsphere => "vsphere",
            Self::Nutanix => "nutanix",
        }
    }
}

impl fmt::Display for PlatformName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("http_proxy", &without_password(&self.http_proxy))
            .field("https_proxy", &without_password(&self.https_proxy))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

/// A URL without who logs in and how.
pub(crate) fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://***@{host}"),
        (None, Some((_, host))) => format!("***@{host}"),
        (_, None) => url.to_owned(),
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &i64) -> bool {
    *value == 0
}

/// The reference writes these lists even when there is nothing in them.
fn null_if_empty<T: Serialize, S: serde::Serializer>(
    list: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if list.is_empty() {
        serializer.serialize_none()
    } else {
        list.serialize(serializer)
    }
}

/// Unset is an empty text on paper.
mod empty_is_none {
    use serde::{
        Deserialize, Deserializer, Serialize, Serializer,
        de::{DeserializeOwned, Error},
    };
    use serde_json::Value;

    pub fn serialize<T: Serialize, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }

    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() => Ok(None),
            value => serde_json::from_value(value).map_err(D::Error::custom),
        }
    }
}
