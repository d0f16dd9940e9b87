//! Boot images of infra-envs.
//!
//! `muster_boot_images` keeps the OS images and composes boot images from them. Here is when an
//! OS image is downloaded ([`demand`]), and what goes into the image of an infra-env
//! ([`compose`]).

pub mod compose;
pub mod demand;

pub use demand::{Asker, asked, needed};

use muster_boot_images::{
    agents::Agents,
    base::BaseImages,
    compose::Composed,
    mirrors::{MirrorError, MirrorFiles},
};
use muster_config::Config;
use tokio::sync::Semaphore;

/// What a running service needs to hand out boot images.
#[derive(Debug)]
pub struct Images {
    /// The OS images that are there.
    pub base: BaseImages,
    /// Fetches under way.
    pub demand: demand::Demand,
    /// The agents that go into images.
    pub agents: Agents,
    /// Registries that stand in for others.
    pub mirrors: Option<MirrorFiles>,
    composed: Composed,
    /// Turns at composing images.
    pub makers: Semaphore,
}

/// Images composed at once: it takes processors and disks.
const MAKERS: usize = 4;

impl Images {
    /// Over the folder of OS images in the data directory, with the agents and mirrors that the
    /// configuration names.
    ///
    /// # Errors
    /// The files of the mirrors cannot be used.
    pub fn new(config: &Config) -> Result<Self, MirrorError> {
        let base = BaseImages::in_data_dir(&config.data_dir);
        base.remove_leftovers();
        Ok(Self {
            base,
            agents: Agents::find(config.images.agent_dir.as_deref()),
            mirrors: MirrorFiles::read(&config.images)?,
            demand: demand::Demand::default(),
            composed: Composed::default(),
            makers: Semaphore::new(MAKERS),
        })
    }
}
