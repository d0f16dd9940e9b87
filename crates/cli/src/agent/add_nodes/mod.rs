//! `muster agent add-nodes`: an image for hosts that join a running cluster. Reads the cluster with a
//! kubeconfig and changes nothing in it.

pub mod access;
mod report;
mod running;

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use muster_assets::{
    agent_based::{self, NODES_CONFIG, Planned, Secrets, plan_joining},
    file::File,
};
use muster_controller::kube::Kube;
use serde_json::json;

use super::{
    base_iso::BaseIso,
    boot_files,
    cluster::Cluster,
    create::Boots,
    log::{Level, Log},
    outcome, programs,
};
use crate::{
    create::{directory, native::now},
    diagnostics,
};
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
    /// Level of messages to show
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: Level,
    #[command(flatten)]
    cluster: Cluster,
    /// Name of the image [default: node.<arch>.iso]
    #[arg(short, long, value_name = "NAME", conflicts_with = "pxe")]
    output_name: Option<String>,
    /// Make kernel, initrd and root file system for a network boot instead, in boot-artifacts/
    #[arg(short, long)]
    pxe: bool,
    /// Make a small ISO with the configuration instead, for hosts that boot an unconfigured image:
    /// node-config.noarch.iso
    #[arg(long, conflicts_with = "pxe")]
    config_iso: bool,
    /// Write report.json also after success
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
    /// Every image is verified; accepted for scripts made for `oc adm node-image`.
    #[arg(long, hide = true)]
    skip_verification: bool,
    /// Behave as node-joiner does: the report is always written, and the exit code to a file, too.
    #[arg(long, hide = true)]
    as_node_joiner: bool,
    /// Derive every key from this number instead of random data; insecure, for tests only
    #[arg(long, value_name = "NUMBER", hide = true)]
    insecure_seed: Option<u64>,
}

/// One host, described by flags; nodes-config.yaml is not read then.
#[derive(Debug, Args)]
#[command(next_help_heading = "One host without a nodes-config.yaml")]
struct OneHost {
    /// MAC address of the host
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

impl Command {
    /// The name of the ISO, always inside the directory.
    fn iso_name(&self, usual: &str) -> OsString {
        let name = self.output_name.as_deref().unwrap_or(usual);
        let last = Path::new(name).file_name();
        last.map_or_else(|| usual.into(), OsStr::to_owned)
    }
}

/// Runs the command.
pub fn run(command: Command) -> ExitCode {
    let log = Log::open(&command.dir, command.log_level);
    outcome::end_on_signal(&log);
    if command.skip_verification {
        log.info("--skip-verification has no effect: every image is verified");
    }
    let mut report = Report::begin();
    let done = make(&command, &mut report, &log);
    report.end(done.as_ref().err());
    let mut files = Vec::new();
    if done.is_err() || command.report || command.as_node_joiner {
        files.push(File::public("report.json", report.text()));
    }
    if command.as_node_joiner {
        let code = if done.is_ok() { "0" } else { "1" };
        files.push(File::public("exit_code", code));
    }
    for file in files {
        if let Err(error) = directory::write(&command.dir, &file, 0o600) {
            log.warn(&format!("{error:#}"));
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
    let kube = Kube::new(command.cluster.access()?)?;
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
    access::keep(&command.dir, access::of(&planned, &secrets))?;
    if command.config_iso {
        report.stage("generate-iso", "Writing the configuration image");
        let path = command.dir.join(command.iso_name("node-config.noarch.iso"));
        boot_files::write(&path, &boot_files::config_image(&planned, &secrets)?)?;
        announce(&path, log);
        return Ok(());
    }
    let ignition = agent_based::ignition(&planned, &secrets)?.to_text();
    report.stage("fetch-base-iso", "Finding the base ISO");
    let (iso, base) = command.base.open(&planned, log)?;
    let draft = (!command.pxe).then(|| boot_files::Draft::begin(&command.dir, &base));
    report.stage("create-agent-artifacts", "Packing programs");
    let programs = programs::payload(command.programs.as_deref(), planned.arch()?)?;
    let made = Boots {
        iso,
        ignition,
        programs,
        log_ins: Vec::new(),
        draft: draft.transpose()?,
    };
    write(command, &planned, made, report, log)
}

fn write(
    command: &Command,
    planned: &Planned,
    mut made: Boots,
    report: &mut Report,
    log: &Log,
) -> anyhow::Result<()> {
    let dir = &command.dir;
    let written = match command.pxe {
        true => {
            report.stage("generate-pxe", "Writing files for a network boot");
            let arguments = boot_files::pxe(dir, planned, &made)?;
            log.info(&format!("kernel arguments: {arguments}"));
            dir.join(boot_files::FOLDER)
        }
        false => {
            report.stage("generate-iso", "Writing the image");
            let usual = format!("{}.{}.iso", planned.file_prefix(), planned.architecture());
            let path = dir.join(command.iso_name(&usual));
            boot_files::write_iso(&path, planned, &mut made)?;
            path
        }
    };
    announce(&written, log);
    Ok(())
}

fn announce(written: &Path, log: &Log) {
    log.info(&format!(
        "written to {}; boot the hosts from it within 48 hours and keep it secret: it holds the \
         cluster's pull secret. Then run `muster agent monitor --ip-addresses <IP>,…`, and approve \
         the two certificate requests of each host",
        written.display()
    ));
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

#[cfg(test)]
mod tests {
    use clap::{ArgMatches, FromArgMatches};

    use super::*;

    fn parsed<T: Args>(line: &str) -> Result<ArgMatches, clap::Error> {
        let command = T::augment_args(clap::Command::new("command"));
        command.try_get_matches_from(["command"].into_iter().chain(line.split_whitespace()))
    }

    #[test]
    fn flags_of_oc_adm_node_image_are_taken() {
        let line = "--dir d -o node.iso -r -a auth.json --insecure --certificate-authority ca.pem \
                    --skip-verification --kubeconfig k --context lab --cluster c --user u -n default \
                    -s https://api:6443 --token t -m 52:54:00:00:00:05 -c arm64 -k id.pub --hostname w \
                    --root-device-hint deviceName:/dev/sda --network-config-path n.yaml";
        let matches = parsed::<Command>(line).unwrap();
        assert!(matches.get_flag("insecure"));
        let command = Command::from_arg_matches(&matches).unwrap();
        assert_eq!(
            command.host.mac_address.as_deref(),
            Some("52:54:00:00:00:05")
        );
        assert!(parsed::<Command>("--pxe --insecure-registry registry.lab:5000").is_ok());
        assert!(parsed::<Command>("--registry-config auth.json").is_ok());
        // Its value is gone: it trusts every registry.
        assert!(parsed::<Command>("--insecure registry.lab:5000").is_err());

        let line = "--ip-addresses 192.0.2.1,192.0.2.2 -a auth.json --insecure --skip-verification \
                    --certificate-authority ca.pem --context lab";
        assert!(parsed::<super::super::monitor::Command>(line).is_ok());
    }
}
