//! `cluster-manifests/*.yaml`: the cluster, its hosts' networks and its release as Kubernetes objects,
//! written by users or made from an install-config and an agent-config.
//!
//! [`load`] reads the whole folder and gives [`ClusterManifests`] with defaults filled in, or one
//! report per file with everything that is wrong. The service on the rendezvous host reads the same
//! files with it.

mod rules;
#[rustfmt::skip]
mod schema;
mod topologies;
mod types;

use std::{collections::BTreeMap, fmt};

use muster_model::{Arch, Secret};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    findings::Report,
    schema::{
        Document,
        read::{Unfinished, read, read_each, whole_file},
        walk::UnknownKeys,
    },
    validation::{Diagnostics, NetworkCheck, Sheet},
    yaml,
};

pub use schema::{
    AGENT_CLUSTER_INSTALL, CLUSTER_DEPLOYMENT, CLUSTER_IMAGE_SET, INFRA_ENV, NM_STATE_CONFIG,
    PULL_SECRET,
};
pub use types::*;

/// Names of the files.
pub mod file {
    pub const AGENT_CLUSTER_INSTALL: &str = "agent-cluster-install.yaml";
    pub const CLUSTER_DEPLOYMENT: &str = "cluster-deployment.yaml";
    pub const CLUSTER_IMAGE_SET: &str = "cluster-image-set.yaml";
    pub const INFRA_ENV: &str = "infraenv.yaml";
    pub const NM_STATE_CONFIG: &str = "nmstateconfig.yaml";
    pub const PULL_SECRET: &str = "pull-secret.yaml";

    /// All of them.
    pub const ALL: &[&str] = &[
        AGENT_CLUSTER_INSTALL,
        CLUSTER_DEPLOYMENT,
        CLUSTER_IMAGE_SET,
        INFRA_ENV,
        NM_STATE_CONFIG,
        PULL_SECRET,
    ];
}

/// What the manifests are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// A new cluster.
    #[default]
    Install,
    /// Hosts for a cluster that exists: it has neither AgentClusterInstall nor ClusterDeployment.
    AddNodes,
    /// An image whose cluster is not known yet.
    Unconfigured,
}

/// What the files are validated against besides themselves.
pub struct Expected<'a> {
    /// What they are for.
    pub purpose: Purpose,
    /// The release that is installed, if it must be that one.
    pub release_image: Option<&'a str>,
    /// What nmstate says about a network and the names and addresses of its cards.
    pub network_faults: NetworkCheck<'a>,
}

/// A good folder.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it says, with defaults.
    pub manifests: ClusterManifests,
    /// Warnings: one report per file that has some.
    pub reports: Vec<Report>,
}

impl fmt::Debug for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected")
            .field("purpose", &self.purpose)
            .field("release_image", &self.release_image)
            .finish_non_exhaustive()
    }
}

impl Default for Expected<'_> {
    /// A new cluster of any release; networks are taken as they are.
    fn default() -> Self {
        Self {
            purpose: Purpose::Install,
            release_image: None,
            network_faults: &|_, _| Vec::new(),
        }
    }
}

