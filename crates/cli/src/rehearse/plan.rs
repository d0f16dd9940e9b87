//! What is rehearsed: the machines and the wire that follow from an install-config.

use std::{collections::HashSet, net::Ipv4Addr, path::Path};

use anyhow::{Context, Result, bail};
use ipnet::{IpNet, Ipv4Net};
use muster_assets::{
    agent_config::AgentConfig,
    install_config::{
        InstallConfig,
        types::{Architecture, HostRole},
    },
};
use muster_vm::{Boot, Bus, Disk, Machine, Nic, Seat};
use serde_json::Value;

use super::{
    described::{Described, machines},
    requests,
    wiring::{Door, Wiring},
};

/// Machines of one rehearsal; a laptop gives up long before.
const MOST_MACHINES: i64 = 50;
/// Size of their disks, in GiB: what every role is content with.
const DISK: u64 = 120;

/// A machine to be.
pub struct Host {
    pub name: String,
    pub role: HostRole,
    /// The address it has or gets.
    pub address: Ipv4Addr,
    macs: Vec<String>,
    number: u8,
    alone: bool,
}

/// Everything that follows from the file.
pub struct Plan {
    pub name: String,
    pub domain: String,
    /// Our side of the wire: gateway, DNS, NTP and the service, and everybody else that the files
    /// expect somewhere.
    pub seat: Seat,
    /// What DNS tells.
    pub names: Vec<(String, Ipv4Addr)>,
    pub hosts: Vec<Host>,
    /// The request for the cluster.
    pub cluster: Value,
    /// The request for its infra-env, but for the cluster's id.
    pub infra_env: Value,
}

impl Plan {
    /// Reads judged configs.
    pub fn of(config: &InstallConfig, agent: Option<&AgentConfig>, version: &str) -> Result<Self> {
        let wire = wire_of(config)?;
        let described = machines(config, agent);
        let cast = cast(config, &described)?;
        let numbered = (1..).zip(&described);
        let wirings: Vec<Wiring> = numbered
            .map(|(number, described)| Wiring::of(described, number))
            .collect();
        let [api, ingress] = vips(config)?;
        let mut taken: HashSet<Ipv4Addr> = api.iter().chain(&ingress).copied().collect();
        taken.extend(wirings.iter().flat_map(Wiring::addresses));
        let mut others: Vec<Ipv4Addr> = Vec::new();
        let ntp = time_sources(config, agent);
        others.extend(
            ntp.iter()
                .filter_map(|source| source.parse::<Ipv4Addr>().ok()),
        );
        others.extend(wirings.iter().flat_map(|wiring| &wiring.servers));
        let gateways = wirings.iter().flat_map(|wiring| &wiring.gateways);
        let gateway = gateways.copied().find(|gateway| wire.contains(gateway));
        others.extend(wirings.iter().flat_map(|wiring| &wiring.gateways));
        others.retain(|other| !taken.contains(other));
        taken.extend(&others);
        let mut free = wire.hosts().filter(|address| !taken.contains(address));
        let full = || format!("the machine network {wire} has too few addresses");
        let gateway = match gateway {
            Some(gateway) => gateway,
            None => free.next().with_context(full)?,
        };
        others.retain(|other| *other != gateway);
        others.sort_unstable();
        others.dedup();

        let (mut hosts, mut networks) = (Vec::new(), Vec::new());
        let vlan = common_vlan(wire, &cast, &described, &wirings)?;
        for (number, (role, description)) in (1..).zip(cast) {
            let wiring = description.map(|index| &wirings[index]);
            if let Some(index) = description
                && let Some(network) = &described[index].network
            {
                networks.push(wirings[index].request(network)?);
            }
            let fixed = wiring.and_then(|wiring| {
                let mut addresses = wiring.addresses();
                addresses.find(|address| wire.contains(address))
            });
            let address = match fixed {
                Some(address) => address,
                None => free.next().with_context(full)?,
            };
            let name = description.map(|index| described[index].name.clone());
            let name = name.filter(|name| !name.is_empty());
            let name = name.unwrap_or_else(|| free_name(role, &described, &hosts));
            hosts.push(Host {
                name,
                role,
                address,
                macs: wiring.map_or_else(Vec::new, Wiring::macs),
                number,
                alone: config.control_plane_replicas() == 1,
            });
        }

        let domain = config.cluster_domain();
        let first = |role| hosts.iter().find(|host: &&Host| host.role == role);
        let master = first(HostRole::Master)
            .context("the control plane has no machine")?
            .address;
        let worker = first(HostRole::Worker).map_or(master, |host| host.address);
        let api_address = api.first().copied().unwrap_or(master);
        let mut names = vec![
            (format!("api.{domain}"), api_address),
            (format!("api-int.{domain}"), api_address),
            (
                format!("apps.{domain}"),
                ingress.first().copied().unwrap_or(worker),
            ),
        ];
        let named = ntp
            .iter()
            .filter(|source| source.parse::<Ipv4Addr>().is_err());
        names.extend(named.map(|source| (source.clone(), gateway)));
        Ok(Self {
            name: config.metadata.name.clone(),
            seat: Seat {
                ours: Ipv4Net::new(gateway, wire.prefix_len())?,
                others,
                vlan,
                mtu: wirings.iter().filter_map(|wiring| wiring.mtu).max(),
            },
            names,
            cluster: requests::cluster(config, version, wire, [&api, &ingress], &ntp, gateway),
            infra_env: requests::infra_env(config, version, networks),
            domain,
            hosts,
        })
    }
}

