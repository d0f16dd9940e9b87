//! A single node is installed from power-on to `installed`: it runs its own bootstrap, writes its
//! disk, starts from it, joins the cluster with credentials it found there, and the controller
//! brings the installation to its end.

use std::{fs, net::IpAddr, thread, time::Duration};

use anyhow::{Context, Result};
use muster_ignition::Config;
use muster_testbed::{ControlPlane, Os, Registry, evidence_of, release};
use muster_vm::{Boot, Bus, Disk, Machine, Network, Offer, program::Background};
use serde_json::{Value, json};

use crate::{
    lab::{Lab, offering},
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
    let _web = serve_disk_image(&scene)?;
    let mut machine = scene.start(machine)?;
    let host = scene.discovered(&mut machine, &infra_env)?;
    let lab = Lab {
        scene: &scene,
        cluster,
        infra_env: &infra_env,
    };
    take_disk_image_from_here(&lab, &host)?;
    lab.wait_for("ready")?;
    lab.install()?;
    lab.wait_for("installing")?;

    let path = format!("/clusters/{cluster}/downloads/files?file_name=bootstrap.ign");
    let bootstrap = Config::from_json(&scene.service.get(&path)?)?;
    let mut plane = ControlPlane::start(&scene.network, &scene.evidence, &bootstrap, DOMAIN)?;
    let mut reported = false;
    machine
        .wait_until("the cluster to be installed", INSTALLATION, |_| {
            plane.sign_approved(&scene.network)?;
            plane.run_controller(&scene.network)?;
            let ready = plane
                .kubectl(&scene.network, &["get", "nodes", "--no-headers"])?
                .contains(" Ready ");
            if ready && !reported {
                plane.report_operators(&scene.network, release::VERSION)?;
                reported = true;
            }
            let status = lab.status()?;
            anyhow::ensure!(status != "error", "{}", lab.what_is_not_green());
            thread::sleep(Duration::from_secs(1));
            Ok((status == "installed").then_some(()))
        })
        .with_context(|| lab.what_is_not_green())?;

    assert_eq!(stages(&scene, cluster)?, STAGES);
    // The kubeconfig that users download opens the cluster.
    let path = format!("/clusters/{cluster}/downloads/credentials?file_name=kubeconfig");
    let kubeconfig = scene.service.text(&path)?;
    assert!(
        kubeconfig.contains(&format!("https://api.{DOMAIN}:6443")),
        "{kubeconfig}"
    );
    let nodes = plane.kubectl(&scene.network, &["get", "nodes", "--output=name"])?;
    assert_eq!(nodes.trim(), "node/single");
    Ok(())
}

fn single_node(boot: Boot) -> Machine {
    let mut machine = Machine::numbered("single", NUMBER, boot);
    machine.cpus = 8;
    machine.memory_mib = 16_384;
    machine.disks = vec![Disk::new(Bus::Virtio, 120, "MUSTER-ROOT-91")];
    machine
}

/// The image of the installed system, which a real live image carries itself.
fn serve_disk_image(scene: &Scene) -> Result<Background> {
    let web = scene.evidence.part("web")?;
    fs::hard_link(Os::ready()?.metal()?, web.file("metal.img.zst"))?;
    let mut server = scene.network.command("python3");
    server
        .args(["-m", "http.server", "8000", "--directory"])
        .arg(web.folder());
    Background::start("web server", &mut server, &scene.evidence.file("web.log"))
}

fn take_disk_image_from_here(lab: &Lab<'_>, host: &Value) -> Result<()> {
    let id = host["id"].as_str().context("a host has an id")?;
    let path = format!("/infra-envs/{}/hosts/{id}/installer-args", lab.infra_env);
    let address = format!("http://{}:8000/metal.img.zst", Network::GATEWAY);
    let body = json!({"args": ["--image-url", address]});
    lab.scene.service.call("PATCH", &path, &body).map(drop)
}

/// The stages of the only host in the order its events tell them.
fn stages(scene: &Scene, cluster: &str) -> Result<Vec<String>> {
    let events = scene
        .service
        .get(&format!("/events?cluster_id={cluster}&limit=5000"))?;
    let mut stages: Vec<String> = events
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|event| {
            let message = event["message"].as_str()?;
            let (_, stage) = message.split_once("reached installation stage ")?;
            let stage = stage.split(':').next()?.trim();
            Some(stage.to_owned())
        })
        .collect();
    stages.dedup();
    Ok(stages)
}
