//! Why an infra-env gets no discovery config.

use muster_ignition::Faults;

use super::size::{LARGEST_CONFIG, LARGEST_RAMDISK};
use crate::static_network::NetworkFault;

/// What keeps the parts of a boot image from being made.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryFault {
    /// The stored pull secret cannot be extended.
    #[error("the stored pull secret {0}; set it again")]
    PullSecret(&'static str),
    /// A static network.
    #[error(transparent)]
    Network(#[from] NetworkFault),
    /// Ignition would refuse the config; mostly because of what the override of the user says.
    #[error("{0}")]
    Config(#[from] Faults),
    /// More than a host can hold.
    #[error(
        "the discovery config is {0} bytes long and a host can take {LARGEST_CONFIG}; \
         shorten ignition_config_override or static_network_config"
    )]
    ConfigTooLarge(usize),
    /// More than a boot image can carry.
    #[error(
        "static_network_config is {0} bytes when packed and a boot image can take \
         {LARGEST_RAMDISK}; split the hosts over several infra-envs"
    )]
    NetworksTooLarge(usize),
    /// A part cannot be packed.
    #[error(transparent)]
    Packing(#[from] muster_image::Error),
}
