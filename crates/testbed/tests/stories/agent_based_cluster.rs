//! Three control-plane nodes from one image on a site without DHCP and without internet: their
//! addresses come from `networkConfig` (two cards in a bond, a VLAN for storage upon it), the release
//! from a mirror. One of them is the rendezvous host, leads the installation and reboots last;
//! `muster agent wait-for` follows from before power-on to the finished cluster.

use std::{fs, thread, time::Duration};

use anyhow::{Context, Result};
use muster_testbed::{Os, Registry, evidence_of, release, service::Client};
use muster_vm::{
    Boot, Bus, Disk, Evidence, Machine, Network, Nic, Running,
    program::{Background, eventually},
};
use serde_json::{Value, json};

use crate::{
    desk::{Desk, Order, lighter_requirements},
    scene::{key, serve_disk_image},
    site::{KEPT_PARTITIONS, offer_names},
};

/// Three emulated machines share two cores, and one of them runs the service.
const PREPARATION: Duration = Duration::from_secs(2400);
const INSTALLATION: Duration = Duration::from_secs(4800);
const NAMES: [&str; 3] = ["master-0", "master-1", "master-2"];
/// Number of the first machine: the rendezvous host.
const FIRST: u8 = 94;
/// The VLAN upon the bond, and its network.
const VLAN: u16 = 20;
const STORAGE: &str = "10.20.0";

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn three_nodes_with_static_networks_install_themselves_from_one_image_and_a_mirror() -> Result<()> {
    let evidence = evidence_of("agent-based-cluster")?;
    let mut network = Network::new(&evidence)?;
    let registry = Registry::start(&network, &evidence)?;
    let release = release::push_mirrored(&registry, &network)?;
    let os = Os::ready()?;
    let _web = serve_disk_image(&network, &os, &evidence)?;
    let order = order(&evidence, &registry, &release)?;
    let desk = Desk::prepare(&network, &evidence, &os, &order)?;

    offer_names(&mut network)?;
    let mut waiting = desk.wait_for(&network)?;
    let service = desk.service(&network)?;
    let mut machines = machines(&desk)
        .into_iter()
        .map(|machine| machine.start(&network, &evidence))
        .collect::<Result<Vec<Running>>>()?;
    let outcome = follow(
        &network,
        &evidence,
        &desk,
        &service,
        &mut machines,
        &mut waiting,
    );
    outcome.with_context(|| {
        let mut report = String::new();
        for machine in &mut machines {
            machine.screenshot();
            let name = &machine.machine.name;
            report += &format!("machine {name}: {}\n", machine.evidence().summary());
        }
        format!("{report}wait-for said:\n{}", desk.account())
    })?;
    assert!(
        !network.log().contains("DHCPOFFER"),
        "an address was handed out"
    );
    Ok(())
}

fn follow(
    network: &Network,
    evidence: &Evidence,
    desk: &Desk,
    service: &Client,
    machines: &mut [Running],
    waiting: &mut Background,
) -> Result<()> {
    let mut discovered = Vec::new();
    desk.wait_until_installing(service, &mut machines[0], PREPARATION, |hosts| {
        for host in hosts {
            let id = host["id"].as_str().context("a host has an id")?;
            // Before it is ready: afterwards the installation starts at once.
            let path = format!("/infra-envs/{}/hosts/{id}/installer-args", desk.infra_env);
            if host["installer_args"].is_null() && host["inventory"].is_string() {
                let body = json!({"args": KEPT_PARTITIONS});
                // Refused where the host has begun already; then its disk is measured.
                let _ = service.call("PATCH", &path, &body);
            }
        }
        discovered = hosts.to_vec();
        Ok(())
    })?;
    assert_networks(&discovered);
    let mut plane = desk.start_control_plane(network, evidence, service)?;

    let mut reported = false;
    let outcome = eventually(INSTALLATION, "wait-for to end", || {
        plane.sign_approved(network)?;
        if plane.has_ready_node(network)? {
            plane.run_controller_trusting(network, Some(&desk.authority))?;
        }
        if !reported {
            let mut ready = true;
            for name in NAMES {
                ready = ready && plane.is_node_ready(network, name)?;
            }
            if ready {
                desk.report_finished(network, &plane)?;
                reported = true;
            }
        }
        for machine in &mut *machines {
            machine
                .must_be_well()
                .with_context(|| format!("machine {}", machine.machine.name))?;
        }
        thread::sleep(Duration::from_secs(3));
        waiting.ended()
    });
    outcome
        .with_context(|| plane.report(network))?
        .then_some(())
        .context("wait-for ended with a failure")?;
    assert!(reported, "wait-for ended before every node was ready");
    desk.assert_account()?;
    desk.assert_kubeconfig_lists(network, &plane, &NAMES)
}

