//! `muster agent wait-for` and `muster wait-for`: one account of an installation, to the end.

mod closing;
mod display;
mod site;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use muster_tracking::{
    Goal, Level, Outcome, Tracker, follow,
    sources::{Site, Sources},
    tracker::Limits,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    image_based::{self, Identity},
    output,
};
use closing::Closing;
use display::{Display, Format};

/// Interrupted by a signal.
const INTERRUPTED: u8 = 8;
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(2);

/// Follow an installation until it has come so far.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct WaitFor {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    goal: Wanted,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum Wanted {
    /// Wait until the bootstrap is complete
    BootstrapComplete,
    /// Wait until the cluster is installed and its operators have settled
    InstallComplete,
}

/// What both take.
#[derive(Debug, Args)]
struct Options {
    /// Directory in which the files of the cluster were created
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    dir: PathBuf,
    /// Output format
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        default_value = "text",
        global = true
    )]
    output: Format,
    /// Lowest level of messages to show; the log file gets all of them
    #[arg(long, value_name = "LEVEL", default_value = "info", global = true)]
    log_level: LogLevel,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    #[value(alias = "trace")]
    Debug,
    Info,
    #[value(alias = "warning")]
    Warn,
    #[value(aliases = ["fatal", "panic"])]
    Error,
}

/// What kind of installation is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Agent-based: a service on the rendezvous host, then the cluster.
    Agent,
    /// User-provisioned: the cluster alone.
    UserProvisioned,
    /// A node restored from a seed image.
    ImageBased,
}

/// Follows it; 5, 6 and 7 say which phase failed, 8 that it was interrupted.
pub fn run(wait: WaitFor, kind: Kind) -> ExitCode {
    let goal = match wait.goal {
        Wanted::BootstrapComplete => Goal::Bootstrap,
        Wanted::InstallComplete => Goal::Install,
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return output::failure(&error.into()),
    };
    match runtime.block_on(account(goal, &wait.options, kind)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => output::failure(&error),
    }
}

async fn account(goal: Goal, options: &Options, kind: Kind) -> anyhow::Result<u8> {
    let kubeconfig = site::kubeconfig(&options.dir)?;
    let restored = match kind {
        Kind::ImageBased => image_based::identity(&options.dir)?,
        Kind::Agent | Kind::UserProvisioned => Identity::default(),
    };
    let site = match kind {
        Kind::Agent => site::of_agent(&options.dir)?,
        Kind::UserProvisioned => Site::default(),
        Kind::ImageBased => Site {
            addresses: restored.addresses.clone(),
            ..Site::default()
        },
    };
    let least = match options.log_level {
        LogLevel::Debug => Level::Debug,
        LogLevel::Info => Level::Info,
        LogLevel::Warn => Level::Warning,
        LogLevel::Error => Level::Error,
    };
    let mut display = Display::new(options.output, least, &options.dir);
    let mut sources = Sources::new(&kubeconfig, site)?;
    let mut tracker = Tracker::new(goal, Limits::default());
    if !restored.cluster_id.is_empty() {
        tracker = tracker.restored(restored.cluster_id);
    }
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let outcome = tokio::select! {
        outcome = follow(&mut sources, &mut tracker, &mut display, PAUSE) => outcome,
        _ = terminate.recv() => interrupted(),
        _ = interrupt.recv() => interrupted(),
    };
    let closing = match (&outcome, goal) {
        (Outcome::Reached, Goal::Install) => {
            closing::installed(sources.kube(), &kubeconfig, &options.dir, kind).await
        }
        (Outcome::Reached, Goal::Bootstrap) => closing::bootstrapped(kind),
        (Outcome::Failed { code, .. }, _) if *code != INTERRUPTED => {
            closing::failed(sources.kube(), kind).await
        }
        (Outcome::Failed { .. }, _) => Closing::default(),
    };
    display.finish(&outcome, &closing);
    Ok(match outcome {
        Outcome::Reached => 0,
        Outcome::Failed { code, .. } => code,
    })
}

fn interrupted() -> Outcome {
    Outcome::Failed {
        code: INTERRUPTED,
        reason: "interrupted; start it again at any time, nothing is lost".to_owned(),
    }
}
