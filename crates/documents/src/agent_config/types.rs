//! The agent-config as values; fields are named as in the file.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::install_config::types::{Bmc, HostRole, RootDeviceHints};

/// What the agent-based installation knows beyond the install-config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgentConfig {
    /// Always `v1beta1` once it is read.
    pub api_version: String,
    /// Not looked at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Not looked at.
    pub metadata: Metadata,
    /// Address of the machine that gathers the others.
    #[serde(rename = "rendezvousIP", skip_serializing_if = "Option::is_none")]
    pub rendezvous_ip: Option<IpAddr>,
    /// Time servers, by address or name.
    #[serde(rename = "additionalNTPSources", skip_serializing_if = "Vec::is_empty")]
    pub additional_ntp_sources: Vec<String>,
    /// Where machines fetch what is not in their image.
    #[serde(
        rename = "bootArtifactsBaseURL",
        skip_serializing_if = "String::is_empty"
    )]
    pub boot_artifacts_base_url: String,
    /// Make an image without the root file system.
    #[serde(rename = "minimalISO", skip_serializing_if = "std::ops::Not::not")]
    pub minimal_iso: bool,
    /// The machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
}

/// Unused names; the cluster's are in the install-config.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Metadata {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Host {
    /// Its name; empty if it is to be found out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    /// What it becomes; none takes what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<HostRole>,
    /// How the disk to install on is recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// Its network cards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// State of the network in the words of nmstate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_config: Option<Value>,
    /// Its management controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc: Option<Bmc>,
}

/// A network card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Interface {
    /// What `networkConfig` calls it.
    pub name: String,
    /// Its hardware address.
    pub mac_address: String,
}

impl Host {
    /// The static addresses in its network.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let network = self.network_config.as_ref().unwrap_or(&Value::Null);
        let interfaces = network["interfaces"].as_array().into_iter().flatten();
        interfaces.flat_map(|interface| {
            let families = ["ipv4", "ipv6"].into_iter();
            families.flat_map(|family| {
                let addresses = interface[family]["address"].as_array();
                let addresses = addresses.into_iter().flatten();
                addresses.filter_map(|address| address["ip"].as_str()?.parse().ok())
            })
        })
    }
}
