//! Cluster manifests out of an install-config and an agent-config.

use std::{collections::BTreeMap, net::IpAddr};

use muster_documents::{
    agent_config::{AgentConfig, Host},
    cluster_manifests::{
        AgentClusterInstall, AgentClusterInstallSpec, ClusterDeployment, ClusterDeploymentSpec,
        ClusterImageSet, ClusterImageSetSpec, ClusterInstallReference, ClusterManifests,
        ClusterNetworkEntry, ClusterNetworking, ExternalPlatform, InfraEnv, InfraEnvSpec,
        LabelSelector, LoadBalancer, MachineNetworkEntry, NamedCard, NmStateConfig,
        NmStateConfigSpec, Object, ProvisionRequirements, Proxy, PullSecret, Reference, pretty,
    },
    install_config::types::{Architecture, InstallConfig, LoadBalancerType},
};

use serde_json::json;

use super::{overrides::overrides, proxy};
use crate::profiles::Release;

const LABEL: &str = "infraenvs.agent-install.openshift.io";

/// The manifests of a cluster.
#[must_use]
pub fn manifests(
    config: &InstallConfig,
    agent: Option<&AgentConfig>,
    hosts: &[Host],
    release: &Release,
) -> ClusterManifests {
    let name = match &*config.metadata.name {
        "" => "agent-cluster",
        name => name,
    };
    let namespace = &*config.metadata.namespace;
    let rendezvous = agent.and_then(|agent| agent.rendezvous_ip);
    let proxy = proxy::of_cluster(config, rendezvous);
    let secret_name = format!("{name}-pull-secret");
    ClusterManifests {
        agent_cluster_install: Some(install(config, hosts, release, name, proxy.clone())),
        cluster_deployment: Some(deployment(config, name, &secret_name)),
        cluster_image_set: Some(image_set(release, namespace)),
        infra_env: Some(infra_env(config, agent, name, &secret_name, proxy)),
        nm_state_configs: networks(hosts, name, namespace),
        pull_secret: Some(PullSecret::new(
            &secret_name,
            namespace,
            pretty(&config.pull_secret),
        )),
    }
}

/// The object that names the release; its version is in its name.
#[must_use]
pub fn image_set(release: &Release, namespace: &str) -> ClusterImageSet {
    let spec = ClusterImageSetSpec {
        release_image: release.image.clone(),
    };
    Object::new(&image_set_name(release), namespace, spec)
}

fn image_set_name(release: &Release) -> String {
    format!("openshift-{}", release.version)
}

fn install(
    config: &InstallConfig,
    hosts: &[Host],
    release: &Release,
    name: &str,
    proxy: Option<Proxy>,
) -> AgentClusterInstall {
    let platform_type = platform_type(config);
    let is_plain = matches!(platform_type, "None" | "External");
    let addresses = |list: &[IpAddr]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let platform = &config.platform;
    let vips = platform.vips().unwrap_or_default();
    let (api, ingress) = (addresses(vips.api), addresses(vips.ingress));
    // The old spelling is written for one platform only, as in the reference.
    let first = |list: &[String]| match &platform.baremetal {
        Some(_) => list.first().cloned().unwrap_or_default(),
        None => String::new(),
    };
    let external = platform.external.as_ref().map(|external| ExternalPlatform {
        platform_name: external.platform_name.clone(),
        cloud_controller_manager: match external.cloud_controller_manager {
            Some(manager) if external.platform_name == "oci" => manager.to_string(),
            _ => String::new(),
        },
    });
    let count = |number: i64| u32::try_from(number).unwrap_or(0);
    let balancer = config
        .load_balancer_type()
        .filter(|kind| *kind == LoadBalancerType::UserManaged && platform.baremetal.is_some());
    let spec = AgentClusterInstallSpec {
        image_set_ref: Some(reference(&image_set_name(release), "")),
        cluster_deployment_ref: reference(name, ""),
        networking: networking(config, is_plain),
        ssh_public_key: keys(config),
        provision_requirements: ProvisionRequirements {
            control_plane_agents: count(config.control_plane_replicas()),
            arbiter_agents: count(config.arbiter_replicas()),
            worker_agents: count(config.compute_replicas()),
        },
        api_vip: first(&api),
        api_vips: api,
        ingress_vip: first(&ingress),
        ingress_vips: ingress,
        proxy,
        platform_type: platform_type.to_owned(),
        external,
        load_balancer: balancer.map(|kind| LoadBalancer {
            kind: kind.to_string(),
        }),
        ..AgentClusterInstallSpec::default()
    };
    let mut install = Object::new(name, &config.metadata.namespace, spec);
    let stream = release.usual_stream();
    if let Some(overrides) = overrides(config, hosts, stream) {
        install.metadata.annotations.insert(
            AgentClusterInstall::OVERRIDES.to_owned(),
            overrides.to_string(),
        );
    }
    install
}

