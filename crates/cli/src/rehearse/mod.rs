//! `muster rehearse`: the cluster of an install-config, or the image of an agent-based installation,
//! in virtual machines, before any hardware is touched.
//!
//! The files have the [`shape`] of a cluster, of which follows a [`plan`]; this program starts again in a
//! network namespace of its own ([`apart`]), lays a wire there and boots every machine ([`stage`]):
//! from the discovery image of a service that it runs on the wire, or from the very [`image`] that
//! `muster agent create image` has made, with the service in it ([`backend`]). It ends when that service
//! would install the cluster, or with what it says against it ([`progress`]).

mod addresses;
mod apart;
mod backend;
mod described;
mod disks;
mod image;
mod plan;
mod progress;
mod rendezvous;
mod requests;
mod shape;
mod stage;
mod wiring;

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use muster_model::MinorVersion;
use muster_vm::{Evidence, program};

use crate::{agent_config, create, diagnostics, format, os_images, output, stop::Stop};
use backend::Origin;
use image::Image;
use plan::Plan;
use requests::Requests;
use shape::Shape;
use stage::Stage;

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
/// played. With --dir they start from the very image that `muster agent create image` made there.
/// Ends when the service says that the cluster is ready to be installed (exit code 0), or
/// prints what blocks it. Needs QEMU, dnsmasq and chrony, without --dir an OS image
/// (`muster os-images`), and no privileges where users may make namespaces.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct Rehearse {
    /// The install-config
    #[arg(default_value = create::FILE)]
    file: PathBuf,
    /// Boot the image that `muster agent create image` made in this directory, unchanged
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["file", "agent_config", "openshift_version", "data_dir", "config"]
    )]
    dir: Option<PathBuf>,
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
        match &self.dir {
            Some(dir) => self.play_image(dir),
            None => self.play_configs(),
        }
    }

    fn play_image(&self, dir: &Path) -> anyhow::Result<()> {
        let image = Image::read(dir)?;
        let newer = image::newer_files(dir)?;
        if !newer.is_empty() && !self.inside {
            note(&format!(
                "not part of the image, which was made before: {}; `muster agent create image` makes \
                 it again",
                newer.join(", ")
            ));
        }
        let plan = Plan::of(&Shape::of_image(&image.planned)?)?;
        self.begin(&plan, &Origin::Image(&image), image.version())
    }

    fn play_configs(&self) -> anyhow::Result<()> {
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
            stock.must_have_agent()?;
        }
        let origin = Origin::Service {
            stock: &stock,
            requests: &requests,
        };
        self.begin(&plan, &origin, &version)
    }

    fn begin(&self, plan: &Plan, origin: &Origin<'_>, version: &str) -> anyhow::Result<()> {
        if !self.inside {
            program::must_have(&PROGRAMS)?;
            return apart::enter();
        }
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(self.inside(plan, origin, version))
    }

    async fn inside(&self, plan: &Plan, origin: &Origin<'_>, version: &str) -> anyhow::Result<()> {
        let mut stop = Stop::listen()?;
        let folder = tempfile::Builder::new()
            .prefix("muster-rehearse-")
            .tempdir()
            .context("a place for what happens")?;
        let evidence = Evidence::at(folder.path())?;
        note(&announcement(plan, origin, version, &evidence));
        let limit = Duration::from_secs(self.timeout * 60);
        let outcome = tokio::select! {
            outcome = self.perform(plan, origin, &evidence, limit) => outcome,
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
        origin: &Origin<'_>,
        evidence: &Evidence,
        limit: Duration,
    ) -> anyhow::Result<()> {
        let mut stage = Stage::build(plan, origin, evidence).await?;
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

fn announcement(plan: &Plan, origin: &Origin<'_>, version: &str, evidence: &Evidence) -> String {
    let machines = match plan.hosts.len() {
        1 => "one machine".to_owned(),
        count => format!("{count} machines"),
    };
    let from = match origin {
        Origin::Service { .. } => String::new(),
        Origin::Image(image) => format!(" from {}", image.path.display()),
    };
    let rendezvous = plan.rendezvous.as_ref();
    let host = rendezvous.and_then(|rendezvous| plan.hosts.get(rendezvous.host));
    let servers = match (rendezvous, host) {
        (Some(rendezvous), Some(host)) => format!(
            "gateway, DNS and NTP at {}, service on {} at {}",
            plan.service, host.name, rendezvous.address
        ),
        (_, _) => format!("gateway, DNS, NTP and service at {}", plan.service),
    };
    format!(
        "rehearsing {} with OpenShift {version}{from}: {machines} on {}, {servers}\n\
         consoles and logs: {}",
        plan.domain,
        wire(plan),
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        rehearse: Rehearse,
    }

    #[test]
    fn an_image_or_configs_are_rehearsed_and_not_both() {
        let parse = |words: &[&str]| Line::try_parse_from(words);
        let image = parse(&["rehearse", "--dir", "lab", "--timeout", "9"]).unwrap();
        assert_eq!(image.rehearse.dir.as_deref(), Some(Path::new("lab")));
        assert!(parse(&["rehearse", "lab/install-config.yaml"]).is_ok());
        for more in [
            &["install-config.yaml"][..],
            &["--agent-config", "a"],
            &["--release", "4.20"],
            &["--data-dir", "d"],
        ] {
            let words = [&["rehearse", "--dir", "lab"], more].concat();
            assert!(parse(&words).is_err(), "{words:?}");
        }
    }
}
