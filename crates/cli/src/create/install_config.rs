//! `muster create install-config` and `muster check`: writing an install-config, and validating one.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use muster_catalog::PUBLIC_PULL_SECRET;
use muster_documents::{
    findings::{Report, Severity},
    install_config::{
        Draft, Environment, FipsHost, Given, Loaded, Method, UnknownKeys, load, to_yaml,
    },
};
use muster_model::MinorVersion;
use serde_json::json;

use super::{
    ask, questions,
    recipe::{self, Platform, Product, Topology},
};
use crate::{agent_config, diagnostics, format, output::Printed};

pub const FILE: &str = "install-config.yaml";

/// Flags for what a file usually says; `--set` says anything else.
#[derive(Debug, Args)]
pub struct Wanted {
    /// Folder the file is written to.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Overwrite a file that is there.
    #[arg(long)]
    force: bool,
    /// Ask nothing, even in a terminal; what no flag says is left to defaults.
    #[arg(long)]
    no_input: bool,
    /// Validate it for hosts that install themselves from one image.
    #[arg(long)]
    pub(super) agent: bool,
    /// Which distribution is installed; OKD needs no pull secret.
    #[arg(long, value_enum)]
    pub(super) product: Option<Product>,
    /// Name of the cluster.
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Base domain of the cluster.
    #[arg(long)]
    pub(super) base_domain: Option<String>,
    /// Platform of the cluster.
    #[arg(long, value_enum)]
    pub(super) platform: Option<Platform>,
    /// Number and roles of the machines.
    #[arg(long, value_enum)]
    pub(super) topology: Option<Topology>,
    /// Workers, for topologies that have some.
    #[arg(long)]
    pub(super) workers: Option<u32>,
    /// Network of the machines, as address/prefix; once per IP family.
    #[arg(long, value_name = "CIDR")]
    pub(super) machine_network: Vec<String>,
    /// Network of the pods, as address/prefix or address/prefix@hostPrefix.
    #[arg(long, value_name = "CIDR")]
    cluster_network: Vec<String>,
    /// Network of the services, as address/prefix.
    #[arg(long, value_name = "CIDR")]
    service_network: Vec<String>,
    /// Virtual address of the API; once per IP family.
    #[arg(long, value_name = "IP")]
    pub(super) api_vip: Vec<String>,
    /// Virtual address of ingress; once per IP family.
    #[arg(long, value_name = "IP")]
    pub(super) ingress_vip: Vec<String>,
    /// Disk a single node is installed on.
    #[arg(long, value_name = "DEVICE")]
    pub(super) installation_disk: Option<String>,
    /// File with the pull secret; `-` reads it from standard input.
    #[arg(long = "pull-secret", alias = "pull-secret-file", value_name = "FILE")]
    pub(super) pull_secret_file: Option<PathBuf>,
    /// File with public keys that may log in to nodes.
    #[arg(long, value_name = "FILE")]
    pub(super) ssh_key_file: Option<PathBuf>,
    /// File with certificates that nodes trust.
    #[arg(long, value_name = "FILE")]
    trust_bundle_file: Option<PathBuf>,
    /// Proxy for HTTP.
    #[arg(long, value_name = "URL")]
    http_proxy: Option<String>,
    /// Proxy for HTTPS.
    #[arg(long, value_name = "URL")]
    https_proxy: Option<String>,
    /// Addresses and domains reached without the proxy, separated by commas.
    #[arg(long, value_name = "LIST")]
    no_proxy: Option<String>,
    /// Mirror of an image repository; may come several times.
    #[arg(long, value_name = "SOURCE=MIRROR")]
    mirror: Vec<String>,
    /// Nodes use only cryptography validated by FIPS.
    #[arg(long)]
    fips: bool,
    /// Any other field, for example `--set networking.networkType=Calico`; values are YAML.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(super) set: Vec<String>,
    #[command(flatten)]
    pub(super) output: format::Output,
}

/// Flags of `muster check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The file.
    #[arg(default_value = FILE)]
    file: PathBuf,
    /// The release to be installed, for example 4.19; without it the newest.
    #[arg(long)]
    release: Option<String>,
    /// Validate it for hosts that install themselves from one image, and agent-config.yaml beside it.
    #[arg(long)]
    agent: bool,
    /// The agent-config, if it is not beside the file or has another name.
    #[arg(long, value_name = "FILE", requires = "agent")]
    agent_config: Option<PathBuf>,
    /// Print the config with every default filled in; secrets are left out.
    #[arg(long)]
    effective: bool,
    #[command(flatten)]
    output: format::Output,
}

