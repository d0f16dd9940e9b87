//! The file as values; fields are named as in the file.

use std::{collections::BTreeMap, net::IpAddr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{agent_config, install_config::types::Metadata};

/// What the node of one site has of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SiteConfig {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    pub metadata: Metadata,
    #[serde(rename = "additionalNTPSources", skip_serializing_if = "Vec::is_empty")]
    pub additional_ntp_sources: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_config: Option<Value>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release_registry: String,
    #[serde(rename = "cluster_id", skip_serializing_if = "String::is_empty")]
    pub cluster_id: String,
    #[serde(rename = "infra_id", skip_serializing_if = "String::is_empty")]
    pub infra_id: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
}

impl SiteConfig {
    /// The network of the node as YAML text with sorted keys; nothing without one.
    #[must_use]
    pub fn network_yaml(&self) -> Option<String> {
        let config = self
            .network_config
            .as_ref()
            .filter(|value| !value.is_null());
        config.map(crate::yaml::text)
    }

    /// The static addresses in its network.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpAddr> {
        let host = agent_config::Host {
            network_config: self.network_config.clone(),
            ..agent_config::Host::default()
        };
        host.addresses().collect()
    }
}
