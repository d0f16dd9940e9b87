//! `install-config.yaml`: read, converted, filled in, validated, written back.
//!
//! ```text
//! bytes ── spanned_yaml ── schema::walk ── InstallConfig ── convert ── defaults ── rules
//!          where it is     right form      typed           old spelling  what is    what must
//!                                                                        left out   hold
//! ```
//!
//! [`load`] does all of it. It gives a [`Loaded`] with the typed [`InstallConfig`] (fields are
//! named as in the file, see [`types`]) and warnings, or a [`Report`] with everything that is
//! wrong at once, each with line, column, rule and fix. [`InstallConfig`] has what consumers
//! ask for: [`InstallConfig::cluster_domain`], [`InstallConfig::control_plane_replicas`],
//! [`Platform::name`](types::Platform::name) and so on; after loading `networking`,
//! `control_plane`, the platform and every default are there. [`to_yaml`] writes the effective
//! config in the key order of the reference; [`InstallConfig::redacted`] is what goes into the
//! cluster.
//!
//! Nothing here looks around: what depends on the machine, the release or chance comes in as
//! [`Environment`].

mod convert;
mod defaults;
mod draft;
mod environment;
mod render;
pub(crate) mod rules;
pub mod schema;
pub mod types;

use crate::{findings::Report, schema::read::read};

pub use crate::schema::walk::UnknownKeys;
pub use draft::Draft;
pub use environment::{Environment, FipsHost, Given, Method};
pub use render::to_yaml;
pub use rules::{RULES, Rule};
pub use schema::DOCUMENT;
pub use types::InstallConfig;

/// A good install-config.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Converted and with every default filled in.
    pub config: InstallConfig,
    /// Converted, without defaults: what the user wrote.
    pub written: InstallConfig,
    /// Warnings, if any.
    pub report: Report,
}

/// Reads a file called `name`.
///
/// # Errors
/// Everything that is wrong with it, warnings included.
pub fn load(name: &str, bytes: &[u8], around: &mut Environment<'_>) -> Result<Loaded, Report> {
    let Given {
        unknown_keys,
        release,
        ..
    } = around.given;
    let (config, sheet, draft) = read(&schema::DOCUMENT, name, bytes, unknown_keys, release)?;
    let mut validator = rules::Validator::new(config, sheet);
    convert::convert(&mut validator);
    let written = validator.config.clone();
    defaults::fill_in(&mut validator, around);
    rules::run(&mut validator, around.given);
    let rules::Validator {
        mut config,
        diagnostics,
        sheet,
    } = validator;
    defaults::arrange(&mut config);
    let report = draft.finish(&sheet, diagnostics);
    if report.has_errors() {
        Err(report)
    } else {
        Ok(Loaded {
            config,
            written,
            report,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
