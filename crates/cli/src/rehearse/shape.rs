//! What a rehearsal needs to know of a cluster, whichever files describe it.

use std::{collections::HashSet, net::IpAddr};

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use muster_assets::agent_based::Planned;
use muster_documents::{
    agent_config::AgentConfig,
    install_config::{InstallConfig, types::Architecture},
};

use super::described::{Described, machines, machines_of_image};

/// Platforms whose machines can be played.
const PLATFORMS: &str = "platform: only baremetal and none can be rehearsed";

/// A cluster.
#[derive(Debug)]
pub struct Shape {
    pub name: String,
    /// The domain its names are in, its own included.
    pub domain: String,
    pub machine_networks: Vec<IpNet>,
    /// Machines of the control plane.
    pub control_plane: i64,
    pub arbiters: i64,
    pub workers: i64,
    /// Virtual addresses of API and ingress; none where others balance the load.
    pub vips: [Vec<IpAddr>; 2],
    /// Time servers, by name or address.
    pub time_sources: Vec<String>,
    /// The machines that the files describe.
    pub machines: Vec<Described>,
    /// The address that one machine of the control plane must have.
    pub rendezvous: Option<IpAddr>,
}

impl Shape {
    /// Of validated configs.
    pub fn of_configs(config: &InstallConfig, agent: Option<&AgentConfig>) -> Result<Self> {
        if config.architecture() != Some(Architecture::Amd64) {
            bail!("only machines of architecture amd64 can be rehearsed");
        }
        let networking = config.networking.iter();
        let networks = networking.flat_map(|networking| &networking.machine_network);
        let metal = config.platform.baremetal.as_ref();
        let vips = match metal {
            Some(metal) => [metal.api_vips.clone(), metal.ingress_vips.clone()],
            None if config.platform.none.is_some() => [Vec::new(), Vec::new()],
            None => bail!("{PLATFORMS}"),
        };
        let time_sources = metal
            .map_or(&[][..], |metal| &metal.additional_ntp_servers)
            .iter()
            .chain(agent.map_or(&[][..], |agent| &agent.additional_ntp_sources));
        Ok(Self {
            name: config.metadata.name.clone(),
            domain: config.cluster_domain(),
            machine_networks: networks.map(|network| network.cidr).collect(),
            control_plane: config.control_plane_replicas(),
            arbiters: config.arbiter_replicas(),
            workers: config.compute_replicas(),
            vips,
            time_sources: distinct(time_sources),
            machines: machines(config, agent),
            rendezvous: None,
        })
    }

    /// Of what the image of an agent-based installation was made of.
    pub fn of_image(planned: &Planned) -> Result<Self> {
        let manifests = &planned.manifests;
        let install = manifests.agent_cluster_install.as_ref();
        let spec = &install.context("the image describes no cluster")?.spec;
        let deployment = manifests.cluster_deployment.as_ref();
        let deployment = &deployment.context("the image names no cluster")?.spec;
        // Without a type it follows from the virtual addresses.
        if !matches!(&*spec.platform_type, "BareMetal" | "None" | "") {
            bail!("{PLATFORMS}");
        }
        let networks = spec.networking.machine_network.iter();
        let infra_env = manifests.infra_env.iter().map(|infra_env| &infra_env.spec);
        let time_sources = infra_env
            .flat_map(|spec| spec.additional_ntp_sources.iter().chain(&spec.ntp_sources))
            .chain(&spec.ntp_sources);
        let required = spec.provision_requirements;
        Ok(Self {
            name: deployment.cluster_name.clone(),
            domain: format!("{}.{}", deployment.cluster_name, deployment.base_domain),
            machine_networks: networks.map(|network| network.cidr).collect(),
            control_plane: required.control_plane_agents.into(),
            arbiters: required.arbiter_agents.into(),
            workers: required.worker_agents.into(),
            vips: [addresses(&spec.api_vips)?, addresses(&spec.ingress_vips)?],
            time_sources: distinct(time_sources),
            machines: machines_of_image(planned),
            rendezvous: Some(planned.rendezvous),
        })
    }
}

fn addresses(texts: &[String]) -> Result<Vec<IpAddr>> {
    let parsed = texts.iter().map(|text| {
        let address = text.parse::<IpAddr>();
        address.with_context(|| format!("the virtual address {text:?} is not an IP address"))
    });
    parsed.collect()
}

/// Each once, in the order in which they came.
fn distinct<'a>(sources: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = HashSet::new();
    sources
        .filter(|source| seen.insert(source.as_str()))
        .cloned()
        .collect()
}
