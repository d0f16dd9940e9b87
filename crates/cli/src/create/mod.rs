//! `muster create …`: files a cluster is installed from.

mod ask;
mod install_config;
mod questions;
mod recipe;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::output;

pub use install_config::{Check, check};

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
}

/// Creates it.
pub fn run(create: Create) -> ExitCode {
    match create.target {
        Target::InstallConfig(wanted) => output::report(install_config::create(&wanted)),
    }
}