fn platform_type(config: &InstallConfig) -> &'static str {
    match config.platform.name().map(|name| name.word()) {
        Some("baremetal") => "BareMetal",
        Some("vsphere") => "VSphere",
        Some("external") => "External",
        Some("nutanix") => "Nutanix",
        _ => "None",
    }
}

fn networking(config: &InstallConfig, is_plain: bool) -> ClusterNetworking {
    let Some(networking) = &config.networking else {
        return ClusterNetworking::default();
    };
    // Other plugins travel in the overrides.
    let network_type = match &*networking.network_type {
        "OpenShiftSDN" => "OpenShiftSDN",
        _ => "OVNKubernetes",
    };
    ClusterNetworking {
        machine_network: networking
            .machine_network
            .iter()
            .map(|entry| MachineNetworkEntry { cidr: entry.cidr })
            .collect(),
        cluster_network: networking
            .cluster_network
            .iter()
            .map(|entry| ClusterNetworkEntry {
                cidr: entry.cidr,
                host_prefix: i32::try_from(entry.host_prefix).unwrap_or(0),
            })
            .collect(),
        service_network: networking.service_network.clone(),
        network_type: network_type.to_owned(),
        user_managed_networking: Some(is_plain),
    }
}

fn deployment(config: &InstallConfig, name: &str, secret: &str) -> ClusterDeployment {
    let spec = ClusterDeploymentSpec {
        cluster_name: name.to_owned(),
        base_domain: config.base_domain.clone(),
        pull_secret_ref: Some(reference(secret, "")),
        cluster_install_ref: Some(ClusterInstallReference {
            group: "extensions.hive.openshift.io".to_owned(),
            version: "v1beta1".to_owned(),
            kind: "AgentClusterInstall".to_owned(),
            name: name.to_owned(),
        }),
        // The kind requires it; what is installed is in the other object.
        other: BTreeMap::from([("platform".to_owned(), json!({}))]),
    };
    Object::new(name, &config.metadata.namespace, spec)
}

fn infra_env(
    config: &InstallConfig,
    agent: Option<&AgentConfig>,
    name: &str,
    secret: &str,
    proxy: Option<Proxy>,
) -> InfraEnv {
    let namespace = &config.metadata.namespace;
    let of_agent = agent.map(|agent| agent.additional_ntp_sources.clone());
    let of_metal = || {
        let metal = config.platform.baremetal.as_ref()?;
        Some(metal.additional_ntp_servers.clone())
    };
    let sources = of_agent
        .filter(|sources| !sources.is_empty())
        .or_else(of_metal)
        .unwrap_or_default();
    let architecture = config.architecture().unwrap_or(Architecture::Amd64);
    let spec = InfraEnvSpec {
        proxy,
        additional_ntp_sources: sources,
        ssh_authorized_key: keys(config),
        pull_secret_ref: Some(reference(secret, "")),
        nm_state_config_label_selector: LabelSelector {
            match_labels: label(name),
        },
        cluster_ref: Some(reference(name, namespace)),
        cpu_architecture: architecture.arch().rpm().to_owned(),
        additional_trust_bundle: config.additional_trust_bundle.clone(),
        ..InfraEnvSpec::default()
    };
    Object::new(name, namespace, spec)
}

fn networks(hosts: &[Host], name: &str, namespace: &str) -> Vec<NmStateConfig> {
    let with_network = hosts.iter().enumerate();
    let with_network =
        with_network.filter_map(|(index, host)| Some((index, host, host.network_config.clone()?)));
    with_network
        .map(|(index, host, config)| {
            let spec = NmStateConfigSpec {
                interfaces: host
                    .interfaces
                    .iter()
                    .map(|card| NamedCard {
                        name: card.name.clone(),
                        mac_address: card.mac_address.replace('-', ":"),
                    })
                    .collect(),
                config,
            };
            let mut object = Object::new(&format!("{name}-{index}"), namespace, spec);
            object.metadata.labels = label(name);
            object
        })
        .collect()
}

fn label(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(LABEL.to_owned(), name.to_owned())])
}

fn reference(name: &str, namespace: &str) -> Reference {
    Reference {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
    }
}

fn keys(config: &InstallConfig) -> String {
    config.ssh_key.trim_matches(['|', '\n', '\t']).to_owned()
}
