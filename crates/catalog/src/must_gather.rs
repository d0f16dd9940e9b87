//! Images that collect the logs of add-ons when an installation fails.
//!
//! The setting `MUST_GATHER_IMAGES` is a map from `x.y-arch` (or plain `x.y`) to a map from
//! component to image. The image for the platform itself (`ocp`) comes from the release
//! payload, so it is seldom in the map.

use std::collections::BTreeMap;

use crate::{Arch, CatalogError, OpenshiftVersion};

/// Components the agent accepts; it refuses an install step that names any other.
const COMPONENTS: [&str; 5] = ["cnv", "lso", "ocp", "ocs", "odf"];

/// The map of images by version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MustGatherImages {
    by_version: BTreeMap<String, BTreeMap<String, String>>,
}

impl MustGatherImages {
    /// The images known when this program was built.
    pub fn embedded() -> Self {
        Self::from_json(include_str!("../data/must_gather_images.json"))
            .expect("the embedded must-gather images pass their test")
    }

    /// Reads a `MUST_GATHER_IMAGES` map; an empty text means no images.
    ///
    /// # Errors
    /// When the text is no JSON map of maps of strings.
    pub fn from_json(json: &str) -> Result<Self, CatalogError> {
        if json.trim().is_empty() {
            return Ok(Self::default());
        }
        let by_version = serde_json::from_str(json).map_err(|cause| CatalogError::Json {
            what: "MUST_GATHER_IMAGES",
            cause,
        })?;
        Ok(Self { by_version })
    }

    /// Images by component for a cluster, narrowest key first; components that the agent would
    /// refuse are left out.
    pub fn find(&self, version: &OpenshiftVersion, arch: Arch) -> BTreeMap<&str, &str> {
        let (full, short) = (version.without_multi().to_owned(), version.short());
        let keys = [
            format!("{full}-{arch}"),
            format!("{short}-{arch}"),
            full,
            short,
        ];
        let found = keys.iter().find_map(|key| self.by_version.get(key));
        let images = found.into_iter().flatten();
        images
            .filter(|(component, _)| COMPONENTS.contains(&component.as_str()))
            .map(|(component, image)| (component.as_str(), image.as_str()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_by_short_version_and_architecture() {
        let images = MustGatherImages::embedded();
        let components = |version: &str, arch| {
            images
                .find(&version.parse().unwrap(), arch)
                .into_keys()
                .collect::<Vec<_>>()
        };
        assert_eq!(components("4.10.67", Arch::X86_64), ["cnv", "lso", "ocs"]);
        assert_eq!(components("4.10", Arch::Arm64), ["lso", "ocs"]);
        assert!(components("4.9.59", Arch::Arm64).is_empty());
        assert!(components("4.16", Arch::X86_64).is_empty());
    }

    #[test]
    fn the_narrowest_key_wins_and_foreign_components_are_left_out() {
        let images = MustGatherImages::from_json(
            r#"{"4.16": {"odf": "wide"}, "4.16.1-x86_64": {"odf": "narrow", "lvm": "x"}}"#,
        )
        .unwrap();
        let odf = |version: &str| {
            let found = images.find(&version.parse().unwrap(), Arch::X86_64);
            (found.get("odf").map(ToString::to_string), found.len())
        };
        assert_eq!(odf("4.16.1"), (Some("narrow".into()), 1));
        assert_eq!(odf("4.16.2-multi"), (Some("wide".into()), 1));
    }

    #[test]
    fn a_malformed_map_names_the_setting() {
        for json in ["[]", r#"{"4.16": "image"}"#, "{"] {
            let error = MustGatherImages::from_json(json).unwrap_err().to_string();
            assert!(
                error.starts_with("MUST_GATHER_IMAGES is not valid"),
                "{error}"
            );
        }
        assert_eq!(
            MustGatherImages::from_json(" ").unwrap(),
            MustGatherImages::default()
        );
    }
}
