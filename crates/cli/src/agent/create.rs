//! `muster agent create …`: reads a directory, validates everything in it, and writes what hosts
//! boot. Inputs are used up, as users of the reference know it; the state file has them all.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use muster_assets::{
    agent_based::{
        self, AGENT_CONFIG, FOLDERS, Planned, Request, STATE_FILE, Secrets, State, TOP, Target,
        template,
    },
    file::File,
    kubeadmin::Kubeadmin,
    pki::{ACCEPTED, Supplied},
    plan::Extras,
};
use muster_documents::install_config::types::Architecture;

use super::{
    base_iso::{BaseIso, Registries},
    boot_files,
    log::{Level, Log},
    outcome, programs,
    release::{Named, settle},
};
use crate::{
    create::{
        directory::{self, Made, read_one},
        native::{fips_host, lookup, now, variable},
    },
    diagnostics,
};

/// Create what hosts boot.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Create {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Write an agent-config.yaml to begin with.
    AgentConfigTemplate,
    /// Write the cluster manifests generated from the configs, for review and changes.
    ClusterManifests(Registries),
    /// Make the image that all hosts boot: agent.<arch>.iso.
    Image(Boot),
    /// Make kernel, initrd and root file system for a network boot, in boot-artifacts/.
    PxeFiles(Boot),
    /// Make a small ISO with the cluster's configuration, for hosts that boot an unconfigured image.
    ConfigImage(Registries),
    /// Write the Ignition config of an image whose cluster is not known yet, and the programs that belong
    /// into its initrd.
    #[command(hide = true)]
    UnconfiguredIgnition(Unconfigured),
    /// Write the signers of a cluster to tls/.
    #[command(hide = true)]
    Certificates,
}

#[derive(Debug, Args)]
struct Common {
    /// Directory with the configs; results go there
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    dir: PathBuf,
    /// Level of messages to show
    #[arg(long, value_name = "LEVEL", default_value = "info", global = true)]
    log_level: Level,
    /// Release to install: a version such as 4.20.3 or an image, by digest in disconnected networks
    /// [default: as the last command, or the recommended one of the catalogue]
    #[arg(
        long = "release",
        alias = "release-image",
        value_name = "VERSION|IMAGE",
        global = true,
        env = "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE"
    )]
    release: Option<String>,
    /// Version of the image, as 4.20.3, if its tag does not contain it
    #[arg(long, value_name = "VERSION", global = true)]
    release_version: Option<String>,
    /// Derive every key from this number instead of random data; insecure, for tests only
    #[arg(long, value_name = "NUMBER", global = true, hide = true)]
    insecure_seed: Option<u64>,
    /// Use this as the current time, such as 2026-01-02T03:04:05Z; for tests only
    #[arg(long, value_name = "TIME", global = true, hide = true)]
    insecure_time: Option<jiff::Timestamp>,
}

/// What boots.
#[derive(Debug, Args)]
struct Boot {
    #[command(flatten)]
    base: BaseIso,
    /// Folder with static muster-agent and muster for hosts, as agents/<arch>/muster-agent and
    /// programs/<arch>/muster, or both in <arch>/ [default: beside this program]
    #[arg(long, value_name = "DIR", env = "MUSTER_IMAGES_AGENT_DIR")]
    programs: Option<PathBuf>,
}

/// An image without a cluster.
#[derive(Debug, Args)]
struct Unconfigured {
    #[command(flatten)]
    registries: Registries,
    /// Folder with static muster-agent and muster for hosts, as agents/<arch>/muster-agent and
    /// programs/<arch>/muster, or both in <arch>/ [default: beside this program]
    #[arg(long, value_name = "DIR", env = "MUSTER_IMAGES_AGENT_DIR")]
    programs: Option<PathBuf>,
}

