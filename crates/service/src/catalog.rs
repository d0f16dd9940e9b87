//! The catalogue in force: embedded data, replaced or extended by configuration.

use muster_catalog::{CatalogError, HardwareCatalog, MustGatherImages, OsImages, ReleaseCatalog};
use muster_config::Config;

/// Releases, OS images, hardware requirements and must-gather images.
#[derive(Debug)]
pub struct Catalog {
    /// What can be installed.
    pub releases: ReleaseCatalog,
    /// What boots.
    pub os_images: OsImages,
    /// What hardware each role needs.
    pub hardware: HardwareCatalog,
    /// Images for support data.
    pub must_gather: MustGatherImages,
}

impl Catalog {
    /// Builds it; configuration given as JSON replaces the embedded table of that kind.
    pub fn from_config(config: &Config) -> Result<Self, CatalogError> {
        let catalog = &config.catalog;
        let releases = match &catalog.release_images {
            Some(list) => ReleaseCatalog::from_json(&json(&list.0))?,
            None => ReleaseCatalog::embedded(),
        };
        let releases = match &catalog.ignored_openshift_versions {
            Some(list) => releases.ignoring(&json(&list.0))?,
            None => releases,
        };
        let os_images = match &catalog.os_images {
            Some(list) => OsImages::from_json(&json(&list.0))?,
            None => OsImages::embedded(),
        };
        let hardware = match &catalog.hardware_requirements {
            Some(list) => HardwareCatalog::from_json(&json(&list.0))?,
            None => HardwareCatalog::embedded(),
        };
        let must_gather = match &catalog.must_gather_images {
            Some(map) => MustGatherImages::from_json(&json(&map.0))?,
            None => MustGatherImages::embedded(),
        };
        Ok(Self {
            releases,
            os_images,
            hardware,
            must_gather,
        })
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
