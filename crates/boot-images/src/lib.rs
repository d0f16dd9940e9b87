//! Boot images: the OS images they are made from, and how one is composed.
//!
//! [`base`] keeps the OS images in the data directory, [`fetch`] and `payload` download them from
//! where `source` says, and `inspect` verifies what arrived. [`compose`] turns one OS image and
//! the contents of an infra-env into a view that costs a few kilobytes; [`agents`] are what it
//! carries, [`mirrors`] the registries its hosts use.
//!
//! This crate knows no server: `muster serve` serves the views, `muster os-images` manages the
//! folder.

pub mod agents;
pub mod base;
pub mod compose;
pub mod fetch;
pub mod inside_program;
mod inspect;
pub mod mirrors;
mod part;
mod payload;
mod source;

pub use inspect::{InspectError, inspect, inspect_all};

use muster_catalog::{CatalogError, OsImage, OsImages};
use muster_config::Config;

/// Whether two entries of the catalogue are made from one file.
#[must_use]
pub fn same_file(one: &OsImage, other: &OsImage) -> bool {
    base::stem(one) == base::stem(other)
}

/// The OS images that a configuration lists: its own list, or the embedded one.
///
/// # Errors
/// The configured list is invalid.
pub fn catalogue(config: &Config) -> Result<OsImages, CatalogError> {
    match &config.catalog.os_images {
        Some(list) => OsImages::from_json(&serde_json::to_string(&list.0).unwrap_or_default()),
        None => Ok(OsImages::embedded()),
    }
}
