//! Validated inputs, and the Ignition config that is made of them.

use std::{collections::BTreeMap, net::IpAddr};

use muster_documents::{
    agent_config::{AgentConfig, Host},
    cluster_manifests::{ClusterManifests, Proxy},
    findings::Report,
    install_config::types::{Credential, OsImageStream},
};
use muster_ignition::{Builder, Config, Version, file, user};
use muster_model::{Arch, HostNetwork, UnknownArch};
use serde_json::Value;

use super::{
    AgentError, Joining, Mirrors, Secrets, State,
    files::{files, networks},
    proxy,
    units::units,
};
use crate::{discovery::DiscoveryFault, file::File, workdir::is_internal_release_image};

/// Version of the specification that the reference writes, too.
const SPEC: Version = Version::V3_2;

/// Validated inputs.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The cluster.
    pub manifests: ClusterManifests,
    /// The agent-config, if there is one.
    pub agent_config: Option<AgentConfig>,
    /// The hosts that the user named.
    pub hosts: Vec<Host>,
    /// How hosts of the control plane are switched off.
    pub fencing: Vec<Credential>,
    /// Address of the host that gathers the others.
    pub rendezvous: IpAddr,
    /// Where images come from.
    pub mirrors: Mirrors,
    /// Manifests of the user, by file name.
    pub extra_manifests: BTreeMap<String, String>,
    /// What the next command needs.
    pub state: State,
    /// Warnings about files.
    pub reports: Vec<Report>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// Files that are used up.
    pub used: Vec<String>,
    /// The cluster that hosts join, if it runs already.
    pub joining: Option<Joining>,
}

impl Planned {
    /// What [`Planned::architecture`] means.
    ///
    /// # Errors
    /// There are no images for it.
    pub fn arch(&self) -> Result<Arch, UnknownArch> {
        self.architecture().parse()
    }

    /// Architecture of the hosts as files are named by it: `x86_64`, `aarch64` and so on.
    #[must_use]
    pub fn architecture(&self) -> &str {
        let infra_env = self.manifests.infra_env.as_ref();
        match infra_env.map(|infra_env| &*infra_env.spec.cpu_architecture) {
            None | Some("") => "x86_64",
            Some(architecture) => architecture,
        }
    }

    /// How the names of files to boot from begin.
    #[must_use]
    pub fn file_prefix(&self) -> &'static str {
        match self.joining {
            Some(_) => "node",
            None => "agent",
        }
    }

    /// Kernel arguments that the cluster needs beyond those of the image.
    #[must_use]
    pub fn kernel_arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let install = self.manifests.agent_cluster_install.as_ref();
        let external = install.and_then(|install| install.spec.external.as_ref());
        if external.is_some_and(|external| external.platform_name == "oci") {
            arguments.push("console=ttyS0".to_owned());
        }
        if self.is_fips() {
            arguments.push("fips=1".to_owned());
        }
        let infra_env = self.manifests.infra_env.iter();
        let own = infra_env.flat_map(|infra_env| &infra_env.spec.kernel_arguments);
        let own = own.filter(|argument| argument.operation == "append");
        arguments.extend(own.map(|argument| argument.value.clone()));
        arguments
    }

    /// The image fetches its root file system: as the user asked, or on platform external, where
    /// images are uploaded, if it is known where from.
    #[must_use]
    pub fn is_minimal(&self) -> bool {
        let install = self.manifests.agent_cluster_install.as_ref();
        let is_external = install.is_some_and(|install| install.spec.platform_type == "External");
        let agent = self.agent_config.as_ref();
        let is_asked_for = agent.is_some_and(|agent| agent.minimal_iso);
        is_asked_for || is_external && self.boot_artifacts_url().is_some()
    }

    /// Where files of a network boot are served, without slashes at its end.
    #[must_use]
    pub fn boot_artifacts_url(&self) -> Option<&str> {
        let url = &self.agent_config.as_ref()?.boot_artifacts_base_url;
        Some(url.trim_matches('/')).filter(|url| !url.is_empty())
    }

    /// Networks of hosts, in the order of their folders.
    #[must_use]
    pub fn networks(&self) -> Vec<HostNetwork> {
        networks(&self.manifests)
    }

    /// The archive that an initrd needs before it can fetch anything, if it needs one.
    ///
    /// # Errors
    /// A network cannot be written as profiles.
    pub fn early_ramdisk(&self) -> Result<Option<Vec<u8>>, DiscoveryFault> {
        /// Seconds that an initrd waits for cards that come up slowly.
        const DELAY: i64 = 60;
        let proxy = self.proxy().unwrap_or_default();
        let settings = [
            ("HTTP_PROXY", &*proxy.http_proxy),
            ("HTTPS_PROXY", &*proxy.https_proxy),
            ("NO_PROXY", &*proxy.no_proxy),
        ];
        crate::discovery::early(&self.networks(), DELAY, settings)
    }

    /// The proxy that programs on hosts use.
    pub(super) fn proxy(&self) -> Option<Proxy> {
        proxy::of_hosts(self.manifests.infra_env.as_ref(), Some(self.rendezvous))
    }

    pub(super) fn has_internal_registry(&self) -> bool {
        let mut manifests = self.extra_manifests.values();
        manifests.any(|text| is_internal_release_image(text.as_bytes()))
    }

    /// The operating system stream of the cluster: as its overrides ask for, else that of the release.
    #[must_use]
    pub fn stream(&self) -> OsImageStream {
        let asked = serde_json::from_value(self.overrides()["osImageStream"].clone());
        asked.unwrap_or_else(|_| self.state.release.usual_stream())
    }

    fn is_fips(&self) -> bool {
        match &self.joining {
            Some(joining) => joining.fips,
            None => self.overrides()["fips"] == true,
        }
    }

    /// What the cluster changes in its install-config; nothing where it is not JSON.
    fn overrides(&self) -> Value {
        let install = self.manifests.agent_cluster_install.as_ref();
        let overrides = install.and_then(|install| install.install_config_overrides());
        overrides
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }
}

