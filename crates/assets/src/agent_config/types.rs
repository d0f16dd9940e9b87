//! The agent-config as values; fields are named as in the file.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::install_config::types::{Bmc, HostRole, RootDeviceHints};

/// What the agent-based installation knows beyond the install-config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgentConfig {
    pub api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    pub metadata: Metadata,
    #[serde(rename = "rendezvousIP", skip_serializing_if = "Option::is_none")]
    pub rendezvous_ip: Option<IpAddr>,
    #[serde(rename = "additionalNTPSources", skip_serializing_if = "Vec::is_empty")]
    pub additional_ntp_sources: Vec<String>,
    #[serde(
        rename = "bootArtifactsBaseURL",
        skip_serializing_if = "String::is_empty"
    )]
    pub boot_artifacts_base_url: String,
    #[serde(rename = "minimalISO", skip_serializing_if = "std::ops::Not::not")]
    pub minimal_iso: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
}

/// Names nobody uses; the cluster's are in the install-config.
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
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<HostRole>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// State of the network in the words of nmstate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc: Option<Bmc>,
}

/// A network card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Interface {
    /// What `networkConfig` calls it.
    pub name: String,
    pub mac_address: String,
}
