//! `image-based-installation-config.yaml`: the factory side of an image-based installation, read
//! and validated.
//!
//! It is read the way of the [install-config](crate::install_config): [`load`] returns the typed
//! [`InstallationConfig`], or everything that is wrong with the file at once.

mod rules;
#[rustfmt::skip]
mod schema;
pub mod types;

use crate::{
    findings::Report,
    schema::{read::read, walk::UnknownKeys},
    validation::Diagnostics,
};

pub use schema::DOCUMENT;
pub use types::InstallationConfig;

/// Name of the file.
pub const FILE: &str = "image-based-installation-config.yaml";

/// A commented sample; the pull secret must be replaced before it can be used.
pub const TEMPLATE: &str = include_str!("template.yaml");

/// What other crates know about parts of the file. Each returns what is wrong with a text.
#[derive(Clone, Copy)]
pub struct Lookups<'a> {
    /// Validates an nmstate document.
    pub network: &'a dyn Fn(&str) -> Result<(), String>,
    /// Validates an Ignition override.
    pub ignition: &'a dyn Fn(&str) -> Result<(), String>,
}

/// A valid file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it says, with defaults.
    pub config: InstallationConfig,
    /// Warnings, if any.
    pub report: Report,
}

/// Reads a file called `name`.
///
/// # Errors
/// Everything that is wrong with it, warnings included.
pub fn load(name: &str, bytes: &[u8], lookups: Lookups<'_>) -> Result<Loaded, Report> {
    let (config, sheet, draft): (InstallationConfig, _, _) =
        read(&schema::DOCUMENT, name, bytes, UnknownKeys::Refuse, None)?;
    let mut diagnostics = Diagnostics::of("rules");
    let facts = rules::Facts {
        config: &config,
        sheet: &sheet,
        lookups,
    };
    rules::run(&facts, &mut diagnostics);
    let report = draft.finish(&sheet, diagnostics);
    if report.has_errors() {
        Err(report)
    } else {
        Ok(Loaded { config, report })
    }
}

impl std::fmt::Debug for Lookups<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lookups")
    }
}

#[cfg(test)]
mod tests;
