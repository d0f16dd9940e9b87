//! What to install, as the desk wrote it. Unknown members are ignored, as the reference ignores them.

use serde::{Deserialize, Deserializer};

use crate::error::InstallError;

/// What to install.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// The seed.
    pub seed_image: String,
    /// The version in it.
    pub seed_version: String,
    /// The disk; everything on it is erased.
    pub installation_disk: String,
    /// Registry to precache from instead of the seed's.
    #[serde(default)]
    pub release_registry: String,
    /// Where the partition of container storage begins.
    #[serde(default = "default_start", deserialize_with = "start")]
    pub extra_partition_start: String,
    /// Its label.
    #[serde(default = "default_label", deserialize_with = "label")]
    pub extra_partition_label: String,
    /// Power off at the end.
    #[serde(default)]
    pub shutdown: bool,
    /// Leave old structures on the disk alone.
    #[serde(default)]
    pub skip_disk_cleanup: bool,
    /// Further arguments of coreos-installer.
    #[serde(default)]
    pub coreos_installer_args: Vec<String>,
    /// Go on when images cannot be precached.
    #[serde(default)]
    pub precache_best_effort: bool,
    /// Precache nothing.
    #[serde(default)]
    pub precache_disabled: bool,
    /// Processors of the machine that the seed was made on; 0 if that does not matter.
    #[serde(default)]
    pub processors: u32,
    /// Where progress is posted.
    #[serde(default, rename = "progressURL")]
    pub progress_url: String,
}

fn default_start() -> String {
    "-40G".to_owned()
}

fn default_label() -> String {
    "var-lib-containers".to_owned()
}

fn start<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| {
        if text.is_empty() {
            default_start()
        } else {
            text
        }
    })
}

fn label<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| {
        if text.is_empty() {
            default_label()
        } else {
            text
        }
    })
}

impl Configuration {
    /// Reads it.
    ///
    /// # Errors
    /// It is not JSON, or lacks seed, version or disk.
    pub fn read(bytes: &[u8]) -> Result<Self, InstallError> {
        let config: Self = serde_json::from_slice(bytes)
            .map_err(|cause| InstallError::Unusable(format!("the configuration: {cause}")))?;
        for (name, value) in [
            ("seedImage", &config.seed_image),
            ("seedVersion", &config.seed_version),
            ("installationDisk", &config.installation_disk),
        ] {
            if value.is_empty() {
                return Err(InstallError::Unusable(format!(
                    "the configuration: {name} is empty"
                )));
            }
        }
        Ok(config)
    }

    /// Name of the stateroot the seed becomes.
    #[must_use]
    pub fn stateroot(&self) -> String {
        format!("rhcos_{}", self.seed_version.replace('-', "_"))
    }

    /// Kernel arguments the user adds. coreos-installer would write them for the system that is
    /// removed at the end, so the deployment of the seed gets them too.
    pub fn kernel_arguments(&self) -> impl Iterator<Item = &str> {
        let args = &self.coreos_installer_args;
        let pairs = args.iter().zip(args.iter().skip(1));
        pairs
            .filter(|(flag, _)| *flag == "--append-karg")
            .map(|(_, value)| value.as_str())
    }
}
