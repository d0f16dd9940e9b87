//! `muster serve`.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::Args;
use muster_config::{Loaded, Overrides};
use muster_service::Running;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{connection, first_screen::Started, logging, output, reload, settings};

/// Run the service: REST API v2, embedded database, no configuration needed.
///
/// Every setting can also come from a muster.toml or from the environment; `--print-config`
/// shows what is in force and where each value came from, `muster settings` lists them all.
#[derive(Debug, Default, Args)]
pub struct Serve {
    /// Address and port to listen on; port 0 takes a free one [default: 127.0.0.1:8090]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Folder for database, files, keys and certificates
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// sqlite:///path/muster.db or postgres://user:password@host/name [default: SQLite in the data directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// file:///path or s3://bucket/prefix?endpoint=URL [default: a folder in the data directory]
    #[arg(long, value_name = "URL")]
    storage: Option<String>,
    /// Who may call: none, local, users or agent-installer-local [default: none if listener and URLs are on loopback, else users]
    #[arg(long, value_name = "MODE")]
    auth: Option<String>,
    /// Serve without TLS
    #[arg(long)]
    plain_http: bool,
    /// URL at which hosts reach this service [default: from the listen address]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Configuration file [default: ./muster.toml or /etc/muster/muster.toml if there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Any other setting, as key=value (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Show what is in force and where each value came from, then exit
    #[arg(long)]
    print_config: bool,
}

/// Why the service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By a signal.
    Asked,
    /// Its work was done (`server.stop_when_installed`).
    Done,
}

/// Loads the configuration and runs until asked to stop.
pub fn run(serve: Serve) -> ExitCode {
    match run_to_end(serve) {
        Ok(Ended::Asked | Ended::Done) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}

/// The same; returns why it ended, or the code of a failure.
pub fn run_to_end(serve: Serve) -> Result<Ended, ExitCode> {
    let print_config = serve.print_config;
    let (loaded, flags) = match load(serve) {
        Ok(loaded) => loaded,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "{problem}");
            return Err(ExitCode::from(2));
        }
    };
    if print_config {
        return Err(output::text(&loaded.print()));
    }
    logging::start(&loaded.config.log);
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    for (variable, reason) in &loaded.without_effect {
        tracing::info!(variable, reason, "accepted, without effect");
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return Err(output::failure(&error.into())),
    };
    runtime
        .block_on(until_stopped(loaded, &flags))
        .map_err(|error| output::failure(&error))
}

fn load(serve: Serve) -> Result<(Loaded, Overrides), String> {
    let mut flags = Overrides::default();
    flags.config_file = serve.config;
    for (flag, key, value) in [
        ("--listen", "server.listen", serve.listen),
        ("--data-dir", "data_dir", serve.data_dir),
        ("--database", "database.url", serve.database),
        ("--storage", "storage.url", serve.storage),
        ("--auth", "auth.mode", serve.auth),
        ("--base-url", "server.base_url", serve.base_url),
        (
            "--plain-http",
            "server.plain_http",
            serve.plain_http.then(|| "true".to_owned()),
        ),
    ] {
        if let Some(value) = value {
            flags = flags.set(flag, key, value);
        }
    }
    flags = settings::set_each(flags, &serve.set)?;
    Ok((settings::load(flags.clone())?, flags))
}

async fn until_stopped(loaded: Loaded, flags: &Overrides) -> anyhow::Result<Ended> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    // A database that is not there yet is waited for.
    let running = tokio::select! {
        started = muster_service::start(loaded.config) => started?,
        _ = terminate.recv() => return Ok(Ended::Asked),
        _ = interrupt.recv() => return Ok(Ended::Asked),
    };
    connection::announce_locally(
        &running.config().data_dir,
        &format!("{}://{}", running.scheme, running.address),
    );
    announce(&running);
    let ended = tokio::select! {
        () = running.finished() => Ended::Done,
        () = reload_changes(&running, flags, &mut hang_up) => Ended::Asked,
        _ = terminate.recv() => Ended::Asked,
        _ = interrupt.recv() => Ended::Asked,
    };
    tracing::info!("stopping; a second signal stops immediately");
    tokio::select! {
        () = running.stop() => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(ended)
}

/// Takes over what changes in the configuration and its files, without end.
async fn reload_changes(running: &Running, flags: &Overrides, hang_up: &mut Signal) {
    let mut files = reload::Watched::of(running.config(), flags);
    let mut tick = tokio::time::interval(reload::INTERVAL);
    loop {
        tokio::select! {
            _ = hang_up.recv() => {}
            _ = tick.tick() => {
                running.change_sealing_key().await;
                if !files.changed() {
                    continue;
                }
            }
        }
        match settings::load(flags.clone()) {
            Ok(loaded) => running.reload(&loaded.config),
            Err(problem) => {
                tracing::error!("the configuration is not usable and stays as it was: {problem}")
            }
        }
    }
}

/// Prints where the service is.
fn announce(running: &Running) {
    let user = running.first_user.as_ref();
    let started = Started {
        config: running.config(),
        address: running.address,
        scheme: running.scheme,
        first_login: user.map(|user| (user.name.as_str(), user.password.reveal())),
    };
    let mut out = io::stdout().lock();
    let shown = out
        .write_all(started.screen().as_bytes())
        .and_then(|()| out.flush());
    if let Some(user) = user
        && let Err(error) = shown.and_then(|()| user.announced())
    {
        tracing::error!(%error, "the first login could not be stored; the next start shows it again");
    }
}
