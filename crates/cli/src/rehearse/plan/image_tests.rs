//! Plans of images, by what `muster agent create image` leaves in its directory.

use std::{fs, path::Path};

use muster_assets::agent_based::manifest_files;
use muster_vm::Bus;

use super::{
    super::image::{
        Image,
        tests::{AGENT_CONFIG, INSTALL_CONFIG, Inputs, directory},
    },
    *,
};

const RENDEZVOUS: &str = "192.168.111.80";

fn image(inputs: Inputs<'_>) -> Image {
    let folder = directory(inputs);
    fs::write(folder.path().join("agent.x86_64.iso"), "").unwrap();
    Image::read(folder.path()).unwrap_or_else(|error| panic!("{error:#}"))
}

fn of_configs(install: &str, agent: &str) -> Image {
    image(&[
        ("install-config.yaml", install),
        ("agent-config.yaml", agent),
    ])
}

fn shape(agent: &str) -> Shape {
    Shape::of_image(&of_configs(INSTALL_CONFIG, agent).planned).unwrap()
}

/// The agent-config with a static network for one host, whose address ends in this number.
fn with_address(name: &str, number: u8) -> String {
    let network = format!(
        "{{hostname: {name}, networkConfig: {{interfaces: [{{name: eno1, type: ethernet, state: up, ipv4: \
         {{enabled: true, dhcp: false, address: [{{ip: 192.168.111.{number}, prefix-length: 24}}]}}}}]}},"
    );
    AGENT_CONFIG.replace(&format!("{{hostname: {name},"), &network)
}

#[test]
fn dhcp_gives_the_rendezvous_address_to_the_first_machine_of_the_control_plane() {
    let plan = Plan::of(&shape(AGENT_CONFIG)).unwrap();
    let rendezvous = plan.rendezvous.as_ref().unwrap();
    assert_eq!(rendezvous.address.to_string(), RENDEZVOUS);
    assert_eq!((rendezvous.host, rendezvous.by_dhcp), (0, true));
    assert!(!plan.reserved.contains(&rendezvous.address));
    let machine = plan.hosts[0].machine(Path::new("image"));
    assert_eq!(machine.addresses, [rendezvous.address]);
    assert_eq!(machine.mac(), "52:54:00:aa:00:01");
    assert_eq!((machine.cpus, machine.memory_mib), (4, 16_384));
    let others = &plan.hosts[1..];
    assert!(others.iter().all(|host| host.place() != RENDEZVOUS));
    // The image applies the hints of its hosts.
    assert_eq!(machine.disks[0].bus, Bus::Scsi);
    let names: Vec<&str> = plan.hosts.iter().map(|host| &*host.name).collect();
    assert_eq!(names, ["node-0", "node-1", "node-2", "node-3"]);
    let known = |name: &str| plan.names.iter().find(|(known, _)| known == name);
    assert_eq!(
        known("api.lab.example.com").unwrap().1.to_string(),
        "192.168.111.5"
    );
    assert_eq!(known("time.example.com").unwrap().1, plan.service);
}

#[test]
fn a_machine_with_another_address_of_its_own_cannot_be_given_the_rendezvous_address() {
    let plan = Plan::of(&shape(&with_address("node-0", 50))).unwrap();
    let rendezvous = plan.rendezvous.as_ref().unwrap();
    assert_eq!((rendezvous.host, rendezvous.by_dhcp), (1, true));
    assert_eq!(plan.hosts[1].place(), RENDEZVOUS);
}

#[test]
fn the_machine_that_gives_itself_the_rendezvous_address_runs_the_service() {
    let plan = Plan::of(&shape(&with_address("node-2", 80))).unwrap();
    let rendezvous = plan.rendezvous.as_ref().unwrap();
    assert_eq!((rendezvous.host, rendezvous.by_dhcp), (2, false));
    assert!(plan.reserved.contains(&rendezvous.address));
    let machine = plan.hosts[2].machine(Path::new("image"));
    assert!(machine.addresses.is_empty());
    let first = plan.hosts[0].machine(Path::new("image"));
    assert_ne!(first.addresses, [rendezvous.address]);
}

#[test]
fn a_rendezvous_address_that_no_machine_can_have_is_refused() {
    let mut outside = shape(AGENT_CONFIG);
    outside.rendezvous = Some("10.9.9.9".parse().unwrap());
    let mut taken = shape(&with_address("node-2", 80));
    taken.control_plane = 1;
    taken.workers = 0;
    taken.machines.retain(|machine| machine.name == "node-2");
    taken.rendezvous = Some("192.168.111.81".parse().unwrap());
    for (shape, reason) in [
        (outside, "10.9.9.9 is in no machine network"),
        (taken, "192.168.111.81 is that of no host"),
    ] {
        let refusal = Plan::of(&shape).err().unwrap().to_string();
        assert!(refusal.contains(reason), "{refusal}");
    }
}

#[test]
fn an_image_of_manifests_is_planned_like_that_of_the_configs_they_came_from() {
    let agent = with_address("node-2", 80);
    let configs = of_configs(INSTALL_CONFIG, &agent);
    let files = manifest_files(&configs.planned);
    let files: Vec<(String, String)> = files
        .into_iter()
        .map(|file| {
            let text = String::from_utf8(file.content).unwrap();
            (file.path, text)
        })
        .collect();
    let inputs: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let manifests = image(&inputs);
    let [first, second] = [&configs, &manifests].map(|image| {
        let shape = Shape::of_image(&image.planned).unwrap();
        let known = (
            shape.domain.clone(),
            shape.machine_networks.clone(),
            shape.vips.clone(),
        );
        let sizes = (shape.control_plane, shape.arbiters, shape.workers);
        (known, sizes, shape.time_sources.clone(), shape.rendezvous)
    });
    assert_eq!(first, second);
    // Manifests describe no machine but by its network.
    let plan = Plan::of(&Shape::of_image(&manifests.planned).unwrap()).unwrap();
    let rendezvous = plan.rendezvous.as_ref().unwrap();
    assert!(!rendezvous.by_dhcp);
    let machine = plan.hosts[rendezvous.host].machine(Path::new("image"));
    assert_eq!(machine.mac(), "52:54:00:aa:00:03");
}

#[test]
fn images_for_platforms_that_cannot_be_played_are_refused() {
    let metal = "baremetal: {apiVIPs: [192.168.111.5], ingressVIPs: [192.168.111.4]}";
    let external = INSTALL_CONFIG.replace(metal, "external: {platformName: other}");
    let refusal = Shape::of_image(&of_configs(&external, AGENT_CONFIG).planned).unwrap_err();
    assert!(
        refusal.to_string().contains("only baremetal and none"),
        "{refusal}"
    );
}

#[test]
fn a_disk_that_cannot_be_emulated_is_refused_with_its_host() {
    let agent = AGENT_CONFIG.replace("deviceName: /dev/sda", "hctl: '0:0:0:0'");
    let refusal = format!("{:#}", Plan::of(&shape(&agent)).err().unwrap());
    assert!(
        refusal.starts_with("host node-0: rootDeviceHints.hctl"),
        "{refusal}"
    );
}
