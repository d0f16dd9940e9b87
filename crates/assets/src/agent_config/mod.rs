//! `agent-config.yaml`: the machines of an agent-based installation, read and judged.
//!
//! It is read the way of the [install-config](crate::install_config): [`load`] gives the typed
//! [`AgentConfig`], or everything that is wrong with the file at once.

mod rules;
#[rustfmt::skip]
mod schema;
mod types;

use crate::{
    findings::Report,
    install_config::InstallConfig,
    judging::Verdicts,
    schema::{read::read, walk::UnknownKeys},
};

pub use schema::DOCUMENT;
pub use types::{AgentConfig, Host, Interface, Metadata};

/// A good agent-config.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it says.
    pub config: AgentConfig,
    /// Warnings, if any.
    pub report: Report,
}

/// Reads a file called `name`, which belongs to a cluster if that is known.
///
/// # Errors
/// Everything that is wrong with it, warnings included.
pub fn load(name: &str, bytes: &[u8], cluster: Option<&InstallConfig>) -> Result<Loaded, Report> {
    let (mut config, sheet, draft): (AgentConfig, _, _) =
        read(&schema::DOCUMENT, name, bytes, UnknownKeys::Refuse, None)?;
    let mut verdicts = Verdicts::of("rules");
    let facts = rules::Facts {
        config: &config,
        cluster,
    };
    rules::run(&facts, &mut verdicts);
    let report = draft.finish(&sheet, verdicts);
    if report.has_errors() {
        return Err(report);
    }
    // The older name of the same form.
    "v1beta1".clone_into(&mut config.api_version);
    Ok(Loaded { config, report })
}

#[cfg(test)]
mod tests;
