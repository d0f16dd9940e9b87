//! `muster live-iso`: the service as a live image.
//!
//! A machine boots it and is the service; nothing is installed. The image is that of an OS with the program
//! and the agents in it ([`live_programs`]), and an Ignition config that brings the settings and the units:
//! [`config`] makes it, without I/O. The commands that these units run are in [`inside`].

mod config;
mod inside;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use muster_assets::{discovery::agent, live_programs};
use muster_boot_images::{agents, inside_program};
use muster_ignition::Config;
use muster_image::initrd::IGNITION;
use muster_model::Arch;
use muster_release::{ImageRef, Release};

use crate::{
    iso::{self, Destination},
    os_images, output,
    release::access::Access,
};
use config::{Data, Parts};

/// Of the two systems that some releases carry, the one that all have.
const RHEL: u32 = 9;

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
    /// Run the service and power off when its work is done (used by its units).
    #[command(hide = true)]
    Serve,
}

#[derive(Debug, Args)]
struct Create {
    /// The CoreOS live ISO [default: that of the recommended release, or of --medium-is, fetched into
    /// the user's cache]
    #[arg(long, value_name = "ISO")]
    base: Option<PathBuf>,
    /// Take the live ISO out of this release instead
    #[arg(long, value_name = "IMAGE", conflicts_with = "base")]
    release: Option<ImageRef>,
    /// Architecture of the machine, without --base [default: that of the release, or of this machine]
    #[arg(long, conflicts_with = "base")]
    arch: Option<Arch>,
    /// Settings of the service: a muster.toml, as `muster serve --config` takes it
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Public SSH key of the user core
    #[arg(long, value_name = "FILE")]
    ssh_key: Option<PathBuf>,
    /// Pull secret of clusters whose owners give none
    #[arg(long, value_name = "FILE")]
    cluster_pull_secret: Option<PathBuf>,
    /// Ignition config to lay over that of the image: networks, users, files
    #[arg(long, value_name = "FILE")]
    ignition: Option<PathBuf>,
    /// Keep data on the file system with this label; without it, in memory until power-off. The
    /// file system must exist: nothing is ever formatted
    #[arg(long, value_name = "LABEL")]
    data_label: Option<String>,
    /// Power off when every cluster is installed and its kubeconfig or password was downloaded
    #[arg(long, conflicts_with = "data_label")]
    one_shot: bool,
    /// OpenShift version whose OS image the base is: machines are then booted from the same medium;
    /// a base that is fetched is known to be one
    #[arg(long, value_name = "VERSION")]
    medium_is: Option<String>,
    /// Another static muster than this program, for example of another architecture
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    #[command(flatten)]
    to: Destination,
    #[command(flatten)]
    access: Access,
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
        Command::Serve => inside::serve(),
    }
}

fn make(create: &Create) -> anyhow::Result<()> {
    let program = match &create.program {
        Some(path) => read(path)?,
        None => read(&std::env::current_exe()?)?,
    };
    // Lives until the image is written.
    let scratch = tempfile::tempdir().context("making a folder for the live ISO")?;
    let (base, fetched) = base(create, scratch.path())?;
    let arch = iso::architecture(&base)?;
    if let Err(why) = agent::check(&program, arch) {
        bail!(
            "this muster cannot run on the image ({why}); name a static one of {arch} with --program"
        );
    }
    let settings = text(create.settings.as_deref())?.unwrap_or_default();
    let keys = text(create.ssh_key.as_deref())?.unwrap_or_default();
    let pull_secret = text(create.cluster_pull_secret.as_deref())?;
    let over = match text(create.ignition.as_deref())? {
        Some(config) => Some(Config::read(&config).context("the config of --ignition")?),
        None => None,
    };
    let data = match &create.data_label {
        Some(label) => Data::Labelled(config::label(label)?),
        None if create.one_shot => Data::OneShot,
        None => Data::Memory,
    };
    let parts = Parts {
        settings: &settings,
        ssh_keys: &keys,
        pull_secret: pull_secret.as_deref(),
        data,
        medium_is: create.medium_is.as_deref().or(fetched.as_deref()),
        over,
    };
    let config = config::ignition(parts)?;
    // The agents are programs of their own in the image.
    let mut programs = vec![(
        config::PROGRAM.to_owned(),
        inside_program::without(&program).to_vec(),
    )];
    programs.extend(own_agents()?);
    let programs: Vec<(&str, &[u8])> = programs
        .iter()
        .map(|(path, program)| (path.as_str(), program.as_slice()))
        .collect();
    iso::embed(&base, &create.to, |archive| {
        archive.set(IGNITION, config);
        Ok(live_programs::add(archive, &programs, &[])?)
    })
}

/// The live ISO: the file that was named, out of the release that was named, or that of a version of
/// the catalogue, which is returned too.
fn base(create: &Create, scratch: &Path) -> anyhow::Result<(PathBuf, Option<String>)> {
    if let Some(base) = &create.base {
        return Ok((base.clone(), None));
    }
    if create.to.in_place {
        bail!("only an ISO named by --base can be changed in place; use -o");
    }
    let Some(release) = &create.release else {
        let arch = create.arch.unwrap_or(match std::env::consts::ARCH {
            "aarch64" => Arch::Arm64,
            _ => Arch::X86_64,
        });
        let version = os_images::version_of(create.medium_is.as_deref(), arch)?;
        let path = os_images::of_version(&version, arch);
        let path = path.with_context(|| {
            format!("the live ISO of version {version}; --base names a file instead")
        })?;
        return Ok((path, Some(version)));
    };
    let client = create.access.client(None)?;
    let to = scratch.join("live.iso");
    tokio::runtime::Runtime::new()?.block_on(async {
        let opened = Release::open(&client, release, create.arch).await?;
        let arch = create.arch.unwrap_or_else(|| opened.arch());
        opened.extract_iso(arch, RHEL, &to).await
    })?;
    Ok((to, None))
}

fn text(path: Option<&Path>) -> anyhow::Result<Option<String>> {
    path.map(|path| fs::read_to_string(path).with_context(|| path.display().to_string()))
        .transpose()
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

/// The agents beside or inside this program, by the path where the service in the image finds them.
fn own_agents() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let named = std::env::var_os("MUSTER_IMAGES_AGENT_DIR").map(PathBuf::from);
    let found = agents::executables(named.as_deref()).context("reading the agents")?;
    let found: Vec<(String, Vec<u8>)> = found
        .into_iter()
        .map(|(agent, arch)| (config::agent_path(arch), agent))
        .collect();
    if found.is_empty() {
        bail!(
            "there is no agent for the machines that will boot from the service: put muster-agent into \
             agents/<architecture> beside this program, or set MUSTER_IMAGES_AGENT_DIR"
        );
    }
    Ok(found)
}