/// Writes the file and says where.
pub fn create(wanted: &Wanted) -> anyhow::Result<Printed> {
    let path = wanted.dir.join(FILE);
    if path.exists() && !wanted.force {
        bail!("{} exists already; --force overwrites it", path.display());
    }
    let mut draft = Draft::new();
    fill(&mut draft, wanted).map_err(|reason| anyhow!(reason))?;
    if ask::is_interactive() && !wanted.no_input {
        questions::ask(&mut draft, wanted)?;
    }
    for pair in &wanted.set {
        let (field, value) = pair
            .split_once('=')
            .with_context(|| format!("--set {pair:?} is not FIELD=VALUE"))?;
        draft
            .set_text(field, value)
            .map_err(|reason| anyhow!(reason))?;
    }
    let text = draft.to_yaml().context("writing YAML")?;
    let report = match validate(FILE, text.as_bytes(), given(wanted.agent)) {
        Ok(loaded) => loaded.report,
        Err(report) => {
            diagnostics::show(&report);
            bail!(
                "{}; nothing was written. Correct the flags",
                diagnostics::summary(&report)
            );
        }
    };
    diagnostics::show(&report);
    fs::create_dir_all(&wanted.dir)
        .with_context(|| format!("making the folder {}", wanted.dir.display()))?;
    write_private(&path, &text).with_context(|| format!("writing {}", path.display()))?;
    let command = match wanted.topology {
        Some(Topology::SingleNode) => "single-node-ignition-config",
        Some(
            Topology::Compact | Topology::HighlyAvailable | Topology::Arbiter | Topology::TwoNode,
        )
        | None => "ignition-configs",
    };
    let next = format!("muster create {command} --dir {}", wanted.dir.display());
    let _ = writeln!(
        io::stderr(),
        "next: {next}   (uses the file up: keep a copy; `muster create manifests --dir {}` first to \
         change manifests)",
        wanted.dir.display()
    );
    Ok(Printed {
        text: path.display().to_string(),
        json: json!({"file": path, "findings": findings(&report), "next": next}),
    })
}

/// Validates a file.
pub fn check(check: &Check) -> anyhow::Result<String> {
    let bytes =
        fs::read(&check.file).with_context(|| format!("reading {}", check.file.display()))?;
    let mut given = given(check.agent);
    if let Some(release) = &check.release {
        given.okd = release.contains("okd");
        let release = MinorVersion::parse(release)
            .with_context(|| format!("{release:?} is not a release such as 4.19"))?;
        given.release = Some(release);
    }
    let validated = validate(&check.file.display().to_string(), &bytes, given);
    let (report, config) = match validated {
        Ok(Loaded { config, report, .. }) => (report, Some(config)),
        Err(report) => (report, None),
    };
    if check.output.is_json() {
        return as_json(&report, config.is_some());
    }
    diagnostics::show(&report);
    let mut text = diagnostics::summary(&report);
    let machines = agent_config::find(check.agent_config.as_deref(), &check.file);
    let machines = machines.filter(|_| check.agent);
    // Both files are validated, whatever is wrong with the first.
    let machines = machines.map(|file| agent_config::validate(&file, config.as_ref(), true));
    let Some(config) = config else {
        if let Some(Err(error)) = machines {
            text += &format!("; {error:#}");
        }
        bail!("{text}");
    };
    text += "; it can be used";
    if let Some(machines) = machines {
        let (_, summary) = machines?;
        text += &format!("\n{summary}; it can be used");
    }
    if check.effective {
        return to_yaml(&config.redacted()).context("writing YAML");
    }
    Ok(text)
}

/// The findings for programs; the exit code still says whether the file can be used.
fn as_json(report: &Report, usable: bool) -> anyhow::Result<String> {
    let text = format!(
        "{:#}",
        json!({"usable": usable, "findings": findings(report)})
    );
    if usable {
        return Ok(text);
    }
    crate::output::text(&text);
    bail!("{}", diagnostics::summary(report));
}

fn findings(report: &Report) -> Vec<serde_json::Value> {
    let findings = report.findings().iter().map(|finding| {
        json!({
            "severity": match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "rule": finding.rule,
            "field": finding.path,
            "message": finding.message,
            "fix": finding.help,
        })
    });
    findings.collect()
}

/// Reads a file called `name` with what this machine knows.
pub fn validate(name: &str, bytes: &[u8], given: Given) -> Result<Loaded, Report> {
    environment(given, |around| load(name, bytes, around))
}

