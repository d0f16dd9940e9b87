//! What goes wrong in real machine rooms: strangers on the wire, wrong clocks, services that die.

use std::time::Duration;

use anyhow::Result;
use muster_testbed::{Boot, Machine, service::Setup};

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
    scene.network.serve(&Default::default(), &[&definition])?;
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
fn a_machine_outlives_a_crash_of_the_service() -> Result<()> {
    let definition = Machine::numbered("patient", 72, Boot::Network);
    let mut scene = Scene::new("service-crash", &[&definition])?;
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
    Ok(())
}

fn checked_in(scene: &Scene, infra_env: &str) -> String {
    let hosts = scene.service.hosts(infra_env).unwrap_or_default();
    hosts
        .first()
        .map_or_else(String::new, |host| host["checked_in_at"].to_string())
}
