//! Registries that stand in for others, as files handed to every host.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use muster_assets::discovery::Mirrors;
use muster_config::sections::Images;

/// Why mirrors cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// Certificates for mirrors that are not configured.
    #[error("images.mirrors_ca_file is set and images.mirrors_file is not; set both or none")]
    CaWithoutMirrors,
    /// A file cannot be read.
    #[error("{setting} {}: {cause}", path.display())]
    Unreadable {
        /// The setting that names it.
        setting: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The file is no registries.conf with a mirror.
    #[error("images.mirrors_file {}: {cause}", path.display())]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        cause: InvalidRegistries,
    },
}

/// Why a text is no registries.conf that mirrors something.
#[derive(Debug, thiserror::Error)]
pub enum InvalidRegistries {
    /// It cannot be parsed.
    #[error("it is not TOML: {0}")]
    NotToml(#[from] toml::de::Error),
    /// It mirrors nothing.
    #[error("it has no [[registry]] with a location and a [[registry.mirror]]")]
    NoMirror,
}

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
    pub fn read(config: &Images) -> Result<Option<Self>, MirrorError> {
        let Some(path) = &config.mirrors_file else {
            return match &config.mirrors_ca_file {
                Some(_) => Err(MirrorError::CaWithoutMirrors),
                None if config.system_mirrors => Ok(of_system(Path::new("/"))),
                None => Ok(None),
            };
        };
        let registries_conf = content("images.mirrors_file", path)?;
        check(&registries_conf).map_err(|cause| MirrorError::Invalid {
            path: path.clone(),
            cause,
        })?;
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

/// The files that a pod made for the reference mounts. They count only together and if they mirror
/// something: an image may bring a registries.conf that does not.
fn of_system(root: &Path) -> Option<MirrorFiles> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let registries_conf = read("etc/containers/registries.conf")?;
    let ca_bundle = read("etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem")?;
    check(&registries_conf).ok()?;
    Some(MirrorFiles {
        registries_conf,
        ca_bundle,
    })
}

fn content(setting: &'static str, path: &Path) -> Result<String, MirrorError> {
    fs::read_to_string(path).map_err(|cause| MirrorError::Unreadable {
        setting,
        path: path.to_owned(),
        cause,
    })
}

/// A registries.conf that mirrors something.
fn check(text: &str) -> Result<(), InvalidRegistries> {
    let table: toml::Table = text.parse()?;
    let registries = table.get("registry").and_then(toml::Value::as_array);
    let has_mirror = |registry: &toml::Value| {
        let location = registry.get("location").and_then(toml::Value::as_str);
        let mirrors = registry.get("mirror").and_then(toml::Value::as_array);
        location.is_some() && mirrors.is_some_and(|mirrors| !mirrors.is_empty())
    };
    if registries.is_some_and(|registries| registries.iter().any(has_mirror)) {
        Ok(())
    } else {
        Err(InvalidRegistries::NoMirror)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_mirrors_nothing_is_refused() {
        let good =
            "[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"m:5000\"\n";
        assert!(check(good).is_ok());
        for (text, wanted) in [
            ("", "no [[registry]]"),
            ("[[registry]]\nlocation = \"quay.io\"\n", "no [[registry]]"),
            ("registry = 7", "no [[registry]]"),
            ("[[", "not TOML"),
        ] {
            assert!(
                check(text).unwrap_err().to_string().contains(wanted),
                "{text}"
            );
        }
    }

    #[test]
    fn files_of_the_system_count_only_together() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let good =
            "[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"m:5000\"\n";
        write("etc/containers/registries.conf", good);
        assert_eq!(of_system(root.path()), None);
        write("etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "CA");
        let found = of_system(root.path()).unwrap();
        assert_eq!(
            (found.registries_conf.as_str(), found.ca_bundle.as_str()),
            (good, "CA")
        );
        write(
            "etc/containers/registries.conf",
            "unqualified-search-registries = []\n",
        );
        assert_eq!(of_system(root.path()), None);
    }

    #[test]
    fn certificates_without_mirrors_are_refused_and_nothing_is_fine() {
        let mut config = Images::default();
        assert!(matches!(MirrorFiles::read(&config), Ok(None)));
        config.mirrors_ca_file = Some("/nowhere".into());
        assert!(matches!(
            MirrorFiles::read(&config),
            Err(MirrorError::CaWithoutMirrors)
        ));
        config.mirrors_file = Some("/nowhere".into());
        let unreadable = MirrorFiles::read(&config).unwrap_err();
        assert!(unreadable.to_string().contains("/nowhere"));
    }
}
