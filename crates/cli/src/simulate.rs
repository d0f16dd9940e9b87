//! `muster simulate`: a fleet of machines that exist only as the messages they send.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::Args;
use muster_api::{
    client::{Client, ClientOptions},
    requests,
};
use muster_sim::{
    Feature, Line, Pace, Plan, Planned, Report, Seed, Style, Topology, Until, View,
    controller::Attention,
};

use crate::{format, output, own_service::log_in, stop::Stop, terminal};

mod load;
mod local;
mod stage;
mod usage;

use load::{Figures, Meter};
use stage::Stage;

/// Screens a second.
const REDRAW: Duration = Duration::from_millis(200);
/// Machines of all clusters together; each is some kilobytes and a task.
const MOST_HOSTS: usize = 100_000;

/// Simulate a fleet of hosts: discovery, installation and faults, without any machine.
///
/// Without --url a service of its own is started for the run. Exit code 0 means that the run
/// ended as expected: the cluster got as far as --until says, or the service noticed the faults.
#[derive(Args)]
pub struct Simulate {
    /// Shape of the cluster; --list shows them
    #[arg(long, default_value = "ha")]
    topology: Topology,
    /// Number of workers, where the shape has any [default: 2]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Number of clusters at the same time
    #[arg(long, value_name = "N", default_value_t = 1)]
    clusters: usize,
    /// Number of hosts in all clusters together; decides the number of workers
    #[arg(long, value_name = "N", conflicts_with = "workers")]
    hosts: Option<usize>,
    /// Fault to inject into a host, by default the last one (repeatable); --list shows them
    #[arg(long = "fault", value_name = "NAME[:HOST]")]
    faults: Vec<Planned>,
    /// Fix faults once the service has detected them, and continue
    #[arg(long)]
    heal: bool,
    /// Random seed: the same number gives the same hosts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How much faster than real time, 1 to 1000
    #[arg(long, value_name = "FACTOR", default_value_t = 60.0)]
    speed: f64,
    /// How far: discovered, ready or installed
    #[arg(long, default_value = "installed")]
    until: Until,
    /// Something special about the cluster (repeatable); --list shows them
    #[arg(long = "with", value_name = "FEATURE")]
    features: Vec<Feature>,
    /// Operators to install with it, by name, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    operators: Vec<String>,
    /// Agents send what real ones send: a new inventory and connectivity report with every poll
    #[arg(long)]
    faithful: bool,
    /// The controller of the new cluster polls it at the reference's intervals,
    /// instead of watching it
    #[arg(long)]
    polling: bool,
    /// Keep polling for this many seconds once all clusters are there, and measure only that
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    duration: Option<u64>,
    /// Process of the service, to measure what it uses
    #[arg(long, value_name = "PID", requires = "url")]
    service_pid: Option<u32>,
    /// Name of the cluster [default: sim-<topology>]
    #[arg(long)]
    name: Option<String>,
    /// Version to install [default: the service's own default]
    #[arg(long = "release", alias = "openshift-version", value_name = "VERSION")]
    openshift_version: Option<String>,
    /// Service to use, such as https://muster.example.com:8090 [default: one of its own]
    #[arg(long)]
    url: Option<String>,
    /// Bearer token for the service
    #[arg(
        long,
        env = "MUSTER_TOKEN",
        hide_env_values = true,
        conflicts_with = "user"
    )]
    token: Option<String>,
    /// Name to log in with
    #[arg(long, requires = "password")]
    user: Option<String>,
    /// Password to log in with
    #[arg(long, env = "MUSTER_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// PEM file with the CA of the service
    #[arg(long, value_name = "FILE", alias = "ca", env = "MUSTER_CACERT")]
    cacert: Option<PathBuf>,
    /// Do not check the certificate of the service
    #[arg(long)]
    insecure: bool,
    /// Simulate only the machines, which boot the image of this infra-env; you are the user
    #[arg(long, value_name = "INFRA_ENV_ID", requires = "url", conflicts_with_all = ["clusters", "hosts", "until", "duration"])]
    join: Option<uuid::Uuid>,
    /// Keep what was created in the service
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    output: format::Output,
    /// Show topologies, features and faults, then exit
    #[arg(long)]
    list: bool,
}