/// Reads the files of the folder, by their names.
///
/// # Errors
/// Everything that is wrong, one report per file, warnings included.
pub fn load(
    files: &BTreeMap<String, Vec<u8>>,
    expected: &Expected<'_>,
) -> Result<Loaded, Vec<Report>> {
    let mut folder = Folder {
        files,
        expected,
        reports: Vec::new(),
    };
    let is_cluster = expected.purpose == Purpose::Install;
    let infra_env: Option<Read<InfraEnv>> =
        folder.one(&INFRA_ENV, file::INFRA_ENV, true, UnknownKeys::Refuse);
    let selector = infra_env.as_ref().map(|read| read.value.clone());
    let mut manifests = ClusterManifests {
        infra_env: folder.validate(infra_env, rules::INFRA_ENV, None),
        ..ClusterManifests::default()
    };
    if expected.purpose != Purpose::AddNodes {
        let name = file::AGENT_CLUSTER_INSTALL;
        let read = folder.one(
            &AGENT_CLUSTER_INSTALL,
            name,
            is_cluster,
            UnknownKeys::Refuse,
        );
        manifests.agent_cluster_install = folder.validate(read, rules::AGENT_CLUSTER_INSTALL, None);
        let name = file::CLUSTER_DEPLOYMENT;
        let read = folder.one(&CLUSTER_DEPLOYMENT, name, is_cluster, UnknownKeys::Refuse);
        manifests.cluster_deployment = folder.validate(read, rules::CLUSTER_DEPLOYMENT, None);
    }
    let name = file::CLUSTER_IMAGE_SET;
    let read = folder.one(&CLUSTER_IMAGE_SET, name, false, UnknownKeys::Refuse);
    manifests.cluster_image_set = folder.validate(read, rules::CLUSTER_IMAGE_SET, None);
    let read = folder.one(&PULL_SECRET, file::PULL_SECRET, true, UnknownKeys::Refuse);
    manifests.pull_secret = folder.validate(read, rules::PULL_SECRET, None);
    manifests.nm_state_configs = folder.networks(selector.as_ref());

    if folder.reports.iter().any(Report::has_errors) {
        return Err(folder.reports);
    }
    fill_in(&mut manifests);
    let reports = folder.reports;
    Ok(Loaded { manifests, reports })
}

struct Folder<'a> {
    files: &'a BTreeMap<String, Vec<u8>>,
    expected: &'a Expected<'a>,
    reports: Vec<Report>,
}

/// A file of the right form.
struct Read<T> {
    value: T,
    sheet: Sheet,
    draft: Unfinished,
}

impl Folder<'_> {
    fn one<T: DeserializeOwned>(
        &mut self,
        document: &'static Document,
        name: &str,
        is_required: bool,
        unknown: UnknownKeys,
    ) -> Option<Read<T>> {
        let Some(bytes) = self.files.get(name) else {
            if is_required {
                let message = "there is no such file".to_owned();
                let findings = vec![whole_file(message, document.fix)];
                self.reports
                    .push(Report::new(name, String::new(), findings));
            }
            return None;
        };
        match read(document, name, bytes, unknown, None) {
            Ok((value, sheet, draft)) => Some(Read {
                value,
                sheet,
                draft,
            }),
            Err(report) => {
                self.reports.push(report);
                None
            }
        }
    }

    fn validate<T>(
        &mut self,
        read: Option<Read<T>>,
        rules: &[rules::Rule<T>],
        infra_env: Option<&InfraEnv>,
    ) -> Option<T> {
        let Read {
            value,
            sheet,
            draft,
        } = read?;
        let mut diagnostics = Diagnostics::of("rules");
        let facts = rules::Facts {
            object: &value,
            expected: self.expected,
            infra_env,
        };
        rules::run(rules, &facts, &mut diagnostics);
        self.keep(draft.finish(&sheet, diagnostics));
        Some(value)
    }

    fn networks(&mut self, infra_env: Option<&InfraEnv>) -> Vec<NmStateConfig> {
        let name = file::NM_STATE_CONFIG;
        let Some(bytes) = self.files.get(name) else {
            return Vec::new();
        };
        let (values, mut draft) = match read_each(&NM_STATE_CONFIG, name, bytes, UnknownKeys::Warn)
        {
            Ok(read) => read,
            Err(report) => {
                self.reports.push(report);
                return Vec::new();
            }
        };
        let mut configs = Vec::with_capacity(values.len());
        for (value, sheet) in values {
            let mut diagnostics = Diagnostics::of("rules");
            let facts = rules::Facts {
                object: &value,
                expected: self.expected,
                infra_env,
            };
            rules::run(rules::NM_STATE_CONFIG, &facts, &mut diagnostics);
            draft.add(&sheet, diagnostics);
            configs.push(value);
        }
        self.keep(draft.done());
        configs
    }

    fn keep(&mut self, report: Report) {
        if !report.findings().is_empty() {
            self.reports.push(report);
        }
    }
}

