//! The root disk, encrypted and opened at boot without a person.

use serde_json::{Value, json};

use super::{Role, manifest};
use crate::file::File;

/// The cipher, unless another one is chosen.
pub const DEFAULT_CIPHER: &str = "aes-cbc-essiv:sha256";
/// The cipher where only approved ones may be used.
pub const FIPS_CIPHER: &str = "aes-xts-plain64";

/// What opens the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlock {
    /// The machine's own TPM.
    Tpm,
    /// Servers in the network, by address and thumbprint.
    Tang(Vec<(String, String)>),
}

/// How disks of a role are encrypted.
#[derive(Clone, Debug)]
pub struct Encryption<'a> {
    /// What opens them.
    pub unlock: Unlock,
    /// Cipher of LUKS.
    pub cipher: &'a str,
}

impl Encryption<'_> {
    /// The machine config for the nodes of a role.
    #[must_use]
    pub fn manifest(&self, role: Role) -> File {
        let (mode, clevis) = match &self.unlock {
            Unlock::Tpm => ("tpm", json!({ "tpm2": true })),
            Unlock::Tang(servers) => {
                let servers: Vec<Value> = servers
                    .iter()
                    .map(|(url, thumbprint)| json!({ "url": url, "thumbprint": thumbprint }))
                    .collect();
                ("tang", json!({ "tang": servers }))
            }
        };
        let mut spec = json!({
            "config": {
                "ignition": { "version": "3.2.0" },
                "storage": {
                    "luks": [{
                        "name": "root",
                        "device": "/dev/disk/by-partlabel/root",
                        "clevis": clevis,
                        "options": ["--cipher", self.cipher],
                        "wipeVolume": true,
                    }],
                    "filesystems": [{
                        "device": "/dev/mapper/root",
                        "format": "xfs",
                        "wipeFilesystem": true,
                        "label": "root",
                    }],
                },
            },
        });
        if let Unlock::Tang(_) = self.unlock {
            // The servers are asked before the root file system is there.
            spec["kernelArguments"] = json!(["rd.neednet=1"]);
        }
        manifest(
            &format!("99-openshift-{}-{mode}-encryption.yaml", role.word()),
            &format!("{}-{mode}", role.word()),
            role,
            spec,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::config_of, *};

    #[test]
    fn tang_servers_need_the_network_and_a_tpm_does_not() {
        let tang = Encryption {
            unlock: Unlock::Tang(vec![("http://tang.lab".to_owned(), "print".to_owned())]),
            cipher: FIPS_CIPHER,
        };
        let made = tang.manifest(Role::Worker);
        assert_eq!(
            made.path,
            "openshift/99-openshift-worker-tang-encryption.yaml"
        );
        assert!(made.text().contains("rd.neednet=1"));
        let config = config_of(&made);
        let luks = &config.json()["storage"]["luks"][0];
        assert_eq!(luks["clevis"]["tang"][0]["thumbprint"], "print");
        assert_eq!(luks["options"], json!(["--cipher", "aes-xts-plain64"]));
        let tpm = Encryption {
            unlock: Unlock::Tpm,
            cipher: DEFAULT_CIPHER,
        };
        let made = tpm.manifest(Role::Master);
        assert!(!made.text().contains("kernelArguments"));
        assert!(made.text().contains("name: master-tpm"));
    }
}
