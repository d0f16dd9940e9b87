//! Real machines for tests: they boot the images that Muster makes, in software.
//!
//! [`Os`] is the operating system they run, built from Debian packages in the shape of CoreOS;
//! [`Service`] is `muster serve` on a wire, [`Registry`] a registry of container images beside it,
//! [`release`] what is installed from it, [`ControlPlane`] the API of the cluster it becomes. A story in `tests/stories` is made of these and of the machines and wires of `muster-vm`.
//! `docs/testbed.md` describes how to run them and how to read a failure.

pub mod control_plane;
pub mod os;
pub mod registry;
pub mod release;
pub mod service;

pub use control_plane::ControlPlane;
pub use os::Os;
pub use registry::Registry;
pub use service::Service;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use muster_vm::Evidence;

/// An empty folder for what a story leaves; kept until the story runs again.
///
/// # Errors
/// When it cannot be made.
pub fn evidence_of(story: &str) -> Result<Evidence> {
    let folder = workshop().join("stories").join(story);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    Evidence::at(&folder)
}

/// The folder of everything the test bed builds and leaves: `target/testbed`.
#[must_use]
pub fn workshop() -> PathBuf {
    target().join("testbed")
}

/// Puts a file into a folder of a story without copying it, where one file system holds both.
///
/// # Errors
/// When it can be neither linked nor copied.
pub fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    fs::hard_link(from, to)
        .or_else(|_| fs::copy(from, to).map(drop))
        .with_context(|| format!("cannot put {} to {}", from.display(), to.display()))
}

/// Cargo's folder of results.
#[must_use]
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")),
        PathBuf::from,
    )
}
