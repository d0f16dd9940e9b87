//! A single node is installed from power-on to `installed`: it runs its own bootstrap, writes its
//! disk, starts from it, joins the cluster with credentials it found there, and the controller
//! brings the installation to its end.

use std::{fs, net::IpAddr, time::Duration};

use anyhow::{Context, Result};
use muster_testbed::{Registry, evidence_of, release};
use muster_vm::{Boot, Bus, Disk, Machine, Network, Offer};
use serde_json::json;

use crate::{
    lab::{Lab, Scheduling, offering},
    scene::Scene,
};

const NUMBER: u8 = 91;
const DOMAIN: &str = "lab.example.com";
/// From the order to install until the cluster is installed, on a busy machine.
const INSTALLATION: Duration = Duration::from_secs(2400);

/// As the table of stages says, without those that nobody reports here.
const STAGES: &[&str] = &[
    "Starting installation",
    "Installing",
    "Waiting for bootkube",
    "Writing image to disk",
    "Rebooting",
    "Joined",
    "Done",
];

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_single_node_is_installed_from_power_on_to_the_running_cluster() -> Result<()> {
    let evidence = evidence_of("single-node")?;
    let network = Network::new(&evidence)?;
    let registry = Registry::start(&network, &evidence)?;
    let image = release::push(&registry, &network)?;
    // Nothing of ours is pulled: installer and controller are in the image and on the disk.
    let own = [
        "images.installer=".to_owned(),
        "images.controller=".to_owned(),
    ];
    let setup = offering(&registry, release::VERSION, &image, &own);
    let mut scene = Scene::on(network, evidence, setup)?;
    let address = IpAddr::from(Network::GATEWAY);

    let cluster = scene.service.new_cluster(
        "lab",
        &json!({
            "high_availability_mode": "None",
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
    let machine = single_node(Boot::DiskThenCd(image));
    let offer = Offer {
        names: ["api", "api-int", "apps"]
            .map(|name| (format!("{name}.{DOMAIN}"), address))
            .into(),
        ..Offer::default()
    };
    scene.network.serve(&offer, &[&machine])?;
    let _web = scene.serve_disk_image()?;
    let mut machine = scene.start(machine)?;
    let host = scene.discovered(&mut machine, &infra_env)?;
    let lab = Lab {
        scene: &scene,
        cluster,
        infra_env: &infra_env,
    };
    lab.take_disk_image_from_here(&host)?;
    lab.wait_for("ready")?;
    lab.install()?;
    lab.wait_for("installing")?;

    let mut plane = lab.start_control_plane(DOMAIN)?;
    lab.follow_to_installed(
        &mut plane,
        std::slice::from_mut(&mut machine),
        Scheduling::WithManifests,
        INSTALLATION,
    )?;

    assert_eq!(lab.stages("single")?, STAGES);
    lab.assert_nodes_in_downloaded_kubeconfig(&plane, &["single"])
}

fn single_node(boot: Boot) -> Machine {
    let mut machine = Machine::numbered("single", NUMBER, boot);
    machine.cpus = 8;
    machine.memory_mib = 16_384;
    machine.disks = vec![Disk::new(Bus::Virtio, 120, "MUSTER-ROOT-91")];
    machine
}
