//! `muster image-based …`: machines prepared from a seed image in a factory, configured at their site.

mod batch;
mod candidate;
mod config_image;
mod content;
mod directory;
mod image;
mod machines;
mod messages;
mod seed;
mod seeds;
mod serve;
mod templates;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};

pub use config_image::{Identity, identity};
use messages::Messages;

use crate::{
    agent::log::Level,
    output,
    wait_for::{self, WaitFor},
};

/// What was wrong with an install-config has an exit code of its own, as in the reference.
const BAD_INSTALL_CONFIG: u8 = 3;

/// Interrupted by a signal, as in the reference.
const INTERRUPTED: i32 = 8;

/// Prepare machines from a seed image, and configure them at their site.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct ImageBased {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create templates, the installation image of a factory, and configuration images of sites.
    #[command(arg_required_else_help = true)]
    Create {
        #[command(subcommand)]
        target: Box<Target>,
    },
    /// Follow the installation of a site until it has come so far.
    WaitFor(WaitFor),
    /// Serve configuration images over HTTP, so that management controllers can attach them.
    Serve(serve::Serve),
}

#[derive(Debug, Subcommand)]
enum Target {
    /// Write image-based-installation-config.yaml, a sample to be edited.
    ImageConfigTemplate(Directory),
    /// Create rhcos-ibi.iso, which installs a machine in a factory.
    Image(image::Image),
    /// Write image-based-config.yaml, a sample to be edited.
    ConfigTemplate(Directory),
    /// Create imagebasedconfig.iso, which configures a machine at its site.
    ConfigImage(config_image::ConfigImage),
    /// Create the configuration images of many sites at once.
    ConfigImages(batch::Batch),
    /// Check a running single-node cluster and write what turns it into a seed, or check a seed.
    Seed(seed::Seed),
}

/// Where files are read and written.
#[derive(Clone, Debug, Args)]
struct Directory {
    /// Directory of the files
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    shown: Shown,
}

/// Which messages are shown.
#[derive(Clone, Copy, Debug, Args)]
struct Shown {
    /// Level of messages to show; the log file of the directory gets all of them
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: Level,
}

impl Directory {
    fn messages(&self) -> Messages {
        Messages::open(&self.dir, self.shown.log_level)
    }
}

/// Why a command failed, as far as its exit code depends on it.
#[derive(Debug)]
enum Failure {
    /// The install-config cannot be used.
    InstallConfig(anyhow::Error),
    /// Anything else.
    Other(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl Failure {
    fn error(&self) -> &anyhow::Error {
        match self {
            Self::InstallConfig(error) | Self::Other(error) => error,
        }
    }

    fn into_error(self) -> anyhow::Error {
        match self {
            Self::InstallConfig(error) | Self::Other(error) => error,
        }
    }
}

/// Ends the process when it is interrupted; inputs are still there, and half-written files are gone.
fn end_when_interrupted() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || {
            if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                directory::discard_unfinished();
                std::process::exit(INTERRUPTED);
            }
        })?;
    Ok(())
}

/// Runs the command.
pub fn run(command: ImageBased) -> ExitCode {
    let target = match command.command {
        Command::WaitFor(wait) => return wait_for::run(wait, wait_for::Kind::ImageBased),
        Command::Serve(serve) => return serve::run(&serve),
        Command::Create { target } => *target,
    };
    if let Err(error) = end_when_interrupted() {
        return output::failure(&error);
    }
    let messages = match &target {
        Target::ImageConfigTemplate(at) | Target::ConfigTemplate(at) => at.messages(),
        Target::Image(image) => image.at.messages(),
        Target::ConfigImage(config) => config.at.messages(),
        Target::ConfigImages(batch) => batch.messages(),
        Target::Seed(seed) => seed.at.messages(),
    };
    let result = match target {
        Target::ImageConfigTemplate(at) => templates::factory(&at.dir, &messages),
        Target::ConfigTemplate(at) => templates::site(&at.dir, &messages),
        Target::Image(image) => image::create(&image, &messages).map_err(Failure::Other),
        Target::ConfigImage(config) => config_image::create(&config, &messages),
        Target::ConfigImages(batch) => return batch::run(&batch, &messages),
        Target::Seed(seed) => seed::create(&seed, &messages).map_err(Failure::Other),
    };
    match result {
        Ok(text) => {
            messages.ended(Level::Info, &text);
            output::text(&text)
        }
        Err(failure) => {
            messages.ended(Level::Error, &format!("{:#}", failure.error()));
            output::failure(failure.error());
            match failure {
                Failure::InstallConfig(_) => ExitCode::from(BAD_INSTALL_CONFIG),
                Failure::Other(_) => ExitCode::FAILURE,
            }
        }
    }
}
