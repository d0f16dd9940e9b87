//! The minimal image: small, and complete only with the root file system that the service has.

use std::fs;

use anyhow::Result;
use muster_testbed::{Boot, Machine};
use serde_json::json;

use crate::scene::Scene;

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_with_the_minimal_image_fetches_the_rest_and_is_discovered() -> Result<()> {
    let definition = Machine::numbered("small", 51, Boot::Network);
    let scene = Scene::new("minimal", &[&definition])?;
    let (infra_env, image) = scene.image(&json!({"image_type": "minimal-iso"}))?;
    let size = fs::metadata(&image)?.len();
    let full = fs::metadata(scene.base_image())?.len();
    assert!(
        size < full / 2,
        "the minimal image has {size} bytes, the full one {full}"
    );
    let machine = Machine {
        boot: Boot::Cd(image),
        ..definition
    };
    let mut machine = scene.start(machine)?;
    let host = scene.discovered(&mut machine, &infra_env)?;
    let arguments = host["inventory"]["boot"]["command_line"]
        .as_str()
        .unwrap_or_default();
    assert!(arguments.contains("/boot-artifacts/rootfs/"), "{arguments}");
    Ok(())
}
