//! Release images and what an `openshift_version` means.
//!
//! Resolution, in the order it is tried by [`ReleaseCatalog::resolve`]:
//!
//! - `x.y.z` (with or without a pre-release or `-multi`) names one release: the entry whose
//!   `version` is that very text and which serves the architecture.
//! - `x.y` and `x.y-multi` name a stream: among the entries whose `openshift_version` is that
//!   text, final releases beat betas and then the newest wins.
//!
//! OpenShift and OKD live in one catalogue. A stream answers with OpenShift as long as it has
//! any OpenShift entry for the architecture, so adding OKD builds never changes what `4.16`
//! means; OKD releases are asked for by their full version (`4.20.0-okd-scos.13`). A catalogue that
//! holds only OKD resolves streams to OKD.

use serde::{Deserialize, Serialize};

use crate::{
    Arch, CatalogError, OpenshiftVersion, Product,
    entries::{Entry, read_list},
    names::named,
};

const SETTING: &str = "RELEASE_IMAGES";
const IGNORED_SETTING: &str = "IGNORED_OPENSHIFT_VERSIONS";

named! {
    /// How well a release is looked after.
    pub enum ReleaseSupport: "release support level" {
        /// Not final; also what a pre-release version means when nothing else is said.
        Beta = "beta",
        /// Fully supported.
        Production = "production",
        /// Important fixes only.
        Maintenance = "maintenance",
        /// No fixes any more.
        EndOfLife = "end-of-life",
    }
}

/// One release payload, in the shape of a `RELEASE_IMAGES` entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseImage {
    /// The stream users ask for, such as `4.16` or `4.16-multi`.
    pub openshift_version: String,
    /// The full version of the payload.
    pub version: OpenshiftVersion,
    /// The one architecture, or `multi`.
    pub cpu_architecture: Arch,
    /// Every architecture the payload serves.
    #[serde(default)]
    pub cpu_architectures: Vec<Arch>,
    /// The image reference.
    pub url: String,
    /// Support level when it is not to be guessed from the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_level: Option<ReleaseSupport>,
    /// The default for users who do not choose a release.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
}

/// All releases this service can install.
#[derive(Clone, Debug, Default)]
pub struct ReleaseCatalog {
    images: Vec<ReleaseImage>,
    ignored: Vec<String>,
}

impl ReleaseImage {
    /// Whether the payload can be installed on hosts of this architecture.
    pub fn serves(&self, arch: Arch) -> bool {
        self.cpu_architecture == arch || self.cpu_architectures.contains(&arch)
    }

    /// Whether the payload serves several architectures; such clusters have the architecture
    /// `multi`.
    pub fn is_multi(&self) -> bool {
        self.cpu_architectures.len() > 1
    }

    /// Whether this is a community build.
    pub fn is_okd(&self) -> bool {
        self.version.product() == Product::Okd
    }

    /// The stated support level, else beta for pre-releases and production for the rest.
    pub fn support(&self) -> ReleaseSupport {
        let guessed = || match self.version.is_prerelease() {
            true => ReleaseSupport::Beta,
            false => ReleaseSupport::Production,
        };
        self.support_level.unwrap_or_else(guessed)
    }

    /// The order in which a stream prefers its releases; the greatest is chosen.
    pub(crate) fn rank(&self) -> (bool, bool, &OpenshiftVersion) {
        (
            !self.is_okd(),
            self.support() != ReleaseSupport::Beta,
            &self.version,
        )
    }

    fn read(entry: &mut Entry<'_>) -> Option<Self> {
        let stream: Option<OpenshiftVersion> = entry.required("openshift_version");
        let version = entry.required("version");
        let cpu_architecture = entry.required("cpu_architecture");
        let mut cpu_architectures: Vec<Arch> = entry.list("cpu_architectures");
        let url = entry.required_text("url");
        let support_level = entry.optional("support_level");
        let default = entry.flag("default");
        let cpu_architecture = cpu_architecture?;
        if cpu_architectures.is_empty() {
            cpu_architectures.push(cpu_architecture);
        }
        Some(Self {
            openshift_version: stream?.as_str().to_owned(),
            version: version?,
            cpu_architecture,
            cpu_architectures,
            url: url?,
            support_level,
            default,
        })
    }
}

impl ReleaseCatalog {
    /// The releases known when this program was built: OpenShift and OKD.
    pub fn embedded() -> Self {
        let openshift = Self::from_json(include_str!("../data/release_images.json"));
        let okd = Self::from_json(include_str!("../data/okd_release_images.json"));
        let mut catalog = openshift.expect("the embedded OpenShift releases pass their test");
        catalog.images.extend(
            okd.expect("the embedded OKD releases pass their test")
                .images,
        );
        catalog
    }

    /// Reads a `RELEASE_IMAGES` list; it replaces the embedded one.
    ///
    /// # Errors
    /// Every entry and member that is missing or malformed, by position.
    pub fn from_json(json: &str) -> Result<Self, CatalogError> {
        let images = read_list(SETTING, json, ReleaseImage::read)?;
        Ok(Self {
            images,
            ignored: Vec::new(),
        })
    }

