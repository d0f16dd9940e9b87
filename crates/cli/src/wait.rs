//! `muster wait`: until a cluster or a host has reached a status.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use muster_api::client::{Client, printable};
use serde_json::Value;

use crate::{
    connection::{Connection, explained},
    format,
    get::find::{self, Filter, Kind, by_name},
    login::runtime,
    output::Printed,
};

/// Waits between looks.
const EVERY: Duration = Duration::from_secs(2);
/// Statuses from which nothing leads on without a person.
const DEAD_ENDS: &[&str] = &["error", "cancelled"];

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// A cluster.
    Cluster,
    /// A host.
    Host,
}

/// Wait until a cluster or a host has a status.
///
/// Exit code 0: it has the status. 1: it cannot get there without help (error, cancelled), is gone,
/// or the time is over.
#[derive(Debug, Args)]
pub struct Wait {
    /// What is waited for
    what: What,
    /// Name or id
    name: String,
    /// Status to wait for [default: installed]
    #[arg(long = "for", value_name = "STATUS", default_value = "installed")]
    status: String,
    /// Give up after this time, such as 30s, 90m or 2h
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = muster_config::parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    pub output: format::Output,
    #[command(flatten)]
    connection: Connection,
}

impl Wait {
    /// Waits.
    pub fn run(&self) -> anyhow::Result<Printed> {
        let target = self.connection.target()?;
        let client = target.client()?;
        runtime()?.block_on(self.look(&client, &target.url))
    }

    async fn look(&self, client: &Client, url: &str) -> anyhow::Result<Printed> {
        let began = Instant::now();
        let mut shown = String::new();
        loop {
            match self.now(client).await {
                Ok(record) => {
                    let status = record["status"].as_str().unwrap_or_default();
                    let info = printable(record["status_info"].as_str().unwrap_or_default());
                    if status == self.status {
                        return Ok(Printed {
                            text: format!("{} is {status}", self.name),
                            json: record,
                        });
                    }
                    if DEAD_ENDS.contains(&status) {
                        bail!("{} is {status}: {info}", self.name);
                    }
                    if status != shown {
                        eprintln_note(&format!("{} is {status}: {info}", self.name));
                        shown = status.to_owned();
                    }
                }
                Err(find::Error::Name(words)) => return Err(anyhow!(words)),
                // A service that restarts comes back; a refusal stays one.
                Err(find::Error::Client(error))
                    if error
                        .status()
                        .is_some_and(|status| status.is_client_error())
                        || error.certificate_fault().is_some() =>
                {
                    return Err(explained(error, url));
                }
                Err(find::Error::Client(error)) => {
                    eprintln_note(&format!("{:#}; trying again", anyhow::Error::from(error)));
                }
            }
            if began.elapsed() + EVERY > self.timeout {
                bail!(
                    "{} was not {} after {}",
                    self.name,
                    self.status,
                    muster_config::format_duration(self.timeout)
                );
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn now(&self, client: &Client) -> Result<Value, find::Error> {
        let (kind, all) = match self.what {
            What::Cluster => {
                let all = client.get("clusters").await?;
                (Kind::Cluster, all.as_array().cloned().unwrap_or_default())
            }
            What::Host => (Kind::Host, find::hosts(client, &Filter::Everything).await?),
        };
        by_name(kind, &all, &self.name).cloned()
    }
}

fn eprintln_note(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "muster: {text}");
}
