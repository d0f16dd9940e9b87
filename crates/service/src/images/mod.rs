//! Boot images: the OS images they are made from, what is made of them, and how it is served.
//!
//! [`base`] keeps the OS images, [`fetch`] and [`payload`] bring them from where [`source`] says, and [`demand`]
//! says when. [`make`] turns one and an infra-env into a view that costs a few kilobytes;
//! [`serve`] answers requests ([`route`]) with parts of such views ([`ranges`], [`send`]), or
//! tells what is [`absent`]. `muster os-images` uses the first two.

mod absent;
pub mod agents;
pub mod base;
mod demand;
pub mod fetch;
mod inspect;
mod make;
mod mirrors;
mod part;
mod payload;
mod ranges;
pub mod route;
mod send;
pub mod serve;
mod source;

pub(crate) use demand::{asked, needed};
pub use inspect::{inspect, inspect_all};
pub use mirrors::MirrorFiles;

use muster_catalog::{CatalogError, OsImages};
use muster_config::Config;
use tokio::sync::Semaphore;

/// What a running service needs to hand out boot images.
#[derive(Debug)]
pub struct Images {
    /// The OS images that are there.
    pub base: base::BaseImages,
    /// Fetches under way.
    pub demand: demand::Demand,
    /// The agents that go into images.
    pub agents: agents::Agents,
    /// Registries that stand in for others.
    pub mirrors: Option<MirrorFiles>,
    made: make::Made,
    makers: Semaphore,
}

/// Images made at once. It is work for processors and disks, not for crowds.
const MAKERS: usize = 4;

impl Images {
    /// Over the folder of OS images in the data directory, with the agents and mirrors that the
    /// configuration names.
    ///
    /// # Errors
    /// A file that the configuration names is not there or not usable.
    pub fn new(config: &Config) -> Result<Self, String> {
        Ok(Self {
            base: base::BaseImages::in_data_dir(&config.data_dir),
            agents: agents::Agents::find(config.images.agent_dir.as_deref()),
            mirrors: MirrorFiles::read(&config.images)?,
            demand: demand::Demand::default(),
            made: make::Made::default(),
            makers: Semaphore::new(MAKERS),
        })
    }
}

/// The OS images that a configuration knows of.
///
/// # Errors
/// When its list of them is faulty.
pub fn catalogue(config: &Config) -> Result<OsImages, CatalogError> {
    crate::catalog::Catalog::from_config(config).map(|catalog| catalog.os_images)
}
