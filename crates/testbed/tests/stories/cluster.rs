//! Three machines on one wire become a cluster whose installation begins: every check is answered
//! by what the machines really measured, and every image is pulled by their own podman.

use std::{fs, net::Ipv4Addr, path::Path};

use anyhow::{Context, Result};
use muster_testbed::{Registry, evidence_of, service::agent};
use muster_vm::{Boot, Bus, Disk, Machine, Network, Offer, Running, program::run};
use serde_json::{Value, json};

use crate::{
    lab::{Lab, offering, validations},
    scene::Scene,
};

const RELEASE: &str = "4.20.3";
const INSTALLER: &str = "ocp/installer:1";
const IMAGES: &str = "container-images-available";

/// The control plane that a compact cluster needs.
fn control_plane(number: u8, image: &Path) -> Machine {
    let name = format!("master-{}", number % 10);
    let mut machine = Machine::numbered(&name, number, Boot::Cd(image.into()));
    machine.cpus = 4;
    machine.memory_mib = 16_384;
    machine.disks = vec![Disk::new(
        Bus::Virtio,
        120,
        &format!("MUSTER-ROOT-{number}"),
    )];
    machine
}

/// It ends where disks would be written.
#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn three_machines_become_a_cluster_whose_installation_begins() -> Result<()> {
    let evidence = evidence_of("cluster")?;
    let network = Network::new(&evidence)?;
    let registry = Registry::start(&network, &evidence)?;
    let program = fs::read(agent()?)?;
    let component = registry.push(&network, "ocp/content:1", &[("component", &program)])?;
    let release = registry.push_release(
        &network,
        RELEASE,
        &[
            ("machine-config-operator", &component),
            ("must-gather", &component),
        ],
        &[],
    )?;
    let installer = registry.image(INSTALLER);
    let mut scene = Scene::on(
        network,
        evidence,
        offering(
            &registry,
            RELEASE,
            &release,
            &["images.installer=".to_owned() + &installer],
        ),
    )?;

    let (api, ingress) = (
        Ipv4Addr::new(192, 168, 77, 5),
        Ipv4Addr::new(192, 168, 77, 6),
    );
    let cluster = scene.service.new_cluster(
        "lab",
        &json!({
            "api_vips": [{"ip": api}],
            "ingress_vips": [{"ip": ingress}],
            "additional_ntp_source": Network::GATEWAY,
            "pull_secret": registry.pull_secret(),
        }),
    )?;
    let cluster = cluster["id"].as_str().context("a cluster has an id")?;
    let key = scene.key()?;
    let (infra_env, image) = scene.image(&json!({
        "cluster_id": cluster,
        "pull_secret": registry.pull_secret(),
        "additional_trust_bundle": fs::read_to_string(registry.authority())?,
        "ssh_authorized_key": key,
    }))?;
    let machines: Vec<Machine> = [61, 62, 63]
        .map(|number| control_plane(number, &image))
        .into();
    let offer = Offer {
        names: vec![
            ("api.lab.example.com".into(), api.into()),
            ("api-int.lab.example.com".into(), api.into()),
            ("apps.lab.example.com".into(), ingress.into()),
        ],
        ..Offer::default()
    };
    scene
        .network
        .serve(&offer, &machines.iter().collect::<Vec<_>>())?;
    let mut machines: Vec<Running> = machines
        .into_iter()
        .map(|machine| scene.start(machine))
        .collect::<Result<_>>()?;
    for machine in &mut machines {
        scene.discovered(machine, &infra_env)?;
    }
    let lab = Lab {
        scene: &scene,
        cluster,
        infra_env: &infra_env,
    };
    lab.wait_for("ready")?;
    for host in lab.hosts()? {
        assert_eq!(host["status"], "known", "{host:#}");
        for id in [
            "belongs-to-majority-group",
            "ntp-synced",
            "api-domain-name-resolved-correctly",
        ] {
            assert_eq!(status_of(&host, id).as_deref(), Some("success"), "{id}");
        }
    }

    // One image is missing: the installation does not begin, and who found out says why.
    lab.install()?;
    let host = lab.when_a_host("to miss the image", |host| {
        status_of(host, IMAGES).as_deref() == Some("failure")
    })?;
    let pulled = images(&host);
    assert_eq!(pulled[&installer]["result"], "failure", "{pulled:#}");
    assert_measured(&pulled, &release);
    let message = message_of(&host, IMAGES).unwrap_or_default();
    assert!(message.contains(&installer), "{message}");
    lab.wait_for("ready")?;

    let program = [("bin/muster-agent", program.as_slice())];
    registry.push(&scene.network, INSTALLER, &program)?;
    lab.install_until_it_begins()?;
    for host in lab.hosts()? {
        let pulled = images(&host);
        for image in [&release, &installer, &component] {
            assert_eq!(pulled[image]["result"], "success", "{image}: {pulled:#}");
        }
        assert_measured(&pulled, &installer);
        assert_eq!(status_of(&host, IMAGES).as_deref(), Some("success"));
    }

    // What was pulled also runs, on the host's network, for a person who logs in.
    let words = "sudo podman run --rm --pull=never --network=host";
    let said = run(scene.log_in(61).args(words.split(' ')).args([
        &installer,
        "/bin/muster-agent",
        "--version",
    ]))?;
    assert!(said.starts_with("muster-agent "), "{said}");
    Ok(())
}

/// What a host found about images, by their names.
fn images(host: &Value) -> Value {
    let text = host["images_status"].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

/// The image came over the wire, and how fast is known.
fn assert_measured(pulled: &Value, image: &str) {
    let status = &pulled[image];
    assert_eq!(status["result"], "success", "{image}: {pulled:#}");
    for figure in ["size_bytes", "time", "download_rate"] {
        let measured = status[figure].as_f64().unwrap_or_default();
        assert!(measured > 0.0, "{figure} of {image}: {pulled:#}");
    }
}

fn field_of(noun: &Value, id: &str, field: &str) -> Option<String> {
    let found = validations(noun)
        .into_iter()
        .find(|validation| validation["id"] == id)?;
    found[field].as_str().map(str::to_owned)
}

fn status_of(noun: &Value, id: &str) -> Option<String> {
    field_of(noun, id, "status")
}

fn message_of(noun: &Value, id: &str) -> Option<String> {
    field_of(noun, id, "message")
}
