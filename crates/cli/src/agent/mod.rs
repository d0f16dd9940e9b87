//! `muster agent …`: the agent-based installer, a drop-in for `openshift-install agent …`.

mod add_nodes;
pub mod base_iso;
mod boot_files;
mod cluster;
mod create;
pub mod log;
mod monitor;
mod outcome;
mod preflight;
mod programs;
mod release;
mod unfinished;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::{Args, Subcommand};
use muster_assets::agent_based::graph;

use crate::{
    output,
    wait_for::{self, WaitFor},
};

/// The agent-based installer: one image, no service to run.
#[derive(Debug, Args)]
#[command(disable_version_flag = true, arg_required_else_help = true)]
pub struct Agent {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create the image, or files for a network boot, from the configs in a directory
    Create(Box<create::Create>),
    /// Print which file of an agent-based installation follows from which, for Graphviz
    Graph(Graph),
    /// Follow an installation to its end, also while its rendezvous host reboots
    WaitFor(WaitFor),
    /// Make an image for hosts that join a running cluster
    AddNodes(Box<add_nodes::Command>),
    /// Follow hosts that join a running cluster until their nodes are ready
    Monitor(Box<monitor::Command>),
}

/// Where a graph goes.
#[derive(Debug, Args)]
pub struct Graph {
    /// Write it to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
}

impl Graph {
    /// Writes it there.
    pub fn write(&self, dot: &str) -> ExitCode {
        match &self.output_file {
            None => output::text(dot),
            Some(file) => output::report(
                fs::write(file, dot)
                    .with_context(|| format!("writing {}", file.display()))
                    .map(|()| format!("written to {}", file.display())),
            ),
        }
    }
}

/// Runs the command.
pub fn run(agent: Agent) -> ExitCode {
    match agent.command {
        Command::AddNodes(command) => add_nodes::run(*command),
        Command::Monitor(command) => monitor::run(*command),
        Command::WaitFor(wait) => wait_for::run(wait, wait_for::Kind::Agent),
        Command::Create(command) => create::run(*command),
        Command::Graph(graph) => graph.write(&graph::dot()),
    }
}
