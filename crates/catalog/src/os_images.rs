//! OS images: what a host boots for discovery of a given version.
//!
//! Images exist per x.y, seldom per patch, so [`OsImages::find`] widens the search: the exact
//! version, then its x.y, then the newest x.y.z of that x.y. OKD boots another operating
//! system than OpenShift, so each product looks among its own images first and takes the
//! other's only when it has none; images of OKD are recognised by their full OKD version.

use serde::{Deserialize, Serialize};

use crate::{
    Arch, CatalogError, OpenshiftVersion, Product,
    entries::{Entry, read_list},
};

const SETTING: &str = "OS_IMAGES";

/// One bootable image, in the shape of an `OS_IMAGES` entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OsImage {
    /// The version it boots: x.y as a rule.
    pub openshift_version: OpenshiftVersion,
    /// The one architecture it runs on.
    pub cpu_architecture: Arch,
    /// Where the live ISO lies.
    pub url: String,
    /// Build of the operating system.
    pub version: String,
    /// Where the root file system lies, when not inside the ISO.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rootfs_url: Option<String>,
    /// SHA-256 of the ISO in hex, against which a fetched one is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// All OS images this service can hand out.
#[derive(Clone, Debug, Default)]
pub struct OsImages {
    images: Vec<OsImage>,
}

impl OsImage {
    fn read(entry: &mut Entry<'_>) -> Option<Self> {
        let openshift_version = entry.required("openshift_version");
        let cpu_architecture: Option<Arch> = entry.required("cpu_architecture");
        if cpu_architecture == Some(Arch::Multi) {
            entry.fault(
                "cpu_architecture",
                "an OS image boots one architecture, not multi",
            );
        }
        let url = entry.required_text("url");
        let version = entry.required_text("version");
        let rootfs_url = entry.text("rootfs_url").filter(|url| !url.is_empty());
        let sha256 = entry.text("sha256").filter(|digest| !digest.is_empty());
        let sha256 = sha256.map(|digest| digest.to_ascii_lowercase());
        if let Some(digest) = &sha256
            && (digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            entry.fault("sha256", "must be 64 hexadecimal digits");
        }
        Some(Self {
            openshift_version: openshift_version?,
            cpu_architecture: cpu_architecture?,
            url: url?,
            version: version?,
            rootfs_url,
            sha256,
        })
    }
}

impl OsImages {
    /// The images known when this program was built: for OpenShift and OKD.
    pub fn embedded() -> Self {
        let openshift = Self::from_json(include_str!("../data/os_images.json"));
        let okd = Self::from_json(include_str!("../data/okd_os_images.json"));
        let mut all = openshift.expect("the embedded OpenShift OS images pass their test");
        all.images.extend(
            okd.expect("the embedded OKD OS images pass their test")
                .images,
        );
        all
    }

    /// Reads an `OS_IMAGES` list; it replaces the embedded one.
    ///
    /// # Errors
    /// Every entry and member that is missing or malformed, by position.
    pub fn from_json(json: &str) -> Result<Self, CatalogError> {
        Ok(Self {
            images: read_list(SETTING, json, OsImage::read)?,
        })
    }

    /// Adds an `OS_IMAGES` list; it wins where version and architecture are the same.
    ///
    /// # Errors
    /// As [`Self::from_json`].
    pub fn extended_with(mut self, json: &str) -> Result<Self, CatalogError> {
        let mut images = Self::from_json(json)?.images;
        images.append(&mut self.images);
        self.images = images;
        Ok(self)
    }

    /// The image that boots a version on an architecture.
    ///
    /// # Errors
    /// When the text is no version or no image fits.
    pub fn find(&self, version: &str, arch: Arch) -> Result<&OsImage, CatalogError> {
        let asked: OpenshiftVersion = version.parse()?;
        self.best(&asked, arch)
            .ok_or_else(|| CatalogError::NoOsImage {
                version: version.to_owned(),
                arch,
                known: self.versions(arch),
            })
    }

    /// The newest image of an architecture, pre-releases included: what an infra-env boots if
    /// neither its cluster nor a recommended release says anything. OKD's only if there is nothing else.
    ///
    /// # Errors
    /// When the architecture has no image.
    pub fn latest(&self, arch: Arch) -> Result<&OsImage, CatalogError> {
        self.of_arch(arch)
            .rev()
            .max_by_key(|image| {
                (
                    product(image) == Product::Openshift,
                    &image.openshift_version,
                )
            })
            .ok_or(CatalogError::NoOsImageForArch { arch })
    }

