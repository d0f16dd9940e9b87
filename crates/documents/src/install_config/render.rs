//! The effective install-config on paper.
//!
//! Keys come in alphabetical order, because the reference writes it through JSON; the cluster
//! gets the redacted form.

use muster_model::Secret;

use super::InstallConfig;
use crate::yaml;

/// YAML with sorted keys. Secrets are in it: it is what `install-config.yaml` would say.
///
/// # Errors
/// None that a config from [`super::load`] could cause.
pub fn to_yaml(config: &InstallConfig) -> Result<String, serde_yaml_ng::Error> {
    let value = serde_json::to_value(config)
        .map_err(<serde_yaml_ng::Error as serde::ser::Error>::custom)?;
    Ok(yaml::text(&value))
}

impl InstallConfig {
    /// A copy for the ConfigMap inside the cluster: no pull secret, no credentials of vCenters,
    /// Prism Central and management controllers.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut config = self.clone();
        config.pull_secret = Secret::default();
        if let Some(platform) = &mut config.platform.vsphere {
            platform.deprecated_username.clear();
            platform.deprecated_password = Secret::default();
            for vcenter in &mut platform.vcenters {
                vcenter.user.clear();
                vcenter.password = Secret::default();
                vcenter.port = 0;
            }
        }
        if let Some(platform) = &mut config.platform.nutanix {
            platform.prism_central.username.clear();
            platform.prism_central.password = Secret::default();
        }
        if let Some(platform) = &mut config.platform.baremetal {
            for host in &mut platform.hosts {
                host.bmc.username.clear();
                host.bmc.password = Secret::default();
            }
        }
        config
    }
}
