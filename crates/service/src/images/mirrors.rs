//! Registries that stand in for others, as files handed to every host.

use std::{fs, path::Path};

use muster_assets::discovery::Mirrors;
use muster_config::sections::Images;

/// The files the configuration names, read once at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorFiles {
    registries_conf: String,
    ca_bundle: String,
}

impl MirrorFiles {
    /// Reads them; `None` if the configuration names none.
    ///
    /// # Errors
    /// A file cannot be read, or names no mirror.
    pub fn read(config: &Images) -> Result<Option<Self>, String> {
        let Some(path) = &config.mirrors_file else {
            return match &config.mirrors_ca_file {
                Some(_) => Err(
                    "images.mirrors_ca_file is set and images.mirrors_file is not; set both or none"
                        .to_owned(),
                ),
                None => Ok(None),
            };
        };
        let registries_conf = content("images.mirrors_file", path)?;
        check(&registries_conf)
            .map_err(|why| format!("images.mirrors_file {}: {why}", path.display()))?;
        let ca_bundle = match &config.mirrors_ca_file {
            Some(path) => content("images.mirrors_ca_file", path)?,
            None => String::new(),
        };
        Ok(Some(Self {
            registries_conf,
            ca_bundle,
        }))
    }

    /// As hosts get them.
    #[must_use]
    pub fn as_mirrors(&self) -> Mirrors<'_> {
        Mirrors {
            registries_conf: &self.registries_conf,
            ca_bundle: &self.ca_bundle,
        }
    }
}

fn content(setting: &str, path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|cause| format!("{setting} {}: {cause}", path.display()))
}

/// A registries.conf that mirrors something.
fn check(text: &str) -> Result<(), String> {
    let table: toml::Table = text
        .parse()
        .map_err(|cause| format!("it is not TOML: {cause}"))?;
    let registries = table.get("registry").and_then(toml::Value::as_array);
    let has_mirror = |registry: &toml::Value| {
        let location = registry.get("location").and_then(toml::Value::as_str);
        let mirrors = registry.get("mirror").and_then(toml::Value::as_array);
        location.is_some() && mirrors.is_some_and(|mirrors| !mirrors.is_empty())
    };
    if registries.is_some_and(|registries| registries.iter().any(has_mirror)) {
        Ok(())
    } else {
        Err("it has no [[registry]] with a location and a [[registry.mirror]]".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_mirrors_nothing_is_refused() {
        let good =
            "[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"m:5000\"\n";
        assert_eq!(check(good), Ok(()));
        for (text, wanted) in [
            ("", "no [[registry]]"),
            ("[[registry]]\nlocation = \"quay.io\"\n", "no [[registry]]"),
            ("registry = 7", "no [[registry]]"),
            ("[[", "not TOML"),
        ] {
            assert!(check(text).unwrap_err().contains(wanted), "{text}");
        }
    }

    #[test]
    fn certificates_without_mirrors_are_refused_and_nothing_is_fine() {
        let mut config = Images::default();
        assert_eq!(MirrorFiles::read(&config), Ok(None));
        config.mirrors_ca_file = Some("/nowhere".into());
        assert!(MirrorFiles::read(&config).is_err());
        config.mirrors_file = Some("/nowhere".into());
        assert!(MirrorFiles::read(&config).unwrap_err().contains("/nowhere"));
    }
}
