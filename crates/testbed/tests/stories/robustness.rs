//! What goes wrong in real machine rooms: strangers on the wire, wrong clocks, services that die.

use std::time::Duration;

use anyhow::Result;
use muster_testbed::service::Setup;
use muster_vm::{Boot, Machine, Offer, program::run};
use serde_json::json;

use crate::scene::{BOOT, Scene, nothing};

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_whose_clock_is_years_off_trusts_the_service_and_is_discovered() -> Result<()> {
    let setup = Setup {
        secure: true,
        ..Setup::default()
    };
    let mut scene = Scene::silent("tls-clock", setup)?;
    let definition = Machine::numbered("late", 71, Boot::Network);
    scene.network.serve(&Offer::default(), &[&definition])?;
    let (infra_env, image) = scene.image(&nothing())?;
    let machine = Machine {
        boot: Boot::Cd(image),
        clock: Some("2020-01-01T00:00:00".into()),
        ..definition
    };
    let mut machine = scene.start(machine)?;
    scene.discovered(&mut machine, &infra_env)?;
    Ok(())
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_outlives_a_crash_of_the_service_and_a_cut_cable() -> Result<()> {
    let definition = Machine::numbered("patient", 72, Boot::Network);
    let scene = Scene::new("service-crash", &[&definition])?;
    let (infra_env, image) = scene.image(&nothing())?;
    let machine = Machine {
        boot: Boot::Cd(image),
        ..definition
    };
    let mut machine = scene.start(machine)?;
    machine.wait_for("Reached target initrd.target", BOOT)?;
    scene.service.crash_and_restart()?;
    scene.discovered(&mut machine, &infra_env)?;
    let before = checked_in(&scene, &infra_env);
    scene.service.crash_and_restart()?;
    machine.wait_until("the host to come back", Duration::from_secs(180), |_| {
        Ok((checked_in(&scene, &infra_env) > before).then_some(()))
    })?;

    let address = machine.machine.addresses[0].to_string();
    for plugged in [true, false, true] {
        machine.cable(0, plugged)?;
        let what = format!("a cable that is plugged in: {plugged}");
        machine.wait_until(&what, Duration::from_secs(60), |_| {
            let mut ping = scene.network.command("ping");
            let answered = run(ping.args(["-c", "1", "-W", "2", &address])).is_ok();
            Ok((answered == plugged).then_some(()))
        })?;
    }
    machine.press_power()?;
    machine.wait_off(BOOT)
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_that_reaches_the_service_only_through_a_proxy_is_discovered() -> Result<()> {
    let setup = Setup {
        outside: true,
        ..Setup::default()
    };
    let mut scene = Scene::silent("proxy", setup)?;
    let definition = Machine::numbered("behind", 73, Boot::Network);
    let offer = Offer {
        gateway: false,
        ..Offer::default()
    };
    scene.network.serve(&offer, &[&definition])?;
    let proxy = scene.network.start_proxy()?;
    let fields = json!({
        "image_type": "minimal-iso",
        "proxy": {"http_proxy": proxy, "https_proxy": proxy, "no_proxy": "localhost"},
    });
    let (infra_env, image) = scene.image(&fields)?;
    let machine = Machine {
        boot: Boot::Cd(image),
        ..definition
    };
    let mut machine = scene.start(machine)?;
    scene.discovered(&mut machine, &infra_env)?;
    let log = scene.network.proxy_log();
    assert!(
        log.contains("/boot-artifacts/rootfs/"),
        "the rootfs came another way:\n{log}"
    );
    Ok(())
}

fn checked_in(scene: &Scene, infra_env: &str) -> String {
    let hosts = scene.service.hosts(infra_env).unwrap_or_default();
    hosts
        .first()
        .map_or_else(String::new, |host| host["checked_in_at"].to_string())
}
