//! Settings of nodes that a service adds to an installation, as machine configs: time sources, disk
//! encryption, a name server on single nodes, cards of network disks.
//!
//! Each is a manifest of the directory `openshift/`; a user's file of the same name replaces it.

mod chrony;
mod dnsmasq;
mod encryption;
mod iscsi;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

pub use self::chrony::Chrony;
pub use self::dnsmasq::Dnsmasq;
pub use self::encryption::{DEFAULT_CIPHER, Encryption, FIPS_CIPHER, Unlock};
pub use self::iscsi::reapply;
use crate::file::File;
use muster_documents::yaml;

/// What a node is in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Control plane.
    Master,
    /// Votes and nothing else.
    Arbiter,
    /// Everything else.
    Worker,
}

impl Role {
    /// Name of the pool of machine configs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Arbiter => "arbiter",
            Self::Worker => "worker",
        }
    }
}

/// A machine config as a manifest.
fn manifest(file: &str, name: &str, role: Role, spec: Value) -> File {
    let object = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {
            "labels": { "machineconfiguration.openshift.io/role": role.word() },
            "name": name,
        },
        "spec": spec,
    });
    File::public(format!("openshift/{file}"), yaml::text(&object))
}

/// A file of a node that replaces the image's.
fn file(path: &str, mode: u32, text: &str) -> Value {
    let source = format!(
        "data:text/plain;charset=utf-8;base64,{}",
        STANDARD.encode(text)
    );
    json!({
        "path": path,
        "mode": mode,
        "overwrite": true,
        "contents": { "source": source },
    })
}

#[cfg(test)]
mod tests {
    use muster_ignition::Config;

    use super::*;

    /// The Ignition part of a manifest, accepted by Ignition's own rules.
    pub(super) fn config_of(manifest: &File) -> Config {
        let object: Value = serde_yaml_ng::from_slice(&manifest.content).unwrap();
        assert_eq!(object["kind"], "MachineConfig");
        Config::from_json(&object["spec"]["config"]).unwrap()
    }

    #[test]
    fn every_setting_is_a_config_that_ignition_accepts() {
        let chrony = Chrony {
            sources: &["10.0.0.1".to_owned()],
            instead_of_public: true,
        };
        let dnsmasq = Dnsmasq {
            cluster_name: "lab",
            base_domain: "example.com",
            node_ip: Some("192.0.2.7".parse().unwrap()),
            extra_names: &[],
        };
        let encryption = Encryption {
            unlock: Unlock::Tpm,
            cipher: DEFAULT_CIPHER,
        };
        for manifest in [
            chrony.manifest(Role::Worker),
            dnsmasq.manifest(),
            encryption.manifest(Role::Arbiter),
            reapply(Role::Master),
        ] {
            assert!(manifest.path.starts_with("openshift/"), "{manifest:?}");
            config_of(&manifest);
        }
    }
}
