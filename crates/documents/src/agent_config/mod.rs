//! `agent-config.yaml`: the machines of an agent-based installation, read and validated.
//!
//! It is read the way of the [install-config](crate::install_config): [`load`] gives the typed
//! [`AgentConfig`], or everything that is wrong with the file at once.

mod rules;
#[rustfmt::skip]
mod schema;
mod types;

use std::fmt;

use crate::{
    findings::Report,
    install_config::InstallConfig,
    schema::{read::read, walk::UnknownKeys},
    validation::{Diagnostics, NetworkCheck},
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

/// What the file is validated against besides itself.
pub struct Around<'a> {
    /// The cluster it belongs to, if that is known.
    pub cluster: Option<&'a InstallConfig>,
    /// What nmstate says about a network and the names and addresses of its cards.
    pub network_faults: NetworkCheck<'a>,
    /// What the file is for.
    pub purpose: Purpose,
}

/// What an agent-config is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// The image of a cluster.
    #[default]
    Cluster,
    /// An image whose cluster is not known yet: it knows the rendezvous address at most.
    Unconfigured,
}

impl fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Around")
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

/// Reads a file called `name`, which belongs to a cluster if that is known. Networks are taken as
/// they are.
///
/// # Errors
/// Everything that is wrong with it, warnings included.
pub fn load(name: &str, bytes: &[u8], cluster: Option<&InstallConfig>) -> Result<Loaded, Report> {
    let around = Around {
        cluster,
        network_faults: &|_, _| Vec::new(),
        purpose: Purpose::Cluster,
    };
    load_with(name, bytes, &around)
}

/// Reads a file called `name`.
///
/// # Errors
/// Everything that is wrong with it, warnings included.
pub fn load_with(name: &str, bytes: &[u8], around: &Around<'_>) -> Result<Loaded, Report> {
    let (mut config, sheet, draft): (AgentConfig, _, _) =
        read(&schema::DOCUMENT, name, bytes, UnknownKeys::Refuse, None)?;
    let mut diagnostics = Diagnostics::of("rules");
    let facts = rules::Facts {
        config: &config,
        cluster: around.cluster,
        network_faults: around.network_faults,
        purpose: around.purpose,
    };
    rules::run(&facts, &mut diagnostics);
    let report = draft.finish(&sheet, diagnostics);
    if report.has_errors() {
        return Err(report);
    }
    // The older name of the same form.
    "v1beta1".clone_into(&mut config.api_version);
    Ok(Loaded { config, report })
}

#[cfg(test)]
mod tests;
