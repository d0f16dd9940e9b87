//! The agent-based installer at the desk: from a directory of inputs to everything in the image.
//!
//! [`plan`] reads the inputs, validates them against each other and says what is made of them and
//! which files are used up; [`Secrets::generate`] makes keys and certificates; [`ignition`] puts the
//! config of all hosts together. All of it follows from the inputs and the seed in the [`State`]:
//! same input, same bytes. The caller reads and writes.

mod derive;
mod files;
pub mod graph;
mod hosts;
mod inputs;
mod joining;
mod mirrors;
mod overrides;
mod planned;
pub mod programs;
mod proxy;
mod release_images;
mod secrets;
mod state;
pub mod template;
mod tokens;
mod unconfigured;
mod units;

use std::{collections::BTreeMap, fmt, net::IpAddr};

use jiff::Timestamp;
use muster_documents::{
    agent_config,
    cluster_manifests::{self, Expected, Purpose},
    fencing_credentials,
    findings::Report,
    install_config::{
        self, Environment, FipsHost, Given, InstallConfig, Method, UnknownKeys,
        types::{Architecture, Credential},
    },
    registries_conf,
};
use muster_model::MinorVersion;
use serde_json::Value;
use thiserror::Error;

pub use derive::image_set;
pub use files::networks;
pub use inputs::{AGENT_CONFIG, FENCING_CREDENTIALS, FOLDERS, INSTALL_CONFIG, TOP, inputs};
pub use joining::{Joining, NODES_CONFIG, Running, plan_joining};
pub use mirrors::Mirrors;
pub use planned::{Planned, ignition};
pub use secrets::{Secrets, certificates, log_ins};
pub use state::{Ids, SERVICE_PORT, STATE_FILE, State, StateError, service_url};
pub use tokens::Tokens;
pub use unconfigured::{Unconfigured, config_files, unconfigured};

use crate::{
    entropy::Entropy, file::File, pki::PkiError, plan::PlanError, profiles::Release, static_network,
};
use inputs::{Effective, extra_manifests, is_unparsable};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `cluster-manifests/` and `mirror/`.
    ClusterManifests,
    /// Something to boot from.
    BootImage,
}

