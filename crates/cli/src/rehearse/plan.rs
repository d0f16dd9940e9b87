//! What is rehearsed: the machines and the wire that follow from a [`Shape`].

use std::{net::IpAddr, path::Path};

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use muster_api::wire;
use muster_documents::install_config::types::HostRole;
use muster_vm::{Boot, Disk, Machine, Nic, Seat};

use super::{
    addresses::Addresses, described::Described, disks, rendezvous::Rendezvous, shape::Shape,
    wiring::Wiring,
};

/// Machines of one rehearsal; a laptop gives up long before.
const MOST_MACHINES: i64 = 50;
/// The largest packet of an Ethernet with its default settings.
const USUAL_MTU: u64 = 1500;

/// A part in the play, and the machine the files describe for it, if they do.
pub struct Player<'a> {
    pub role: HostRole,
    pub known: Option<(&'a Described, Wiring)>,
}

impl Player<'_> {
    /// Addresses it gives itself.
    pub fn own_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let wiring = self.known.iter().map(|(_, wiring)| wiring);
        wiring.flat_map(Wiring::addresses)
    }
}

/// A machine to be.
pub struct Host {
    pub name: String,
    pub role: HostRole,
    /// The addresses it has or gets, one in each machine network.
    pub addresses: Vec<IpAddr>,
    /// Those of them that it does not give itself.
    given: Vec<IpAddr>,
    macs: Vec<String>,
    disks: Vec<Disk>,
    number: u8,
    alone: bool,
}

/// Everything that follows from the files.
pub struct Plan {
    pub name: String,
    pub domain: String,
    /// Our side of the wire: gateway, DNS, NTP, a service of ours, and every other server that the
    /// files expect somewhere.
    pub seat: Seat,
    /// Where a service of ours is.
    pub service: IpAddr,
    /// What DNS answers.
    pub names: Vec<(String, IpAddr)>,
    /// Addresses that DHCP must not hand out.
    pub reserved: Vec<IpAddr>,
    pub hosts: Vec<Host>,
    /// The machine that runs the service, if it is one of them.
    pub rendezvous: Option<Rendezvous>,
    pub machine_networks: Vec<IpNet>,
    /// Virtual addresses of API and ingress.
    pub vips: [Vec<IpAddr>; 2],
    /// Time servers that the files name.
    pub time_sources: Vec<String>,
    /// The networks that machines configure themselves.
    pub static_networks: Vec<wire::HostStaticNetworkConfig>,
}