/// Runs with what this machine knows: real randomness, no DNS.
pub fn environment<T>(given: Given, run: impl FnOnce(&mut Environment<'_>) -> T) -> T {
    let mut random = |bytes: &mut [u8]| rand::fill(bytes);
    let mut around = Environment::new(&mut random);
    around.given = given;
    run(&mut around)
}

/// What is known from this machine and its environment.
pub fn given(agent: bool) -> Given {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let fips = fs::read_to_string("/proc/sys/crypto/fips_enabled");
    let in_fips_mode = fips.is_ok_and(|switch| switch.trim() == "1");
    let fips_host = if in_fips_mode {
        FipsHost::Yes
    } else if set("OPENSHIFT_INSTALL_SKIP_HOSTCRYPT_VALIDATION") {
        FipsHost::Bypassed
    } else {
        FipsHost::No
    };
    let unknown_keys = if set("OPENSHIFT_INSTALL_INVOKER") {
        UnknownKeys::Warn
    } else {
        UnknownKeys::Refuse
    };
    let method = if agent { Method::Agent } else { Method::Plain };
    Given {
        method,
        unknown_keys,
        fips_host,
        ..Given::default()
    }
}

/// A pull secret is in it, so it is for its owner only.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

fn read(path: &Path) -> Result<String, String> {
    let text = if path == Path::new("-") {
        io::read_to_string(io::stdin())
    } else {
        fs::read_to_string(path)
    };
    let text = text.map_err(|cause| format!("reading {}: {cause}", path.display()))?;
    Ok(text.trim_end().to_owned())
}

/// What the flags say.
fn fill(draft: &mut Draft, wanted: &Wanted) -> Result<(), String> {
    if let Some(platform) = wanted.platform {
        recipe::set_platform(draft, platform)?;
    }
    if let Some(topology) = wanted.topology {
        recipe::set_topology(draft, topology, workers(topology, wanted.workers)?)?;
    } else if let Some(workers) = wanted.workers {
        draft.set("compute[0].name", json!("worker"))?;
        draft.set("compute[0].replicas", json!(workers))?;
    }
    let texts = [
        ("metadata.name", &wanted.name),
        ("baseDomain", &wanted.base_domain),
        (
            "bootstrapInPlace.installationDisk",
            &wanted.installation_disk,
        ),
        ("proxy.httpProxy", &wanted.http_proxy),
        ("proxy.httpsProxy", &wanted.https_proxy),
        ("proxy.noProxy", &wanted.no_proxy),
    ];
    for (field, value) in texts {
        if let Some(value) = value {
            draft.set(field, json!(value))?;
        }
    }
    let files = [
        ("pullSecret", &wanted.pull_secret_file),
        ("sshKey", &wanted.ssh_key_file),
        ("additionalTrustBundle", &wanted.trust_bundle_file),
    ];
    for (field, path) in files {
        if let Some(path) = path {
            draft.set(field, json!(read(path)?))?;
        }
    }
    for (index, cidr) in wanted.machine_network.iter().enumerate() {
        draft.set(
            &format!("networking.machineNetwork[{index}].cidr"),
            json!(cidr),
        )?;
    }
    if !wanted.cluster_network.is_empty() {
        recipe::set_cluster_networks(draft, &wanted.cluster_network)?;
    }
    if !wanted.service_network.is_empty() {
        draft.set("networking.serviceNetwork", json!(wanted.service_network))?;
    }
    for (name, vips) in [
        ("apiVIPs", &wanted.api_vip),
        ("ingressVIPs", &wanted.ingress_vip),
    ] {
        if !vips.is_empty() {
            let platform = wanted.platform.filter(|platform| platform.has_vips());
            let platform = platform
                .ok_or("virtual addresses need --platform baremetal, vsphere or nutanix")?;
            draft.set(&format!("platform.{}.{name}", platform.word()), json!(vips))?;
        }
    }
    if !wanted.mirror.is_empty() {
        recipe::set_mirrors(draft, &wanted.mirror)?;
    }
    if wanted.product == Some(Product::Okd) && wanted.pull_secret_file.is_none() {
        draft.set("pullSecret", json!(PUBLIC_PULL_SECRET))?;
    }
    if wanted.fips {
        draft.set("fips", json!(true))?;
    }
    Ok(())
}

pub(super) fn workers(topology: Topology, wanted: Option<u32>) -> Result<u32, String> {
    let (_, _, has_workers) = topology.machines();
    match (wanted, has_workers) {
        (Some(workers), _) => Ok(workers),
        (None, true) => Ok(3),
        (None, false) => Ok(0),
    }
}
