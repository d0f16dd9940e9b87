//! `muster-agent inventory`.

use std::{io::Write, path::PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use muster_machine::{Machine, Real, Record};

use super::table;
use crate::inventory::{self, Limits};

/// What to show and of which machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How to show it
    #[arg(long, value_enum, default_value_t = Output::Json)]
    output: Output,
    /// Folder written by `muster-agent capture`, to see that machine instead of this one
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Leave out what is worth least until the JSON has at most this many bytes
    #[arg(long, value_name = "BYTES")]
    output_max_size: Option<usize>,
    /// Disks with fewer bytes are worth least
    #[arg(long, value_name = "BYTES")]
    disk_min_size: Option<i64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// What the service is sent, in one line
    Json,
    /// For people
    Table,
}

/// Shows the inventory.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let machine: Box<dyn Machine> = match &args.from {
        Some(folder) => Box::new(Record::open(folder)?.replay()),
        None => Box::new(Real),
    };
    let inventory = inventory::collect(machine.as_ref());
    let text = match args.output {
        Output::Table => table::render(&inventory, &inventory::huge_pages(machine.as_ref())),
        Output::Json => {
            let limits = Limits {
                output_max_size: args.output_max_size,
                disk_min_size: args.disk_min_size,
            };
            let mut text = inventory::to_json(inventory, limits).context("writing JSON")?;
            text.push('\n');
            text
        }
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("writing to standard output")
}
