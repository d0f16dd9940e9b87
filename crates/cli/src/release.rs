//! `muster release`: looking into release payloads and taking things out of them.
//!
//! Nothing but the network is needed: no `oc`, no `podman`, no storage of containers.

pub mod access;
mod meter;
mod show;
mod take;

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use clap::{Args, Subcommand};
use muster_model::Arch;
use muster_release::ImageRef;

use crate::{format, output};
use access::Access;

/// Inspect a release payload, or extract files, tools and the base ISO.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Release {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Version, architecture and components of a release.
    Info {
        #[command(flatten)]
        which: Which,
        /// With the image of every component.
        #[arg(long)]
        pullspecs: bool,
        #[command(flatten)]
        output: format::Output,
    },
    /// The image of one component.
    ImageFor {
        #[command(flatten)]
        which: Which,
        /// Its name, such as machine-os-images.
        component: String,
        #[command(flatten)]
        output: format::Output,
    },
    /// Extract a tool, a file or the manifests from a release.
    Extract(take::Extract),
    /// Extract the base live ISO of CoreOS from a release.
    Iso(take::BaseIso),
    /// Show the content of a seed image for image-based installation.
    Seed {
        /// The seed image.
        image: ImageRef,
        #[command(flatten)]
        output: format::Output,
    },
}

/// Which release.
#[derive(Debug, Args)]
struct Which {
    /// The release image, registry/path@sha256:… or registry/path:tag
    release: ImageRef,
    /// x86_64, arm64, ppc64le or s390x [default: that of the release, or of this machine]
    #[arg(long)]
    arch: Option<Arch>,
}

/// Where extracted things go.
#[derive(Debug, Args)]
struct Destination {
    /// File or folder to write; `-` is standard output
    #[arg(long, value_name = "PATH")]
    to: PathBuf,
    /// Overwrite a file that is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: format::Output,
}

impl Destination {
    /// Fails where something would be overwritten or a terminal be flooded.
    fn check(&self) -> anyhow::Result<()> {
        if self.is_stdout() {
            if std::io::stdout().is_terminal() {
                bail!(
                    "this does not belong on a terminal; redirect the output or give --to a file"
                );
            }
        } else if self.to.is_file() && !self.force {
            bail!(
                "{} exists already; --force overwrites it",
                self.to.display()
            );
        }
        Ok(())
    }

    fn is_stdout(&self) -> bool {
        self.to == Path::new("-")
    }
}

/// Runs the command.
pub fn run(command: Release) -> ExitCode {
    let client = match command.access.client(None) {
        Ok(client) => client,
        Err(error) => {
            output::failure(&error);
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return output::failure(&error.into()),
    };
    let (printed, format) = runtime.block_on(async {
        match command.command {
            Command::Info {
                which,
                pullspecs,
                output,
            } => (show::info(&client, &which, pullspecs).await, output),
            Command::ImageFor {
                which,
                component,
                output,
            } => (show::image_for(&client, &which, &component).await, output),
            Command::Extract(extract) => (extract.run(&client).await, extract.destination.output),
            Command::Iso(iso) => (iso.run(&client).await, iso.destination.output),
            Command::Seed { image, output } => (show::seed(&client, &image).await, output),
        }
    });
    output::print(printed, format)
}