/// Old spellings become new ones, and what may be left out is filled in.
fn fill_in(manifests: &mut ClusterManifests) {
    if let Some(install) = &mut manifests.agent_cluster_install {
        let spec = &mut install.spec;
        let mut platforms = rules::PLATFORMS.iter();
        if let Some((name, _)) = platforms.find(|(_, old)| *old == spec.platform_type) {
            (*name).clone_into(&mut spec.platform_type);
        }
        let networking = &mut spec.networking;
        if networking.network_type.is_empty() {
            "OVNKubernetes".clone_into(&mut networking.network_type);
        }
        // One node has no other to share virtual addresses with.
        if spec.platform_type.is_empty() && spec.provision_requirements.is_single_node() {
            "None".clone_into(&mut spec.platform_type);
            networking.user_managed_networking = Some(true);
        }
        let is_plain = matches!(&*spec.platform_type, "None" | "External");
        networking.user_managed_networking.get_or_insert(is_plain);
        if spec.api_vips.is_empty() && !spec.api_vip.is_empty() {
            spec.api_vips.push(spec.api_vip.clone());
        }
        if spec.ingress_vips.is_empty() && !spec.ingress_vip.is_empty() {
            spec.ingress_vips.push(spec.ingress_vip.clone());
        }
    }
    if let Some(infra_env) = &mut manifests.infra_env {
        infra_env.spec.cpu_architecture = rpm_architecture(&infra_env.spec.cpu_architecture);
    }
    if let Some(secret) = &mut manifests.pull_secret {
        let config = &mut secret.string_data.docker_config;
        *config = pretty(config);
    }
}

/// `x86_64` for `amd64`; a name in that form is returned unchanged.
#[must_use]
pub fn rpm_architecture(name: &str) -> String {
    name.parse()
        .map_or(name, |arch: Arch| arch.rpm())
        .to_owned()
}

/// A pull secret with sorted keys and indentation, so that equal ones are equal texts.
#[must_use]
pub fn pretty(secret: &Secret) -> Secret {
    let Ok(value) = serde_json::from_str::<BTreeMap<String, Value>>(secret.reveal()) else {
        return secret.clone();
    };
    let sorted = yaml::sorted(&yaml::value(&value));
    serde_json::to_string_pretty(&sorted).map_or_else(|_| secret.clone(), Secret::new)
}

/// The files of a folder, by name.
#[must_use]
pub fn render(manifests: &ClusterManifests) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            files.insert(name.to_owned(), yaml::text(&value));
        }
    };
    let install = manifests.agent_cluster_install.as_ref();
    put(file::AGENT_CLUSTER_INSTALL, install.map(yaml::value));
    let deployment = manifests.cluster_deployment.as_ref();
    put(file::CLUSTER_DEPLOYMENT, deployment.map(yaml::value));
    let image_set = manifests.cluster_image_set.as_ref();
    put(file::CLUSTER_IMAGE_SET, image_set.map(yaml::value));
    let infra_env = manifests.infra_env.as_ref();
    put(file::INFRA_ENV, infra_env.map(yaml::value));
    let secret = manifests.pull_secret.as_ref();
    put(file::PULL_SECRET, secret.map(yaml::value));
    if !manifests.nm_state_configs.is_empty() {
        let documents = manifests.nm_state_configs.iter();
        let documents = documents.map(|config| {
            let mut value = yaml::value(config);
            // The kind has no status.
            if let Some(fields) = value.as_object_mut() {
                fields.remove("status");
            }
            yaml::text(&value) + "---\n"
        });
        files.insert(file::NM_STATE_CONFIG.to_owned(), documents.collect());
    }
    files
}

#[cfg(test)]
mod tests;
