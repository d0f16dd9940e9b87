//! Where nodes get the time from.

use serde_json::json;

use super::{Role, file, manifest};
use crate::file::File;

const PATH: &str = "/etc/chrony.conf";

/// Time sources of all nodes.
#[derive(Clone, Copy, Debug)]
pub struct Chrony<'a> {
    /// Servers, each once.
    pub sources: &'a [String],
    /// The public pool is not asked at all.
    pub instead_of_public: bool,
}

impl Chrony<'_> {
    /// The machine config for the nodes of a role.
    #[must_use]
    pub fn manifest(self, role: Role) -> File {
        let name = format!("50-{}s-chrony-configuration", role.word());
        let spec = json!({
            "config": {
                "ignition": { "version": "3.1.0" },
                "storage": { "files": [file(PATH, 0o644, &self.text())] },
            },
        });
        manifest(&format!("{name}.yaml"), &name, role, spec)
    }

    fn text(self) -> String {
        let mut lines = Vec::new();
        if !self.instead_of_public {
            lines.push("pool 0.rhel.pool.ntp.org iburst".to_owned());
        }
        lines.extend(
            [
                // What DHCP offers.
                "sourcedir /run/chrony-dhcp",
                "driftfile /var/lib/chrony/drift",
                "makestep 1.0 3",
                "rtcsync",
                "logdir /var/log/chrony",
            ]
            .map(str::to_owned),
        );
        for source in self.sources {
            lines.push(format!("server {source} iburst"));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::config_of, *};

    fn conf(sources: &[String], instead_of_public: bool) -> String {
        let chrony = Chrony {
            sources,
            instead_of_public,
        };
        let manifest = chrony.manifest(Role::Master);
        assert_eq!(
            manifest.path,
            "openshift/50-masters-chrony-configuration.yaml"
        );
        let text = config_of(&manifest).file(PATH).unwrap().unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn sources_come_after_the_public_pool_or_instead_of_it() {
        let sources = ["ntp.lab".to_owned(), "10.0.0.1".to_owned()];
        let both = conf(&sources, false);
        assert!(both.starts_with("pool 0.rhel.pool.ntp.org iburst\n"));
        assert!(both.ends_with("server ntp.lab iburst\nserver 10.0.0.1 iburst\n"));
        assert!(!conf(&sources, true).contains("pool "));
    }
}
