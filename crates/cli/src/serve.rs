//! `muster serve`.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::Args;
use muster_config::{Config, Loaded, Origin, Overrides, Sources};
use muster_service::Running;
use tokio::signal::unix::{SignalKind, signal};

use crate::{logging, output, reload};

/// Run the service: REST API v2, embedded database, no configuration needed.
///
/// Every setting can also come from a muster.toml or from the environment; `--print-config`
/// shows what is in force and where each value came from, `muster settings` lists them all.
#[derive(Debug, Args)]
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

/// Loads the configuration and runs until asked to stop.
pub fn run(serve: Serve) -> ExitCode {
    let print_config = serve.print_config;
    let (loaded, flags) = match load(serve) {
        Ok(loaded) => loaded,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "{problem}");
            return ExitCode::from(2);
        }
    };
    if print_config {
        return output::text(&loaded.print());
    }
    let explicit = loaded
        .origins
        .get("log.format")
        .is_some_and(|origin| *origin != Origin::Default)
        .then_some(loaded.config.log.format);
    logging::start(&loaded.config.log, explicit);
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    for (variable, reason) in &loaded.without_effect {
        tracing::info!(variable, reason, "accepted, without effect");
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return output::failure(&error.into()),
    };
    match runtime.block_on(until_stopped(loaded, &flags)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
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
    for item in serve.set {
        let (key, value) = item.split_once('=').ok_or_else(|| {
            format!("muster: --set {item}: write key=value, such as --set log.level=debug")
        })?;
        let setting = muster_config::settings()
            .find(|setting| setting.key == key)
            .ok_or_else(|| {
                format!(
                    "muster: --set {key}: there is no such setting; `muster settings` lists them"
                )
            })?;
        flags = flags.set("--set", setting.key, value);
    }
    Ok((load_with(flags.clone())?, flags))
}

fn load_with(flags: Overrides) -> Result<Loaded, String> {
    let sources = Sources::of_process(flags).map_err(|problem| problem.to_string())?;
    Config::load(&sources).map_err(|problem| problem.to_string())
}

async fn until_stopped(loaded: Loaded, flags: &Overrides) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let running = muster_service::start(loaded.config).await?;
    announce(&running);
    let mut files = reload::Watched::of(running.config(), flags);
    let mut tick = tokio::time::interval(reload::INTERVAL);
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => {}
            _ = tick.tick() => if !files.changed() {
                continue;
            },
        }
        match load_with(flags.clone()) {
            Ok(loaded) => running.reload(&loaded.config),
            Err(problem) => {
                tracing::error!("the configuration is not usable and stays as it was: {problem}")
            }
        }
    }
    tracing::info!("stopping; a second signal ends at once");
    tokio::select! {
        () = running.stop() => Ok(()),
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

/// Prints where the service is. The first line is for scripts.
fn announce(running: &Running) {
    let url = format!("{}://{}", running.scheme, running.address);
    let config = running.config();
    let mut lines = format!("listening on {url}\n");
    lines += &format!(
        "  start page   {url}/\n  API          {url}/api/assisted-install/v2/…   reference: {url}/docs\n"
    );
    if running.scheme == "https" {
        lines += &format!(
            "  CA           {}\n",
            config.data_dir.join("tls/ca.crt").display()
        );
    }
    if let Some(user) = &running.first_user {
        lines += &format!(
            "  first login  user {}  password {}   (shown only now; token: POST {url}/auth/token)\n",
            user.name,
            user.password.reveal()
        );
    }
    lines += &format!("  next step    pip install aicli && aicli -U {url} list clusters\n");
    let mut out = io::stdout().lock();
    let shown = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
    if let Some(user) = &running.first_user
        && let Err(error) = shown.and_then(|()| user.announced())
    {
        tracing::error!(%error, "the first login could not be settled; the next start shows it again");
    }
}
