//! `muster live-iso`: the service as a live image.
//!
//! A machine boots it and is the service; nothing is installed. The image is that of an OS with an
//! Ignition config in it that brings the program, the agents, the settings and the units: [`config`]
//! makes it, without I/O. The commands that these units run are in [`inside`].

mod config;
mod inside;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use muster_assets::discovery::agent;

use crate::{
    iso::{self, Destination},
    output,
};
use config::{Data, Parts};

/// Make an image that boots the service.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct LiveIso {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make the image from a CoreOS live ISO of any release.
    Create(Box<Create>),
    /// Prepare a booted image: address, OS image (used by its units).
    #[command(hide = true)]
    Prepare,
    /// Add the booted medium as OS image (used by its units).
    #[command(hide = true)]
    Medium,
}

#[derive(Debug, Args)]
struct Create {
    /// The CoreOS live ISO
    #[arg(long, value_name = "ISO")]
    base: PathBuf,
    /// Settings of the service: a muster.toml, as `muster serve --config` takes it
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Public SSH key of the user core
    #[arg(long, value_name = "FILE")]
    ssh_key: Option<PathBuf>,
    /// Keep data on the file system with this label; without it, in memory until power-off. The
    /// file system must exist: nothing is ever formatted
    #[arg(long, value_name = "LABEL")]
    data_label: Option<String>,
    /// OpenShift version whose OS image the base is: machines are then booted from the same medium
    #[arg(long, value_name = "VERSION")]
    medium_is: Option<String>,
    /// Another static muster than this program, for example of another architecture
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    #[command(flatten)]
    to: Destination,
}

/// Makes an image, or does the work of a unit in it.
pub fn run(live_iso: LiveIso) -> ExitCode {
    match live_iso.command {
        Command::Create(create) => match make(&create) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => output::failure(&error),
        },
        Command::Prepare => output::report(inside::prepare()),
        Command::Medium => output::report(inside::medium()),
    }
}

fn make(create: &Create) -> anyhow::Result<()> {
    let program = match &create.program {
        Some(path) => read(path)?,
        None => read(&std::env::current_exe()?)?,
    };
    let architecture = iso::architecture(&create.base)?;
    if let Err(why) = agent::check(&program, &architecture) {
        bail!(
            "this muster cannot run on the image ({why}); name a static one of {architecture} with --program"
        );
    }
    let settings = match &create.settings {
        Some(path) => fs::read_to_string(path).with_context(|| path.display().to_string())?,
        None => String::new(),
    };
    let keys = match &create.ssh_key {
        Some(path) => fs::read_to_string(path).with_context(|| path.display().to_string())?,
        None => String::new(),
    };
    let data = match &create.data_label {
        Some(label) => Data::Labelled(config::label(label)?),
        None => Data::Memory,
    };
    let parts = Parts {
        program: &program,
        agents: agents()?,
        settings: &settings,
        ssh_keys: &keys,
        data,
        medium_is: create.medium_is.as_deref(),
    };
    let config = config::ignition(&parts)?;
    iso::embed(&create.base, config.into_bytes(), &create.to)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

/// The agents beside this program, by architecture.
fn agents() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    let named = std::env::var_os("MUSTER_IMAGES_AGENT_DIR").map(PathBuf::from);
    for (path, architecture) in muster_boot_images::agents::executables(named.as_deref()) {
        found.push((architecture.to_owned(), read(&path)?));
    }
    if found.is_empty() {
        bail!(
            "there is no agent for the machines that will boot from the service: put muster-agent into \
             agents/<architecture> beside this program, or set MUSTER_IMAGES_AGENT_DIR"
        );
    }
    Ok(found)
}
