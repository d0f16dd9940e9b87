//! `muster release`: looking into release payloads and taking things out of them.
//!
//! Nothing but the network is needed: no `oc`, no `podman`, no storage of containers.

pub mod access;
mod meter;
mod show;
mod take;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use muster_catalog::Arch;
use muster_release::ImageRef;

use crate::output;
use access::Access;

/// Look into a release payload, or take files, tools and the base ISO out of it.
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
        /// As JSON, with everything.
        #[arg(long)]
        json: bool,
    },
    /// The image of one component.
    ImageFor {
        #[command(flatten)]
        which: Which,
        /// Its name, such as machine-os-images.
        component: String,
    },
    /// Take a tool, a file or the manifests out of a release.
    Extract(take::Extract),
    /// Take the base live ISO of CoreOS out of a release.
    Iso(take::BaseIso),
    /// What a seed image for image-based installation holds.
    Seed {
        /// The seed image.
        image: ImageRef,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Which release.
#[derive(Debug, Args)]
struct Which {
    /// The release image, registry/path@sha256:… or registry/path:tag
    release: ImageRef,
    /// x86_64, aarch64, ppc64le or s390x [default: that of the release, or of this machine]
    #[arg(long)]
    arch: Option<Arch>,
}

/// What a command prints in the end.
struct Output {
    text: String,
    json: serde_json::Value,
}

/// Where extracted things go.
#[derive(Debug, Args)]
struct Destination {
    /// File or folder to write
    #[arg(long, value_name = "PATH")]
    to: PathBuf,
    /// Print what was written as JSON.
    #[arg(long)]
    json: bool,
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
    let (printed, json) = runtime.block_on(async {
        match command.command {
            Command::Info {
                which,
                pullspecs,
                json,
            } => (show::info(&client, &which, pullspecs).await, json),
            Command::ImageFor { which, component } => {
                (show::image_for(&client, &which, &component).await, false)
            }
            Command::Extract(extract) => {
                let json = extract.destination.json;
                (extract.run(&client).await, json)
            }
            Command::Iso(iso) => {
                let json = iso.destination.json;
                (iso.run(&client).await, json)
            }
            Command::Seed { image, json } => (show::seed(&client, &image).await, json),
        }
    });
    match printed {
        Ok(printed) if json => output::json(&printed.json),
        Ok(printed) => output::text(&printed.text),
        Err(error) => output::failure(&error),
    }
}
