//! Machines on a wire without DHCP, with addresses that came in their image.

use std::fs;

use anyhow::Result;
use muster_testbed::service::Setup;
use muster_vm::{Boot, Machine, Network, Offer};
use serde_json::{Value, json};

use crate::scene::Scene;

const NUMBER: u8 = 41;

/// The static network of an infra-env with one machine: its address by number, the wire's gateway and DNS.
pub fn static_address(mac: &str, number: u8) -> Value {
    let address = Network::address(number);
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

/// Where the root file system comes from: the image, or the service.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Image {
    Full,
    Minimal,
}

fn is_discovered_without_dhcp(story: &str, image_type: Image) -> Result<()> {
    let mut scene = Scene::silent(story, Setup::default())?;
    let offer = Offer {
        dhcp: false,
        ..Offer::default()
    };
    scene.network.serve(&offer, &[])?;
    let definition = Machine::numbered("fixed", NUMBER, Boot::Network);
    let fields = json!({
        "image_type": match image_type {
            Image::Full => "full-iso",
            Image::Minimal => "minimal-iso",
        },
        "static_network_config": static_address(definition.mac(), NUMBER),
    });
    let (infra_env, image) = scene.image(&fields)?;
    let (size, base) = (
        fs::metadata(&image)?.len(),
        fs::metadata(scene.base_image())?.len(),
    );
    assert_eq!(
        size < base / 2,
        image_type == Image::Minimal,
        "the image has {size} bytes, the one it is made from {base}"
    );
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
    let arguments = host["inventory"]["boot"]["command_line"]
        .as_str()
        .unwrap_or_default();
    assert_eq!(
        arguments.contains("/boot-artifacts/rootfs/"),
        image_type == Image::Minimal,
        "{arguments}"
    );
    assert!(
        !scene.network.log().contains("DHCPOFFER"),
        "an address was offered by DHCP"
    );
    Ok(())
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_finds_its_address_in_the_full_image() -> Result<()> {
    is_discovered_without_dhcp("static-full", Image::Full)
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_finds_its_address_in_the_minimal_image_and_fetches_the_rest_with_it() -> Result<()> {
    is_discovered_without_dhcp("static-minimal", Image::Minimal)
}
