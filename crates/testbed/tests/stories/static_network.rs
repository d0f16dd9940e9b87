//! Machines on a wire without DHCP, with addresses that came in their image.

use anyhow::Result;
use muster_testbed::{Boot, Machine, Network, network::Offer, service::Setup};
use serde_json::{Value, json};

use crate::scene::Scene;

const NUMBER: u8 = 41;

fn static_address(mac: &str) -> Value {
    let address = Network::address(NUMBER);
    let gateway = Network::GATEWAY;
    let yaml = format!(
        "interfaces:\n- name: lan\n  type: ethernet\n  state: up\n  ipv4:\n    enabled: true\n    \
         dhcp: false\n    address:\n    - ip: {address}\n      prefix-length: 24\n  ipv6:\n    \
         enabled: false\ndns-resolver:\n  config:\n    server:\n    - {gateway}\nroutes:\n  config:\n  \
         - destination: 0.0.0.0/0\n    next-hop-address: {gateway}\n    next-hop-interface: lan\n"
    );
    json!([{
        "network_yaml": yaml,
        "mac_interface_map": [{"mac_address": mac, "logical_nic_name": "lan"}],
    }])
}

fn is_discovered_without_dhcp(story: &str, image_type: &str) -> Result<()> {
    let mut scene = Scene::silent(story, Setup::default())?;
    let offer = Offer {
        dhcp: false,
        ..Offer::default()
    };
    scene.network.serve(&offer, &[])?;
    let definition = Machine::numbered("fixed", NUMBER, Boot::Network);
    let fields = json!({
        "image_type": image_type,
        "static_network_config": static_address(definition.mac()),
    });
    let (infra_env, image) = scene.image(&fields)?;
    let machine = Machine {
        boot: Boot::Cd(image),
        ..definition
    };
    let mut machine = scene.start(machine)?;
    let host = scene.discovered(&mut machine, &infra_env)?;
    let interface = &host["inventory"]["interfaces"][0];
    let address = format!("{}/24", Network::address(NUMBER));
    assert_eq!(
        interface["ipv4_addresses"],
        json!([address]),
        "{interface:#}"
    );
    assert!(
        !scene.network.log().contains("DHCPOFFER"),
        "somebody offered an address"
    );
    Ok(())
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_finds_its_address_in_the_full_image() -> Result<()> {
    is_discovered_without_dhcp("static-full", "full-iso")
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_finds_its_address_in_the_minimal_image_and_fetches_the_rest_with_it() -> Result<()> {
    is_discovered_without_dhcp("static-minimal", "minimal-iso")
}