/// Files of all hosts, by path without the leading slash.
///
/// # Errors
/// A network cannot be written as profiles.
pub fn host_files(planned: &Planned, secrets: &Secrets) -> Result<Vec<File>, AgentError> {
    files(planned, secrets)
}

/// The Ignition config of all hosts.
///
/// # Errors
/// The user's own config does not fit over it.
pub fn ignition(planned: &Planned, secrets: &Secrets) -> Result<Config, AgentError> {
    let mut builder = Builder::new(SPEC);
    let infra_env = planned.manifests.infra_env.as_ref();
    let keys = infra_env.map_or("", |infra_env| &infra_env.spec.ssh_authorized_key);
    let mut core = user::with_keys("core", keys.lines());
    let hash = &secrets.kubeadmin.hash;
    core.password_hash = Some(hash.clone()).filter(|hash| !hash.is_empty());
    builder.user(core);
    for one in host_files(planned, secrets)? {
        let path = format!("/{}", one.path);
        builder.file(match String::from_utf8(one.content) {
            Ok(text) => file::text(&path, one.mode, &text),
            Err(bytes) => file::bytes(&path, one.mode, bytes.as_bytes()),
        });
    }
    for unit in units(!planned.manifests.nm_state_configs.is_empty()) {
        builder.unit(unit);
    }
    let wrong = |faults: muster_ignition::Faults| AgentError::File(faults.to_string());
    let config = builder.finish().map_err(wrong)?;
    let own = infra_env.map_or("", |infra_env| &infra_env.spec.ignition_config_override);
    if own.is_empty() {
        return Ok(config);
    }
    let own = Config::read(own).map_err(wrong)?;
    config.with(own).map_err(wrong)
}

/// The first static address of the networks of hosts.
pub(super) fn first_network_address(manifests: &ClusterManifests) -> Option<IpAddr> {
    manifests.nm_state_configs.iter().find_map(|object| {
        let host = Host {
            network_config: Some(object.spec.config.clone()),
            ..Host::default()
        };
        host.addresses().next()
    })
}

/// What is allowed and yet rarely meant.
pub(super) fn doubts(
    manifests: &ClusterManifests,
    rendezvous: IpAddr,
    mirrors: &Mirrors,
    release: &str,
) -> Vec<String> {
    let mut notes = Vec::new();
    if !mirrors.entries.is_empty() && !mirrors.cover(release) {
        notes.push(format!(
            "none of the mirrors is for the release {release}; add its repository to the mirrors, or \
             name the release as the mirrors know it"
        ));
    }
    let Some(install) = &manifests.agent_cluster_install else {
        return notes;
    };
    let networks = &install.spec.networking.machine_network;
    if !networks.is_empty()
        && !networks
            .iter()
            .any(|entry| entry.cidr.contains(&rendezvous))
    {
        let shown: Vec<String> = networks
            .iter()
            .map(|entry| entry.cidr.to_string())
            .collect();
        notes.push(format!(
            "the rendezvous address {rendezvous} is in none of the machine networks ({})",
            shown.join(", ")
        ));
    }
    let vips = install
        .spec
        .api_vips
        .iter()
        .chain(&install.spec.ingress_vips);
    if vips.into_iter().any(|vip| vip.parse() == Ok(rendezvous)) {
        notes.push(format!(
            "the rendezvous address {rendezvous} is a virtual address of the cluster; it must be \
             that of a host"
        ));
    }
    notes
}
