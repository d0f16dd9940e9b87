//! `image-based-config.yaml`: the site side of an image-based installation, read and validated.
//!
//! It stands beside an [install-config](crate::install_config), which says what the cluster is.
//! [`load`] returns the typed [`SiteConfig`], or everything that is wrong with the file at once.

mod rules;
#[rustfmt::skip]
mod schema;
pub mod types;

use crate::{
    findings::Report,
    install_config::InstallConfig,
    schema::{read::read, walk::UnknownKeys},
    validation::Diagnostics,
};

pub use rules::KIND;
pub use schema::DOCUMENT;
pub use types::SiteConfig;

/// Name of the file.
pub const FILE: &str = "image-based-config.yaml";

/// A commented sample.
pub const TEMPLATE: &str = include_str!("template.yaml");

/// A valid file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it says.
    pub config: SiteConfig,
    /// Warnings, if any.
    pub report: Report,
}

/// Reads a file called `name`, which belongs to a cluster if that is known. `network` returns what
/// is wrong with an nmstate document.
///
/// # Errors
/// Everything that is wrong with it, warnings included.
pub fn load(
    name: &str,
    bytes: &[u8],
    cluster: Option<&InstallConfig>,
    network: &dyn Fn(&str) -> Result<(), String>,
) -> Result<Loaded, Report> {
    let (config, sheet, draft): (SiteConfig, _, _) =
        read(&schema::DOCUMENT, name, bytes, UnknownKeys::Refuse, None)?;
    let mut diagnostics = Diagnostics::of("rules");
    let facts = rules::Facts {
        config: &config,
        cluster,
        network,
    };
    rules::run(&facts, &mut diagnostics);
    let report = draft.finish(&sheet, diagnostics);
    if report.has_errors() {
        Err(report)
    } else {
        Ok(Loaded { config, report })
    }
}

#[cfg(test)]
mod tests;
