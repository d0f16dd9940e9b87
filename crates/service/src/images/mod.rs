//! Boot images: the OS images they are made from, what is made of them, and how it is served.
//!
//! [`base`] keeps the OS images, [`fetch`] brings them from where [`source`] says, and [`demand`]
//! says when. [`make`] turns one and an infra-env into a view that costs a few kilobytes;
//! [`serve`] answers requests ([`route`]) with parts of such views ([`ranges`], [`send`]), or
//! tells what is [`absent`]. `muster os-images` uses the first two.

mod absent;
pub mod base;
mod demand;
pub mod fetch;
mod inspect;
mod make;
mod part;
mod ranges;
pub mod route;
mod send;
pub mod serve;
mod source;

pub(crate) use demand::{asked, needed};
pub use inspect::{inspect, inspect_all};

use std::path::Path;

use muster_catalog::{CatalogError, OsImages};
use muster_config::Config;

/// What a running service needs to hand out boot images.
#[derive(Debug)]
pub struct Images {
    /// The OS images that are there.
    pub base: base::BaseImages,
    /// Fetches under way.
    pub demand: demand::Demand,
    made: make::Made,
}

impl Images {
    /// Over the folder of OS images in the data directory.
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self {
            base: base::BaseImages::in_data_dir(data_dir),
            demand: demand::Demand::default(),
            made: make::Made::default(),
        }
    }
}

/// The OS images that a configuration knows of.
///
/// # Errors
/// When its list of them is faulty.
pub fn catalogue(config: &Config) -> Result<OsImages, CatalogError> {
    crate::catalog::Catalog::from_config(config).map(|catalog| catalog.os_images)
}
