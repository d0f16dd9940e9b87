//! What can be installed on which hardware.
//!
//! The catalogue answers the questions that need no cluster: which release an
//! `openshift_version` means, which OS image boots it, how much hardware a role needs, which
//! operators exist and what they pull in, and which features go together. It is data plus
//! look-ups: no I/O, no clock, answers always in the same order.
//!
//! Start at [`ReleaseCatalog::resolve`] for versions, [`HardwareCatalog::lookup`] for
//! machines, [`Operator`] and [`Bundle`] for add-ons, and [`features`] for support levels.

mod names;

pub(crate) use muster_model::{Arch, OpenshiftVersion, Product, VersionError};

mod arch;
mod bundles;
mod control_plane;
mod entries;
mod error;
pub mod features;
mod hardware;
mod must_gather;
pub mod operators;
mod os_images;
mod release_listing;
mod releases;
mod requirement;

pub use arch::Platform;
pub use bundles::{Bundle, BundleError, BundleId, BundleSelection, SelectedOperator};
pub use control_plane::{HighAvailability, control_plane_counts};
pub use entries::EntryProblem;
pub use error::CatalogError;
pub use features::{Feature, FeatureQuery, SupportLevel};
pub use hardware::{HardwareCatalog, HardwareProfile, is_edge_worker};
pub use must_gather::MustGatherImages;
pub use names::UnknownName;
pub use operators::{BuiltinOperator, Operator};
pub use os_images::{OsImage, OsImages};
pub use release_listing::{ListedVersion, VersionFilter};
pub use releases::{ReleaseCatalog, ReleaseImage, ReleaseSupport};
pub use requirement::Requirement;

/// A pull secret without credentials, for products whose images are public: documents and nodes need
/// a well-formed one. Its one entry is for a registry that does not exist.
pub const PUBLIC_PULL_SECRET: &str = r#"{"auths":{"fake":{"auth":"aWQ6cGFzcwo="}}}"#;
