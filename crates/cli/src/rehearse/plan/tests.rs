use muster_documents::{
    agent_config,
    install_config::{Given, Method, load},
};
use serde_json::{Value, json};

use super::{super::requests::Requests, *};
use crate::create::environment;

const SECRET: &str = r#"'{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'"#;

/// A plan, and what a service of ours is sent for it.
struct Planned {
    plan: Plan,
    requests: Requests,
}

impl std::ops::Deref for Planned {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

fn plan(rest: &str) -> Result<Planned> {
    plan_with(rest, None)
}

fn plan_with(rest: &str, agent: Option<&str>) -> Result<Planned> {
    let text = format!(
        "apiVersion: v1\nbaseDomain: example.com\nmetadata: {{name: lab}}\n\
         pullSecret: {SECRET}\n{rest}"
    );
    let given = Given {
        method: Method::Agent,
        ..Given::default()
    };
    let loaded = environment(given, |around| load("f", text.as_bytes(), around));
    let loaded = loaded.unwrap_or_else(|report| panic!("{:?}", report.findings()));
    let agent = agent.map(|text| {
        let loaded = agent_config::load("a", text.as_bytes(), Some(&loaded.config));
        loaded.unwrap_or_else(|report| panic!("{report}")).config
    });
    let plan = Plan::of(&Shape::of_configs(&loaded.config, agent.as_ref())?)?;
    let requests = Requests::of(&loaded.config, "4.20", &plan);
    Ok(Planned { plan, requests })
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

/// The requests for the cluster and the infra-env as they are sent.
fn bodies(Planned { requests, .. }: &Planned) -> (Value, Value) {
    let cluster = serde_json::to_value(&requests.cluster).unwrap();
    (cluster, serde_json::to_value(&requests.infra_env).unwrap())
}

#[test]
fn described_machines_keep_their_names_addresses_and_neighbours() {
    let plan = plan(METAL).unwrap();
    let names: Vec<&str> = plan.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["first", "second", "third", "last"]);
    assert_eq!(plan.hosts[3].role, HostRole::Worker);
    // Its gateway is ours, its DNS server and the clock are played too.
    assert_eq!(plan.seat.ours[0].to_string(), "192.168.111.254/24");
    assert_eq!(plan.seat.others.len(), 2, "{:?}", plan.seat.others);
    assert_eq!((plan.seat.vlan, plan.seat.mtu), (None, None));
    assert_eq!(plan.hosts[0].place(), "192.168.111.50");
    // The first free ones: neither virtual addresses nor the clock.
    let address = |index: usize| plan.hosts[index].place();
    assert_eq!([address(1), address(2)], ["192.168.111.3", "192.168.111.4"]);
    let machine = plan.hosts[3].machine(Path::new("image"));
    assert_eq!(machine.mac(), "52:54:00:aa:00:09");
    assert_eq!((machine.cpus, machine.memory_mib), (2, 8192));
    let (cluster, infra_env) = bodies(&plan);
    let network = &infra_env["static_network_config"][0];
    let map = json!([{"mac_address": "52:54:00:aa:00:01", "logical_nic_name": "eno1"}]);
    assert_eq!(network["mac_interface_map"], map);
    assert_eq!(cluster["api_vips"][0]["ip"], "192.168.111.1");
    let clocks = "time.example.com,192.168.111.9,192.168.111.254";
    assert_eq!(cluster["additional_ntp_source"], clocks);
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
    let address = plan.hosts[0].addresses[0];
    assert!(plan.names.iter().all(|(_, found)| *found == address));
    assert_eq!(plan.hosts[0].machine(Path::new("image")).cpus, 8);
    let (cluster, infra_env) = bodies(&plan);
    assert_eq!(cluster["high_availability_mode"], "None");
    assert_eq!(cluster["machine_networks"][0]["cidr"], "10.1.0.0/29");
    assert!(infra_env["static_network_config"].is_null());
}

const NONE: &str = "
controlPlane: {name: master, replicas: 3}
compute: [{name: worker, replicas: 0}]
networking: {machineNetwork: [{cidr: 192.168.111.0/24}]}
platform: {none: {}}
";

/// Three machines of an agent-config, the nameless one in this VLAN.
fn tagged(odd: u16) -> String {
    let hosts = (1..=3).map(|number| {
        let vlan = if number == 2 { odd } else { 20 };
        let name = if number == 2 {
            ""
        } else {
            "hostname: rack-1, "
        };
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
    assert_eq!(plan.hosts[1].place(), "192.168.111.52");
    let machine = plan.hosts[1].machine(Path::new("image"));
    assert_eq!(machine.mac(), "52:54:00:aa:00:02");
    assert_eq!(plan.seat.ours[0].to_string(), "192.168.111.1/24");
    assert_eq!((plan.seat.vlan, plan.seat.mtu), (Some(20), Some(9000)));
    let (cluster, infra_env) = bodies(&plan);
    let clocks = "clock.example.com,192.168.111.1";
    assert_eq!(cluster["additional_ntp_source"], clocks);
    assert!(
        plan.names
            .iter()
            .any(|(name, _)| name == "clock.example.com")
    );
    let networks = infra_env["static_network_config"].as_array().unwrap();
    assert_eq!(networks.len(), 3);
}

#[test]
fn an_address_that_two_machines_give_themselves_is_refused_before_anything_boots() {
    let twice = tagged(20).replace("192.168.111.53", "192.168.111.51");
    let report = agent_config::load("a", twice.as_bytes(), None).unwrap_err();
    let rules: Vec<&str> = report.findings().iter().map(|found| found.rule).collect();
    assert!(rules.contains(&"host-addresses"), "{report}");
}

#[test]
fn a_smaller_mtu_leaves_the_wire_as_it_is() {
    let small = tagged(20).replace("mtu: 9000", "mtu: 1400");
    let plan = plan_with(NONE, Some(&small)).unwrap();
    assert_eq!(plan.seat.mtu, None);
}

#[test]
fn an_address_of_another_machine_is_not_emulated() {
    // The way out is the first machine, the name server a virtual address.
    let routed = METAL
        .replace("192.168.111.254", "192.168.111.50")
        .replace("192.0.2.53", "192.168.111.1");
    let plan = plan(&routed).unwrap();
    assert_eq!(plan.service.to_string(), "192.168.111.3");
    let others: Vec<String> = plan.seat.others.iter().map(ToString::to_string).collect();
    assert_eq!(others, ["192.168.111.9"]);
    // DHCP offers neither virtual addresses nor addresses that machines configure themselves.
    let owned = ["192.168.111.1", "192.168.111.50"].map(|address| address.parse().unwrap());
    assert!(owned.iter().all(|address| plan.reserved.contains(address)));
    let given = |index: usize| plan.hosts[index].machine(Path::new("image")).addresses;
    assert!(given(0).is_empty());
    assert_eq!(given(1), plan.hosts[1].addresses);
}

#[test]
fn machines_in_different_vlans_cannot_be_rehearsed() {
    let refusal = plan_with(NONE, Some(&tagged(21)))
        .err()
        .unwrap()
        .to_string();
    assert!(
        refusal.contains("rack-1 has a machine network in VLAN 20, 52:54:00:aa:00:02 in VLAN 21"),
        "{refusal}"
    );
}

#[test]
fn both_families_are_played_the_first_is_that_of_the_service() {
    let networks = "networking:
  machineNetwork: [{cidr: 'fd00:44::/64'}, {cidr: 10.44.0.0/24}]
  clusterNetwork: [{cidr: 'fd01::/48', hostPrefix: 64}, {cidr: 10.128.0.0/14, hostPrefix: 23}]
  serviceNetwork: ['fd02::/112', 172.30.0.0/16]
";
    let metal = "controlPlane: {name: master, replicas: 3}
compute: [{name: worker, replicas: 0}]
platform:
  baremetal:
    apiVIPs: ['fd00:44::2', 10.44.0.2]
    ingressVIPs: ['fd00:44::3', 10.44.0.3]
    provisioningNetwork: Disabled
    additionalNTPServers: ['fd00:44::9', clock.example.com]
";
    let plan = plan(&format!("{metal}{networks}")).unwrap();
    let ours: Vec<String> = plan.seat.ours.iter().map(ToString::to_string).collect();
    assert_eq!(ours, ["fd00:44::1/64", "10.44.0.1/24"]);
    assert_eq!(plan.service.to_string(), "fd00:44::1");
    assert_eq!(plan.hosts[0].place(), "fd00:44::4 and 10.44.0.4");
    let others: Vec<String> = plan.seat.others.iter().map(ToString::to_string).collect();
    assert_eq!(others, ["fd00:44::9"]);
    let found = |name: &str| {
        let found = plan.names.iter().filter(|(known, _)| known == name);
        found
            .map(|(_, address)| address.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found("api-int.lab.example.com"),
        ["fd00:44::2", "10.44.0.2"]
    );
    assert_eq!(found("clock.example.com"), ["fd00:44::1", "10.44.0.1"]);
    let wanted = json!([{"cidr": "fd00:44::/64"}, {"cidr": "10.44.0.0/24"}]);
    let (cluster, _) = bodies(&plan);
    assert_eq!(cluster["machine_networks"], wanted);
    let clocks = "fd00:44::9,clock.example.com,fd00:44::1";
    assert_eq!(cluster["additional_ntp_source"], clocks);
}

#[test]
fn what_cannot_be_rehearsed_is_said() {
    let shape = "controlPlane: {name: master, replicas: 3}\ncompute: [{name: worker, replicas: 60}]\nplatform: {none: {}}\n";
    let one = "networking: {machineNetwork: [{cidr: 10.1.0.0/16}]}\n";
    let twice = "networking: {machineNetwork: [{cidr: 10.1.0.0/24}, {cidr: 10.2.0.0/24}]}\n";
    let large = "networking: {machineNetwork: [{cidr: 'fd00::/48'}], clusterNetwork: [{cidr: 'fd01::/48', hostPrefix: 64}], serviceNetwork: ['fd02::/112']}\n";
    let small = "networking: {machineNetwork: [{cidr: 10.1.0.0/29}]}\n";
    let none = shape.replace("60", "3");
    for (text, wanted) in [
        (format!("{shape}{one}"), "63 machines are too many"),
        (format!("{none}{small}"), "too few addresses"),
        (format!("{none}{large}"), "fd00::/48 cannot be rehearsed"),
        (
            format!("{none}{twice}"),
            "one network, or one of each IP family",
        ),
    ] {
        let refusal = plan(&text).err().unwrap().to_string();
        assert!(refusal.contains(wanted), "{refusal}");
    }
}

/// The plan of a cluster `lab` with one machine.
pub fn single_node() -> Plan {
    let planned = plan(
        "controlPlane: {name: master, replicas: 1}\ncompute: [{name: worker, replicas: 0}]\n\
         networking: {machineNetwork: [{cidr: 10.1.0.0/24}]}\nplatform: {none: {}}\n",
    );
    planned.unwrap().plan
}
