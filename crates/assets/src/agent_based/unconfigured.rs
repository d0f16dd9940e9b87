//! Images whose cluster is not known yet, and the configuration that is brought to them later.

use std::collections::BTreeMap;

use muster_documents::{
    agent_config::{self, AgentConfig},
    cluster_manifests::{self, ClusterManifests, Expected, Purpose, file::NM_STATE_CONFIG},
};
use muster_ignition::{Builder, Config, Version, file, unit, user};
use muster_model::Arch;

use super::{
    AGENT_CONFIG, AgentError, Planned, Request, Secrets, derive,
    files::{network_files, of_live_system},
    inputs::Effective,
    network_faults,
    planned::host_files,
    proxy,
    units::units,
};
use crate::{
    file::File,
    profiles::Release,
    static_network::{SCRIPT, SCRIPT_PATH},
};

/// What the console shows until a configuration image was applied.
const WAITING: &str = "etc/issue.d/60-check-config-image.issue";

/// Paths that a configuration image brings: those that contain one of these. The settings come last,
/// because hosts begin when they appear.
const BROUGHT: &[&str] = &[
    "etc/assisted/manifests/",
    "etc/assisted/add-nodes.json",
    "etc/assisted/extra-manifests",
    "etc/assisted/hostconfig",
    "etc/assisted/hostnames",
    "etc/assisted/network",
    "etc/NetworkManager/conf.d/clientid.conf",
    "etc/issue",
    "etc/systemd/system.conf.d/10-default-env.conf",
    "root/.docker/config.json",
    "usr/local/share/start-cluster/start-cluster.env",
    "usr/local/share/assisted-service/assisted-service.env",
    "opt/agent/tls/",
    "etc/containers/registries.conf",
    "etc/pki/ca-trust/source/anchors/domain.crt",
    "etc/chrony.conf",
    "etc/assisted/rendezvous-host.env",
];

/// The files of a configuration image, in the order in which hosts apply them.
///
/// # Errors
/// A network cannot be written as profiles.
pub fn config_files(planned: &Planned, secrets: &Secrets) -> Result<Vec<File>, AgentError> {
    let all = host_files(planned, secrets)?;
    let place = |file: &File| BROUGHT.iter().position(|part| file.path.starts_with(part));
    let mut files: Vec<File> = all
        .into_iter()
        .filter(|file| place(file).is_some())
        .collect();
    files.sort_by_key(place);
    Ok(files)
}

