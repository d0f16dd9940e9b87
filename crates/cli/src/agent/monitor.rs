//! `muster agent monitor`: hosts on their way into a running cluster.

use std::{
    io::{self, Write},
    net::IpAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::Timestamp;
use muster_controller::kube::Kube;
use muster_tracking::{
    Level,
    monitor::{Monitor, Watch},
};
use serde_json::json;

use super::{
    add_nodes,
    cluster::Cluster,
    log::{self, Log},
};
use crate::{format::Output, output};

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(5);
/// No longer silence than this.
const SILENCE: Duration = Duration::from_secs(60);
/// For all hosts to become ready nodes.
const LIMIT: Duration = Duration::from_secs(90 * 60);

/// Follow hosts that join a running cluster until their nodes are ready.
///
/// Ends with 0 when every node is ready, and with 1 after 90 minutes.
#[derive(Debug, Args)]
pub struct Command {
    /// Addresses of the hosts
    #[arg(value_name = "IP")]
    addresses: Vec<IpAddr>,
    /// Addresses of the hosts, separated by commas
    #[arg(long, value_name = "IPS", value_delimiter = ',')]
    ip_addresses: Vec<IpAddr>,
    #[command(flatten)]
    cluster: Cluster,
    /// Directory of `add-nodes`, whose access to the services on the hosts is used; gets the log file
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Level of messages to show
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: log::Level,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    registries: Registries,
}

/// Flags of `oc adm node-image monitor`, which takes a program out of an image; here the program is there.
#[derive(Debug, Args)]
struct Registries {
    #[arg(short = 'a', long, value_name = "FILE", hide = true)]
    registry_config: Option<PathBuf>,
    #[arg(long, value_name = "FILE", hide = true)]
    certificate_authority: Option<PathBuf>,
    #[arg(long, hide = true)]
    insecure: bool,
    #[arg(long, hide = true)]
    skip_verification: bool,
}

impl Registries {
    const fn are_named(&self) -> bool {
        self.registry_config.is_some()
            || self.certificate_authority.is_some()
            || self.insecure
            || self.skip_verification
    }
}

/// Follows them.
pub fn run(command: Command) -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return output::failure(&error.into()),
    };
    match runtime.block_on(follow(command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
}

async fn follow(command: Command) -> anyhow::Result<()> {
    let mut addresses = command.addresses;
    addresses.extend(command.ip_addresses);
    if addresses.is_empty() {
        bail!("name the address of at least one host");
    }
    let kube = Kube::new(command.cluster.access()?)?;
    let mut account = Account::open(&command.dir, command.log_level, command.output);
    if command.registries.are_named() {
        let text = "flags about registries have no effect: no image is looked up";
        account.line(None, Level::Info, text);
    }
    let services = add_nodes::access::read(&command.dir)?;
    let watch = Watch::new(kube, services).await;
    let watch = watch.context("asking the cluster")?;
    let mut monitor = Monitor::new(&addresses);
    let began = Instant::now();
    let mut is_silent = false;
    while !monitor.missing().is_empty() {
        match watch.look(&monitor).await {
            Ok(all) => {
                is_silent = false;
                for (ip, seen) in all {
                    for line in monitor.take(ip, &seen) {
                        account.line(Some(ip), line.level, &line.text);
                    }
                }
            }
            Err(error) if !is_silent => {
                is_silent = true;
                let text = format!("{:#}; retrying", anyhow::Error::from(error));
                account.line(None, Level::Warning, &text);
            }
            Err(_) => {}
        }
        if began.elapsed() > LIMIT {
            let missing: Vec<String> = monitor.missing().iter().map(IpAddr::to_string).collect();
            account.end("failed", &missing);
            bail!(
                "after {} minutes these hosts are not ready nodes: {}",
                LIMIT.as_secs() / 60,
                missing.join(", ")
            );
        }
        account.not_silent(&monitor, began.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    account.end("reached", &[]);
    Ok(())
}

/// Lines for people or for programs, and the log file.
struct Account {
    log: Log,
    shown: log::Level,
    output: Output,
    last: Instant,
}

impl Account {
    fn open(dir: &Path, shown: log::Level, output: Output) -> Self {
        Self {
            log: Log::open(dir, shown),
            shown,
            output,
            last: Instant::now(),
        }
    }

    fn line(&mut self, host: Option<IpAddr>, level: Level, text: &str) {
        let (level, mark) = match level {
            Level::Debug => (log::Level::Debug, ""),
            Level::Info => (log::Level::Info, ""),
            Level::Warning => (log::Level::Warn, "warning: "),
            Level::Error => (log::Level::Error, "error: "),
        };
        self.log.record(level.word(), text);
        if level > self.shown {
            return;
        }
        let now = Timestamp::now();
        self.print(&match self.output.is_json() {
            true => json!({"time": now.to_string(), "level": level.word(), "host": host,
                           "message": text})
            .to_string(),
            false => format!("{} {mark}{text}", now.strftime("%H:%M:%S")),
        });
    }

    /// Says what is waited for if nothing was said for a while.
    fn not_silent(&mut self, monitor: &Monitor, for_so_long: Duration) {
        if self.last.elapsed() < SILENCE {
            return;
        }
        let minutes = for_so_long.as_secs() / 60;
        let text = format!("still waiting after {minutes} min: {}", monitor.waits_for());
        self.line(None, Level::Info, &text);
    }

    /// The last line for programs.
    fn end(&mut self, outcome: &str, missing: &[String]) {
        if self.output.is_json() {
            let line = json!({"outcome": outcome, "missing": missing}).to_string();
            self.print(&line);
        }
    }

    fn print(&mut self, line: &str) {
        self.last = Instant::now();
        // A reader that has gone away ends the command with its next signal.
        let _ = writeln!(io::stdout().lock(), "{line}");
    }
}