/// Runs the command.
pub fn run(create: Create) -> ExitCode {
    let Create { common, what } = create;
    let log = Log::open(&common.dir, common.log_level);
    outcome::end_on_signal(&log);
    let done = match what {
        What::AgentConfigTemplate => write_template(&common, &log),
        What::ClusterManifests(registries) => cluster_manifests(&common, &registries, &log),
        What::Image(boot) => image(&common, &boot, &log),
        What::PxeFiles(boot) => pxe_files(&common, &boot, &log),
        What::ConfigImage(registries) => config_image(&common, &registries, &log),
        What::UnconfiguredIgnition(wanted) => unconfigured(&common, &wanted, &log),
        What::Certificates => certificates(&common, &log),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => outcome::failed(&error, &log),
    }
}

fn write_template(common: &Common, log: &Log) -> anyhow::Result<()> {
    if read_one(&common.dir, AGENT_CONFIG)?.is_some() {
        bail!(
            "{} exists; move it away to get a template",
            common.dir.join(AGENT_CONFIG).display()
        );
    }
    let file = File::secret(AGENT_CONFIG, template::AGENT_CONFIG);
    directory::write(&common.dir, &file, 0o600)?;
    log.info(&format!(
        "{AGENT_CONFIG} written to {}",
        common.dir.display()
    ));
    Ok(())
}

fn cluster_manifests(common: &Common, registries: &Registries, log: &Log) -> anyhow::Result<()> {
    let planned = plan(common, registries, Target::ClusterManifests, log)?;
    let write = agent_based::manifest_files(&planned);
    finish(common, &planned, write, log)?;
    log.info(&format!(
        "cluster-manifests and mirror written to {}",
        common.dir.display()
    ));
    Ok(())
}

fn image(common: &Common, boot: &Boot, log: &Log) -> anyhow::Result<()> {
    let mut planned = plan(common, boot.base.registries(), Target::BootImage, log)?;
    let draft = !planned.is_minimal();
    let mut made = make(common, &mut planned, boot, draft, log)?;
    let name = format!("agent.{}.iso", planned.architecture());
    boot_files::write_iso(&common.dir.join(&name), &planned, &mut made)?;
    if planned.is_minimal() && planned.boot_artifacts_url().is_some() {
        boot_files::write_rootfs(&common.dir, &planned, &made)?;
    }
    let mut files = made.log_ins;
    let address = planned.rendezvous.to_string();
    files.push(File::public("rendezvousIP", address.as_str()));
    finish(common, &planned, files, log)?;
    log.info(&format!("rendezvous host: {address}"));
    log.info(&format!(
        "image written to {}; boot every host of the cluster from it, then run `muster agent \
         wait-for install-complete --dir {}`",
        common.dir.join(&name).display(),
        common.dir.display()
    ));
    Ok(())
}

fn pxe_files(common: &Common, boot: &Boot, log: &Log) -> anyhow::Result<()> {
    let mut planned = plan(common, boot.base.registries(), Target::BootImage, log)?;
    let made = make(common, &mut planned, boot, false, log)?;
    let arguments = boot_files::pxe(&common.dir, &planned, &made)?;
    finish(common, &planned, made.log_ins, log)?;
    log.info(&format!("kernel arguments: {arguments}"));
    log.info(&format!(
        "files for a network boot written to {}",
        common.dir.join(boot_files::FOLDER).display()
    ));
    Ok(())
}

fn config_image(common: &Common, registries: &Registries, log: &Log) -> anyhow::Result<()> {
    let mut planned = plan(common, registries, Target::BootImage, log)?;
    let (secrets, log_ins) = secrets(common, &mut planned)?;
    let view = boot_files::config_image(&planned, &secrets)?;
    let name = "agentconfig.noarch.iso";
    boot_files::write(&common.dir.join(name), &view)?;
    finish(common, &planned, log_ins, log)?;
    log.info(&format!("written to {}", common.dir.join(name).display()));
    Ok(())
}

