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
mod tests {
    use muster_assets::{
        agent_config,
        install_config::{Given, Method, load},
    };
    use serde_json::json;

    use super::*;
    use crate::create::surroundings;

    const SECRET: &str = r#"'{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'"#;

    fn plan(rest: &str) -> Result<Plan> {
        plan_with(rest, None)
    }

    fn plan_with(rest: &str, agent: Option<&str>) -> Result<Plan> {
        let text = format!(
            "apiVersion: v1\nbaseDomain: example.com\nmetadata: {{name: lab}}\n\
             pullSecret: {SECRET}\n{rest}"
        );
        let given = Given {
            method: Method::Agent,
            ..Given::default()
        };
        let loaded = surroundings(given, |around| load("f", text.as_bytes(), around));
        let loaded = loaded.unwrap_or_else(|report| panic!("{:?}", report.findings()));
        let agent = agent.map(|text| {
            let loaded = agent_config::load("a", text.as_bytes(), Some(&loaded.config));
            loaded.unwrap_or_else(|report| panic!("{report}")).config
        });
        Plan::of(&loaded.config, agent.as_ref(), "4.20")
    }

    const METAL: &str = "
controlPlane: {name: master, replicas: 3}
compute: [{name: worker, replicas: 1}]
networking: {machineNetwork: [{cidr: 192.168.111.0/24}]}
platform:
  baremetal:
    apiVIPs: [192.168.111.1]
    ingressVIPs: [192.168.111.2]
    provisioningNetwork: Disabled
    additionalNTPServers: [time.example.com, 192.168.111.9]
    hosts:
    - {name: last, role: worker, bootMACAddress: '52:54:00:AA:00:09', bmc: {address: 'redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1', username: a, password: b}}
    - name: first
      role: master
      bootMACAddress: 52:54:00:aa:00:01
      bmc: {address: 'redfish-virtualmedia://192.0.2.2/redfish/v1/Systems/1', username: a, password: b}
      networkConfig:
        interfaces:
        - name: eno1
          type: ethernet
          state: up
          ipv4: {enabled: true, dhcp: false, address: [{ip: 192.168.111.50, prefix-length: 24}]}
        dns-resolver: {config: {server: [192.0.2.53]}}
        routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.168.111.254, next-hop-interface: eno1}]}
    - {name: second, bootMACAddress: '52:54:00:aa:00:02', bmc: {address: 'redfish-virtualmedia://192.0.2.3/redfish/v1/Systems/1', username: a, password: b}}
    - {name: third, bootMACAddress: '52:54:00:aa:00:03', bmc: {address: 'redfish-virtualmedia://192.0.2.4/redfish/v1/Systems/1', username: a, password: b}}
";

    #[test]
    fn described_machines_keep_their_names_addresses_and_neighbours() {
        let plan = plan(METAL).unwrap();
        let names: Vec<&str> = plan.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["first", "second", "third", "last"]);
        assert_eq!(plan.hosts[3].role, HostRole::Worker);
        // Its gateway is ours, its DNS server and the clock are played too.
        assert_eq!(plan.seat.ours.to_string(), "192.168.111.254/24");
        assert_eq!(plan.seat.others.len(), 2, "{:?}", plan.seat.others);
        assert_eq!((plan.seat.vlan, plan.seat.mtu), (None, None));
        assert_eq!(plan.hosts[0].address.to_string(), "192.168.111.50");
        // The first free ones: neither virtual addresses nor the clock.
        let address = |index: usize| plan.hosts[index].address.to_string();
        assert_eq!([address(1), address(2)], ["192.168.111.3", "192.168.111.4"]);
        let machine = plan.hosts[3].machine(Path::new("image"));
        assert_eq!(machine.mac(), "52:54:00:aa:00:09");
        assert_eq!((machine.cpus, machine.memory_mib), (2, 8192));
        let network = &plan.infra_env["static_network_config"][0];
        let map = json!([{"mac_address": "52:54:00:aa:00:01", "logical_nic_name": "eno1"}]);
        assert_eq!(network["mac_interface_map"], map);
        assert_eq!(plan.cluster["api_vips"][0]["ip"], "192.168.111.1");
        let clocks = "time.example.com,192.168.111.9,192.168.111.254";
        assert_eq!(plan.cluster["additional_ntp_source"], clocks);
        let api = &plan.names[0];
        assert_eq!(
            (api.0.as_str(), api.1.to_string().as_str()),
            ("api.lab.example.com", "192.168.111.1")
        );
    }

    #[test]
    fn machines_beyond_the_list_get_names_that_are_free() {
        let plan = plan(
            &METAL
                .replace("replicas: 1}", "replicas: 3}")
                .replace("last", "worker-1"),
        );
        let plan = plan.unwrap();
        let names: Vec<&str> = plan.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names[3..], ["worker-1", "worker-0", "worker-2"]);
    }

    #[test]
    fn a_single_node_is_found_under_all_names() {
        let plan = plan(
            "controlPlane: {name: master, replicas: 1}\ncompute: [{name: worker, replicas: 0}]\n\
             networking: {machineNetwork: [{cidr: 10.1.0.0/29}]}\nplatform: {none: {}}\n\
             bootstrapInPlace: {installationDisk: /dev/vda}\n",
        )
        .unwrap();
        assert_eq!(plan.hosts.len(), 1);
        let address = plan.hosts[0].address;
        assert!(plan.names.iter().all(|(_, found)| *found == address));
        assert_eq!(plan.hosts[0].machine(Path::new("image")).cpus, 8);
        assert_eq!(plan.cluster["high_availability_mode"], "None");
        assert_eq!(plan.cluster["machine_networks"][0]["cidr"], "10.1.0.0/29");
        assert!(plan.infra_env["static_network_config"].is_null());
    }

    const NONE: &str = "