/// Every host has its bond and its VLAN with the addresses of the agent-config, under its name.
fn assert_networks(hosts: &[Value]) {
    assert_eq!(hosts.len(), NAMES.len(), "{hosts:#?}");
    for (name, number) in NAMES.iter().zip(FIRST..) {
        let host = hosts
            .iter()
            .find(|host| host["requested_hostname"] == *name)
            .unwrap_or_else(|| panic!("no host is called {name}: {hosts:#?}"));
        assert_eq!(host["bootstrap"] == true, *name == NAMES[0], "{name}");
        let text = host["inventory"].as_str().unwrap_or("{}");
        let inventory: Value = serde_json::from_str(text).unwrap_or_default();
        let has = |interface: &str, address: String| {
            let mut interfaces = inventory["interfaces"].as_array().into_iter().flatten();
            interfaces.any(|one| {
                one["name"] == interface && one["ipv4_addresses"] == json!([address.as_str()])
            })
        };
        let vlan = format!("bond0.{VLAN}");
        assert!(
            has("bond0", format!("{}/24", Network::address(number)))
                && has(&vlan, format!("{STORAGE}.{number}/24")),
            "{name}: {inventory:#}"
        );
    }
}

fn order(evidence: &Evidence, registry: &Registry, release: &str) -> Result<Order> {
    let hosts: Vec<Value> = machines_from(Boot::Disk).iter().map(described).collect();
    let mirrors: Vec<Value> = release::MIRRORED
        .iter()
        .map(|name| {
            json!({
                "source": format!("{}/{name}", release::SOURCE),
                "mirrors": [registry.image(&format!("ocp/{name}"))],
            })
        })
        .collect();
    Ok(Order {
        install_config: json!({
            "apiVersion": "v1",
            "baseDomain": "example.com",
            "metadata": {"name": "lab"},
            "networking": {"machineNetwork": [{"cidr": "192.168.77.0/24"}]},
            "controlPlane": {"name": "master", "replicas": NAMES.len()},
            "compute": [{"name": "worker", "replicas": 0}],
            "platform": {"none": {}},
            "pullSecret": registry.pull_secret(),
            "sshKey": key(evidence)?,
            "additionalTrustBundle": fs::read_to_string(registry.authority())?,
            "imageDigestSources": mirrors,
        }),
        agent_config: json!({
            "apiVersion": "v1beta1",
            "kind": "AgentConfig",
            "metadata": {"name": "lab"},
            "rendezvousIP": Network::address(FIRST),
            "additionalNTPSources": [Network::GATEWAY],
            "hosts": hosts,
        }),
        release: release.to_owned(),
        ignition: Some(lighter_requirements()),
    })
}

/// A machine as the agent-config lists it.
fn described(machine: &Machine) -> Value {
    let number = machine.nics[0].mac.rsplit(':').next();
    let number = number.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let number = number.unwrap_or_default();
    let (address, gateway) = (Network::address(number), Network::GATEWAY);
    let ipv4 = |address: String| {
        json!({"enabled": true, "dhcp": false,
               "address": [{"ip": address, "prefix-length": 24}]})
    };
    let cards = [
        ("eno1", &machine.nics[0].mac),
        ("eno2", &machine.nics[1].mac),
    ];
    json!({
        "hostname": machine.name,
        "role": "master",
        "rootDeviceHints": {"deviceName": "/dev/vda"},
        "interfaces": cards.map(|(name, mac)| json!({"name": name, "macAddress": mac})),
        "networkConfig": {
            "interfaces": [
                {
                    "name": "bond0", "type": "bond", "state": "up",
                    "link-aggregation": {
                        "mode": "active-backup", "port": cards.map(|(name, _)| name),
                    },
                    "ipv4": ipv4(address.to_string()),
                    "ipv6": {"enabled": false},
                },
                {
                    "name": format!("bond0.{VLAN}"), "type": "vlan", "state": "up",
                    "vlan": {"base-iface": "bond0", "id": VLAN},
                    "ipv4": ipv4(format!("{STORAGE}.{number}")),
                    "ipv6": {"enabled": false},
                },
            ],
            "dns-resolver": {"config": {"server": [gateway]}},
            "routes": {"config": [{
                "destination": "0.0.0.0/0",
                "next-hop-address": gateway,
                "next-hop-interface": "bond0",
            }]},
        },
    })
}

fn machines(desk: &Desk) -> Vec<Machine> {
    machines_from(Boot::DiskThenCd(desk.image()))
}

fn machines_from(boot: Boot) -> Vec<Machine> {
    let machine = |(name, number): (&&str, u8)| {
        let mut machine = Machine::numbered(name, number, boot.clone());
        machine.memory_mib = 6144;
        machine.nics.push(Nic {
            mac: format!("52:54:00:6d:76:{number:02x}"),
        });
        machine.disks = vec![Disk::new(
            Bus::Virtio,
            120,
            &format!("MUSTER-ROOT-{number}"),
        )];
        machine
    };
    NAMES.iter().zip(FIRST..).map(machine).collect()
}
