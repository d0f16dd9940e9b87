//! `muster rehearse`: the cluster of an install-config in virtual machines, before any hardware is
//! touched.
//!
//! The file becomes a [`plan`]; this program starts again in a network namespace of its own
//! ([`apart`]), lays a wire there, runs a service on it and boots its discovery image on every
//! machine ([`stage`]), until the service would install the cluster or says why not.

mod addresses;
mod apart;
mod described;
mod plan;
mod requests;
mod shape;
mod stage;
mod wiring;

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use muster_model::MinorVersion;
use muster_vm::{Evidence, program};

use crate::{agent_config, create, diagnostics, format, os_images, output, stop::Stop};
use plan::Plan;
use requests::Requests;
use shape::Shape;
use stage::{Stage, Stock};

/// What machines and their wire are made with.
const PROGRAMS: [&str; 6] = [
    "qemu-system-x86_64",
    "dnsmasq",
    "chronyd",
    "ip",
    "setpriv",
    "unshare",
];

/// Boot the cluster of an install-config in virtual machines, before any hardware is touched.
///
/// Machines with the names, network cards and static networks of the files start from the real
/// discovery image in a network that exists only for this run; DHCP, DNS, NTP and the gateway are
/// played. Ends when the service says that the cluster is ready to be installed (exit code 0), or
/// prints what blocks it. Needs an OS image (`muster os-images`), QEMU, dnsmasq and chrony, and
/// no privileges where users may make namespaces.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct Rehearse {
    /// The install-config
    #[arg(default_value = create::FILE)]
    file: PathBuf,
    /// The agent-config, which describes the machines [default: agent-config.yaml beside it, if any]
    #[arg(long, value_name = "FILE")]
    agent_config: Option<PathBuf>,
    /// OpenShift version, such as 4.20 [default: the newest whose OS image is here]
    #[arg(long = "release", alias = "openshift-version", value_name = "VERSION")]
    openshift_version: Option<String>,
    /// Data directory with the OS images [default: as `muster serve`]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Configuration file [default: as `muster serve`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Give up after this many minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Keep consoles, journals and the service's data even after success
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    output: format::Output,
    #[arg(long, hide = true)]
    inside: bool,
}

/// Runs it.
pub fn run(rehearse: &Rehearse) -> ExitCode {
    match rehearse.play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
}

impl Rehearse {
    fn play(&self) -> anyhow::Result<()> {
        let bytes =
            fs::read(&self.file).with_context(|| format!("reading {}", self.file.display()))?;
        let stock = os_images::stock(self.data_dir.clone(), self.config.clone())?;
        let version = match &self.openshift_version {
            Some(version) => version.clone(),
            None => stock.newest().context(
                "no OS image is here; `muster os-images fetch --release …` or `add` brings one",
            )?,
        };
        stock.must_have(&version)?;
        // Hosts come to the service by themselves, as with the agent-based installer.
        let mut given = create::given(true);
        given.release = MinorVersion::parse(&version);
        let config = match create::validate(&self.file.display().to_string(), &bytes, given) {
            Ok(loaded) => {
                if !self.inside {
                    diagnostics::show(&loaded.report);
                }
                loaded.config
            }
            Err(report) => {
                diagnostics::show(&report);
                bail!("{}", diagnostics::summary(&report));
            }
        };
        let agent = match agent_config::find(self.agent_config.as_deref(), &self.file) {
            Some(file) => Some(agent_config::validate(&file, Some(&config), !self.inside)?.0),
            None => None,
        };
        let plan = Plan::of(&Shape::of_configs(&config, agent.as_ref())?)?;
        let requests = Requests::of(&config, &version, &plan);
        if !self.inside {
            program::must_have(&PROGRAMS)?;
            stock.must_have_agent()?;
            return apart::enter();
        }
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(self.inside(&plan, &requests, &stock, &version))
    }

    async fn inside(
        &self,
        plan: &Plan,
        requests: &Requests,
        stock: &Stock,
        version: &str,
    ) -> anyhow::Result<()> {
        let mut stop = Stop::listen()?;
        let folder = tempfile::Builder::new()
            .prefix("muster-rehearse-")
            .tempdir()
            .context("a place for what happens")?;
        let evidence = Evidence::at(folder.path())?;
        note(&announcement(plan, version, &evidence));
        let limit = Duration::from_secs(self.timeout * 60);
        let outcome = tokio::select! {
            outcome = self.perform(plan, requests, stock, &evidence, limit) => outcome,
            () = stop.asked() => Err(anyhow::anyhow!("interrupted before the end")),
        };
        if outcome.is_err() || self.keep {
            note(&format!(
                "everything that was recorded is in {}",
                folder.keep().display()
            ));
        }
        outcome
    }

    async fn perform(
        &self,
        plan: &Plan,
        requests: &Requests,
        stock: &Stock,
        evidence: &Evidence,
        limit: Duration,
    ) -> anyhow::Result<()> {
        let mut stage = Stage::build(plan, requests, stock, evidence).await?;
        let ready = stage.until_ready(plan, limit, self.output.is_json()).await;
        if let Ok(failing) = &ready {
            note(&format!(
                "the cluster is ready: {} could be installed on machines like these",
                plan.domain
            ));
            if !failing.is_empty() {
                let failing = failing.join("\n  ");
                note(&format!(
                    "but these checks fail, though no installation waits for them:\n  {failing}"
                ));
            }
        }
        stage.clear().await;
        ready.map(drop)
    }
}

fn announcement(plan: &Plan, version: &str, evidence: &Evidence) -> String {
    let machines = match plan.hosts.len() {
        1 => "one machine".to_owned(),
        count => format!("{count} machines"),
    };
    format!(
        "rehearsing {} with OpenShift {version}: {machines} on {}, gateway, DNS, NTP and service \
         at {}\nconsoles and logs: {}",
        plan.domain,
        wire(plan),
        plan.service,
        evidence.folder().display()
    )
}

fn wire(plan: &Plan) -> String {
    let networks = plan.seat.ours.iter().map(|ours| ours.trunc().to_string());
    let networks = networks.collect::<Vec<_>>().join(" and ");
    match plan.seat.vlan {
        Some(id) => format!("{networks} in VLAN {id}"),
        None => networks,
    }
}

fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
