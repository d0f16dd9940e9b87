//! `muster-agent capture`.

use std::{fs, path::PathBuf};

use anyhow::{Context, bail};
use muster_machine::Real;

use crate::capture::{self, Scrub};

/// Where to write and what to keep to ourselves.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder to write; made if it is not there
    folder: PathBuf,
    /// Replace host names, addresses, serial numbers, UUIDs and secrets of the kernel command
    /// line, each by the same stand-in everywhere
    #[arg(long)]
    scrub: bool,
}

/// Captures this machine.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = args.folder.display();
    if fs::read_dir(&args.folder).is_ok_and(|mut names| names.next().is_some()) {
        bail!("{folder} is not empty; give a new folder");
    }
    let mut record = capture::capture(&Real);
    if args.scrub {
        record = Scrub::new(&record, rand::random()).record(&record);
    }
    record.save(&args.folder).context("writing the capture")?;
    tracing::info!("written to {folder}; see it with: muster-agent inventory --from {folder}");
    Ok(())
}
