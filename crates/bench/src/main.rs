//! `muster-bench`: the load behind `make bench`.
//!
//! Starts a fresh `muster serve` (SQLite with fsync, plain HTTP on loopback) and makes the calls
//! agents and web pages make: registrations, inventory replies, polls, whole-cluster reads, on
//! one cluster of a hundred hosts, from one client and from eight. Prints our figures beside
//! those measured on the reference on a machine of the same size.
//!
//! `--only downloads` measures boot images instead, beside nginx; see [`downloads`]. `--only
//! installation` compares simulated installations; see [`installation`].

mod connection;
mod downloads;
mod fleet;
mod installation;
mod report;
mod server;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use clap::Parser;

use crate::{connection::Connection, fleet::Fleet, report::Report, server::Server};

/// Measures a Muster service.
#[derive(Debug, Parser)]
#[command(name = "muster-bench", version, about)]
struct Cli {
    /// The executable to measure
    #[arg(long, default_value = "target/release/muster")]
    muster: PathBuf,
    /// One part of the measurements; all of them if not given
    #[arg(long)]
    only: Option<Part>,
    /// Hosts in the cluster
    #[arg(long, default_value_t = 100)]
    hosts: usize,
    /// Seconds per measurement
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Further arguments for `muster serve`, such as --database=postgres://…
    #[arg(last = true)]
    serve: Vec<String>,
}

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Calls of agents and web pages
    Calls,
    /// Boot images
    Downloads,
    /// Simulated installations
    Installation,
}

/// How many clients the parallel measurements use.
const CLIENTS: usize = 8;

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(run(cli))
}

async fn run(cli: Cli) -> anyhow::Result<()> {
    let wanted = |part| cli.only.is_none_or(|only| only == part);
    if wanted(Part::Calls) {
        calls(&cli).await?;
    }
    if wanted(Part::Downloads) {
        downloads::measure(&cli.muster).await?;
    }
    if wanted(Part::Installation) {
        installation::measure(&cli.muster).await?;
    }
    Ok(())
}

async fn calls(cli: &Cli) -> anyhow::Result<()> {
    let span = Duration::from_secs(cli.seconds);
    let mut report = Report::default();
    let (server, startup) = Server::start(&cli.muster, &cli.serve)
        .await
        .context("starting muster")?;
    report.startup(startup);
    report.binary(&cli.muster)?;

    let mut one = Connection::open(server.address).await?;
    let fleet = Arc::new(
        Fleet::create(&mut one, cli.hosts)
            .await
            .context("creating the cluster")?,
    );

    report.limit(
        "empty answers (/health)",
        rate(&server, 1, span, &fleet, Call::Nothing).await?,
    );
    report.fsync(server.fsync_rate()?);
    report.row(
        "inventory replies, 1 client",
        Some(216.0),
        rate(&server, 1, span, &fleet, Call::Inventory).await?,
    );
    report.row(
        "inventory replies, 8 clients",
        None,
        rate(&server, CLIENTS, span, &fleet, Call::Inventory).await?,
    );
    fleet.settle(&mut one).await?;
    report.row(
        "polls, 1 client",
        Some(381.0),
        rate(&server, 1, span, &fleet, Call::Poll).await?,
    );
    report.row(
        "polls, 8 clients",
        Some(652.0),
        rate(&server, CLIENTS, span, &fleet, Call::Poll).await?,
    );
    report.row(
        "cluster reads, 8 clients",
        Some(140.0),
        rate(&server, CLIENTS, span, &fleet, Call::Read).await?,
    );
    report.row(
        "cluster reads, 8 clients, gzip",
        None,
        rate(&server, CLIENTS, span, &fleet, Call::ReadGzip).await?,
    );
    report.memory(server.resident_mib()?);

    // Last, and into clusters of their own: they add thousands of hosts.
    let extra = Arc::new(Fleet::create(&mut one, 0).await?);
    report.row(
        "registrations, 1 client",
        Some(121.0),
        rate(&server, 1, span, &extra, Call::Register).await?,
    );
    let extra = Arc::new(Fleet::create(&mut one, 0).await?);
    report.row(
        "registrations, 8 clients",
        None,
        rate(&server, CLIENTS, span, &extra, Call::Register).await?,
    );
    report.print();
    server.stop().await?;
    Ok(())
}

/// One kind of request.
#[derive(Clone, Copy, Debug)]
enum Call {
    Nothing,
    Register,
    Inventory,
    Poll,
    Read,
    ReadGzip,
}

/// A measured rate.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    per_second: f64,
    bytes_each: u64,
}

async fn rate(
    server: &Server,
    clients: usize,
    span: Duration,
    fleet: &Arc<Fleet>,
    call: Call,
) -> anyhow::Result<Rate> {
    let mut tasks = Vec::new();
    let began = std::time::Instant::now();
    for client in 0..clients {
        let mut connection = Connection::open(server.address).await?;
        let fleet = Arc::clone(fleet);
        tasks.push(tokio::spawn(async move {
            let (mut calls, mut bytes, mut turn) = (0_u64, 0_u64, client);
            while began.elapsed() < span {
                bytes += match call {
                    Call::Nothing => connection.health().await?,
                    Call::Register => fleet.register_new(&mut connection).await?,
                    Call::Inventory => fleet.inventory(&mut connection, turn).await?,
                    Call::Poll => fleet.poll(&mut connection, turn).await?,
                    Call::Read => fleet.read(&mut connection, false).await?,
                    Call::ReadGzip => fleet.read(&mut connection, true).await?,
                };
                calls += 1;
                turn += clients;
            }
            anyhow::Ok((calls, bytes))
        }));
    }
    let (mut calls, mut bytes) = (0, 0);
    for task in tasks {
        let (task_calls, task_bytes) = task.await??;
        calls += task_calls;
        bytes += task_bytes;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds fit")]
    let per_second = calls as f64 / began.elapsed().as_secs_f64();
    Ok(Rate {
        per_second,
        bytes_each: bytes / calls.max(1),
    })
}
