//! Registries that stand in for others, and certificates that go with them.

use muster_documents::{install_config::types::InstallConfig, registries_conf};

use crate::bootstrap::registries::conf;

/// Where images may come from instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirrors {
    /// `registries.conf` as containers read it.
    pub registries_conf: String,
    /// PEM certificates; may be empty.
    pub ca_bundle: String,
    /// Sources and their mirrors.
    pub entries: Vec<(String, Vec<String>)>,
}

impl Mirrors {
    /// Those of an install-config.
    #[must_use]
    pub fn of(config: Option<&InstallConfig>) -> Self {
        let text = config.map(conf).unwrap_or_default();
        let ca = config.map_or("", |config| &config.additional_trust_bundle);
        Self::from_files(&text, ca)
    }

    /// Those of files.
    #[must_use]
    pub fn from_files(registries_conf: &str, ca_bundle: &str) -> Self {
        let registries_conf = match registries_conf.trim() {
            "" => "unqualified-search-registries = []\n".to_owned(),
            _ => registries_conf.to_owned(),
        };
        let loaded = registries_conf::load("registries.conf", &registries_conf);
        Self {
            entries: loaded.map(|loaded| loaded.entries).unwrap_or_default(),
            registries_conf,
            ca_bundle: ca_bundle.to_owned(),
        }
    }

    /// The release in its first mirror, if its repository has one.
    #[must_use]
    pub fn release_mirror(&self, release: &str) -> Option<String> {
        let (repository, rest) = split(release);
        let (_, mirrors) = self
            .entries
            .iter()
            .find(|(source, _)| source == repository)?;
        Some(format!("{}{rest}", mirrors.first()?))
    }

    /// Whether one of the mirrors is for the repository of an image.
    #[must_use]
    pub fn cover(&self, image: &str) -> bool {
        let (repository, _) = split(image);
        self.entries.iter().any(|(source, _)| {
            let rest = repository.strip_prefix(source.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Registries that need no credentials in the pull secret.
    #[must_use]
    pub fn public_registries(&self) -> String {
        let mut hosts: Vec<&str> = Vec::new();
        for (source, _) in &self.entries {
            let host = source.split('/').next().unwrap_or(source);
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        match hosts.is_empty() {
            true => "quay.io".to_owned(),
            false => hosts.join(","),
        }
    }
}

/// Repository, and the tag or digest with its sign.
fn split(image: &str) -> (&str, &str) {
    if let Some(at) = image.find('@') {
        return image.split_at(at);
    }
    let after = image.rfind('/').map_or(0, |slash| slash + 1);
    match image[after..].find(':') {
        Some(colon) => image.split_at(after + colon),
        None => (image, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_found_in_its_mirror() {
        let conf = "[[registry]]\nlocation = \"quay.io/ocp/release\"\n\
                    [[registry.mirror]]\nlocation = \"mirror.lab:5000/ocp\"\n";
        let mirrors = Mirrors::from_files(conf, "");
        let found = |image: &str| mirrors.release_mirror(image).unwrap_or_default();
        let digest = "mirror.lab:5000/ocp@sha256:00";
        assert_eq!(found("quay.io/ocp/release@sha256:00"), digest);
        assert_eq!(
            found("quay.io/ocp/release:4.20"),
            "mirror.lab:5000/ocp:4.20"
        );
        assert_eq!(found("quay.io/ocp/other:4.20"), "");
        assert_eq!(mirrors.public_registries(), "quay.io");
        assert!(mirrors.cover("quay.io/ocp/release@sha256:00"));
        assert!(!mirrors.cover("quay.io/ocp/release-nightly:4.20"));
        let none = Mirrors::from_files("", "");
        assert_eq!(none.registries_conf, "unqualified-search-registries = []\n");
        assert_eq!(none.public_registries(), "quay.io");
        assert_eq!(split("localhost:5000/x"), ("localhost:5000/x", ""));
    }
}
