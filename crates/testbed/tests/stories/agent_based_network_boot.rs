//! A single node that boots from the network: its disk is too small, which `muster agent wait-for`
//! names; once it is large enough the installation starts, the node is reset in the middle of its
//! bootstrap and starts over, and the same `wait-for` follows to the finished cluster. Then a worker
//! is added to it with `muster agent add-nodes`.

use std::{fs, thread, time::Duration};

use anyhow::{Context, Result};
use muster_testbed::{ControlPlane, Os, Registry, evidence_of, release, service::Client};
use muster_vm::{Boot, Bus, Disk, Evidence, Machine, Network, Offer, Running, program::Background};
use serde_json::{Value, json};

use crate::{
    desk::{Desk, Order, boot_files_url, lighter_requirements},
    joining::add_worker,
    scene::{BOOT, key, serve_disk_image},
    site::cluster_names,
};

const NUMBER: u8 = 97;
const WORKER: u8 = 98;
/// A disk that no requirement is met by, and one that meets them.
const TOO_SMALL: u64 = 20;
const LARGE_ENOUGH: u64 = 120;
/// From the second start of the installation to the finished cluster, on a busy machine.
const INSTALLATION: Duration = Duration::from_secs(3600);

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn a_node_that_boots_from_the_network_starts_over_after_a_reset_and_gets_a_worker() -> Result<()> {
    let evidence = evidence_of("agent-based-network-boot")?;
    let mut network = Network::new(&evidence)?;
    let registry = Registry::start(&network, &evidence)?;
    let release = release::push(&registry, &network)?;
    let os = Os::ready()?;
    let _web = serve_disk_image(&network, &os, &evidence)?;
    let order = order(&evidence, &registry, &release)?;
    let desk = Desk::prepare_network_boot(&network, &evidence, &os, &order)?;
    let _boot_files = desk.serve_boot_files(&network)?;

    let (node, worker) = (node(), worker());
    let offer = Offer {
        ipxe_script: Some(format!("{}/agent.x86_64.ipxe", boot_files_url())),
        ..cluster_names()
    };
    network.serve(&offer, &[&node, &worker])?;
    let mut waiting = desk.wait_for(&network)?;
    let service = desk.service(&network)?;
    let mut node = node.start(&network, &evidence)?;
    let outcome = install(
        &network,
        &evidence,
        &desk,
        &service,
        &mut node,
        &mut waiting,
    );
    let mut plane = outcome.with_context(|| {
        node.screenshot();
        format!(
            "{}\nwait-for said:\n{}",
            node.evidence().summary(),
            desk.account()
        )
    })?;
    // The API is not on it.
    drop(node);
    add_worker(&network, &evidence, &desk, &mut plane, worker)?;
    desk.assert_kubeconfig_lists(&network, &plane, &["node-0", "worker-0"])
}

fn install(
    network: &Network,
    evidence: &Evidence,
    desk: &Desk,
    service: &Client,
    node: &mut Running,
    waiting: &mut Background,
) -> Result<ControlPlane> {
    node.wait_until("wait-for to name the disk", BOOT, |_| {
        let words = [
            "Validation failed, host node-0",
            "one of at least 100 GB is needed",
            "vda (",
            "add a disk or free one (has-min-valid-disks)",
            "More: muster explain validations has-min-valid-disks",
        ];
        Ok(has_line(desk, &words).then_some(()))
    })?;
    eprintln!("   the disk is made larger");
    node.grow_disk(0, LARGE_ENOUGH)?;

    let mut discovered = Vec::new();
    desk.wait_until_installing(service, node, BOOT, |hosts| {
        discovered = hosts.to_vec();
        Ok(())
    })?;
    assert_booted_from_the_network(&discovered);
    let passed = [
        "Validation passed now, host node-0",
        "(has-min-valid-disks)",
    ];
    assert!(has_line(desk, &passed), "{}", desk.account());

    let first = desk.registered(service)?;
    node.wait_until("its bootstrap", BOOT, |_| {
        thread::sleep(Duration::from_secs(2));
        let hosts = service.hosts(&desk.infra_env).unwrap_or_default();
        let mut stages = hosts.iter().map(|host| &host["progress"]["current_stage"]);
        Ok(stages
            .any(|stage| stage == "Waiting for bootkube")
            .then_some(()))
    })?;
    eprintln!("   the node is reset during its bootstrap");
    node.reset()?;
    desk.wait_until_installing(service, node, BOOT, |_| Ok(()))?;
    assert_ne!(
        desk.registered(service)?,
        first,
        "the service has not registered the cluster again"
    );

    let mut plane = desk.start_control_plane(network, evidence, service)?;
    desk.follow_single_node(network, &mut plane, node, waiting, INSTALLATION)?;
    desk.assert_account()?;
    let message = [
        "The rendezvous host has booted the image again before the bootstrap was complete",
        "starts it over",
    ];
    assert!(has_line(desk, &message), "{}", desk.account());
    desk.assert_kubeconfig_lists(network, &plane, &["node-0"])?;
    Ok(plane)
}

/// Whether `wait-for` has said all of this in one line.
fn has_line(desk: &Desk, words: &[&str]) -> bool {
    let account = desk.account();
    let mut lines = account.lines();
    lines.any(|line| words.iter().all(|word| line.contains(word)))
}

fn assert_booted_from_the_network(hosts: &[Value]) {
    let host = hosts.first().cloned().unwrap_or_default();
    let text = host["inventory"].as_str().unwrap_or("{}");
    let inventory: Value = serde_json::from_str(text).unwrap_or_default();
    let arguments = inventory["boot"]["command_line"].as_str();
    let arguments = arguments.unwrap_or_default();
    let rootfs = format!("coreos.live.rootfs_url={}/", boot_files_url());
    assert!(arguments.contains(&rootfs), "{arguments}");
}

fn order(evidence: &Evidence, registry: &Registry, release: &str) -> Result<Order> {
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
            "bootArtifactsBaseURL": boot_files_url(),
            "hosts": [{
                "hostname": "node-0",
                "role": "master",
                "interfaces": [{"name": "eth0", "macAddress": node().mac()}],
                "rootDeviceHints": {"deviceName": "/dev/vda"},
            }],
        }),
        release: release.to_owned(),
        ignition: Some(lighter_requirements()),
    })
}

fn node() -> Machine {
    let mut machine = Machine::numbered("node-0", NUMBER, Boot::DiskThenNetwork);
    machine.cpus = 2;
    machine.memory_mib = 8192;
    machine.disks = vec![Disk::new(Bus::Virtio, TOO_SMALL, "MUSTER-ROOT-97")];
    machine
}

/// As large as a worker must be: the image for it has the default hardware requirements.
fn worker() -> Machine {
    let mut machine = Machine::numbered("worker-0", WORKER, Boot::Disk);
    machine.cpus = 2;
    machine.memory_mib = 8192;
    machine.disks = vec![Disk::new(Bus::Virtio, LARGE_ENOUGH, "MUSTER-ROOT-98")];
    machine
}
