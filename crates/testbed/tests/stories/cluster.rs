//! Three machines on one wire become a cluster that could be installed: every check is answered
//! by what the machines really measured.

use std::{net::Ipv4Addr, path::Path, time::Duration};

use anyhow::Result;
use muster_testbed::service::Setup;
use muster_vm::{Boot, Bus, Disk, Machine, Network, Offer, Running, program::eventually};
use serde_json::{Value, json};

use crate::scene::Scene;

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

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn three_machines_reach_a_cluster_that_is_ready() -> Result<()> {
    // There is no registry on this wire and no podman in the stand-in.
    let setup = Setup {
        flags: [
            "--set",
            "cluster.disabled_host_validations=container-images-available",
            "--set",
            "cluster.disabled_steps=container-image-availability",
        ]
        .map(str::to_owned)
        .into(),
        ..Setup::default()
    };
    let mut scene = Scene::silent("cluster", setup)?;
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
        }),
    )?;
    let cluster = cluster["id"].as_str().unwrap_or_default();
    let (infra_env, image) = scene.image(&json!({"cluster_id": cluster}))?;
    let machines: Vec<Machine> = [61, 62, 63]
        .map(|number| control_plane(number, &image))
        .into();
    let offer = Offer {
        names: vec![
            ("api.lab.example.com".into(), api),
            ("api-int.lab.example.com".into(), api),
            ("apps.lab.example.com".into(), ingress),
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
    let ready = eventually(Duration::from_secs(1200), "the cluster to be ready", || {
        let cluster = scene.service.get(&format!("/clusters/{cluster}"))?;
        Ok((cluster["status"] == "ready").then_some(cluster))
    });
    if ready.is_err() {
        panic!("{}", what_is_not_green(&scene, cluster, &infra_env));
    }
    for host in scene.service.hosts(&infra_env)? {
        assert_eq!(host["status"], "known", "{host:#}");
        for id in [
            "belongs-to-majority-group",
            "ntp-synced",
            "api-domain-name-resolved-correctly",
        ] {
            assert_eq!(status_of(&host, id).as_deref(), Some("success"), "{id}");
        }
    }
    Ok(())
}

fn validations(noun: &Value) -> Vec<Value> {
    let text = noun["validations_info"].as_str().unwrap_or("{}");
    let groups: Value = serde_json::from_str(text).unwrap_or_default();
    let groups = groups.as_object().cloned().unwrap_or_default();
    groups
        .values()
        .filter_map(Value::as_array)
        .flatten()
        .cloned()
        .collect()
}

fn status_of(noun: &Value, id: &str) -> Option<String> {
    let found = validations(noun)
        .into_iter()
        .find(|validation| validation["id"] == id)?;
    found["status"].as_str().map(str::to_owned)
}

/// Everything that holds the cluster back, in the service's own words.
fn what_is_not_green(scene: &Scene, cluster: &str, infra_env: &str) -> String {
    let mut report = String::from("the cluster is not ready:\n");
    let cluster = scene
        .service
        .get(&format!("/clusters/{cluster}"))
        .unwrap_or_default();
    let hosts = scene.service.hosts(infra_env).unwrap_or_default();
    for noun in hosts.iter().chain([&cluster]) {
        let name = noun["requested_hostname"]
            .as_str()
            .or(noun["name"].as_str());
        report += &format!("{}: {}\n", name.unwrap_or("?"), noun["status"]);
        for validation in validations(noun) {
            if validation["status"] != "success" && validation["status"] != "disabled" {
                let message = validation["message"].as_str().unwrap_or_default();
                report += &format!(
                    "  {} {}: {message}\n",
                    validation["id"], validation["status"]
                );
            }
        }
    }
    report
}
