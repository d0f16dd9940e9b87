//! Pointer configs: a machine of a role starts with little more than where to fetch the rest.

use std::net::IpAddr;

use muster_ignition::Config;
use serde_json::{Value, json};
use thiserror::Error;

use super::content::data_url;
use crate::file::File;
use crate::manifests::machine_config;
use crate::pki::Pki;
use crate::plan::Plan;
use muster_documents::yaml;

/// `master.ign`, `worker.ign` and, where there are arbiters, `arbiter.ign`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointers {
    roles: Vec<Pointer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pointer {
    role: &'static str,
    generated: String,
    edited: Option<String>,
}

/// A pointer config the user changed cannot be used.
#[derive(Debug, Error)]
#[error("{role}.ign was changed and cannot be used: {why}")]
pub struct PointerError {
    role: &'static str,
    why: String,
}

impl Pointers {
    /// The configs for this cluster; nothing without its root certificate.
    #[must_use]
    pub fn generate(plan: &Plan, pki: &Pki) -> Option<Self> {
        let host = match plan.api_vips().first() {
            Some(IpAddr::V6(vip)) => format!("[{vip}]"),
            Some(IpAddr::V4(vip)) => vip.to_string(),
            None => format!("api-int.{}", plan.config.cluster_domain()),
        };
        let trusted = data_url(pki.get("root-ca")?.certificate_pem.as_bytes());
        let arbiter = plan.config.has_arbiter().then_some("arbiter");
        let roles = ["master", "worker"].into_iter().chain(arbiter);
        let roles = roles
            .map(|role| {
                let source = format!("https://{host}:22623/config/{role}");
                let config = json!({
                    "ignition": {
                        "config": { "merge": [{ "source": source }] },
                        "security": {
                            "tls": { "certificateAuthorities": [{ "source": trusted }] },
                        },
                        "version": "3.2.0",
                    },
                });
                Pointer {
                    role,
                    generated: config.to_string(),
                    edited: None,
                }
            })
            .collect();
        Some(Self { roles })
    }

    /// Takes over what the user made of a role's config; the same text is no change.
    pub fn edit(&mut self, role: &str, text: &str) -> Result<(), PointerError> {
        for pointer in self.roles.iter_mut().filter(|pointer| pointer.role == role) {
            if text.trim_end() == pointer.generated {
                continue;
            }
            Config::read(text).map_err(|faults| PointerError {
                role: pointer.role,
                why: faults.to_string(),
            })?;
            pointer.edited = Some(text.to_owned());
        }
        Ok(())
    }

    /// Role and config, master first.
    pub fn roles(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.roles
            .iter()
            .map(|pointer| (pointer.role, pointer.text()))
    }

    /// The files as the user finds them.
    #[must_use]
    pub fn files(&self) -> Vec<File> {
        let files = self.roles();
        files
            .map(|(role, text)| File::secret(format!("{role}.ign"), text))
            .collect()
    }

    /// What users added to pointer configs, as machine configs: the pointer is read once, by the
    /// first boot, and the machine config operator has to know it too.
    pub fn customizations(&self) -> Result<Vec<File>, PointerError> {
        let mut files = Vec::new();
        for pointer in &self.roles {
            let Some(text) = &pointer.edited else {
                continue;
            };
            let mut config: Value = serde_json::from_str(text).map_err(|error| PointerError {
                role: pointer.role,
                why: error.to_string(),
            })?;
            if let Some(ignition) = config["ignition"].as_object_mut() {
                ignition.remove("config");
            }
            let name = format!("99-installer-ignition-{}", pointer.role);
            let object = machine_config(&name, pointer.role, &json!({ "config": config }));
            let path = format!(
                "openshift/99_openshift-installer-ignition_{}.yaml",
                pointer.role
            );
            files.push(File::public(path, yaml::text(&object)));
        }
        Ok(files)
    }
}

impl Pointer {
    fn text(&self) -> &str {
        self.edited.as_deref().unwrap_or(&self.generated)
    }
}