    /// The image that an address names: by its build, else by exactly its OpenShift version.
    pub fn named(&self, name: &str, arch: Arch) -> Option<&OsImage> {
        let by_build = self.of_arch(arch).find(|image| image.version == name);
        by_build.or_else(|| {
            self.of_arch(arch)
                .find(|image| image.openshift_version.as_str() == name)
        })
    }

    /// The architectures that have an image for a version, in [`Arch`] order.
    pub fn architectures(&self, version: &OpenshiftVersion) -> Vec<Arch> {
        let has_image = |arch: &Arch| self.best(version, *arch).is_some();
        Arch::ALL.iter().copied().filter(has_image).collect()
    }

    /// Every image, in catalogue order.
    pub fn iter(&self) -> impl Iterator<Item = &OsImage> {
        self.images.iter()
    }

    fn best(&self, asked: &OpenshiftVersion, arch: Arch) -> Option<&OsImage> {
        let same_text =
            |image: &&OsImage| image.openshift_version.as_str() == asked.without_multi();
        let exact = self.of_arch(arch).find(same_text);
        exact.or_else(|| {
            let (own, other): (Vec<_>, Vec<_>) = self
                .of_arch(arch)
                .filter(|image| image.openshift_version.major_minor() == asked.major_minor())
                .partition(|image| product(image) == asked.product());
            of_stream(&own).or_else(|| of_stream(&other))
        })
    }

    fn of_arch(&self, arch: Arch) -> impl DoubleEndedIterator<Item = &OsImage> {
        self.images
            .iter()
            .filter(move |image| image.cpu_architecture == arch)
    }

    fn versions(&self, arch: Arch) -> Vec<String> {
        let mut versions: Vec<_> = self
            .of_arch(arch)
            .map(|image| &image.openshift_version)
            .collect();
        versions.sort_unstable();
        versions.dedup();
        versions.into_iter().map(ToString::to_string).collect()
    }
}

/// The x.y entry, else the newest x.y.z; of equals the first listed.
fn of_stream<'a>(images: &[&'a OsImage]) -> Option<&'a OsImage> {
    let short = images
        .iter()
        .find(|image| !image.openshift_version.is_full());
    short
        .or_else(|| {
            images
                .iter()
                .rev()
                .max_by_key(|image| &image.openshift_version)
        })
        .copied()
}

