//! How much an infra-env puts into its boot images, known when it is saved.

use std::fmt;

use muster_ignition::Config;
use muster_image::Customization;
use muster_model::InfraEnv;

use super::{DiscoveryFault, ramdisk};

/// Room that live images keep free. Muster's own images grow where that is not enough; an image
/// service of the reference refuses more.
pub const EMBED_AREA: usize = 256 * 1024;

/// Largest config: a live system holds it in memory several times before it is done with it.
pub const LARGEST_CONFIG: usize = 16 * 1024 * 1024;

/// Largest archive of networks and proxy, packed.
pub const LARGEST_RAMDISK: usize = 16 * 1024 * 1024;

/// Bytes by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The discovery config as text.
    pub config: usize,
    /// The same as it lies in an image.
    pub config_packed: usize,
    /// Network and proxy for the initrd, packed; 0 if there is nothing to carry.
    pub ramdisk: usize,
    /// The agent, packed; 0 if hosts pull it.
    pub agent: usize,
}

impl Sizes {
    /// Measures what would be made.
    ///
    /// # Errors
    /// Something is larger than can work, or damaged.
    pub fn measure(
        infra_env: &InfraEnv,
        config: &Config,
        default_delay: u32,
        agent: usize,
    ) -> Result<Self, DiscoveryFault> {
        let text = config.to_text();
        if text.len() > LARGEST_CONFIG {
            return Err(DiscoveryFault::ConfigTooLarge(text.len()));
        }
        let custom = Customization {
            ignition: Some(text.clone().into()),
            ..Customization::default()
        };
        let payload = custom.payload()?;
        let ramdisk = ramdisk(infra_env, default_delay)?.map_or(0, |bytes| bytes.len());
        if ramdisk > LARGEST_RAMDISK {
            return Err(DiscoveryFault::NetworksTooLarge(ramdisk));
        }
        Ok(Self {
            config: text.len(),
            config_packed: usize::try_from(payload.len()).unwrap_or(usize::MAX),
            ramdisk,
            agent,
        })
    }

    /// All that is added to an image.
    #[must_use]
    pub fn total(&self) -> usize {
        self.config_packed + self.ramdisk + self.agent
    }

    /// Whether an image service of the reference could embed the config.
    #[must_use]
    pub fn fits_embed_area(&self) -> bool {
        self.config_packed <= EMBED_AREA
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes are added to it: config {}",
            self.total(),
            self.config_packed
        )?;
        if self.ramdisk > 0 {
            write!(f, ", network and proxy {}", self.ramdisk)?;
        }
        if self.agent > 0 {
            write!(f, ", agent {}", self.agent)?;
        }
        Ok(())
    }
}
