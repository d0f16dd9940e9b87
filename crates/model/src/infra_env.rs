//! A boot configuration: what the discovery image of a group of hosts contains.

use serde::{Deserialize, Serialize};

use crate::{ArchName, ClusterId, ImageType, InfraEnvId, Ntp, Proxy, Secret, Timestamp};

/// An addition to the kernel command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelArgument {
    /// `append` is the only operation the service accepts.
    pub operation: String,
    /// The argument.
    pub value: String,
}

/// Which network card a logical interface name of the YAML means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MacInterface {
    /// The name used in the YAML.
    pub logical_nic_name: String,
    /// The card.
    pub mac_address: String,
}

/// The static network of one host: nmstate YAML and the cards it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostNetwork {
    /// nmstate document.
    pub network_yaml: String,
    /// Names to cards.
    pub mac_interface_map: Vec<MacInterface>,
}

/// One infra-env.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InfraEnv {
    /// Its id.
    pub id: InfraEnvId,
    /// Name given by the user; not unique.
    pub name: String,
    /// The cluster its hosts join, unless they are bound later.
    pub cluster: Option<ClusterId>,
    /// Architecture of its hosts.
    pub cpu_architecture: ArchName,
    /// Version of the OS image entry it boots.
    pub openshift_version: String,
    /// Kind of image.
    pub image_type: ImageType,
    /// Where the image can be fetched.
    pub download_url: Option<String>,
    /// When that link ends; `None` if it does not.
    pub expires_at: Option<Timestamp>,
    /// Registry credentials.
    pub pull_secret: Secret,
    /// Keys that may log in to a discovered host.
    pub ssh_authorized_key: Option<String>,
    /// Proxy of the live system.
    pub proxy: Proxy,
    /// Time sources of the live system.
    pub ntp: Ntp,
    /// Merged over the discovery Ignition.
    pub ignition_config_override: Option<String>,
    /// Static network, sorted; empty for DHCP.
    pub static_network: Vec<HostNetwork>,
    /// Additions to the kernel command line; `None` if never set.
    pub kernel_arguments: Option<Vec<KernelArgument>>,
    /// PEM certificates the live system trusts.
    pub additional_trust_bundle: Option<String>,
    /// Node 0 of a disconnected installation.
    pub rendezvous_ip: Option<String>,
    /// How long the agent waits before it looks at the network.
    pub network_discovery_delay_seconds: Option<i64>,
    /// Key of signed image links; a new one ends them all.
    pub image_token_key: Secret,
    /// How often the token of its images was replaced; a token of an earlier generation is refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub agent_token_generation: i64,
    /// Who made it.
    pub user_name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}
