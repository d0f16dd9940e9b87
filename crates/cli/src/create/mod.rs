//! `muster create …`: files a cluster is installed from.

mod assets;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use muster_assets::workdir;

use crate::output;

/// What to create.
#[derive(Debug, Args)]
pub struct Create {
    #[command(subcommand)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum Target {
    /// Write the manifests that an install-config.yaml means, to look at and to change.
    Manifests(assets::Assets),
    /// Write the Ignition configs of the bootstrap host and of each role, and the log-ins.
    IgnitionConfigs(assets::Assets),
    /// Write the Ignition config of a single node that installs itself from a live ISO.
    SingleNodeIgnitionConfig(assets::Assets),
}

/// Creates it.
pub fn run(create: Create) -> ExitCode {
    match create.target {
        Target::Manifests(wanted) => {
            output::report(assets::create(&wanted, workdir::Target::Manifests))
        }
        Target::IgnitionConfigs(wanted) => {
            output::report(assets::create(&wanted, workdir::Target::IgnitionConfigs))
        }
        Target::SingleNodeIgnitionConfig(wanted) => output::report(assets::create(
            &wanted,
            workdir::Target::SingleNodeIgnitionConfig,
        )),
    }
}