/// An image whose cluster is not known: it waits for a configuration image.
#[derive(Debug)]
pub struct Unconfigured {
    /// What makes a live image such a one, together with the programs ([`super::programs::payload`]).
    pub config: Config,
    /// Architecture of its hosts.
    pub arch: Arch,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Makes the config of an image whose cluster is not known.
///
/// # Errors
/// What is wrong with the inputs.
pub fn unconfigured(request: &Request<'_>) -> Result<Unconfigured, AgentError> {
    let Effective { inputs, notes, .. } = Effective::of(request)?;
    let release = request.release.clone().ok_or(AgentError::NoRelease)?;
    let (agent, manifests) = read(&inputs, &release)?;
    let mut made = Unconfigured {
        config: config(&manifests, &release)?,
        arch: arch(&manifests)?,
        notes,
    };
    if let Some(ip) = agent.and_then(|agent| agent.rendezvous_ip) {
        made.notes.push(format!(
            "the rendezvous address {ip} has no effect in this image: hosts take theirs from the \
             configuration image, together with what they need to use it"
        ));
    }
    Ok(made)
}

/// Reads and validates what belongs to such an image.
fn read(
    inputs: &BTreeMap<String, String>,
    release: &Release,
) -> Result<(Option<AgentConfig>, ClusterManifests), AgentError> {
    let mut reports = Vec::new();
    let mut agent = None;
    if let Some(text) = inputs.get(AGENT_CONFIG) {
        let around = agent_config::Around {
            cluster: None,
            network_faults: &network_faults,
            purpose: agent_config::Purpose::Unconfigured,
        };
        match agent_config::load_with(AGENT_CONFIG, text.as_bytes(), &around) {
            Ok(loaded) => agent = Some(loaded.config),
            Err(report) => reports.push(report),
        }
    }
    let files: BTreeMap<String, Vec<u8>> = inputs
        .iter()
        .filter_map(|(path, text)| {
            let name = path.strip_prefix("cluster-manifests/")?;
            Some((name.to_owned(), text.clone().into_bytes()))
        })
        .collect();
    let expected = Expected {
        purpose: Purpose::Unconfigured,
        release_image: Some(&release.image),
        network_faults: &network_faults,
    };
    let manifests = cluster_manifests::load(&files, &expected);
    let manifests = manifests.map(|loaded| loaded.manifests);
    match (manifests, reports.is_empty()) {
        (Ok(mut manifests), true) => {
            let image_set = derive::image_set(release, "");
            manifests.cluster_image_set.get_or_insert(image_set);
            Ok((agent, manifests))
        }
        (manifests, _) => {
            reports.extend(manifests.err().unwrap_or_default());
            Err(AgentError::Findings {
                reports,
                is_unparsable: false,
            })
        }
    }
}

fn arch(manifests: &ClusterManifests) -> Result<Arch, AgentError> {
    let infra_env = manifests.infra_env.as_ref();
    match infra_env.map_or("", |infra_env| &infra_env.spec.cpu_architecture) {
        "" => Ok(Arch::X86_64),
        word => word
            .parse()
            .map_err(|_| AgentError::File(format!("there are no images for architecture {word}"))),
    }
}

fn config(manifests: &ClusterManifests, release: &Release) -> Result<Config, AgentError> {
    let mut builder = Builder::new(Version::V3_2);
    let infra_env = manifests.infra_env.as_ref();
    let keys = infra_env.map_or("", |infra_env| &infra_env.spec.ssh_authorized_key);
    if !keys.trim().is_empty() {
        builder.user(user::with_keys("core", keys.lines()));
    }
    for one in files(manifests, release)? {
        let path = format!("/{}", one.path);
        builder.file(file::text(&path, one.mode, &one.text()));
    }
    for unit in units(!manifests.nm_state_configs.is_empty()) {
        builder.unit(unit);
    }
    let loader = include_str!("assets/load-config-iso@.service");
    builder.unit(unit::passive("load-config-iso@.service", loader));
    let wrong = |faults: muster_ignition::Faults| AgentError::File(faults.to_string());
    builder.finish().map_err(wrong)
}

/// Files of its hosts, by path without the leading slash.
fn files(manifests: &ClusterManifests, release: &Release) -> Result<Vec<File>, AgentError> {
    let proxy = proxy::of_hosts(manifests.infra_env.as_ref(), None);
    let purpose = "Image of an agent-based installation without a configuration";
    let mut files = of_live_system(&release.image, purpose, proxy.as_ref());
    for (name, text) in cluster_manifests::render(manifests) {
        // Networks are there as profiles.
        if name != NM_STATE_CONFIG {
            files.push(File::secret(format!("etc/assisted/manifests/{name}"), text));
        }
    }
    if let Some(secret) = &manifests.pull_secret {
        let text = secret.string_data.docker_config.reveal();
        files.push(File::secret("root/.docker/config.json", text));
    }
    files.extend([
        File::public(
            WAITING,
            "Waiting for the configuration image of a cluster.\n\n",
        ),
        File::public(
            "etc/udev/rules.d/80-agent-config-image.rules",
            include_str!("assets/80-agent-config-image.rules"),
        ),
        File::with_mode(
            "usr/local/bin/load-config-iso.sh",
            include_str!("assets/load-config-iso.sh"),
            0o755,
        ),
    ]);
    files.extend(network_files(manifests)?);
    // A configuration image may bring networks to hosts that have none of their own.
    if manifests.nm_state_configs.is_empty() {
        let path = SCRIPT_PATH.trim_start_matches('/');
        files.push(File::with_mode(path, SCRIPT, 0o755));
    }
    Ok(files)
}
