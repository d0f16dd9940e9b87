//! `muster create …`: files a cluster is installed from.

pub mod ask;
pub mod assets;
mod by_release;
pub mod directory;
mod install_config;
pub mod native;
mod questions;
pub mod recipe;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use muster_assets::workdir;

use crate::output;

#[cfg(test)]
pub use install_config::environment;
pub use install_config::{Check, FILE, check, given, validate};

/// What to create.
#[derive(Debug, Args)]
pub struct Create {
    #[command(subcommand)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum Target {
    /// Write an install-config.yaml, asking for what no flag says.
    InstallConfig(Box<install_config::Wanted>),
    /// Write the manifests generated from install-config.yaml, for review and changes.
    Manifests(Box<assets::Assets>),
    /// Write the Ignition configs of the bootstrap host and of each role, and the credentials.
    IgnitionConfigs(Box<assets::Assets>),
    /// Write the Ignition config of a single node that installs itself from a live ISO.
    SingleNodeIgnitionConfig(Box<assets::Assets>),
}

/// Creates it.
pub fn run(create: Create) -> ExitCode {
    let (wanted, target) = match create.target {
        Target::InstallConfig(wanted) => {
            return output::print(install_config::create(&wanted), wanted.output);
        }
        Target::Manifests(wanted) => (wanted, workdir::Target::Manifests),
        Target::IgnitionConfigs(wanted) => (wanted, workdir::Target::IgnitionConfigs),
        Target::SingleNodeIgnitionConfig(wanted) => {
            (wanted, workdir::Target::SingleNodeIgnitionConfig)
        }
    };
    output::print(assets::create(&wanted, target), wanted.output)
}