fn unconfigured(common: &Common, wanted: &Unconfigured, log: &Log) -> anyhow::Result<()> {
    let registries = &wanted.registries;
    let (request, fault) = request(common, registries, Target::BootImage, None, log)?;
    let made = agent_based::unconfigured(&request)?;
    if let Some(fault) = fault {
        return Err(fault);
    }
    for note in &made.notes {
        log.warn(note);
    }
    let programs = programs::payload(wanted.programs.as_deref(), made.arch)?;
    let name = format!("unconfigured-agent-programs.{}.img", made.arch.rpm());
    boot_files::write(&common.dir.join(&name), &programs)?;
    let file = File::public("unconfigured-agent.ign", made.config.to_text());
    directory::write(&common.dir, &file, 0o644)?;
    log.info(&format!(
        "unconfigured-agent.ign and {name} written to {}; an image needs both: embed the one, and append \
         the other to its initrd",
        common.dir.display()
    ));
    Ok(())
}

fn certificates(common: &Common, log: &Log) -> anyhow::Result<()> {
    let state = match read_state(common)? {
        Some(state) => state,
        None => State {
            seed: seed(common),
            created: time(common)?,
            release: settle(
                &common.named(),
                &BTreeMap::new(),
                None,
                &Registries::default(),
                log,
            )?
            .release
            .context("name the release with --release")?,
            inputs: BTreeMap::new(),
            rendezvous: None,
            service_authority: String::new(),
            tokens_expire: None,
        },
    };
    let files = agent_based::certificates(&state, extras(&common.dir)?)?;
    for file in &files {
        directory::write(&common.dir, file, 0o600)?;
    }
    let state = File::secret(STATE_FILE, state.to_text());
    directory::write(&common.dir, &state, 0o600)?;
    log.info(&format!("tls written to {}", common.dir.display()));
    Ok(())
}

/// What goes into a boot image.
pub struct Boots {
    pub iso: muster_image::Iso,
    pub ignition: String,
    pub programs: muster_image::View,
    pub log_ins: Vec<File>,
    /// A copy of the base ISO on its way.
    pub draft: Option<boot_files::Draft>,
}

/// Keys on one thread, programs on another, a copy of the base ISO on a third.
fn make(
    common: &Common,
    planned: &mut Planned,
    boot: &Boot,
    draft: bool,
    log: &Log,
) -> anyhow::Result<Boots> {
    let (iso, path) = boot.base.open(planned, log)?;
    let draft = draft.then(|| boot_files::Draft::begin(&common.dir, &path));
    let draft = draft.transpose()?;
    let arch = planned.arch()?;
    let folder = boot.programs.as_deref();
    let (programs, secrets) = thread::scope(|scope| {
        let packing = scope.spawn(|| programs::payload(folder, arch));
        let secrets = secrets(common, planned);
        (packing.join(), secrets)
    });
    let programs = programs.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let (secrets, log_ins) = secrets?;
    let ignition = agent_based::ignition(planned, &secrets)?.to_text();
    Ok(Boots {
        iso,
        ignition,
        programs,
        log_ins,
        draft,
    })
}

fn secrets(common: &Common, planned: &mut Planned) -> anyhow::Result<(Secrets, Vec<File>)> {
    let secrets = Secrets::generate(planned, extras(&common.dir)?)?;
    planned
        .state
        .service_authority
        .clone_from(&secrets.service.authority);
    let log_ins = agent_based::log_ins(&planned.manifests, &secrets);
    Ok((secrets, log_ins))
}

/// Reads and validates the directory.
fn plan(
    common: &Common,
    registries: &Registries,
    target: Target,
    log: &Log,
) -> anyhow::Result<Planned> {
    let state = read_state(common)?;
    let (request, fault) = request(common, registries, target, state, log)?;
    let planned = agent_based::plan(&request)?;
    for report in &planned.reports {
        diagnostics::show(report);
        log.record("warning", &report.to_string());
    }
    if let Some(fault) = fault {
        return Err(fault);
    }
    for note in &planned.notes {
        log.warn(note);
    }
    if let Some(install) = &planned.manifests.agent_cluster_install {
        let required = install.spec.provision_requirements;
        log.info(&format!(
            "{} of the control plane, {} arbiters, {} workers",
            required.control_plane_agents, required.arbiter_agents, required.worker_agents
        ));
    }
    Ok(planned)
}

