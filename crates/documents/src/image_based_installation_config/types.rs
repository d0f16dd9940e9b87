//! The file as values; fields are named as in the file.

use muster_model::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::install_config::types::{ImageDigestSource, Metadata, Proxy};

/// What a machine is prepared with in the factory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct InstallationConfig {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    pub metadata: Metadata,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub additional_trust_bundle: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub architecture: String,
    pub extra_partition_label: String,
    pub extra_partition_number: u32,
    pub extra_partition_start: String,
    #[serde(skip_serializing_if = "Secret::is_empty")]
    pub ignition_config_override: Secret,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_digest_sources: Vec<ImageDigestSource>,
    pub installation_disk: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    pub pull_secret: Secret,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release_registry: String,
    pub seed_image: String,
    pub seed_version: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shutdown: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_disk_cleanup: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ssh_key: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coreos_installer_args: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub precache_best_effort: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub precache_disabled: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub processors: u32,
    #[serde(rename = "progressURL", skip_serializing_if = "String::is_empty")]
    pub progress_url: String,
}

impl Default for InstallationConfig {
    fn default() -> Self {
        Self {
            api_version: String::new(),
            kind: String::new(),
            metadata: Metadata::default(),
            additional_trust_bundle: String::new(),
            architecture: String::new(),
            extra_partition_label: "var-lib-containers".to_owned(),
            extra_partition_number: 5,
            extra_partition_start: "-40G".to_owned(),
            ignition_config_override: Secret::default(),
            image_digest_sources: Vec::new(),
            installation_disk: String::new(),
            network_config: None,
            proxy: None,
            pull_secret: Secret::default(),
            release_registry: String::new(),
            seed_image: String::new(),
            seed_version: String::new(),
            shutdown: false,
            skip_disk_cleanup: false,
            ssh_key: String::new(),
            coreos_installer_args: Vec::new(),
            precache_best_effort: false,
            precache_disabled: false,
            processors: 0,
            progress_url: String::new(),
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl InstallationConfig {
    /// Architecture of the machines, as Go calls it.
    #[must_use]
    pub fn architecture(&self) -> &str {
        match self.architecture.as_str() {
            "" => "amd64",
            given => given,
        }
    }

    /// The network of the live system as YAML text with sorted keys; nothing without one.
    #[must_use]
    pub fn network_yaml(&self) -> Option<String> {
        let config = self
            .network_config
            .as_ref()
            .filter(|value| !value.is_null());
        config.map(crate::yaml::text)
    }

    /// The label the partition ends up with: an empty one means the default.
    #[must_use]
    pub fn partition_label(&self) -> &str {
        match self.extra_partition_label.as_str() {
            "" => "var-lib-containers",
            given => given,
        }
    }

    /// The position the partition is looked for at: zero means the default.
    #[must_use]
    pub fn partition_number(&self) -> u32 {
        match self.extra_partition_number {
            0 => 5,
            given => given,
        }
    }
}
