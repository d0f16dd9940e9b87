//! What is rehearsed: the machines and the wire that follow from an install-config.

use std::{collections::HashSet, net::IpAddr, path::Path};

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
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
    addresses::Addresses,
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
    /// The addresses it has or gets, one in each machine network.
    pub addresses: Vec<IpAddr>,
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
    pub names: Vec<(String, IpAddr)>,
    pub hosts: Vec<Host>,
    /// The request for the cluster.
    pub cluster: Value,
    /// The request for its infra-env, but for the cluster's id.
    pub infra_env: Value,
}

impl Plan {
    /// Reads judged configs.
    pub fn of(config: &InstallConfig, agent: Option<&AgentConfig>, version: &str) -> Result<Self> {
        if config.architecture() != Some(Architecture::Amd64) {
            bail!("only machines of architecture amd64 can be rehearsed");
        }
        let mut addresses = Addresses::of(config)?;
        let described = machines(config, agent);
        let cast = cast(config, &described)?;
        let numbered = (1..).zip(&described);
        let wirings: Vec<Wiring> = numbered
            .map(|(number, described)| Wiring::of(described, number))
            .collect();
        let vips = vips(config)?;
        let ntp = time_sources(config, agent);
        addresses.take(vips.iter().flatten().copied());
        addresses.take(wirings.iter().flat_map(Wiring::addresses));
        let vlan = common_vlan(&addresses, &cast, &described, &wirings)?;
        let (gateways, others) = neighbours(&mut addresses, &wirings, &ntp)?;

        let (mut hosts, mut networks) = (Vec::new(), Vec::new());
        for (number, (role, description)) in (1..).zip(cast) {
            let wiring = description.map(|index| &wirings[index]);
            if let Some(index) = description
                && let Some(network) = &described[index].network
            {
                networks.push(wirings[index].request(network)?);
            }
            let own: Vec<IpAddr> = wiring.into_iter().flat_map(Wiring::addresses).collect();
            let name = description.map(|index| described[index].name.clone());
            let name = name.filter(|name| !name.is_empty());
            let name = name.unwrap_or_else(|| free_name(role, &described, &hosts));
            hosts.push(Host {
                name,
                role,
                addresses: addresses.choose(&own)?,
                macs: wiring.map_or_else(Vec::new, Wiring::macs),
                number,
                alone: config.control_plane_replicas() == 1,
            });
        }

        let domain = config.cluster_domain();
        let mut names = names(&domain, &hosts, &vips)?;
        let named = ntp
            .iter()
            .filter(|source| source.parse::<IpAddr>().is_err());
        for source in named {
            names.extend(gateways.iter().map(|gateway| (source.clone(), *gateway)));
        }
        let networks_of_machines = addresses.networks();
        let ours = networks_of_machines.iter().zip(&gateways);
        let ours = ours.map(|(network, gateway)| IpNet::new(*gateway, network.prefix_len()));
        let clocks = ntp.iter().cloned().chain([gateways[0].to_string()]);
        let clocks = clocks.collect::<Vec<_>>().join(",");
        Ok(Self {
            name: config.metadata.name.clone(),
            cluster: requests::cluster(config, version, networks_of_machines, &vips, &clocks),
            infra_env: requests::infra_env(config, version, networks),
            seat: Seat {
                ours: ours.collect::<Result<_, _>>()?,
                others,
                vlan,
                mtu: wirings.iter().filter_map(|wiring| wiring.mtu).max(),
            },
            names,
            domain,
            hosts,
        })
    }

    /// Where the service is.
    pub fn service(&self) -> IpAddr {
        self.seat.ours[0].addr()
    }
}

impl Host {
    /// Its addresses, for people.
    pub fn place(&self) -> String {
        let addresses = self.addresses.iter().map(ToString::to_string);
        addresses.collect::<Vec<_>>().join(" and ")
    }

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
        machine.addresses.clone_from(&self.addresses);
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

/// Our address in each machine network, and the others at which machines expect somebody.
fn neighbours(
    addresses: &mut Addresses,
    wirings: &[Wiring],
    ntp: &[String],
) -> Result<(Vec<IpAddr>, Vec<IpAddr>)> {
    let gateways: Vec<IpAddr> = wirings
        .iter()
        .flat_map(|wiring| wiring.gateways.iter().copied())
        .collect();
    let mut others: Vec<IpAddr> = ntp
        .iter()
        .filter_map(|source| source.parse().ok())
        .collect();
    others.extend(wirings.iter().flat_map(|wiring| &wiring.servers));
    others.extend(&gateways);
    others.retain(|other| !addresses.is_taken(*other));
    addresses.take(others.iter().copied());
    let ours = addresses.choose(&gateways)?;
    others.retain(|other| !ours.contains(other));
    others.sort_unstable();
    others.dedup();
    Ok((ours, others))
}

/// What DNS tells: where the cluster is found, in each IP family.
fn names(
    domain: &str,
    hosts: &[Host],
    [api, ingress]: &[Vec<IpAddr>; 2],
) -> Result<Vec<(String, IpAddr)>> {
    let first = |role| hosts.iter().find(|host: &&Host| host.role == role);
    let master = first(HostRole::Master).context("the control plane has no machine")?;
    let worker = first(HostRole::Worker).unwrap_or(master);
    let or = |vips: &[IpAddr], host: &Host| {
        let found = if vips.is_empty() {
            &host.addresses
        } else {
            vips
        };
        found.to_vec()
    };
    let (api, ingress) = (or(api, master), or(ingress, worker));
    let mut names = Vec::new();
    for (name, addresses) in [("api", &api), ("api-int", &api), ("apps", &ingress)] {
        names.extend(
            addresses
                .iter()
                .map(|address| (format!("{name}.{domain}"), *address)),
        );
    }
    Ok(names)
}

/// Virtual addresses of API and ingress; none where others balance the load.
fn vips(config: &InstallConfig) -> Result<[Vec<IpAddr>; 2]> {
    let platform = &config.platform;
    match &platform.baremetal {
        Some(metal) => Ok([metal.api_vips.clone(), metal.ingress_vips.clone()]),
        None if platform.none.is_some() => Ok([Vec::new(), Vec::new()]),
        None => bail!("platform: only baremetal and none can be rehearsed"),
    }
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
    machine_networks: &Addresses,
    cast: &[(HostRole, Option<usize>)],
    described: &[Described],
    wirings: &[Wiring],
) -> Result<Option<u16>> {
    let mut found: Option<(&str, Option<u16>)> = None;
    for (_, description) in cast {
        let doors = description.map_or(&[][..], |index| &wirings[index].doors);
        let on_wire = |door: &&Door| {
            let mut addresses = door.addresses.iter();
            addresses.any(|address| machine_networks.contain(*address))
        };
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
                    "{other} has the machine network in VLAN {}, {name} in VLAN {}; they \
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
