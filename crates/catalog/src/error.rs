//! Why a catalogue could not be built, or has no answer.

use crate::{Arch, EntryProblem, HardwareProfile, VersionError};

/// A fault of the configured lists, or a question the catalogue cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The setting is not JSON of the expected outer shape.
    #[error("{what} is not valid: {cause}")]
    Json {
        /// Name of the setting.
        what: &'static str,
        /// What the JSON reader said.
        #[source]
        cause: serde_json::Error,
    },
    /// Some entries of the setting are wrong.
    #[error("{what} has {} fault(s): {}", problems.len(), join(problems))]
    Entries {
        /// Name of the setting.
        what: &'static str,
        /// Every fault found.
        problems: Vec<EntryProblem>,
    },
    /// A setting that must be a version is none.
    #[error("{what}: {cause}")]
    VersionSetting {
        /// Name of the setting.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        cause: VersionError,
    },
    /// The text is no version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// No release image for the version on that architecture.
    #[error(
        "no release image for OpenShift version {version} on {arch}; {}",
        hint(known)
    )]
    NoRelease {
        /// The version as asked for.
        version: String,
        /// The architecture asked for.
        arch: Arch,
        /// `openshift_version` texts that would work on this architecture.
        known: Vec<String>,
    },
    /// The release exists but the configuration hides it.
    #[error(
        "OpenShift version {version} is disabled in this service (IGNORED_OPENSHIFT_VERSIONS); \
         choose another version"
    )]
    Ignored {
        /// The version as asked for.
        version: String,
    },
    /// The given release image is not in the catalogue.
    #[error("release image {url} is not known; add it to RELEASE_IMAGES or give a version instead")]
    UnknownReleaseUrl {
        /// The image reference as given.
        url: String,
    },
    /// The given release image does not carry the architecture.
    #[error("release image {url} has no {arch} content, only {}", list(available))]
    ReleaseLacksArch {
        /// The image reference as given.
        url: String,
        /// The architecture asked for.
        arch: Arch,
        /// What the image does carry.
        available: Vec<Arch>,
    },
    /// No OS image boots that version on that architecture.
    #[error(
        "no OS image for OpenShift version {version} on {arch}; {}",
        hint(known)
    )]
    NoOsImage {
        /// The version as asked for.
        version: String,
        /// The architecture asked for.
        arch: Arch,
        /// Versions that have an image for this architecture.
        known: Vec<String>,
    },
    /// There is no OS image at all for the architecture.
    #[error("no OS image for {arch}; add one to OS_IMAGES")]
    NoOsImageForArch {
        /// The architecture asked for.
        arch: Arch,
    },
    /// The hardware table has neither this version nor a default.
    #[error(
        "no hardware requirements of {profile} for version {version}; \
         add an entry with version \"default\" to HW_VALIDATOR_REQUIREMENTS"
    )]
    NoRequirements {
        /// The version as asked for.
        version: String,
        /// The kind of host asked for.
        profile: HardwareProfile,
    },
}

fn join(problems: &[EntryProblem]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

fn list(archs: &[Arch]) -> String {
    archs
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn hint(known: &[String]) -> String {
    if known.is_empty() {
        "this architecture has none at all".to_owned()
    } else {
        format!("available: {}", known.join(", "))
    }
}