impl Plan {
    /// Plans it.
    pub fn of(shape: &Shape) -> Result<Self> {
        let mut addresses = Addresses::of(&shape.machine_networks)?;
        let players = cast(shape)?;
        addresses.take(shape.vips.iter().flatten().copied());
        addresses.take(wirings(&players).flat_map(Wiring::addresses));
        addresses.take(shape.rendezvous);
        let rendezvous = shape.rendezvous;
        let rendezvous = rendezvous.map(|address| Rendezvous::of(address, &addresses, &players));
        let rendezvous = rendezvous.transpose()?;
        let vlan = common_vlan(&addresses, &players)?;
        let ntp = &shape.time_sources;
        let (gateways, others) = neighbours(&mut addresses, &players, ntp)?;
        // What has these addresses is not in the way of a machine that asks for an address.
        let by_dhcp = rendezvous.as_ref().filter(|rendezvous| rendezvous.by_dhcp);
        let reserved = addresses
            .taken()
            .filter(|address| by_dhcp.is_none_or(|by_dhcp| by_dhcp.address != *address))
            .collect();

        let (mut hosts, mut static_networks) = (Vec::new(), Vec::new());
        for (number, player) in (1..).zip(&players) {
            let Player { role, known } = player;
            let mut macs = Vec::new();
            let mut name = String::new();
            let mut hints = None;
            if let Some((described, wiring)) = known {
                static_networks.extend(wiring.request(described.network.as_ref())?);
                macs = wiring.macs();
                name.clone_from(&described.name);
                hints = described.hints.as_ref();
            }
            if name.is_empty() {
                name = free_name(*role, &shape.machines, &hosts);
            }
            let own: Vec<IpAddr> = player.own_addresses().collect();
            let leased = by_dhcp.filter(|by_dhcp| by_dhcp.host == hosts.len());
            let requested: Vec<IpAddr> = own
                .iter()
                .copied()
                .chain(leased.map(|leased| leased.address))
                .collect();
            let addresses = addresses.choose(&requested)?;
            let given = addresses.iter().filter(|address| !own.contains(address));
            hosts.push(Host {
                disks: disks::of(hints, number).with_context(|| format!("host {name}"))?,
                name,
                role: *role,
                given: given.copied().collect(),
                addresses,
                macs,
                number,
                alone: shape.control_plane == 1,
            });
        }

        let mut names = names(&shape.domain, &hosts, &shape.vips)?;
        let named = ntp
            .iter()
            .filter(|source| source.parse::<IpAddr>().is_err());
        for source in named {
            names.extend(gateways.iter().map(|gateway| (source.clone(), *gateway)));
        }
        let ours = addresses.networks().iter().zip(&gateways);
        let ours = ours.map(|(network, gateway)| IpNet::new(*gateway, network.prefix_len()));
        let ours = ours.collect::<Result<Vec<_>, _>>()?;
        let service = ours.first().context("there is a machine network")?.addr();
        let mtu = wirings(&players).filter_map(|wiring| wiring.mtu).max();
        Ok(Self {
            name: shape.name.clone(),
            domain: shape.domain.clone(),
            seat: Seat {
                ours,
                others,
                vlan,
                mtu: mtu.filter(|mtu| *mtu > USUAL_MTU),
            },
            service,
            names,
            reserved,
            hosts,
            rendezvous,
            machine_networks: addresses.networks().to_vec(),
            vips: shape.vips.clone(),
            time_sources: ntp.clone(),
            static_networks,
        })
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
        machine.disks.clone_from(&self.disks);
        machine.addresses.clone_from(&self.given);
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

fn wirings<'a>(players: &'a [Player<'_>]) -> impl Iterator<Item = &'a Wiring> {
    let known = players.iter().filter_map(|player| player.known.as_ref());
    known.map(|(_, wiring)| wiring)
}

/// Our address in each machine network, and the others at which machines expect a server.
fn neighbours(
    addresses: &mut Addresses,
    players: &[Player<'_>],
    ntp: &[String],
) -> Result<(Vec<IpAddr>, Vec<IpAddr>)> {
    let gateways = wirings(players).flat_map(|wiring| wiring.gateways.iter().copied());
    let gateways: Vec<IpAddr> = gateways
        .filter(|address| addresses.is_free(address))
        .collect();
    let mut others: Vec<IpAddr> = ntp
        .iter()
        .filter_map(|source| source.parse().ok())
        .collect();
    others.extend(wirings(players).flat_map(|wiring| wiring.servers.iter().copied()));
    others.retain(|other| addresses.is_free(other));
    others.extend(&gateways);
    addresses.take(others.iter().copied());
    let ours = addresses.choose(&gateways)?;
    others.retain(|other| !ours.contains(other));
    others.sort_unstable();
    others.dedup();
    Ok((ours, others))
}

/// What DNS answers: where the cluster is found, in each IP family.
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

/// The VLAN in which all machines have the machine networks, if it is one.
fn common_vlan(machine_networks: &Addresses, players: &[Player<'_>]) -> Result<Option<u16>> {
    let mut found: Option<(&str, Option<u16>)> = None;
    for player in players {
        let (name, vlans) = match &player.known {
            Some((described, wiring)) => (described.known_as(), wiring.vlans(machine_networks)),
            None => ("a machine that is not described", vec![None]),
        };
        for vlan in vlans {
            let (other, theirs) = *found.get_or_insert((name, vlan));
            if theirs != vlan {
                let shown = |vlan: Option<u16>| match vlan {
                    Some(id) => format!("in VLAN {id}"),
                    None => "in no VLAN".to_owned(),
                };
                bail!(
                    "{other} has a machine network {}, {name} {}; they would not hear each other \
                     here, for there is no switch that joins them",
                    shown(theirs),
                    shown(vlan)
                );
            }
        }
    }
    Ok(found.and_then(|(_, vlan)| vlan))
}

/// Which machines there are.
fn cast(shape: &Shape) -> Result<Vec<Player<'_>>> {
    let wanted = [
        (HostRole::Master, shape.control_plane),
        (HostRole::Arbiter, shape.arbiters),
        (HostRole::Worker, shape.workers),
    ];
    let all: i64 = wanted.iter().map(|(_, count)| count).sum();
    if all > MOST_MACHINES {
        bail!("{all} machines are too many for one rehearsal; {MOST_MACHINES} are the most");
    }
    let mut left: Vec<&Described> = shape.machines.iter().collect();
    let mut cast = Vec::new();
    let parts = wanted
        .into_iter()
        .flat_map(|(role, count)| (0..count).map(move |_| role));
    for (number, role) in (1..).zip(parts) {
        // Those who were cast for it come first, then those who take any part.
        let of = |role: Option<HostRole>| left.iter().position(|host| host.role == role);
        let place = of(Some(role)).or_else(|| of(None));
        let known = place.map(|place| left.remove(place));
        let known = known.map(|described| (described, Wiring::of(described, number)));
        cast.push(Player { role, known });
    }
    Ok(cast)
}

#[cfg(test)]
mod image_tests;
#[cfg(test)]
pub mod tests;