controlPlane: {name: master, replicas: 3}
compute: [{name: worker, replicas: 0}]
networking: {machineNetwork: [{cidr: 192.168.111.0/24}]}
platform: {none: {}}
";

    /// Three machines of an agent-config, the last in this VLAN.
    fn tagged(last: u16) -> String {
        let hosts = (1..=3).map(|number| {
            let vlan = if number == 3 { last } else { 20 };
            let name = if number == 2 { "" } else { "hostname: rack-1, " };
            let name = name.replace('1', &number.to_string());
            format!(
                "- {{{name}interfaces: [{{name: eno1, macAddress: '52:54:00:AA:00:0{number}'}}], \
                 networkConfig: {{interfaces: [{{name: eno1, type: ethernet, mtu: 9000}}, {{name: \
                 eno1.20, type: vlan, vlan: {{base-iface: eno1, id: {vlan}}}, ipv4: {{enabled: true, \
                 address: [{{ip: 192.168.111.5{number}, prefix-length: 24}}]}}}}], routes: {{config: \
                 [{{destination: 0.0.0.0/0, next-hop-address: 192.168.111.1}}]}}}}}}\n"
            )
        });
        let hosts: String = hosts.collect();
        format!("apiVersion: v1beta1\nadditionalNTPSources: [clock.example.com]\nhosts:\n{hosts}")
    }

    #[test]
    fn an_agent_config_describes_the_machines() {
        let plan = plan_with(NONE, Some(&tagged(20))).unwrap();
        let names: Vec<&str> = plan.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["rack-1", "master-0", "rack-3"]);
        assert_eq!(plan.hosts[1].address.to_string(), "192.168.111.52");
        let machine = plan.hosts[1].machine(Path::new("image"));
        assert_eq!(machine.mac(), "52:54:00:aa:00:02");
        assert_eq!(plan.seat.ours.to_string(), "192.168.111.1/24");
        assert_eq!((plan.seat.vlan, plan.seat.mtu), (Some(20), Some(9000)));
        let clocks = "clock.example.com,192.168.111.1";
        assert_eq!(plan.cluster["additional_ntp_source"], clocks);
        assert!(
            plan.names
                .iter()
                .any(|(name, _)| name == "clock.example.com")
        );
        let networks = plan.infra_env["static_network_config"].as_array().unwrap();
        assert_eq!(networks.len(), 3);
    }

    #[test]
    fn machines_in_different_vlans_cannot_be_rehearsed() {
        let refusal = plan_with(NONE, Some(&tagged(21)))
            .err()
            .unwrap()
            .to_string();
        assert!(
            refusal.contains(
                "rack-1 has the machine network 192.168.111.0/24 in VLAN 20, rack-3 in VLAN 21"
            ),
            "{refusal}"
        );
    }

    #[test]
    fn what_cannot_be_rehearsed_is_said() {
        let shape = "controlPlane: {name: master, replicas: 3}\ncompute: [{name: worker, replicas: 60}]\nplatform: {none: {}}\n";
        let one = "networking: {machineNetwork: [{cidr: 10.1.0.0/16}]}\n";
        let small = "networking: {machineNetwork: [{cidr: 10.1.0.0/29}]}\n";
        let none = shape.replace("60", "3");
        for (text, wanted) in [
            (format!("{shape}{one}"), "63 machines are too many"),
            (format!("{none}{small}"), "too few addresses"),
        ] {
            let refusal = plan(&text).err().unwrap().to_string();
            assert!(refusal.contains(wanted), "{refusal}");
        }
    }
}