/// What is asked for, and why hosts could not install the release if the files are good.
fn request(
    common: &Common,
    registries: &Registries,
    target: Target,
    state: Option<State>,
    log: &Log,
) -> anyhow::Result<(Request<'static>, Option<anyhow::Error>)> {
    let mut request = Request {
        target,
        release: None,
        on_disk: directory::read(&common.dir, TOP, FOLDERS)?,
        state,
        fresh_seed: seed(common),
        now: time(common)?,
        lenient: variable("OPENSHIFT_INSTALL_INVOKER").is_some(),
        fips_host: fips_host(),
        architecture: match env::consts::ARCH {
            "aarch64" => Architecture::Arm64,
            _ => Architecture::Amd64,
        },
        release_architecture: None,
        lookup: &lookup,
    };
    let inputs = agent_based::inputs(&request)?;
    let settled = settle(
        &common.named(),
        &inputs,
        request.state.as_ref(),
        registries,
        log,
    )?;
    request.release = settled.release;
    Ok((request, settled.fault))
}

impl Common {
    fn named(&self) -> Named<'_> {
        Named {
            release: self.release.as_deref(),
            version: self.release_version.as_deref(),
        }
    }
}

fn seed(common: &Common) -> [u8; 32] {
    let mut seed = [0; 32];
    match common.insecure_seed {
        Some(number) => seed[..8].copy_from_slice(&number.to_be_bytes()),
        None => rand::fill(&mut seed),
    }
    seed
}

fn time(common: &Common) -> anyhow::Result<jiff::Timestamp> {
    match common.insecure_time {
        Some(time) => Ok(time),
        None => now(),
    }
}

fn read_state(common: &Common) -> anyhow::Result<Option<State>> {
    let Some(bytes) = read_one(&common.dir, STATE_FILE)? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).with_context(|| format!("{STATE_FILE} is not text"))?;
    Ok(Some(State::from_text(&text)?))
}

/// Signers and a password that the user brings in `tls/`.
fn extras(directory: &Path) -> anyhow::Result<Extras> {
    let text = |name: &str| -> anyhow::Result<Option<String>> {
        let bytes = read_one(directory, &format!("tls/{name}"))?;
        let text = bytes.map(String::from_utf8).transpose();
        text.with_context(|| format!("tls/{name} is not text in UTF-8"))
    };
    let mut extras = Extras::default();
    if variable("OPENSHIFT_INSTALL_LOAD_CLUSTER_CERTS").as_deref() == Some("true") {
        for name in ACCEPTED {
            let pair = (text(&format!("{name}.crt"))?, text(&format!("{name}.key"))?);
            if let (Some(certificate_pem), Some(key_pem)) = pair {
                let supplied = Supplied {
                    certificate_pem,
                    key_pem,
                };
                extras.supplied.insert((*name).to_owned(), supplied);
            }
        }
    }
    if let Some(hash) = text("kubeadmin-password.hash")? {
        let password = text("kubeadmin-password")?;
        extras.kubeadmin = Some(Kubeadmin::supplied(hash.trim(), password.as_deref()));
    }
    Ok(extras)
}

/// Writes files and the state, then removes what was used up.
fn finish(common: &Common, planned: &Planned, write: Vec<File>, log: &Log) -> anyhow::Result<()> {
    let written: Vec<&String> = write.iter().map(|file| &file.path).collect();
    let remove: Vec<String> = planned
        .used
        .iter()
        .filter(|path| !written.contains(path))
        .cloned()
        .collect();
    for path in &remove {
        log.info(&format!(
            "consuming {path}; its content is kept in {STATE_FILE}"
        ));
    }
    let made = Made {
        state: File::secret(STATE_FILE, planned.state.to_text()),
        write,
        remove,
    };
    fs::create_dir_all(&common.dir).with_context(|| format!("making {}", common.dir.display()))?;
    directory::apply(&common.dir, &made)
}