/// One command.
pub struct Request<'a> {
    /// What is asked for.
    pub target: Target,
    /// Every file in the directory that may count, by relative path.
    pub on_disk: BTreeMap<String, Vec<u8>>,
    /// What the last command left.
    pub state: Option<State>,
    /// The release to install; without one the last command's.
    pub release: Option<Release>,
    /// 32 random bytes, used if this is a new directory.
    pub fresh_seed: [u8; 32],
    /// The time.
    pub now: Timestamp,
    /// Unknown keys of the install-config are tolerated.
    pub lenient: bool,
    /// Whether this machine may prepare a FIPS cluster.
    pub fips_host: FipsHost,
    /// Architecture of pools that name none.
    pub architecture: Architecture,
    /// The only architecture the release is made for, if that is known.
    pub release_architecture: Option<Architecture>,
    /// Asks DNS for virtual addresses that the user did not choose.
    pub lookup: &'a dyn Fn(&str) -> Option<IpAddr>,
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("target", &self.target)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// Why nothing was made.
#[derive(Debug, Error)]
pub enum AgentError {
    /// There is nothing to begin with.
    #[error(
        "there is neither {INSTALL_CONFIG} nor cluster-manifests/ in this directory, and no earlier \
         command left its state; write them, or run `muster create install-config` and `muster \
         agent create agent-config-template`"
    )]
    NoInput,
    /// The release has a version that is none.
    #[error(
        "release version {0:?} is not of the form MAJOR.MINOR.PATCH, as 4.20.3; name it with \
         --release-version"
    )]
    ReleaseVersion(String),
    /// No release was named.
    #[error(
        "it is not known which release to install; name one with --release (and --release-version, \
         if the image's tag does not contain it)"
    )]
    NoRelease,
    /// Files of the user have errors.
    #[error("{}", wrong_files(.reports))]
    Findings {
        /// One report per file, warnings included.
        reports: Vec<Report>,
        /// The install-config cannot even be read.
        is_unparsable: bool,
    },
    /// No host can be the one that gathers the others.
    #[error(
        "no rendezvous address: set `rendezvousIP` in {AGENT_CONFIG}, or give a host of the control \
         plane a static address in its `networkConfig`"
    )]
    NoRendezvous,
    /// A file has the wrong form.
    #[error("{0}")]
    File(String),
    /// The network of a host cannot be written as profiles.
    #[error(transparent)]
    Network(#[from] static_network::NetworkFault),
    /// The release is not known.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Keys or certificates.
    #[error(transparent)]
    Pki(#[from] PkiError),
}

fn wrong_files(reports: &[Report]) -> String {
    let names: Vec<&str> = reports
        .iter()
        .filter(|report| report.has_errors())
        .map(Report::name)
        .collect();
    format!("{} cannot be used", names.join(", "))
}

/// Reads and validates the inputs of a directory, and says what becomes of them.
///
/// # Errors
/// All that is wrong with the inputs, at once.
pub fn plan(request: &Request<'_>) -> Result<Planned, AgentError> {
    let Effective {
        inputs,
        mut notes,
        used,
    } = Effective::of(request)?;
    let earlier = request.state.as_ref();
    let release = request.release.clone();
    let release = release.or_else(|| Some(earlier?.release.clone()));
    let release = release.ok_or(AgentError::NoRelease)?;
    let seed = earlier.map_or(request.fresh_seed, |state| state.seed);
    let created = earlier.map_or(request.now, |state| state.created);

    let mut reports = Vec::new();
    let (install, is_unparsable) = read_install(request, &inputs, &release, seed, &mut reports);
    let agent = inputs.get(AGENT_CONFIG).and_then(|text| {
        let facts = agent_config::Around {
            cluster: install.as_ref(),
            network_faults: &network_faults,
            purpose: agent_config::Purpose::Cluster,
        };
        match agent_config::load_with(AGENT_CONFIG, text.as_bytes(), &facts) {
            Ok(loaded) => {
                reports.push(loaded.report);
                Some(loaded.config)
            }
            Err(report) => {
                reports.push(report);
                None
            }
        }
    });
    let extra_manifests = extra_manifests(&inputs, &mut reports);
    let mirrors = read_mirrors(&inputs, install.as_ref(), &mut reports);
    let fencing = read_fencing(&inputs, install.as_ref(), &mut reports);
    let failed = |reports: Vec<Report>| AgentError::Findings {
        reports,
        is_unparsable,
    };
    if reports.iter().any(Report::has_errors) {
        return Err(failed(reports));
    }

    let hosts = hosts::hosts(install.as_ref(), agent.as_ref());
    let derived = install
        .as_ref()
        .map(|install| derive::manifests(install, agent.as_ref(), &hosts, &release));
    let mut manifest_files: BTreeMap<String, Vec<u8>> = derived
        .as_ref()
        .map(cluster_manifests::render)
        .unwrap_or_default()
        .into_iter()
        .map(|(name, text)| (name, text.into_bytes()))
        .collect();
    for (path, text) in &inputs {
        if let Some(name) = path.strip_prefix("cluster-manifests/") {
            manifest_files.insert(name.to_owned(), text.clone().into_bytes());
        }
    }
    let expected = Expected {
        purpose: Purpose::Install,
        release_image: Some(&release.image),
        network_faults: &network_faults,
    };
    let manifests = match cluster_manifests::load(&manifest_files, &expected) {
        Ok(loaded) => {
            reports.extend(loaded.reports);
            loaded.manifests
        }
        Err(found) => {
            reports.extend(found);
            return Err(failed(reports));
        }
    };
    let mut manifests = manifests;
    let namespace = manifests.infra_env.as_ref();
    let namespace = namespace.map_or("", |infra_env| &infra_env.metadata.namespace);
    let image_set = image_set(&release, namespace);
    manifests.cluster_image_set.get_or_insert(image_set);

    let rendezvous = agent
        .as_ref()
        .and_then(|agent| agent.rendezvous_ip)
        .or_else(|| hosts::first_address(&hosts))
        .or_else(|| planned::first_network_address(&manifests))
        .ok_or(AgentError::NoRendezvous)?;
    let image = &release.image;
    notes.extend(planned::doubts(&manifests, rendezvous, &mirrors, image));
    let state = State {
        seed,
        created,
        release,
        inputs,
        rendezvous: Some(rendezvous),
        service_authority: earlier
            .map_or_else(String::new, |state| state.service_authority.clone()),
        tokens_expire: None,
    };
    reports.retain(|report| !report.findings().is_empty());
    Ok(Planned {
        manifests,
        agent_config: agent,
        hosts,
        fencing,
        rendezvous,
        mirrors,
        extra_manifests,
        state,
        reports,
        notes,
        used,
        joining: None,
    })
}

/// The install-config, if there is one; and whether it has the wrong form.
fn read_install(
    request: &Request<'_>,
    inputs: &BTreeMap<String, String>,
    release: &Release,
    seed: [u8; 32],
    reports: &mut Vec<Report>,
) -> (Option<InstallConfig>, bool) {
    let Some(text) = inputs.get(INSTALL_CONFIG) else {
        return (None, false);
    };
    let mut random = Entropy::new(seed).filler("install-config");
    let mut around = Environment::new(&mut random);
    around.lookup = request.lookup;
    around.given = Given {
        method: Method::Agent,
        release: MinorVersion::parse(&release.version),
        okd: release.is_okd(),
        fips_host: request.fips_host,
        architecture: request.architecture,
        release_architecture: request.release_architecture,
        unknown_keys: if request.lenient {
            UnknownKeys::Warn
        } else {
            UnknownKeys::Refuse
        },
    };
    match install_config::load(INSTALL_CONFIG, text.as_bytes(), &mut around) {
        Ok(loaded) => {
            reports.push(loaded.report);
            (Some(loaded.config), false)
        }
        Err(report) => {
            let is_unparsable = is_unparsable(&report);
            reports.push(report);
            (None, is_unparsable)
        }
    }
}

/// Mirrors: the files of the user, else those of the install-config.
fn read_mirrors(
    inputs: &BTreeMap<String, String>,
    install: Option<&InstallConfig>,
    reports: &mut Vec<Report>,
) -> Mirrors {
    const CONF: &str = "mirror/registries.conf";
    let text = |name: &str| inputs.get(name).map(String::as_str);
    if let Some(conf) = text(CONF) {
        reports.push(match registries_conf::load(CONF, conf) {
            Ok(loaded) => loaded.report,
            Err(report) => report,
        });
    }
    match (text(CONF), text("mirror/ca-bundle.crt")) {
        (None, None) => Mirrors::of(install),
        (conf, ca) => Mirrors::from_files(conf.unwrap_or_default(), ca.unwrap_or_default()),
    }
}

/// How hosts of the control plane are switched off: the file of the user, else the install-config.
fn read_fencing(
    inputs: &BTreeMap<String, String>,
    install: Option<&InstallConfig>,
    reports: &mut Vec<Report>,
) -> Vec<Credential> {
    let Some(text) = inputs.get(FENCING_CREDENTIALS) else {
        let pool = install.and_then(|install| install.control_plane.as_ref());
        return pool.map_or_else(Vec::new, |pool| pool.fencing_credentials().to_vec());
    };
    match fencing_credentials::load(FENCING_CREDENTIALS, text.as_bytes()) {
        Ok(loaded) => {
            reports.push(loaded.report);
            loaded.credentials
        }
        Err(report) => {
            reports.push(report);
            Vec::new()
        }
    }
}

/// What nmstate says about a network, in the words of the files it stands in. Positions are left out:
/// the finding has the place, and the text that was looked at is another one.
#[must_use]
pub fn network_faults(config: &Value, cards: &[(&str, &str)]) -> Vec<String> {
    let host = files::host_network(config, cards);
    let faults = static_network::read(vec![host]).err().unwrap_or_default();
    faults
        .iter()
        .map(|fault| without_positions(fault))
        .collect()
}

fn without_positions(fault: &str) -> String {
    let mut text = fault.replace("static_network_config[0]: ", "");
    if let Some(start) = text.find(" (line ")
        && let Some(length) = text[start..].find(')')
    {
        text.replace_range(start..=start + length, "");
    }
    text.replace("network_yaml, ", "")
        .replace("network_yaml: ", "")
        .replace("mac_interface_map", "the interfaces of the host")
}

/// The files of `create cluster-manifests`.
#[must_use]
pub fn manifest_files(planned: &Planned) -> Vec<File> {
    let rendered = cluster_manifests::render(&planned.manifests).into_iter();
    let mut files: Vec<File> = rendered
        .map(|(name, text)| File::secret(format!("cluster-manifests/{name}"), text))
        .collect();
    let mirrors = &planned.mirrors;
    let conf = mirrors.registries_conf.as_str();
    files.push(File::secret("mirror/registries.conf", conf));
    if !mirrors.ca_bundle.is_empty() {
        let ca = mirrors.ca_bundle.as_str();
        files.push(File::secret("mirror/ca-bundle.crt", ca));
    }
    files
}

#[cfg(test)]
mod tests;
