//! A disk that fails while it is written: the service shows which disk and why, and has the log of
//! the installer.
//!
//! The machine is a worker that is added to an imported cluster. Of all flows this one reaches its
//! disk first: there is no bootstrap, no release and no control plane to wait for, only the config
//! that every host of a running cluster fetches. The disk accepts everything but one sector in the
//! middle of the image, as worn ones do; QEMU answers writes to it with an error.

use std::{fs, time::Duration};

use anyhow::{Context, Result};
use muster_testbed::service::Setup;
use muster_vm::{
    Boot, Bus, Disk, Machine, Network,
    program::{Background, command, run},
};
use serde_json::{Value, json};

use crate::{
    lab::Lab,
    scene::Scene,
    site::{DOMAIN, expect, small_machines},
};

const NUMBER: u8 = 95;
/// Three attempts to write the disk, on a busy machine.
const ATTEMPTS: Duration = Duration::from_secs(2400);
/// A host in `error` asks for steps every two minutes.
const LOGS: Duration = Duration::from_secs(900);
/// In the boot partition of the image; the check of a disk's speed is not made on day 2.
const BAD_MIB: u64 = 100;
/// Where a running cluster serves configs without TLS.
const CONFIG_PORT: &str = "22624";

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn a_disk_that_fails_while_it_is_written_is_named_with_the_cause() -> Result<()> {
    let setup = Setup {
        flags: [small_machines(), "timeouts.poll_interval=20s".to_owned()]
            .into_iter()
            .flat_map(|setting| ["--set".to_owned(), setting])
            .collect(),
        ..Setup::default()
    };
    let mut scene = Scene::silent("failing-disk", setup)?;
    let definition = machine(Boot::Disk);
    expect(&mut scene.network, &[&definition])?;
    let _cluster = serve_config(&scene)?;
    let _web = scene.serve_disk_image()?;
    let cluster = import(&scene)?;
    let (infra_env, image) = scene.image(&json!({
        "cluster_id": cluster,
        "additional_ntp_sources": Network::GATEWAY,
    }))?;
    let lab = Lab {
        scene: &scene,
        cluster: &cluster,
        infra_env: &infra_env,
    };

    let mut machine = scene.start(machine(Boot::DiskThenCd(image)))?;
    let host = scene.discovered(&mut machine, &infra_env)?;
    let id = host["id"].as_str().context("a host has an id")?;
    lab.when_a_host("to be known", |host| host["status"] == "known")?;
    let path = format!("/infra-envs/{infra_env}/hosts/{id}");
    let install = format!("{path}/actions/install");
    scene.service.call("POST", &install, &Value::Null)?;
    let failed = machine.wait_until("the installation to fail", ATTEMPTS, |_| {
        let host = scene.service.get(&path)?;
        Ok((host["status"] == "error").then_some(host))
    });
    let failed = failed.with_context(|| lab.what_is_not_green())?;

    let why = failed["status_info"].as_str().unwrap_or_default();
    eprintln!("   {why}");
    let disk = failed["installation_disk_id"].as_str();
    let disk = disk.context("an installation disk was chosen")?;
    for words in [disk, "Input/output error"] {
        assert!(why.contains(words), "{words:?} is not in: {why}");
    }
    assert!(!why.contains('\r'), "progress bars are no cause: {why}");
    let stage = &failed["progress"]["current_stage"];
    assert_eq!(*stage, "Writing image to disk");

    machine.wait_until("the logs of the host", LOGS, |_| {
        let host = scene.service.get(&path)?;
        Ok((host["logs_info"] == "completed").then_some(()))
    })?;
    let log = installer_log(&scene, &cluster, id)?;
    for words in ["WriteImage", "attempt failed", "Input/output error"] {
        assert!(log.contains(words), "{words:?} is not in the log:\n{log}");
    }
    Ok(())
}

fn machine(boot: Boot) -> Machine {
    let mut machine = Machine::numbered("worn", NUMBER, boot);
    // The installer writes through memory, beside a live system that is in memory.
    machine.memory_mib = 4096;
    let disk = Disk::new(Bus::Virtio, 120, "MUSTER-WORN-95");
    machine.disks = vec![disk.failing_at(BAD_MIB)];
    machine
}

/// The config server of the running cluster. A cluster with keepalived resolves its own names.
fn serve_config(scene: &Scene) -> Result<Background> {
    let folder = scene.evidence.part("configs")?;
    let config = json!({
        "ignition": {"version": "3.2.0"},
        "storage": {"files": [{
            "path": "/etc/kubernetes/manifests/keepalived.yaml",
            "contents": {"source": "data:,"},
        }]},
    });
    fs::write(folder.part("config")?.file("worker"), config.to_string())?;
    let mut server = scene.network.command("python3");
    server
        .args(["-m", "http.server", CONFIG_PORT, "--directory"])
        .arg(folder.folder());
    let log = scene.evidence.file("configs.log");
    Background::start("config server", &mut server, &log)
}

fn import(scene: &Scene) -> Result<String> {
    let body = json!({
        "name": "lab",
        "api_vip_dnsname": format!("api.{DOMAIN}"),
        "openshift_version": "4.20",
        "openshift_cluster_id": "0badcafe-0000-4000-8000-000000000095",
    });
    let cluster = scene.service.call("POST", "/clusters/import", &body)?;
    let id = cluster["id"].as_str().context("a cluster has an id")?;
    Ok(id.to_owned())
}

/// What the installer logged, out of the archive that the host sent. The service hands it out as the
/// only file of an archive of its own.
fn installer_log(scene: &Scene, cluster: &str, host: &str) -> Result<String> {
    let archive = scene.evidence.file("logs.tar");
    let path = format!("/clusters/{cluster}/logs?logs_type=host&host_id={host}");
    scene.service.download(&path, &archive)?;
    let unpack = "tar --extract --to-stdout --file \"$1\" \
        | tar --extract --gzip --to-stdout --wildcards '*/installer.logs'";
    run(command("sh").args(["-c", unpack, "unpack"]).arg(&archive))
}