/// Leaves out token and password.
impl std::fmt::Debug for Simulate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulate")
            .field("topology", &self.topology)
            .field("faults", &self.faults)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Runs it.
pub fn run(simulate: Simulate) -> ExitCode {
    if simulate.list {
        return output::text(&muster_sim::list());
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return output::failure(&error.into()),
    };
    match runtime.block_on(simulate.play()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
}

impl Simulate {
    async fn play(self) -> anyhow::Result<()> {
        let began = Instant::now();
        let plans = self.plans()?;
        let mut stop = Stop::listen()?;
        let (own, line) = tokio::select! {
            way = self.way() => way?,
            () = stop.asked() => bail!("interrupted before anything was created"),
        };
        let meter = Meter::begin(&line, self.service_pid, own.is_some())
            .context("--service-pid: reading what the process uses")?;
        let report = Arc::new(Report::default());
        let mut stage = Stage::build(plans, &line, &report)?;
        let mut view = View::new(self.style(), Arc::clone(&report), stage.snapshot());
        let mut redraw = tokio::time::interval(REDRAW);
        let mut out = io::stdout();
        // Whatever ends the run, what it made is removed.
        let (stopped, mut shown) = loop {
            tokio::select! {
                ended = stage.join_next() => if !ended { break (false, Ok(())) },
                _ = redraw.tick() => if let Err(error) = show(&mut view, &mut out) {
                    break (true, Err(error));
                },
                () = stop.asked() => break (true, Ok(())),
            }
        };
        if stopped {
            stage.interrupt().await;
        }
        if shown.is_ok() {
            shown = show(&mut view, &mut out);
        }
        let figures = match self.duration {
            Some(seconds) if !stopped && stage.all_reached() => {
                let window = Duration::from_secs(seconds);
                let measured = self.steady(&mut stage, &line, own.is_some(), window);
                tokio::select! {
                    figures = measured => Some(figures?),
                    () = stop.asked() => None,
                }
            }
            Some(_) => None,
            None => (self.clusters > 1 || self.hosts.is_some()).then(|| meter.read()),
        };
        let outcome = stage.outcome(stopped, self.until, began.elapsed());
        if own.is_none() && !self.keep {
            note("removing what was created (--keep keeps it)");
            for left in stage.clean_up().await {
                note(&format!("not removed: {left}"));
            }
        }
        if let Some(figures) = figures {
            let text = match self.output.is_json() {
                true => figures.json().to_string(),
                false => figures.text(),
            };
            writeln!(out, "{text}").context("writing the figures")?;
        }
        if let Some(own) = own {
            own.stop().await;
        }
        shown.context("writing what happens")?;
        match outcome {
            Ok(words) => {
                note(&words);
                Ok(())
            }
            Err(reason) => bail!("{reason}"),
        }
    }

    /// The service of this run, if it has one of its own, and the way to it.
    async fn way(&self) -> anyhow::Result<(Option<local::Local>, Line)> {
        let own = match &self.url {
            Some(_) => None,
            None => Some(local::Local::start(Pace::new(self.speed)).await?),
        };
        let line = self.line(own.as_ref()).await?;
        if let Some(own) = &own {
            note(&own.announcement());
        }
        Ok((own, line))
    }

    /// Lets the machines poll for some time without being observed, and measures that alone.
    async fn steady(
        &self,
        stage: &mut Stage,
        line: &Line,
        own: bool,
        window: Duration,
    ) -> anyhow::Result<Figures> {
        stage.look_away();
        note(&format!("all there; measuring for {} s", window.as_secs()));
        let meter = Meter::begin(line, self.service_pid, own)
            .context("--service-pid: reading what the process uses")?;
        tokio::time::sleep(window).await;
        let figures = meter.read();
        Ok(figures.with_hosts(stage.look_again().await))
    }

    fn style(&self) -> Style {
        match (self.output.is_json(), terminal::stdout().has_cursor()) {
            (true, _) => Style::Json,
            (false, true) => Style::Table,
            (false, false) if self.clusters > 1 => Style::Silent,
            (false, false) => Style::Lines,
        }
    }

    /// One plan per cluster.
    fn plans(&self) -> anyhow::Result<Vec<Plan>> {
        if self.clusters == 0 {
            bail!("--clusters 0: there is nothing to do");
        }
        if !Pace::RANGE.contains(&self.speed) {
            bail!("--speed {}: must be 1 to 1000", self.speed);
        }
        let hosts = self
            .hosts
            .unwrap_or_else(|| self.workers.unwrap_or(0).saturating_mul(self.clusters))
            .max(self.clusters);
        if hosts > MOST_HOSTS {
            bail!("{hosts} hosts are too many for one run; {MOST_HOSTS} are the most");
        }
        if self.duration.is_some() && self.until == Until::Installed {
            bail!(
                "--duration measures hosts that poll, and installed ones do not; add --until ready"
            );
        }
        let pace = Pace::new(self.speed);
        let base = Plan::of(self.topology, Seed(self.seed), pace);
        let base_name = self.name.clone().unwrap_or(base.name.clone());
        let mut plans = Vec::with_capacity(self.clusters);
        for number in 0..self.clusters {
            let name = match self.clusters {
                1 => base_name.clone(),
                _ => format!("{base_name}-{number}"),
            };
            let crowd = self.clusters > 1;
            plans.push(Plan {
                name,
                workers: self.workers_of(number)?,
                seed: if crowd {
                    base.seed.part(number as u64)
                } else {
                    base.seed
                },
                faults: self.faults.clone(),
                heal: self.heal,
                until: self.until,
                version: self.openshift_version.clone(),
                features: self.features.clone(),
                operators: self.operators.clone(),
                faithful: self.faithful,
                attention: match self.polling {
                    true => Attention::Polling,
                    false => Attention::Watching,
                },
                join: self.join,
                // Looks are for us; a crowd must not be watched more than it talks.
                look_every: base
                    .look_every
                    .max(Duration::from_millis(20) * u32::try_from(self.clusters)?),
                ..base.clone()
            });
        }
        Ok(plans)
    }

    /// Hosts are shared out evenly; what the shape does not need itself become workers.
    fn workers_of(&self, cluster: usize) -> anyhow::Result<Option<usize>> {
        let Some(hosts) = self.hosts else {
            return Ok(self.workers);
        };
        let share = hosts / self.clusters + usize::from(cluster < hosts % self.clusters);
        let (shape, clusters) = (self.topology, self.clusters);
        let size = |workers| shape.machines(Some(workers)).len() + shape.later(Some(workers)).len();
        // Each worker is one host more, but for those that a shape has anyway.
        let first = share.saturating_sub(size(0));
        let workers = (first..=first + 1).find(|workers| size(*workers) == share);
        workers.map(Some).with_context(|| {
            format!(
                "--hosts {hosts} --clusters {clusters}: a cluster of topology {shape} cannot have \
                 {share} hosts; it starts at {}",
                size(0)
            )
        })
    }

    /// The way to the service, logged in.
    async fn line(&self, own: Option<&local::Local>) -> anyhow::Result<Line> {
        let ca_pem = match (&self.cacert, own) {
            (_, Some(own)) => own.service.ca_pem.clone(),
            (Some(path), None) => Some(
                std::fs::read_to_string(path)
                    .with_context(|| format!("reading {}", path.display()))?,
            ),
            (None, None) => None,
        };
        let url = match (&self.url, own) {
            (_, Some(own)) => own.service.url.clone(),
            (Some(url), None) => url.clone(),
            (None, None) => bail!("no service to talk to"),
        };
        let options = ClientOptions {
            ca_pem,
            insecure: self.insecure,
            ..ClientOptions::default()
        };
        let client = Client::new(&url, options)?;
        let login = match own {
            Some(own) => own.service.login(),
            None => self.user.clone().zip(self.password.clone()),
        };
        let token = match (login, &self.token) {
            (Some((user, password)), _) => Some(log_in(&client, &user, &password).await?),
            (None, token) => token.clone(),
        };
        let authorization = token.map(|token| format!("Bearer {token}"));
        let client = client.on_behalf_of(ClientOptions {
            authorization,
            ..ClientOptions::default()
        });
        // Asked once and not again: a mistyped URL is reported at once.
        client
            .send(&requests::list_component_versions())
            .await
            .with_context(|| format!("the service at {url} cannot be used"))?;
        Ok(Line::new(client))
    }
}

/// Shows what is new, on a terminal no more than fits.
fn show(view: &mut View, out: &mut io::Stdout) -> io::Result<()> {
    view.show(out, output::height())
}

fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
