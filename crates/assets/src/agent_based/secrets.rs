//! Keys and certificates: what makes an image take longer than a copy.

use std::fmt;

use muster_documents::{
    cluster_manifests::ClusterManifests,
    install_config::types::{
        ClusterNetwork, InstallConfig, MachineNetwork, MachinePool, Metadata, Networking,
        NonePlatform, Platform,
    },
    yaml,
};
use serde_json::Value;

use super::{AgentError, Planned, State};
use crate::{
    file::File,
    kubeadmin::Kubeadmin,
    kubeconfig::ADMIN,
    pki::{KeyCache, Pki, Scope, ServiceTls},
    plan::{Extras, Plan},
};

/// Everything secret that is made for an installation.
pub struct Secrets {
    /// The administrator's certificate and the signers it belongs to.
    pub pki: Pki,
    /// The administrator's password.
    pub kubeadmin: Kubeadmin,
    /// TLS of the service on the rendezvous host.
    pub service: ServiceTls,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(***)")
    }
}

impl Secrets {
    /// Makes them. The service on the rendezvous host finds the signers and the hash of the password
    /// in the image, so the kubeconfig handed out here is that of the cluster.
    ///
    /// # Errors
    /// A key cannot be made, or the release is not known.
    pub fn generate(planned: &Planned, extras: Extras) -> Result<Self, AgentError> {
        let state = &planned.state;
        let plan = cluster_plan(state, &planned.manifests, extras)?;
        let keys = &plan.extras.keys;
        let service =
            ServiceTls::generate(&state.entropy(), planned.rendezvous, state.created, keys)?;
        Ok(Self {
            pki: plan.pki(Scope::Administrator)?,
            kubeadmin: plan.kubeadmin,
            service,
        })
    }

    /// Those of an image for hosts of a cluster that runs: only their service has keys.
    ///
    /// # Errors
    /// A key cannot be made.
    pub fn for_joining(planned: &Planned) -> Result<Self, AgentError> {
        let state = &planned.state;
        let keys = KeyCache::default();
        let service =
            ServiceTls::generate(&state.entropy(), planned.rendezvous, state.created, &keys)?;
        Ok(Self {
            pki: Pki::none(),
            kubeadmin: Kubeadmin::supplied("", None),
            service,
        })
    }
}

/// Kubeconfig and password of the administrator.
#[must_use]
pub fn log_ins(manifests: &ClusterManifests, secrets: &Secrets) -> Vec<File> {
    let deployment = manifests.cluster_deployment.as_ref();
    let (name, domain) = deployment.map_or((String::new(), String::new()), |deployment| {
        let spec = &deployment.spec;
        let base = spec.base_domain.trim_end_matches('.');
        let name = spec.cluster_name.clone();
        (name.clone(), format!("{name}.{base}"))
    });
    let kubeconfig = ADMIN.render(&name, &domain, &secrets.pki);
    let mut files: Vec<File> = kubeconfig
        .into_iter()
        .map(|text| File::secret(ADMIN.path, text))
        .collect();
    let password = secrets.kubeadmin.password.as_str();
    files.push(File::secret("auth/kubeadmin-password", password));
    files
}

/// Files of `create certificates`: signers and password, without any cluster.
///
/// # Errors
/// A key cannot be made, or the release is not known.
pub fn certificates(state: &State, extras: Extras) -> Result<Vec<File>, AgentError> {
    let plan = cluster_plan(state, &ClusterManifests::default(), extras)?;
    let pki = plan.pki(Scope::Administrator)?;
    let mut files = Vec::new();
    for (name, issued) in pki.issued().filter(|(name, _)| name.ends_with("-signer")) {
        let path = |ending: &str| format!("tls/{name}.{ending}");
        files.push(File::secret(path("crt"), issued.file_pem.as_str()));
        files.push(File::secret(path("key"), issued.key_pem.as_str()));
    }
    let kubeadmin = &plan.kubeadmin;
    let password = kubeadmin.password.as_str();
    files.push(File::secret("tls/kubeadmin-password", password));
    let hash = kubeadmin.hash.as_str();
    files.push(File::secret("tls/kubeadmin-password.hash", hash));
    Ok(files)
}

/// A plan with what keys depend on: names, networks, and features that change the size of keys.
fn cluster_plan(
    state: &State,
    manifests: &ClusterManifests,
    extras: Extras,
) -> Result<Plan, AgentError> {
    let deployment = manifests.cluster_deployment.as_ref();
    let install = manifests.agent_cluster_install.as_ref();
    let networking = install.map(|install| &install.spec.networking);
    let service_network = networking.map(|n| n.service_network.clone());
    let service_network = service_network.filter(|networks| !networks.is_empty());
    let usual = || {
        vec![ipnet::IpNet::from(ipnet::Ipv4Net::new_assert(
            [172, 30, 0, 0].into(),
            16,
        ))]
    };
    let config = InstallConfig {
        metadata: Metadata {
            name: deployment.map_or_else(String::new, |d| d.spec.cluster_name.clone()),
            ..Metadata::default()
        },
        base_domain: deployment.map_or_else(String::new, |d| d.spec.base_domain.clone()),
        networking: Some(Networking {
            service_network: service_network.unwrap_or_else(usual),
            machine_network: Vec::<MachineNetwork>::new(),
            cluster_network: Vec::<ClusterNetwork>::new(),
            ..Networking::default()
        }),
        control_plane: Some(MachinePool {
            replicas: Some(3),
            ..MachinePool::default()
        }),
        platform: Platform {
            none: Some(NonePlatform {}),
            ..Platform::default()
        },
        ..InstallConfig::default()
    };
    let overrides = install.and_then(|install| install.install_config_overrides());
    let config = with_key_settings(config, overrides.unwrap_or("{}"))?;
    let plan = Plan::new(
        config,
        state.release.clone(),
        state.entropy(),
        state.created,
        extras,
    )?;
    Ok(plan)
}

/// Overrides that change keys.
fn with_key_settings(config: InstallConfig, overrides: &str) -> Result<InstallConfig, AgentError> {
    let overrides: Value = serde_json::from_str(overrides).unwrap_or_default();
    let mut value = yaml::value(&config);
    let mut is_changed = false;
    for name in ["featureSet", "featureGates", "pki"] {
        if let Some(setting) = overrides.get(name) {
            value[name] = setting.clone();
            is_changed = true;
        }
    }
    if !is_changed {
        return Ok(config);
    }
    serde_json::from_value(value)
        .map_err(|cause| AgentError::File(format!("the overrides of the install-config: {cause}")))
}
