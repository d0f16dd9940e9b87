//! The list of installable versions, as users choose from it.

use std::collections::{BTreeMap, btree_map::Entry};

use muster_model::MULTI_SUFFIX;
use serde::Serialize;

use crate::{Arch, OsImages, Product, ReleaseCatalog, ReleaseImage, ReleaseSupport};

/// One line of the list; the key it is listed under is its display name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedVersion {
    /// Full version, with `-multi` for payloads of several architectures.
    pub display_name: String,
    /// How well the release is looked after.
    pub support_level: ReleaseSupport,
    /// Recommended; left out when not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
    /// Architectures that have both release content and an OS image.
    pub cpu_architectures: Vec<Arch>,
}

/// Which versions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionFilter {
    /// Keep versions that contain this text.
    pub version: Option<String>,
    /// Keep the newest of each x.y only; final releases count as newer than betas.
    pub only_latest: bool,
}

impl ReleaseCatalog {
    /// The installable versions by display name.
    ///
    /// With OS images given, an architecture is listed only if an image can boot it, and a
    /// release without any is left out. `only_latest` looks at each product on its own, so OKD
    /// does not vanish behind OpenShift of the same x.y.
    pub fn openshift_versions(
        &self,
        os_images: Option<&OsImages>,
        filter: &VersionFilter,
    ) -> BTreeMap<String, ListedVersion> {
        let latest = self.latest_per_stream();
        let mut listed = BTreeMap::new();
        for image in self.visible() {
            let wanted = filter
                .version
                .as_ref()
                .is_none_or(|text| image.version.as_str().contains(text.as_str()));
            let newest = latest
                .get(&stream(image))
                .is_some_and(|latest| latest.version == image.version);
            if wanted && (newest || !filter.only_latest) {
                add(&mut listed, image, os_images);
            }
        }
        listed
    }

    fn latest_per_stream(&self) -> BTreeMap<Stream, &ReleaseImage> {
        let mut latest: BTreeMap<Stream, &ReleaseImage> = BTreeMap::new();
        for image in self.visible() {
            let best = latest.entry(stream(image)).or_insert(image);
            if image.rank() > best.rank() {
                *best = image;
            }
        }
        latest
    }
}

type Stream = (u64, u64, Product);

fn stream(image: &ReleaseImage) -> Stream {
    let (major, minor) = image.version.major_minor();
    (major, minor, image.version.product())
}

fn add(
    listed: &mut BTreeMap<String, ListedVersion>,
    image: &ReleaseImage,
    os_images: Option<&OsImages>,
) {
    let version = image.version.as_str();
    let bootable = |arch: &Arch| os_images.is_none_or(|images| images.find(version, *arch).is_ok());
    let archs: Vec<Arch> = image
        .cpu_architectures
        .iter()
        .copied()
        .filter(bootable)
        .collect();
    if archs.is_empty() {
        return;
    }
    let name = match image.is_multi() && !version.ends_with(MULTI_SUFFIX) {
        true => format!("{version}{MULTI_SUFFIX}"),
        false => version.to_owned(),
    };
    let line = match listed.entry(name) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(free) => {
            let display_name = free.key().clone();
            free.insert(ListedVersion {
                display_name,
                support_level: image.support(),
                default: false,
                cpu_architectures: Vec::new(),
            })
        }
    };
    line.default |= image.default;
    line.cpu_architectures.extend(archs);
    line.cpu_architectures.sort_unstable();
    line.cpu_architectures.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(version: Option<&str>, only_latest: bool) -> BTreeMap<String, ListedVersion> {
        let filter = VersionFilter {
            version: version.map(str::to_owned),
            only_latest,
        };
        ReleaseCatalog::embedded().openshift_versions(Some(&OsImages::embedded()), &filter)
    }

    #[test]
    fn releases_of_one_version_are_merged_over_their_architectures() {
        let all = list(None, false);
        assert_eq!(all["4.22.9"].cpu_architectures, [Arch::X86_64, Arch::Arm64]);
        assert_eq!(all["4.22.9-multi"].cpu_architectures.len(), 4);
        assert!(all["4.22.9"].default);
        assert!(!all["4.22.9-multi"].default);
        assert_eq!(all["5.0.0-ec.5"].support_level, ReleaseSupport::Beta);
        assert_eq!(all["4.16.68"].support_level, ReleaseSupport::Production);
    }

    #[test]
    fn default_is_written_only_when_true() {
        let all = serde_json::to_value(list(None, false)).unwrap();
        assert_eq!(all["4.22.9"]["default"], true);
        assert!(all["4.16.68"].get("default").is_none());
        assert_eq!(all["4.16.68"]["display_name"], "4.16.68");
    }

    #[test]
    fn only_latest_drops_older_patches_whatever_their_architecture() {
        let latest = list(None, true);
        assert!(latest.contains_key("4.13.69"));
        assert!(!latest.contains_key("4.13.53"), "an older arm64-only patch");
        assert!(
            !latest.contains_key("4.13.53-multi"),
            "an older multi payload"
        );
        assert!(!latest.contains_key("4.11.0-multi"));
        assert!(
            latest.contains_key("4.16.68-multi"),
            "as new as the single-arch one"
        );
        assert!(
            latest.contains_key("5.0.0-ec.5"),
            "no final release of 5.0 exists"
        );
        assert!(latest.contains_key("4.20.0-okd-scos.13"), "another product");
    }

    #[test]
    fn the_version_filter_is_a_substring_and_combines_with_only_latest() {
        let names =
            |listed: BTreeMap<String, ListedVersion>| listed.into_keys().collect::<Vec<_>>();
        assert_eq!(
            names(list(Some("4.13"), false)),
            ["4.13.53", "4.13.53-multi", "4.13.69"]
        );
        assert_eq!(names(list(Some("4.13"), true)), ["4.13.69"]);
        assert_eq!(
            names(list(Some("16.6"), false)),
            ["4.16.68", "4.16.68-multi"]
        );
        assert!(list(Some("3.11"), false).is_empty());
    }

    #[test]
    fn a_release_that_nothing_can_boot_is_not_listed() {
        let none = OsImages::from_json("[]").unwrap();
        let releases = ReleaseCatalog::embedded();
        assert!(
            releases
                .openshift_versions(Some(&none), &VersionFilter::default())
                .is_empty()
        );
        let unchecked = releases.openshift_versions(None, &VersionFilter::default());
        assert!(unchecked.len() > 20);
    }

    #[test]
    fn okd_is_listed_beside_openshift_and_is_never_the_default() {
        let all = list(Some("4.20"), false);
        assert_eq!(
            all.keys().collect::<Vec<_>>(),
            ["4.20.0-okd-scos.13", "4.20.33", "4.20.33-multi"]
        );
        let okd = &all["4.20.0-okd-scos.13"];
        assert!(!okd.default);
        assert_eq!(okd.support_level, ReleaseSupport::Production);
    }

    #[test]
    fn a_payload_of_several_architectures_is_listed_with_the_multi_suffix() {
        let releases = ReleaseCatalog::from_json(
            r#"[{"openshift_version": "4.16", "version": "4.16.1", "cpu_architecture": "multi",
                 "cpu_architectures": ["x86_64", "arm64"], "url": "r"}]"#,
        )
        .unwrap();
        let listed = releases.openshift_versions(None, &VersionFilter::default());
        assert_eq!(listed["4.16.1-multi"].display_name, "4.16.1-multi");
    }
}
