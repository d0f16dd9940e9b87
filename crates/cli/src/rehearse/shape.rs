//! What a rehearsal needs to know of a cluster, whichever files describe it.

use std::{collections::HashSet, net::IpAddr};

use anyhow::{Result, bail};
use ipnet::IpNet;
use muster_documents::{
    agent_config::AgentConfig,
    install_config::{InstallConfig, types::Architecture},
};

use super::described::{Described, machines};

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
            None => bail!("platform: only baremetal and none can be rehearsed"),
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
        })
    }
}

/// Each once, in the order in which they came.
fn distinct<'a>(sources: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = HashSet::new();
    sources
        .filter(|source| seen.insert(source.as_str()))
        .cloned()
        .collect()
}
