//! What else the program does than being the agent: looking at the machine it runs on.

mod capture;
mod inventory;
mod table;

use clap::Subcommand;

/// Commands for people.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the inventory of this machine, as reported to the service
    Inventory(inventory::Args),
    /// Write down everything the inventory looks at, so that it can be seen again elsewhere
    Capture(capture::Args),
}

impl Command {
    /// Does it.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Inventory(args) => inventory::run(&args),
            Self::Capture(args) => capture::run(&args),
        }
    }
}
