//! `muster node0`: the service on the rendezvous host of an agent-based installation.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Args;
use muster_node0::{
    console::Console,
    run::{Node0, Options, usual_places},
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{logging, output};

/// Run the service of an agent-based installation on its rendezvous host.
///
/// Registers the one cluster that the files of the image describe, applies the configuration of
/// single hosts, and starts the installation when all of them are ready. A restart continues where
/// the last run was. Units of the image run it; there is nothing to run by hand.
#[derive(Debug, Args)]
pub struct Command {
    /// Folder with the files of the image
    #[arg(long, value_name = "DIR", default_value = "/etc/assisted")]
    config_dir: PathBuf,
    /// Folder for database and files
    #[arg(long, value_name = "DIR", default_value = "/var/lib/muster")]
    data_dir: PathBuf,
    /// Folder with the keys of the image
    #[arg(long, value_name = "DIR", default_value = "/opt/agent/tls")]
    tls_dir: PathBuf,
    /// File of NAME=value settings (repeatable) [default: those below /usr/local/share]
    #[arg(long, value_name = "FILE")]
    environment_file: Vec<PathBuf>,
    /// Folder for texts on the console
    #[arg(long, value_name = "DIR", default_value = "/etc/issue.d")]
    issue_dir: PathBuf,
    /// Folder for files that other programs read
    #[arg(long, value_name = "DIR", default_value = "/run/agent-installer")]
    run_dir: PathBuf,
    /// Seconds between two looks at the hosts
    #[arg(long, value_name = "SECONDS", default_value_t = 2, hide = true)]
    pause: u64,
}

/// Runs until asked to stop.
pub fn run(command: Command) -> ExitCode {
    logging::start(&muster_config::Config::default().log);
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return output::failure(&error.into()),
    };
    match runtime.block_on(serve(command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
}

async fn serve(command: Command) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut places = usual_places(&command.config_dir);
    places.tls = command.tls_dir;
    if !command.environment_file.is_empty() {
        places.environment = command.environment_file;
    }
    let options = Options {
        places,
        data: command.data_dir,
        console: Console {
            issues: command.issue_dir,
            run: command.run_dir,
        },
        pause: Duration::from_secs(command.pause.max(1)),
    };
    let mut node0 = Node0::start(options).await?;
    tokio::select! {
        () = node0.follow() => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    node0.running.stop().await;
    Ok(())
}
