//! `muster agent add-nodes`: an image for hosts that join a running cluster. Reads the cluster with a
//! kubeconfig and changes nothing in it.

mod report;
mod running;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use muster_assets::agent_based::{self, NODES_CONFIG, Planned, Secrets, plan_joining};
use muster_controller::kube::{Access, Kube};
use serde_json::json;

use super::{
    base_iso::BaseIso,
    boot_files,
    create::Boots,
    log::{Level, Log},
    outcome, programs,
};
use crate::{create::native::now, diagnostics};
use report::Report;

/// Make an image for hosts that join a running cluster: node.<arch>.iso.
///
/// The hosts are listed in nodes-config.yaml, or one host is described by flags. Everything else is
/// read from the cluster. After booting a host, follow it with `muster agent monitor`.
#[derive(Debug, Args)]
pub struct Command {
    /// Directory with nodes-config.yaml; results go there
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Messages to show
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: Level,
    /// Kubeconfig of the cluster
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Name of the image [default: node.<arch>.iso]
    #[arg(short, long, value_name = "NAME", conflicts_with = "pxe")]
    output_name: Option<String>,
    /// Make kernel, initrd and root file system for a network boot instead, in boot-artifacts/
    #[arg(short, long)]
    pxe: bool,
    /// Write report.json also if all goes well
    #[arg(short, long)]
    report: bool,
    #[command(flatten)]
    host: OneHost,
    #[command(flatten)]
    base: BaseIso,
    /// Folder with static muster-agent and muster for hosts, as agents/<arch>/muster-agent and
    /// programs/<arch>/muster, or both in <arch>/ [default: beside this program]
    #[arg(long, value_name = "DIR", env = "MUSTER_IMAGES_AGENT_DIR")]
    programs: Option<PathBuf>,
    /// Derive every key from this number instead of chance: for tests only, anybody can guess them
    #[arg(long, value_name = "NUMBER", hide = true)]
    insecure_seed: Option<u64>,
}

/// One host, described by flags; nodes-config.yaml is not read then.
#[derive(Debug, Args)]
#[command(next_help_heading = "One host without a nodes-config.yaml")]
struct OneHost {
    /// Hardware address of the host
    #[arg(short, long, value_name = "MAC")]
    mac_address: Option<String>,
    /// Architecture of the host [default: that of the control plane]
    #[arg(short, long, value_name = "ARCH", requires = "mac_address")]
    cpu_architecture: Option<String>,
    /// File with the public key that opens the node [default: the cluster's]
    #[arg(short = 'k', long, value_name = "FILE", requires = "mac_address")]
    ssh_key_path: Option<PathBuf>,
    /// Name of the host
    #[arg(long, value_name = "NAME", requires = "mac_address")]
    hostname: Option<String>,
    /// Disk to install to, as deviceName:/dev/sda
    #[arg(long, value_name = "HINT:VALUE", requires = "mac_address")]
    root_device_hint: Option<String>,
    /// File with the network of the host, as nmstate describes it
    #[arg(long, value_name = "FILE", requires = "mac_address")]
    network_config_path: Option<PathBuf>,
}

impl OneHost {
    /// The same as a nodes-config.yaml.
    fn config(&self) -> anyhow::Result<Option<String>> {
        let Some(mac) = &self.mac_address else {
            return Ok(None);
        };
        let read = |path: &PathBuf| {
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
        };
        let mut host = json!({"interfaces": [{"name": "eth0", "macAddress": mac}]});
        if let Some(name) = &self.hostname {
            host["hostname"] = json!(name);
        }
        if let Some(hint) = &self.root_device_hint {
            let Some((name, value)) = hint.split_once(':') else {
                bail!("--root-device-hint {hint} is not of the form deviceName:/dev/sda");
            };
            // Numbers and booleans are what they look like.
            let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
            host["rootDeviceHints"] = json!({name: value});
        }
        if let Some(path) = &self.network_config_path {
            let network: serde_json::Value = serde_yaml_ng::from_str(&read(path)?)
                .with_context(|| format!("{} is not YAML", path.display()))?;
            host["networkConfig"] = network;
        }
        let mut config = json!({"hosts": [host]});
        if let Some(architecture) = &self.cpu_architecture {
            config["cpuArchitecture"] = json!(architecture);
        }
        if let Some(path) = &self.ssh_key_path {
            config["sshKey"] = json!(read(path)?.trim());
        }
        Ok(Some(config.to_string()))
    }
}

