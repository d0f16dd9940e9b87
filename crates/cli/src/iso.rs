//! `muster iso`: looking into CoreOS live images and changing them.
//!
//! Changes go to a new file (`-o`) unless the image is to be changed itself (`--in-place`).

mod change;
pub mod deliver;
mod inspect;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::{Args, Subcommand};
use muster_image::{initrd::Archive, live::LiveImage};
use muster_model::Arch;

use crate::{format, output};
pub use deliver::Destination;

/// The architecture of a CoreOS live image, as agents call it.
pub fn architecture(path: &Path) -> anyhow::Result<Arch> {
    let live = LiveImage::of(&deliver::open(path)?)?;
    let found = live.and_then(|live| live.architecture);
    let found = found.with_context(|| format!("{} is not a CoreOS live image", path.display()))?;
    Ok(found.parse()?)
}

/// Changes what is embedded in a CoreOS live image.
pub fn embed(
    path: &Path,
    to: &Destination,
    change: impl FnOnce(&mut Archive) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    change::change_archive(path, to, |_, archive| change(archive))
}

/// Inspect or change a CoreOS live image.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Iso {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the kind of an image, how it boots and what is embedded in it.
    Info {
        /// The image.
        iso: PathBuf,
        #[command(flatten)]
        output: format::Output,
    },
    /// List files.
    Ls {
        /// The image.
        iso: PathBuf,
        /// Only what is below this path.
        path: Option<String>,
        /// With size and first sector.
        #[arg(short, long)]
        long: bool,
        #[command(flatten)]
        output: format::Output,
    },
    /// Print a file of the image.
    Cat {
        /// The image.
        iso: PathBuf,
        /// Path in the image.
        path: String,
    },
    /// Show, embed or remove the Ignition config of the live system.
    #[command(subcommand)]
    Ignition(Ignition),
    /// Show or change the kernel arguments of the live system.
    #[command(subcommand)]
    Kargs(Kargs),
    /// Show, embed or remove NetworkManager profiles of the live system.
    #[command(subcommand)]
    Network(Network),
    /// Copy files out of the image: all, or those below the paths given.
    Extract {
        /// The image.
        iso: PathBuf,
        /// Paths in the image, such as `images/pxeboot`.
        paths: Vec<String>,
        /// Directory to copy to; existing files are never overwritten.
        #[arg(
            short = 'C',
            long = "dir",
            alias = "directory",
            value_name = "DIR",
            default_value = "."
        )]
        directory: PathBuf,
    },
    /// Make the image that fetches its root file system while booting.
    Minimal {
        /// The full image.
        iso: PathBuf,
        /// Where machines find the root file system.
        #[arg(long, value_name = "URL")]
        rootfs_url: Option<String>,
        /// Also write the root file system to this new file.
        #[arg(long, value_name = "FILE")]
        output_rootfs: Option<PathBuf>,
        /// The minimal image; `-` is standard output.
        #[arg(short, long)]
        output: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum Ignition {
    /// Print the embedded config.
    Show {
        /// The image.
        iso: PathBuf,
    },
    /// Embed a config of any size.
    Embed {
        /// The image.
        iso: PathBuf,
        /// The config; standard input if absent.
        #[arg(short, long, value_name = "FILE")]
        ignition_file: Option<PathBuf>,
        /// Replace a config that is there.
        #[arg(short, long)]
        force: bool,
        #[command(flatten)]
        to: Destination,
    },
    /// Remove the embedded config.
    Remove {
        /// The image.
        iso: PathBuf,
        #[command(flatten)]
        to: Destination,
    },
}

#[derive(Debug, Subcommand)]
enum Kargs {
    /// Print the arguments.
    Show {
        /// The image.
        iso: PathBuf,
        /// Those published with the image, not the current ones.
        #[arg(short, long)]
        default: bool,
    },
    /// Add arguments at the end.
    Append(KargsChange),
    /// Remove arguments.
    Delete(KargsChange),
    /// Replace values; arguments have the form KEY=OLD=NEW.
    Replace(KargsChange),
    /// Restore the arguments as published.
    Reset {
        /// The image.
        iso: PathBuf,
        #[command(flatten)]
        to: Destination,
    },
}

#[derive(Debug, Args)]
struct KargsChange {
    /// The image.
    iso: PathBuf,
    /// Arguments, each on its own.
    #[arg(required = true, allow_hyphen_values = false)]
    arguments: Vec<String>,
    #[command(flatten)]
    to: Destination,
}

#[derive(Debug, Subcommand)]
enum Network {
    /// Print the embedded profiles.
    Show {
        /// The image.
        iso: PathBuf,
    },
    /// Embed profiles; existing ones are replaced.
    Embed {
        /// The image.
        iso: PathBuf,
        /// NetworkManager keyfile; may be given several times.
        #[arg(short, long, value_name = "FILE", required = true)]
        keyfile: Vec<PathBuf>,
        /// Replace profiles that are there.
        #[arg(short, long)]
        force: bool,
        #[command(flatten)]
        to: Destination,
    },
    /// Remove the embedded profiles.
    Remove {
        /// The image.
        iso: PathBuf,
        #[command(flatten)]
        to: Destination,
    },
}

/// Runs the command.
pub fn run(iso: Iso) -> ExitCode {
    let result = match iso.command {
        Command::Info { iso, output } if output.is_json() => {
            return match inspect::info(&iso) {
                Ok(info) => output::json(&info),
                Err(error) => output::failure(&error),
            };
        }
        Command::Info { iso, .. } => return output::report(inspect::summary(&iso)),
        Command::Ls {
            iso,
            path,
            long,
            output,
        } => return output::print(inspect::list(&iso, path.as_deref(), long), output),
        Command::Cat { iso, path } => inspect::cat(&iso, &path),
        Command::Extract {
            iso,
            paths,
            directory,
        } => inspect::extract(&iso, &paths, &directory),
        Command::Ignition(command) => ignition(command),
        Command::Kargs(command) => kargs(command),
        Command::Network(command) => network(command),
        Command::Minimal {
            iso,
            rootfs_url,
            output_rootfs,
            output,
        } => change::minimal(
            &iso,
            rootfs_url.as_deref(),
            output_rootfs.as_deref(),
            output,
        ),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
}

fn ignition(command: Ignition) -> anyhow::Result<()> {
    match command {
        Ignition::Show { iso } => change::show_ignition(&iso),
        Ignition::Embed {
            iso,
            ignition_file,
            force,
            to,
        } => change::embed_ignition(&iso, ignition_file.as_deref(), force, &to),
        Ignition::Remove { iso, to } => change::remove_ignition(&iso, &to),
    }
}

fn kargs(command: Kargs) -> anyhow::Result<()> {
    use muster_image::kargs::Edits;

    let edit = |change: KargsChange, make: fn(Vec<String>) -> Edits| {
        change::edit_kargs(&change.iso, &make(change.arguments), &change.to)
    };
    match command {
        Kargs::Show { iso, default } => change::show_kargs(&iso, default),
        Kargs::Append(change) => edit(change, |append| Edits {
            append,
            ..Edits::default()
        }),
        Kargs::Delete(change) => edit(change, |delete| Edits {
            delete,
            ..Edits::default()
        }),
        Kargs::Replace(change) => edit(change, |replace| Edits {
            replace,
            ..Edits::default()
        }),
        Kargs::Reset { iso, to } => change::reset_kargs(&iso, &to),
    }
}

fn network(command: Network) -> anyhow::Result<()> {
    match command {
        Network::Show { iso } => change::show_network(&iso),
        Network::Embed {
            iso,
            keyfile,
            force,
            to,
        } => change::embed_network(&iso, &keyfile, force, &to),
        Network::Remove { iso, to } => change::remove_network(&iso, &to),
    }
}
