//! Release payloads, seed images and base ISOs, read from container registries.
//!
//! No `oc`, no `podman`: a [`Client`] finds an [`Image`] wherever mirrors, pull secret and trust
//! say, and takes single files out of its layers while they stream by. Everything is verified by
//! digest, transfers that break go on where they broke, and nothing half done is ever shown.
//! A [`Release`] knows the components of an OpenShift or OKD payload, hands out its tools and the
//! base ISO, and runs its own [`Installer`]; [`Seed`] reads what a seed image holds.

mod auth;
mod blob;
mod cache;
mod client;
mod credentials;
mod error;
mod image;
mod installer;
mod layer;
mod manifest;
mod mirrors;
mod output;
mod payload;
mod progress;
mod reference;
mod search;
mod seed;
mod settings;
mod tools;
mod transport;
mod visit;

use std::{fs::File, io::Read, path::Path};

pub use cache::Cache;
pub use client::Client;
pub use credentials::PullSecret;
pub use error::{Error, Failure, Fault};
pub use image::{Image, Platform};
pub use installer::{Files, Installer, InstallerError, Run};
pub use manifest::ImageConfig;
pub use mirrors::{Fallback, Location, Mirror, Mirrors, Rule, Serves, Source};
pub use output::Written;
pub use payload::{BaseIso, Component, Release};
pub use progress::Progress;
pub use reference::{Digest, ImageRef, Repository};
pub use seed::{Seed, SeedCluster};
pub use settings::{Limits, Proxies, RetryPolicy, Settings};
pub use tools::{TOOLS, Tool};
pub use visit::Visitor;

/// A text file of a size that makes sense.
fn bounded_text(path: &Path, limit: u64) -> Result<String, Error> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_string(&mut text))
        .map_err(Error::file(path))?;
    if text.len() as u64 > limit {
        return Err(Error::setting(
            path.display().to_string(),
            format!("it is larger than {limit} bytes, this cannot be the right file"),
        ));
    }
    Ok(text)
}