impl Host {
    /// The machine, with an image in its CD drive.
    pub fn machine(&self, image: &Path) -> Machine {
        let mut machine = Machine::numbered(&self.name, self.number, Boot::Cd(image.into()));
        (machine.cpus, machine.memory_mib) = match self.role {
            HostRole::Master if self.alone => (8, 16_384),
            HostRole::Master => (4, 16_384),
            HostRole::Worker | HostRole::Arbiter => (2, 8192),
        };
        if !self.macs.is_empty() {
            machine.nics = self
                .macs
                .iter()
                .map(|mac| Nic { mac: mac.clone() })
                .collect();
        }
        let serial = format!("REHEARSAL-{}", self.number);
        machine.disks = vec![Disk::new(Bus::Virtio, DISK, &serial)];
        machine.address = self.address;
        machine
    }
}

/// A name such as `worker-1` that no other machine has.
fn free_name(role: HostRole, described: &[Described], hosts: &[Host]) -> String {
    let taken = |name: &str| {
        described.iter().any(|host| host.name == name) || hosts.iter().any(|host| host.name == name)
    };
    let mut names = (0..).map(|number| format!("{role}-{number}"));
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// The network of the machines, if it can be played.
fn wire_of(config: &InstallConfig) -> Result<Ipv4Net> {
    if config.architecture() != Some(Architecture::Amd64) {
        bail!("only machines of architecture amd64 can be rehearsed");
    }
    let networks = config
        .networking
        .iter()
        .flat_map(|networking| &networking.machine_network);
    let networks: Vec<IpNet> = networks.map(|network| network.cidr).collect();
    match networks.as_slice() {
        [IpNet::V4(network)] => Ok(network.trunc()),
        _ => bail!(
            "networking.machineNetwork: a rehearsal needs exactly one network, and IPv4; more and \
             IPv6 cannot be rehearsed yet"
        ),
    }
}

/// Virtual addresses of API and ingress; none where others balance the load.
fn vips(config: &InstallConfig) -> Result<[Vec<Ipv4Addr>; 2]> {
    let platform = &config.platform;
    let Some(metal) = &platform.baremetal else {
        if platform.none.is_none() {
            bail!("platform: only baremetal and none can be rehearsed");
        }
        return Ok([Vec::new(), Vec::new()]);
    };
    let v4 = |addresses: &[std::net::IpAddr]| {
        let addresses = addresses.iter().filter_map(|address| match address {
            std::net::IpAddr::V4(address) => Some(*address),
            std::net::IpAddr::V6(_) => None,
        });
        addresses.collect()
    };
    Ok([v4(&metal.api_vips), v4(&metal.ingress_vips)])
}

fn time_sources(config: &InstallConfig, agent: Option<&AgentConfig>) -> Vec<String> {
    let metal = config.platform.baremetal.as_ref();
    let mut sources = metal.map_or_else(Vec::new, |metal| metal.additional_ntp_servers.clone());
    sources.extend(
        agent
            .into_iter()
            .flat_map(|agent| agent.additional_ntp_sources.clone()),
    );
    let mut seen = HashSet::new();
    sources.retain(|source| seen.insert(source.clone()));
    sources
}

/// The VLAN in which all machines have the machine network, if it is one.
fn common_vlan(
    wire: Ipv4Net,
    cast: &[(HostRole, Option<usize>)],
    described: &[Described],
    wirings: &[Wiring],
) -> Result<Option<u16>> {
    let mut found: Option<(&str, Option<u16>)> = None;
    for (_, description) in cast {
        let doors = description.map_or(&[][..], |index| &wirings[index].doors);
        let on_wire = |door: &&Door| door.addresses.iter().any(|address| wire.contains(address));
        let door = doors.iter().find(on_wire);
        let door = door.or_else(|| doors.iter().find(|door| door.dhcp));
        let vlan = door.and_then(|door| door.vlan);
        let name = description.map_or("a machine that is not described", |index| {
            described[index].name.as_str()
        });
        match found {
            Some((other, theirs)) if theirs != vlan => {
                let told =
                    |vlan: Option<u16>| vlan.map_or_else(|| "none".to_owned(), |id| id.to_string());
                bail!(
                    "{other} has the machine network {wire} in VLAN {}, {name} in VLAN {}; they \
                     would not hear each other here, for there is no switch that joins them",
                    told(theirs),
                    told(vlan)
                );
            }
            Some(_) => {}
            None => found = Some((name, vlan)),
        }
    }
    Ok(found.and_then(|(_, vlan)| vlan))
}

/// Which machines there are: a role, and the description it has in the file if there is one.
fn cast(config: &InstallConfig, described: &[Described]) -> Result<Vec<(HostRole, Option<usize>)>> {
    let wanted = [
        (HostRole::Master, config.control_plane_replicas()),
        (HostRole::Arbiter, config.arbiter_replicas()),
        (HostRole::Worker, config.compute_replicas()),
    ];
    let all: i64 = wanted.iter().map(|(_, count)| count).sum();
    if all > MOST_MACHINES {
        bail!("{all} machines are too many for one rehearsal; {MOST_MACHINES} are the most");
    }
    let mut left: Vec<usize> = (0..described.len()).collect();
    let mut cast = Vec::new();
    for (role, count) in wanted {
        for _ in 0..count {
            // Those who were cast for it come first, then those who take any part.
            let of =
                |wish: Option<HostRole>| left.iter().position(|host| described[*host].role == wish);
            let found = of(Some(role))
                .or_else(|| of(None))
                .map(|place| left.remove(place));
            cast.push((role, found));
        }
    }
    Ok(cast)
}

#[cfg(test)]
mod tests;
