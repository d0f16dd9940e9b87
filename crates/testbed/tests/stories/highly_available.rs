//! Three control-plane nodes and a worker are installed from power-on to `installed`: one of them
//! runs the bootstrap, every host writes its disk, starts from it, fetches its config from the
//! machine-config server over TLS and joins with credentials it found there.

use std::{fs, net::IpAddr, path::Path, time::Duration};

use anyhow::{Context, Result};
use muster_testbed::{Registry, evidence_of, release};
use muster_vm::{Boot, Bus, Disk, Machine, Network, Offer, Running};
use serde_json::json;

use crate::{
    lab::{Lab, Scheduling, offering},
    scene::Scene,
};

const DOMAIN: &str = "lab.example.com";
/// Four emulated machines share two cores.
const INSTALLATION: Duration = Duration::from_secs(4800);

// `Configuring` comes from the log of the config server: the bootstrap host reads it as long as it
// is there, and afterwards the controller would read it from pods, which do not run here.
const BOOTSTRAP_STAGES: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Waiting for control plane",
    "Waiting for bootkube",
    "Waiting for controller",
    "Rebooting",
    "Joined",
    "Done",
];
const CONTROL_PLANE_STAGES: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Rebooting",
    "Configuring",
    "Joined",
    "Done",
];
const WORKER_STAGES: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Waiting for control plane",
    "Rebooting",
    "Joined",
    "Done",
];

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn three_control_plane_nodes_and_a_worker_are_installed() -> Result<()> {
    let evidence = evidence_of("highly-available")?;
    let network = Network::new(&evidence)?;
    let registry = Registry::start(&network, &evidence)?;
    let image = release::push(&registry, &network)?;
    let mut scene = Scene::on(
        network,
        evidence,
        offering(&registry, release::VERSION, &image, &[]),
    )?;
    let cluster = scene.service.new_cluster(
        "lab",
        &json!({
            "user_managed_networking": true,
            "machine_networks": [{"cidr": "192.168.77.0/24"}],
            "additional_ntp_source": Network::GATEWAY,
            "pull_secret": registry.pull_secret(),
        }),
    )?;
    let cluster = cluster["id"].as_str().context("a cluster has an id")?;
    let (infra_env, image) = scene.image(&json!({
        "cluster_id": cluster,
        "pull_secret": registry.pull_secret(),
        "additional_trust_bundle": fs::read_to_string(registry.authority())?,
        "ssh_authorized_key": scene.key()?,
    }))?;
    let machines = [
        machine("master-1", 81, 4, 16_384, &image),
        machine("master-2", 82, 4, 16_384, &image),
        machine("master-3", 83, 4, 16_384, &image),
        machine("worker-1", 84, 2, 8_192, &image),
    ];
    let address = IpAddr::from(Network::GATEWAY);
    let offer = Offer {
        names: ["api", "api-int", "apps"]
            .map(|name| (format!("{name}.{DOMAIN}"), address))
            .into(),
        ..Offer::default()
    };
    scene
        .network
        .serve(&offer, &machines.iter().collect::<Vec<_>>())?;
    let _web = scene.serve_disk_image()?;
    let mut machines: Vec<Running> = machines
        .into_iter()
        .map(|machine| scene.start(machine))
        .collect::<Result<_>>()?;
    let lab = Lab {
        scene: &scene,
        cluster,
        infra_env: &infra_env,
    };
    for machine in &mut machines {
        let host = scene.discovered(machine, &infra_env)?;
        lab.take_disk_image_from_here(&host)?;
        lab.set_role(&host, machine.machine.name.split('-').next())?;
    }
    lab.wait_for("ready")?;
    lab.install()?;
    lab.wait_for("installing")?;

    let mut plane = lab.start_control_plane(DOMAIN)?;
    lab.follow_to_installed(
        &mut plane,
        &mut machines,
        Scheduling::AfterFirstReadyNode,
        INSTALLATION,
    )?;

    let bootstrap = lab.bootstrap_hostname()?;
    for name in ["master-1", "master-2", "master-3"] {
        let expected = match name == bootstrap {
            true => BOOTSTRAP_STAGES,
            false => CONTROL_PLANE_STAGES,
        };
        assert_eq!(lab.stages(name)?, expected, "{name}");
    }
    assert_eq!(lab.stages("worker-1")?, WORKER_STAGES);
    lab.assert_nodes_in_downloaded_kubeconfig(
        &plane,
        &["master-1", "master-2", "master-3", "worker-1"],
    )
}

fn machine(name: &str, number: u8, cpus: u32, memory_mib: u64, image: &Path) -> Machine {
    let mut machine = Machine::numbered(name, number, Boot::DiskThenCd(image.into()));
    machine.cpus = cpus;
    machine.memory_mib = memory_mib;
    machine.disks = vec![Disk::new(
        Bus::Virtio,
        120,
        &format!("MUSTER-ROOT-{number}"),
    )];
    machine
}