fn product(image: &OsImage) -> Product {
    image.openshift_version.product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(versions: &[&str]) -> OsImages {
        let entries: Vec<_> = versions
            .iter()
            .map(|version| {
                format!(
                    r#"{{"openshift_version": "{version}", "cpu_architecture": "aarch64",
                        "url": "https://images.test/{version}.iso", "version": "1"}}"#
                )
            })
            .collect();
        OsImages::from_json(&format!("[{}]", entries.join(","))).unwrap()
    }

    fn found(images: &OsImages, version: &str) -> Option<String> {
        images
            .find(version, Arch::Arm64)
            .ok()
            .map(|image| image.openshift_version.to_string())
    }

    #[test]
    fn the_search_goes_from_the_exact_version_to_the_newest_patch() {
        let with_stream = images(&["4.16", "4.16.5", "4.17.2", "4.17.10", "4.17.10-rc.1"]);
        for (asked, expected) in [
            ("4.16.5", Some("4.16.5")),
            ("4.16.1", Some("4.16")),
            ("4.16.68", Some("4.16")),
            ("4.16.68-multi", Some("4.16")),
            ("4.16.0-rc.1", Some("4.16")),
            ("4.17", Some("4.17.10")),
            ("4.17.3", Some("4.17.10")),
            ("4.18", None),
            ("nonsense", None),
        ] {
            assert_eq!(found(&with_stream, asked).as_deref(), expected, "{asked}");
        }
    }

    #[test]
    fn okd_and_openshift_of_one_version_boot_their_own_images() {
        let all = OsImages::embedded();
        let build = |version| all.find(version, Arch::X86_64).unwrap().version.clone();
        assert_eq!(build("4.16"), "416.94.202510081640-0");
        assert_eq!(build("4.16.68"), "416.94.202510081640-0");
        assert_eq!(build("4.20"), build("4.20.33"));
        assert_eq!(build("4.20.0-okd-scos.13"), "10.0.20250628-0");
        assert_eq!(build("4.20.0-okd-scos.99"), "10.0.20250628-0");
    }

    #[test]
    fn a_product_without_images_of_its_own_borrows_those_of_the_other() {
        assert_eq!(
            found(&images(&["4.20"]), "4.20.0-okd-scos.7").as_deref(),
            Some("4.20")
        );
        let okd = images(&["4.20.0-okd-scos.7"]);
        assert_eq!(found(&okd, "4.20").as_deref(), Some("4.20.0-okd-scos.7"));
    }

    #[test]
    fn the_latest_image_may_be_a_prerelease_but_not_okd() {
        let all = OsImages::embedded();
        for arch in [Arch::X86_64, Arch::Arm64, Arch::S390x, Arch::Ppc64le] {
            assert_eq!(all.latest(arch).unwrap().openshift_version.as_str(), "5.0");
        }
        assert!(all.latest(Arch::Multi).is_err());
        let mixed = images(&["4.15", "4.30.0-0.okd"]);
        assert_eq!(
            mixed
                .latest(Arch::Arm64)
                .unwrap()
                .openshift_version
                .as_str(),
            "4.15"
        );
    }

    #[test]
    fn architectures_of_a_version_are_those_with_an_image() {
        let all = OsImages::embedded();
        let archs = |text: &str| all.architectures(&text.parse().unwrap());
        assert_eq!(archs("4.9"), [Arch::X86_64]);
        assert_eq!(archs("4.10.67"), [Arch::X86_64, Arch::Arm64]);
        assert_eq!(
            archs("4.16"),
            [Arch::X86_64, Arch::Arm64, Arch::Ppc64le, Arch::S390x]
        );
        assert!(archs("4.12").is_empty());
    }

    #[test]
    fn a_missing_image_is_answered_with_the_versions_that_have_one() {
        let error = OsImages::embedded()
            .find("4.12", Arch::X86_64)
            .unwrap_err()
            .to_string();
        assert!(error.contains("4.9, 4.10, 4.11, 4.13"), "{error}");
    }

    #[test]
    fn an_image_for_multi_or_without_url_is_refused() {
        let error = OsImages::from_json(
            r#"[{"openshift_version": "4.16", "cpu_architecture": "multi", "version": "1"}]"#,
        )
        .unwrap_err()
        .to_string();
        assert!(error.contains("OS_IMAGES has 2 fault(s)"), "{error}");
        assert!(
            error.contains("not multi") && error.contains("\"url\""),
            "{error}"
        );
    }

    #[test]
    fn an_address_names_an_image_by_build_or_version() {
        let all = OsImages::embedded();
        let build = |name: &str| {
            all.named(name, Arch::X86_64)
                .map(|image| &image.version[..])
        };
        assert_eq!(build("4.16"), Some("416.94.202510081640-0"));
        assert_eq!(build("416.94.202510081640-0"), build("4.16"));
        assert_eq!(build("4.16.68"), None);
        assert!(all.named("4.16", Arch::Multi).is_none());
    }

    #[test]
    fn a_digest_is_sixty_four_digits_or_refused() {
        let list = |digest: &str| {
            OsImages::from_json(&format!(
                r#"[{{"openshift_version": "4.16", "cpu_architecture": "x86_64", "version": "1",
                    "url": "https://images.test/a.iso", "sha256": "{digest}"}}]"#
            ))
        };
        let good = list(&"AB".repeat(32)).unwrap();
        assert_eq!(good.iter().next().unwrap().sha256, Some("ab".repeat(32)));
        assert!(
            list("abc")
                .unwrap_err()
                .to_string()
                .contains("64 hexadecimal")
        );
    }

    #[test]
    fn added_images_win_over_known_ones() {
        let extra = r#"[{"openshift_version": "4.16", "cpu_architecture": "x86_64",
            "url": "https://mirror.test/a.iso", "version": "mine"}]"#;
        let all = OsImages::embedded().extended_with(extra).unwrap();
        assert_eq!(all.find("4.16.68", Arch::X86_64).unwrap().version, "mine");
        assert_eq!(
            all.find("4.17", Arch::X86_64).unwrap().version,
            "417.94.202507291008-0"
        );
    }
}
