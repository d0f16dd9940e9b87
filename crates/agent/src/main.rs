//! `muster-agent`: what runs on a machine being installed.

use std::{io::Write, path::Path, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use clap::Parser;
use muster_agent::{
    check, identity, image_based, journal,
    link::{Directions, Link, TokenSource},
    options::{Cli, Command, SessionOptions, Site, understood},
    session::{Mode, Session},
    steps,
};
use muster_installer::{
    installer_args, node::Node, options::InstallOptions, plan::Plan, progress::Progress, proxies,
    registry_data,
};
use muster_machine::{Machine, Real};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let (mode, args) = understood(std::env::args_os());
    let cli = Cli::parse_from(args);
    let (name, tag) = match (&cli.command, mode) {
        (Some(Command::Install(_)), _) => ("assisted-installer", "installer"),
        (_, Mode::Agent) => ("agent_registration", "agent"),
        (_, Mode::Runner) => ("agent_next_step_runner", "agent"),
    };
    let mut logging = cli.logging;
    // What a person tries by hand is answered on the terminal.
    logging.with_journal_logging &= matches!(cli.command, None | Some(Command::Install(_)));
    if let Some(Command::Controller(_)) = cli.command {
        journal::begin_at(logging, muster_controller::OWN_LOG, tag);
    } else {
        journal::begin(logging, name, tag);
    }
    // Another part of the program may have chosen a provider already; then it stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(24)
        .build();
    let result = runtime.context("starting").and_then(|runtime| {
        let result = runtime.block_on(run(cli, mode));
        // A read of a dead medium may never return; it must not hold up the end.
        runtime.shutdown_timeout(Duration::from_secs(5));
        result
    });
    match result {
        Ok(code) => code,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(mut cli: Cli, mode: Mode) -> anyhow::Result<ExitCode> {
    let machine: Arc<dyn Machine> = Arc::new(Real);
    match cli.command {
        None => {
            let site = Site::of(&*machine);
            site.fill(&mut cli.session)?;
            site.place_pull_secret(&*machine);
            run_session(cli.session, mode, machine).await
        }
        Some(Command::Step { kind, args }) => step(&cli.session, machine, &kind, args).await,
        Some(Command::SendLogs(options)) => {
            let link = Arc::new(Link::new(options.directions()));
            let request = vec![options.request()];
            done(by_hand(&cli.session, machine, link), "logs-gather", request).await
        }
        Some(Command::Install(options)) => install(*options, machine).await,
        Some(Command::ImageBasedInstall(options)) => image_based::run(options, machine).await,
        Some(Command::Check(options)) => {
            let report = check::run(&*machine, &options).await?;
            print(&report.to_string())?;
            Ok(if report.is_fit() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        Some(Command::Controller(options)) => controller(*options).await,
        Some(Command::NodeZero(options)) => {
            options.run(&*machine).await?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Gather(options)) => {
            if let Some(path) = options.run(&*machine)? {
                print(&format!("{}\n", path.display()))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Look(command)) => command.run().map(|()| ExitCode::SUCCESS),
        Some(Command::HostId) => {
            print(&format!("{}\n", identity::host_id(&*machine)))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Installs this machine. A failure is also left in a file, for the step that started this.
async fn install(
    mut options: InstallOptions,
    machine: Arc<dyn Machine>,
) -> anyhow::Result<ExitCode> {
    if options.dry_run {
        let plan = Plan::of(&options, machine.exists(registry_data::MARK));
        print(&plan.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    installer_args::check(&options.installer_args.0)?;
    let own = proxies::of_environment(|name| std::env::var(name).ok());
    options.no_proxy = proxies::either_excepts(&options.no_proxy, &own.except);
    let link = Link::new(Directions {
        url: options.url.clone(),
        cacert: options.cacert.clone(),
        insecure: options.insecure,
        token: TokenSource {
            file: None,
            given: std::env::var("PULL_SECRET_TOKEN").ok(),
        },
    })
    .through(proxies::to_service(own, &options.no_proxy));
    let client = link.client(None)?;
    let node = Node {
        progress: Progress::start(client.clone(), options.infra_env(), options.host_id),
        client,
        token: link.token().unwrap_or_default(),
        program: std::env::current_exe().ok(),
        machine: Arc::clone(&machine),
        options,
    };
    let failure = Path::new(muster_installer::journal::FAILURE);
    match node.install().await {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            let reason = error.to_string();
            if let Err(cause) = machine.write(failure, reason.as_bytes(), 0o600) {
                tracing::warn!("the reason of the failure cannot be written: {cause}");
            }
            bail!(reason)
        }
    }
}

async fn run_session(
    options: SessionOptions,
    mode: Mode,
    machine: Arc<dyn Machine>,
) -> anyhow::Result<ExitCode> {
    if options.dry_run {
        bail!("this agent has no dry run; `muster simulate` plays whole fleets instead");
    }
    let session = Session {
        link: Arc::new(Link::new(options.directions()?)),
        infra_env: options.infra_env()?,
        host: options.host_id,
        version: options
            .agent_version
            .clone()
            .filter(|version| !version.is_empty())
            .unwrap_or_else(|| format!("muster-agent:{}", env!("CARGO_PKG_VERSION"))),
        interval: options.interval(),
        program: std::env::current_exe().ok(),
        machine,
        mode,
    };
    tracing::info!(infra_env = %session.infra_env, url = session.link.directions().url, "session with the service begins");
    if options.once {
        session.once().await?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    tokio::select! {
        () = session.forever() => {}
        _ = terminated.recv() => tracing::info!("stopped"),
        _ = interrupted.recv() => tracing::info!("stopped"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Stops immediately on request: its progress is stored in the cluster.
async fn controller(options: muster_controller::ControllerOptions) -> anyhow::Result<ExitCode> {
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        end = muster_controller::start(options) => { end?; }
        _ = terminated.recv() => tracing::info!("stopped"),
    }
    Ok(ExitCode::SUCCESS)
}

/// One step by hand. A service is only needed by steps that talk to it.
async fn step(
    options: &SessionOptions,
    machine: Arc<dyn Machine>,
    kind: &str,
    args: Vec<String>,
) -> anyhow::Result<ExitCode> {
    let directions = options
        .directions()
        .unwrap_or_else(|_| muster_agent::link::Directions {
            url: "http://localhost".to_owned(),
            cacert: None,
            insecure: false,
            token: Default::default(),
        });
    let context = by_hand(options, machine, Arc::new(Link::new(directions)));
    done(context, kind, args).await
}

/// The context of a step that is run by hand.
fn by_hand(options: &SessionOptions, machine: Arc<dyn Machine>, link: Arc<Link>) -> steps::Context {
    steps::Context {
        host: options
            .host_id
            .unwrap_or_else(|| identity::host_id(&*machine)),
        infra_env: options.infra_env_id.unwrap_or_default(),
        link,
        program: None,
        machine,
    }
}

async fn done(context: steps::Context, kind: &str, args: Vec<String>) -> anyhow::Result<ExitCode> {
    let context = Arc::new(context);
    let outcome = steps::perform(context, kind, args).await;
    if !outcome.output.is_empty() {
        print(&format!("{}\n", outcome.output))?;
    }
    if !outcome.error.is_empty() {
        writeln!(std::io::stderr(), "{}", outcome.error)?;
    }
    // Codes of processes have eight bits, like those of the reference's containers.
    Ok(ExitCode::from((outcome.exit_code & 0xff) as u8))
}

fn print(text: &str) -> std::io::Result<()> {
    std::io::stdout().write_all(text.as_bytes())
}
