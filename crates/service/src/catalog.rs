//! The catalogue in force: embedded data, replaced or extended by configuration.

use muster_catalog::{CatalogError, HardwareCatalog, MustGatherImages, OsImages, ReleaseCatalog};
use muster_config::{Config, Json};

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
        let releases = match given(&catalog.release_images) {
            Some(json) => ReleaseCatalog::from_json(&json)?,
            None => ReleaseCatalog::embedded(),
        };
        let releases = match given(&catalog.ignored_openshift_versions) {
            Some(json) => releases.ignoring(&json)?,
            None => releases,
        };
        let os_images = match given(&catalog.os_images) {
            Some(json) => OsImages::from_json(&json)?,
            None => OsImages::embedded(),
        };
        let hardware = match given(&catalog.hardware_requirements) {
            Some(json) => HardwareCatalog::from_json(&json)?,
            None => HardwareCatalog::embedded(),
        };
        let must_gather = match given(&catalog.must_gather_images) {
            Some(json) => MustGatherImages::from_json(&json)?,
            None => MustGatherImages::embedded(),
        };
        Ok(Self { releases, os_images, hardware, must_gather })
    }
}

fn given(value: &Json) -> Option<String> {
    (!value.is_unset()).then(|| value.0.to_string())
}