/// Runs the command.
pub fn run(command: Command) -> ExitCode {
    let log = Log::open(&command.dir, command.log_level);
    outcome::end_on_signal(&log);
    let mut report = Report::begin();
    let done = make(&command, &mut report, &log);
    report.end(done.as_ref().err());
    if done.is_err() || command.report {
        let path = command.dir.join("report.json");
        if let Err(error) = fs::write(&path, report.text()) {
            log.warn(&format!("writing {}: {error}", path.display()));
        }
    }
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => outcome::failed(&error, &log),
    }
}

fn make(command: &Command, report: &mut Report, log: &Log) -> anyhow::Result<()> {
    let config = config(command)?;
    report.stage("add-nodes-cluster-inspection", "Reading the cluster");
    let Some(kubeconfig) = &command.kubeconfig else {
        bail!("name the kubeconfig of the cluster with --kubeconfig or the variable KUBECONFIG");
    };
    let kube = Kube::new(Access::from_kubeconfig(kubeconfig)?)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let running = runtime.block_on(running::read(&kube))?;
    report.result(json!({
        "Version": running.release.version,
        "ReleaseImage": running.release.image,
        "PlatformType": running.platform,
        "Architecture": running.architecture,
    }));
    log.info(&format!(
        "cluster {} runs {} on platform {}",
        running.api, running.release.version, running.platform
    ));

    report.stage("create-manifest", "Validating the hosts");
    let mut seed = [0; 32];
    match command.insecure_seed {
        Some(number) => seed[..8].copy_from_slice(&number.to_be_bytes()),
        None => rand::fill(&mut seed),
    }
    let planned = plan_joining(&running, &config, seed, now()?)?;
    for found in &planned.reports {
        diagnostics::show(found);
        log.record("warning", &found.to_string());
    }
    for note in &planned.notes {
        log.warn(note);
    }

    report.stage("ignition", "Making the configuration of the hosts");
    let secrets = Secrets::for_joining(&planned)?;
    let ignition = agent_based::ignition(&planned, &secrets)?.to_text();
    report.stage("fetch-base-iso", "Finding the base ISO");
    let (iso, _) = command.base.open(&planned, log)?;
    report.stage("create-agent-artifacts", "Packing programs");
    let programs = programs::payload(command.programs.as_deref(), planned.architecture())?;
    let made = Boots {
        iso,
        ignition,
        programs,
        log_ins: Vec::new(),
    };
    write(command, &planned, &made, report, log)
}

fn write(
    command: &Command,
    planned: &Planned,
    made: &Boots,
    report: &mut Report,
    log: &Log,
) -> anyhow::Result<()> {
    let dir = &command.dir;
    let written = match command.pxe {
        true => {
            report.stage("generate-pxe", "Writing files for a network boot");
            let arguments = boot_files::pxe(dir, planned, made)?;
            log.info(&format!("kernel arguments: {arguments}"));
            dir.join(boot_files::FOLDER)
        }
        false => {
            report.stage("generate-iso", "Writing the image");
            let usual = format!("{}.{}.iso", planned.file_prefix(), planned.architecture());
            let name = command.output_name.clone().unwrap_or(usual);
            let path = dir.join(Path::new(&name).file_name().unwrap_or(name.as_ref()));
            boot_files::write(&path, &boot_files::iso(planned, made)?)?;
            path
        }
    };
    log.info(&format!(
        "written to {}; boot the hosts from it within 48 hours and keep it secret: it holds the \
         cluster's pull secret. Then run `muster agent monitor --ip-addresses <IP>,…`, and approve \
         the two certificate requests of each host",
        written.display()
    ));
    Ok(())
}

fn config(command: &Command) -> anyhow::Result<String> {
    if let Some(config) = command.host.config()? {
        return Ok(config);
    }
    let path = command.dir.join(NODES_CONFIG);
    fs::read_to_string(&path).with_context(|| {
        format!(
            "reading {}; list the hosts there, or describe one with --mac-address",
            path.display()
        )
    })
}
