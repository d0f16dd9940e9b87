//! The input of the support rules, with helpers for them.

use super::{Reason, SupportLevel};
use crate::{Arch, OpenshiftVersion, Platform, arch::OCI};

/// For which version, architecture and platform support is asked.
///
/// The version is taken as text because the API answers even for nonsense: nearly everything
/// is unavailable then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureQuery {
    text: String,
    version: Option<OpenshiftVersion>,
    arch: Arch,
    platform: Option<Platform>,
    external_name: Option<String>,
}

/// A level, or the reason for unavailability.
pub(super) type Level = Result<SupportLevel, Reason>;

impl FeatureQuery {
    /// Asks without a platform.
    pub fn new(version: &str, arch: Arch) -> Self {
        let parsed = version.parse().ok();
        let text = version.to_owned();
        Self {
            text,
            version: parsed,
            arch,
            platform: None,
            external_name: None,
        }
    }

    /// Narrows the question to a platform; the name matters for [`Platform::External`] only.
    #[must_use]
    pub fn on(mut self, platform: Platform, external_name: Option<&str>) -> Self {
        self.platform = Some(platform);
        self.external_name = external_name.map(str::to_owned);
        self
    }

    /// The version as it was given.
    pub fn version_text(&self) -> &str {
        &self.text
    }

    /// The version, when the text is one.
    pub fn version(&self) -> Option<&OpenshiftVersion> {
        self.version.as_ref()
    }

    /// The architecture.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The platform, when the question is narrowed to one.
    pub fn platform(&self) -> Option<Platform> {
        self.platform
    }

    /// The name of the external platform.
    pub fn external_name(&self) -> Option<&str> {
        self.external_name.as_deref()
    }

    /// No version was given at all, which is less bad than nonsense.
    pub(super) fn no_version(&self) -> bool {
        self.text.is_empty()
    }

    /// The version is known to be before x.y.
    pub(super) fn before(&self, major: u64, minor: u64) -> bool {
        self.version
            .as_ref()
            .is_some_and(|version| !version.at_least(major, minor))
    }

    /// The version is known to be an x.y.z of x.y.
    pub(super) fn is(&self, major: u64, minor: u64) -> bool {
        self.version
            .as_ref()
            .is_some_and(|version| version.is(major, minor))
    }

    /// Passes from x.y on; an unknown version does not pass.
    pub(super) fn since(&self, major: u64, minor: u64) -> Result<(), Reason> {
        let passes = self
            .version
            .as_ref()
            .is_some_and(|version| version.at_least(major, minor));
        if passes {
            Ok(())
        } else {
            Err(Reason::OpenshiftVersion)
        }
    }

    /// Passes unless one of these platforms was asked for.
    pub(super) fn not_on(&self, platforms: &[Platform]) -> Result<(), Reason> {
        match self.platform {
            Some(platform) if platforms.contains(&platform) => Err(Reason::Platform),
            Some(_) | None => Ok(()),
        }
    }

    /// Passes unless a platform other than these was asked for.
    pub(super) fn only_on(&self, platforms: &[Platform]) -> Result<(), Reason> {
        match self.platform {
            Some(platform) if !platforms.contains(&platform) => Err(Reason::Platform),
            Some(_) | None => Ok(()),
        }
    }

    /// Oracle Cloud was asked for.
    pub(super) fn on_oci(&self) -> bool {
        self.platform == Some(Platform::External) && self.external_name.as_deref() == Some(OCI)
    }

    /// Passes unless Oracle Cloud was asked for.
    pub(super) fn not_on_oci(&self) -> Result<(), Reason> {
        if self.on_oci() {
            Err(Reason::Platform)
        } else {
            Ok(())
        }
    }
}
