//! `muster agent monitor`: hosts on their way into a running cluster.

use std::{
    io::{self, Write},
    net::IpAddr,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::Timestamp;
use muster_controller::kube::{Access, Kube};
use muster_tracking::{
    Level,
    monitor::{Monitor, Watch},
};

use crate::output;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(5);
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
    /// Kubeconfig of the cluster
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
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
    let Some(kubeconfig) = command.kubeconfig else {
        bail!("name the kubeconfig of the cluster with --kubeconfig or the variable KUBECONFIG");
    };
    let kube = Kube::new(Access::from_kubeconfig(&kubeconfig)?)?;
    let watch = Watch::new(kube).await.context("asking the cluster")?;
    let mut monitor = Monitor::new(&addresses);
    let began = Instant::now();
    let mut is_silent = false;
    while !monitor.missing().is_empty() {
        match watch.look(&monitor).await {
            Ok(all) => {
                is_silent = false;
                for (ip, seen) in all {
                    for line in monitor.take(ip, &seen) {
                        show(line.level, &line.text);
                    }
                }
            }
            Err(error) if !is_silent => {
                is_silent = true;
                show(
                    Level::Warning,
                    &format!("{:#}; retrying", anyhow::Error::from(error)),
                );
            }
            Err(_) => {}
        }
        if began.elapsed() > LIMIT {
            let missing: Vec<String> = monitor.missing().iter().map(IpAddr::to_string).collect();
            bail!(
                "after {} minutes these hosts are no ready nodes: {}",
                LIMIT.as_secs() / 60,
                missing.join(", ")
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

fn show(level: Level, text: &str) {
    let now = Timestamp::now().strftime("%H:%M:%S");
    let mark = match level {
        Level::Debug | Level::Info => "",
        Level::Warning | Level::Error => "warning: ",
    };
    let _ = writeln!(io::stdout().lock(), "{now} {mark}{text}");
}
