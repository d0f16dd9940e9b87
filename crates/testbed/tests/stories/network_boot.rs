//! Machines without a medium: iPXE in the network card asks the wire, and everything comes from
//! the service.

use anyhow::Result;
use muster_testbed::service::Setup;
use muster_vm::{Boot, Firmware, Machine, Network, Offer};

use crate::scene::{Scene, nothing};

fn boots_from_the_network(story: &str, firmware: Firmware) -> Result<()> {
    let mut scene = Scene::silent(story, Setup::default())?;
    let infra_env = scene.service.new_infra_env("lab", &nothing())?;
    let id = infra_env["id"].as_str().unwrap_or_default();
    let path = format!("/infra-envs/{id}/downloads/files?file_name=ipxe-script");
    let mut machine = Machine::numbered("netboot", 31, Boot::Network);
    machine.firmware = firmware;
    let offer = Offer {
        ipxe_script: Some(format!(
            "{}/api/assisted-install/v2{path}",
            scene.service.url()
        )),
        ..Offer::default()
    };
    scene.network.serve(&offer, &[&machine])?;
    let mut machine = scene.start(machine)?;
    let host = scene.discovered(&mut machine, id)?;
    let arguments = host["inventory"]["boot"]["command_line"]
        .as_str()
        .unwrap_or_default();
    assert!(arguments.contains("coreos.live.rootfs_url="), "{arguments}");
    let interface = &host["inventory"]["interfaces"][0];
    assert_eq!(
        interface["ipv4_addresses"][0],
        format!("{}/24", Network::address(31))
    );
    Ok(())
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_that_boots_from_the_network_is_discovered() -> Result<()> {
    boots_from_the_network("network-boot", Firmware::Bios)
}