    /// Adds a `RELEASE_IMAGES` list to this catalogue.
    ///
    /// Added entries win over known ones with the same URL, and over equally new ones. If any
    /// of them is marked as default, the former defaults no longer are.
    ///
    /// # Errors
    /// As [`Self::from_json`].
    pub fn extended_with(mut self, json: &str) -> Result<Self, CatalogError> {
        let mut images = Self::from_json(json)?.images;
        let new_default = images.iter().any(|image| image.default);
        for mut known in self.images {
            if images.iter().any(|image| image.url == known.url) {
                continue;
            }
            known.default &= !new_default;
            images.push(known);
        }
        self.images = images;
        Ok(self)
    }

    /// Hides the versions of an `IGNORED_OPENSHIFT_VERSIONS` list: x.y hides a whole stream
    /// with its `-multi` twin, x.y.z one release. An empty text hides nothing.
    ///
    /// # Errors
    /// When the text is no JSON list of versions.
    pub fn ignoring(mut self, json: &str) -> Result<Self, CatalogError> {
        if json.trim().is_empty() {
            return Ok(self);
        }
        let versions: Vec<OpenshiftVersion> =
            serde_json::from_str(json).map_err(|cause| CatalogError::Json {
                what: IGNORED_SETTING,
                cause,
            })?;
        self.ignored.extend(
            versions
                .iter()
                .map(|version| version.without_multi().to_owned()),
        );
        Ok(self)
    }

    /// The release that an `openshift_version` of a new cluster means.
    ///
    /// # Errors
    /// When the text is no version, nothing matches, or all that matches is hidden.
    pub fn resolve(&self, version: &str, arch: Arch) -> Result<&ReleaseImage, CatalogError> {
        let asked: OpenshiftVersion = version.parse()?;
        let matches = |image: &&ReleaseImage| {
            let name = match asked.is_full() {
                true => image.version.as_str(),
                false => image.openshift_version.as_str(),
            };
            name == version && image.serves(arch)
        };
        let mut hidden = false;
        let mut best: Option<&ReleaseImage> = None;
        for image in self.images.iter().filter(matches) {
            if self.is_ignored(image) {
                hidden = true;
            } else if best.is_none_or(|best| image.rank() > best.rank()) {
                best = Some(image);
            }
        }
        best.ok_or_else(|| match hidden {
            true => CatalogError::Ignored {
                version: version.to_owned(),
            },
            false => CatalogError::NoRelease {
                version: version.to_owned(),
                arch,
                known: self.streams(arch),
            },
        })
    }

    /// The release with exactly this image reference, when it serves the architecture.
    ///
    /// # Errors
    /// When the reference is unknown or the payload lacks the architecture.
    pub fn resolve_url(&self, url: &str, arch: Arch) -> Result<&ReleaseImage, CatalogError> {
        let Some(image) = self.by_url(url) else {
            return Err(CatalogError::UnknownReleaseUrl {
                url: url.to_owned(),
            });
        };
        if image.serves(arch) {
            return Ok(image);
        }
        let (url, available) = (url.to_owned(), image.cpu_architectures.clone());
        Err(CatalogError::ReleaseLacksArch {
            url,
            arch,
            available,
        })
    }

    /// The release with exactly this image reference.
    pub fn by_url(&self, url: &str) -> Option<&ReleaseImage> {
        self.images.iter().find(|image| image.url == url)
    }

    /// Whether some release of the same x.y serves the architecture, whatever its stream is
    /// called. Decides whether an infra-env of that architecture may join a `multi` cluster.
    pub fn has_arch(&self, version: &OpenshiftVersion, arch: Arch) -> bool {
        self.visible()
            .any(|image| image.version.major_minor() == version.major_minor() && image.serves(arch))
    }

    /// The recommended release for an architecture: marked as default, else the newest final.
    pub fn recommended(&self, arch: Arch) -> Option<&ReleaseImage> {
        self.visible()
            .filter(|image| image.serves(arch))
            .max_by_key(|image| (image.default, image.rank()))
    }

    /// The newest final OKD release for an architecture.
    pub fn recommended_okd(&self, arch: Arch) -> Option<&ReleaseImage> {
        self.visible()
            .filter(|image| image.is_okd() && image.serves(arch))
            .max_by_key(|image| image.rank())
    }

    /// Every release that is not hidden, in catalogue order.
    pub fn visible(&self) -> impl Iterator<Item = &ReleaseImage> {
        self.images.iter().filter(|image| !self.is_ignored(image))
    }

    fn is_ignored(&self, image: &ReleaseImage) -> bool {
        let short = image.version.short();
        let full = image.version.without_multi();
        self.ignored
            .iter()
            .any(|ignored| *ignored == short || ignored == full)
    }

    fn streams(&self, arch: Arch) -> Vec<String> {
        let mut images: Vec<_> = self.visible().filter(|image| image.serves(arch)).collect();
        images.sort_by_key(|image| image.version.major_minor());
        let mut names: Vec<_> = images
            .into_iter()
            .map(|image| image.openshift_version.clone())
            .collect();
        names.dedup();
        names
    }
}

#[cfg(test)]
#[path = "releases_tests.rs"]
mod tests;
