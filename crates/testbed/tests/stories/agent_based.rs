//! One image, made at the desk by `muster agent create image`, and no service anywhere: the machine
//! that boots it runs the service itself, installs the cluster, reboots away from under it, and
//! `muster agent wait-for` follows from the first boot to the finished cluster.

use std::{fs, time::Duration};

use anyhow::{Context, Result};
use muster_testbed::{Os, Registry, evidence_of, release, service::Client};
use muster_vm::{Boot, Bus, Disk, Evidence, Machine, Network, Running, program::Background};
use serde_json::json;

use crate::{
    desk::{Desk, Order},
    scene::{BOOT, key, serve_disk_image},
    site::expect,
};

const NUMBER: u8 = 93;
/// From power on to the finished cluster, on a busy machine.
const INSTALLATION: Duration = Duration::from_secs(3600);

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_single_node_installs_itself_from_an_image_of_the_desk() -> Result<()> {
    let evidence = evidence_of("agent-based")?;
    let mut network = Network::new(&evidence)?;
    let registry = Registry::start(&network, &evidence)?;
    let release = release::push(&registry, &network)?;
    let os = Os::ready()?;
    let _web = serve_disk_image(&network, &os, &evidence)?;
    let desk = Desk::prepare(
        &network,
        &evidence,
        &os,
        &single_node_order(&evidence, &registry, &release)?,
    )?;

    let machine = single_node(Boot::DiskThenCd(desk.image()));
    expect(&mut network, &[&machine])?;
    let mut waiting = desk.wait_for(&network)?;
    let mut machine = machine.start(&network, &evidence)?;
    let service = desk.service(&network)?;
    let outcome = follow(
        &network,
        &evidence,
        &desk,
        &service,
        &mut machine,
        &mut waiting,
    );
    outcome.with_context(|| {
        machine.screenshot();
        format!(
            "{}\nwait-for said:\n{}",
            machine.evidence().summary(),
            desk.account()
        )
    })
}

fn follow(
    network: &Network,
    evidence: &Evidence,
    desk: &Desk,
    service: &Client,
    machine: &mut Running,
    waiting: &mut Background,
) -> Result<()> {
    desk.wait_until_installing(service, machine, BOOT, |_| Ok(()))?;
    let mut plane = desk.start_control_plane(network, evidence, service)?;
    desk.follow_single_node(network, &mut plane, machine, waiting, INSTALLATION)?;
    desk.assert_account()?;
    desk.assert_kubeconfig_lists(network, &plane, &["node-0"])
}

/// The configs of a single node that gets its address by DHCP.
pub fn single_node_order(evidence: &Evidence, registry: &Registry, release: &str) -> Result<Order> {
    let machine = single_node(Boot::Disk);
    Ok(Order {
        install_config: json!({
            "apiVersion": "v1",
            "baseDomain": "example.com",
            "metadata": {"name": "lab"},
            "networking": {"machineNetwork": [{"cidr": "192.168.77.0/24"}]},
            "controlPlane": {"name": "master", "replicas": 1},
            "compute": [{"name": "worker", "replicas": 0}],
            "platform": {"none": {}},
            "pullSecret": registry.pull_secret(),
            "sshKey": key(evidence)?,
            "additionalTrustBundle": fs::read_to_string(registry.authority())?,
        }),
        agent_config: json!({
            "apiVersion": "v1beta1",
            "kind": "AgentConfig",
            "metadata": {"name": "lab"},
            "rendezvousIP": Network::address(NUMBER),
            "additionalNTPSources": [Network::GATEWAY],
            "hosts": [{
                "hostname": "node-0",
                "role": "master",
                "interfaces": [{"name": "eth0", "macAddress": machine.mac()}],
                "rootDeviceHints": {"deviceName": "/dev/vda"},
            }],
        }),
        release: release.to_owned(),
        ignition: None,
    })
}

fn single_node(boot: Boot) -> Machine {
    let mut machine = Machine::numbered("node-0", NUMBER, boot);
    // As many as a single node needs: more than the computer has make it slower.
    machine.cpus = 4;
    machine.memory_mib = 16_384;
    machine.disks = vec![Disk::new(Bus::Virtio, 120, "MUSTER-ROOT-93")];
    machine
}
