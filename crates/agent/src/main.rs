//! `muster-agent`: what runs on a machine being installed.
//!
//! So far a skeleton: it identifies the machine, registers it and polls for work. A step it
//! cannot do yet is answered with an honest failure, so the service knows where it stands.

mod capture;
mod commands;
mod identity;
mod inventory;
mod patience;
mod talk;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Parser;
use muster_api::client::{Client, ClientOptions};
use uuid::Uuid;

/// Registers this machine with a Muster service and does what it says.
#[derive(Debug, Parser)]
#[command(name = "muster-agent", version, about)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<commands::Command>,
    #[command(flatten)]
    agent: Option<Agent>,
}

/// What the agent needs; the reference's flags, without any command before them.
#[derive(Debug, clap::Args)]
struct Agent {
    /// URL of the service
    #[arg(long, env = "MUSTER_URL")]
    url: String,
    /// Infra-env this machine belongs to
    #[arg(long)]
    infra_env_id: Uuid,
    /// Id of this machine [default: from its firmware]
    #[arg(long)]
    host_id: Option<Uuid>,
    /// PEM file with the CA of the service
    #[arg(long)]
    cacert: Option<PathBuf>,
    /// Do not check the certificate of the service
    #[arg(long)]
    insecure: bool,
    /// Register, do one round of polling, and end
    #[arg(long)]
    once: bool,
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
    let result = match Cli::parse() {
        Cli {
            command: Some(command),
            ..
        } => command.run(),
        Cli {
            agent: Some(agent), ..
        } => tokio::runtime::Runtime::new()
            .context("starting")
            .and_then(|runtime| runtime.block_on(run(agent))),
        Cli { .. } => Err(anyhow::anyhow!("nothing to do; see muster-agent --help")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Agent) -> anyhow::Result<()> {
    let ca_pem = match &cli.cacert {
        Some(path) => Some(
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?,
        ),
        None => None,
    };
    let options = ClientOptions {
        // The token travels in the environment so that it shows up in no process list.
        token: std::env::var("PULL_SECRET_TOKEN")
            .ok()
            .filter(|token| !token.is_empty()),
        ca_pem,
        insecure: cli.insecure,
        agent_version: Some(format!("muster-agent {}", env!("CARGO_PKG_VERSION"))),
        ..ClientOptions::default()
    };
    let client = Client::new(&cli.url, options)?;
    let host = match cli.host_id {
        Some(id) => id,
        None => {
            identity::host_id().context("this machine has no usable identity; give --host-id")?
        }
    };
    tracing::info!(%host, infra_env = %cli.infra_env_id, "this machine");
    let talk = talk::Talk {
        client,
        infra_env: cli.infra_env_id,
        host,
    };
    if cli.once {
        talk.once().await
    } else {
        talk.forever().await
    }
}
