//! Ignition for every machine: what each role fetches, and what the bootstrap host is.

mod assemble;
mod content;
mod pointers;

use thiserror::Error;

pub use self::assemble::{Kind, bootstrap};
pub use self::pointers::{PointerError, Pointers};
use crate::manifests::overrides::ManifestError;
use crate::pki::PkiError;

/// Version of the specification that every supported release reads.
pub const VERSION: muster_ignition::Version = muster_ignition::Version::V3_2;

/// Why there is no Ignition.
#[derive(Debug, Error)]
pub enum IgnitionError {
    /// Keys or certificates.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// Manifests.
    #[error(transparent)]
    Manifests(#[from] ManifestError),
    /// The user's pointer config.
    #[error(transparent)]
    Pointer(#[from] PointerError),
    /// What we put together is refused; names the fault.
    #[error("the config for {0} would be refused by Ignition: {1}")]
    Config(&'static str, muster_ignition::Faults),
    /// One node that installs itself needs to know where.
    #[error(
        "single-node-ignition-config needs controlPlane.replicas: 1 and a disk in \
         bootstrapInPlace.installationDisk"
    )]
    NotInPlace,
}
