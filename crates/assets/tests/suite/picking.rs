//! The script that finds a machine's own network, run on machines of many kinds.

use std::os::unix::fs::PermissionsExt;

use muster_assets::static_network;

use crate::{
    machine::{INITRD, LIVE, Machine},
    network,
};

#[test]
fn a_card_is_found_by_its_address_and_called_as_the_kernel_calls_it() {
    let machine = Machine::new(&[("enp3s0", "02:00:00:00:00:01")], &[network("static")]);
    let said = machine.pick();
    assert!(said.contains("/etc/assisted/network/host0"), "{said}");
    assert_eq!(machine.list(LIVE), ["enp3s0.nmconnection"]);
    let profile = machine.read(&format!("{LIVE}/enp3s0.nmconnection"));
    for line in [
        "id=enp3s0\n",
        "interface-name=enp3s0\n",
        "address0=192.0.2.10/24\n",
    ] {
        assert!(profile.contains(line), "{line}{profile}");
    }
    assert!(!profile.contains("eth0"), "{profile}");
    let path = machine.path(&format!("{LIVE}/enp3s0.nmconnection"));
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(
        mode & 0o777,
        0o600,
        "NetworkManager ignores profiles that others can read"
    );
}

#[test]
fn in_the_initrd_profiles_go_where_the_live_system_takes_them_from() {
    let machine = Machine::new(&[("ens1", "02:00:00:00:00:01")], &[network("static")]);
    machine.write("etc/initrd-release", "");
    machine.write(&format!("{INITRD}/old.nmconnection"), "");
    machine.pick();
    assert_eq!(machine.list(INITRD), ["ens1.nmconnection"]);
    assert_eq!(machine.list(LIVE), Vec::<String>::new());
}

#[test]
fn a_machine_without_a_matching_host_is_left_alone() {
    let machine = Machine::new(&[("eth0", "02:00:00:00:00:99")], &[network("static")]);
    machine.write(&format!("{LIVE}/own.nmconnection"), "mine");
    let said = machine.pick();
    assert!(said.contains("02:00:00:00:00:99"), "{said}");
    assert_eq!(machine.list(LIVE), ["own.nmconnection"]);
}

#[test]
fn without_networks_and_without_cards_nothing_happens() {
    let bare = Machine::new(&[("eth0", "02:00:00:00:00:01")], &[]);
    assert_eq!(bare.pick(), "");
    let blind = Machine::new(&[], &[network("static")]);
    assert!(blind.pick().contains("no static network"));
}

#[test]
fn each_of_several_machines_takes_its_own() {
    let all: Vec<_> = ["static", "bond-vlan", "vlan-on-card", "by-address"]
        .map(network)
        .into();
    let all = static_network::read(all).unwrap();
    for (address, wanted) in [
        ("02:00:00:00:00:01", vec!["nic7.nmconnection"]),
        (
            "02:00:00:00:00:21",
            vec!["nic7.1234.nmconnection", "nic7.nmconnection"],
        ),
        (
            "02:00:00:00:00:31",
            vec!["lan-vlan.nmconnection", "nic7.nmconnection"],
        ),
    ] {
        let machine = Machine::new(&[("nic7", address)], &all);
        machine.pick();
        assert_eq!(machine.list(LIVE), wanted, "{address}");
    }
}

#[test]
fn bonds_keep_their_name_and_their_ports_get_theirs() {
    let cards = [
        ("ens2f0", "02:00:00:00:00:12"),
        ("ens2f1", "02:00:00:00:00:11"),
    ];
    let machine = Machine::new(&cards, &[network("bond-vlan")]);
    machine.pick();
    assert_eq!(
        machine.list(LIVE),
        [
            "bond0.100.nmconnection",
            "bond0.nmconnection",
            "ens2f0.nmconnection",
            "ens2f1.nmconnection",
        ]
    );
    let read = |name: &str| machine.read(&format!("{LIVE}/{name}.nmconnection"));
    assert!(
        read("bond0").contains("primary=ens2f1\n"),
        "{}",
        read("bond0")
    );
    assert!(read("bond0.100").contains("parent=bond0\n"));
    for port in ["ens2f0", "ens2f1"] {
        assert!(read(port).contains(&format!("interface-name={port}\n")));
        assert!(read(port).contains("master=bond0\n"));
    }
    assert_eq!(
        machine.read("proc/sys/kernel/hostname"),
        "node-1.example.com\n"
    );
    assert_eq!(machine.read("etc/hostname"), "node-1.example.com\n");
}

#[test]
fn cards_that_swapped_their_names_are_not_mixed_up() {
    let cards = [("eth1", "02:00:00:00:00:11"), ("eth0", "02:00:00:00:00:12")];
    let machine = Machine::new(&cards, &[network("bond-vlan")]);
    machine.pick();
    let read = |name: &str| machine.read(&format!("{LIVE}/{name}.nmconnection"));
    assert!(
        read("bond0").contains("primary=eth1\n"),
        "{}",
        read("bond0")
    );
    for port in ["eth0", "eth1"] {
        assert!(
            read(port).contains(&format!("interface-name={port}\n")),
            "{}",
            read(port)
        );
        assert!(
            read(port).contains(&format!("id={port}\n")),
            "{}",
            read(port)
        );
    }
    // The profile that was written for the first card is now that of the second name.
    let uuid = |text: &str| {
        text.lines()
            .find(|l| l.starts_with("uuid="))
            .map(str::to_owned)
    };
    let first = static_network::keyfiles(&network("bond-vlan").network_yaml).unwrap();
    let first = first
        .iter()
        .find(|file| file.name == "eth0.nmconnection")
        .unwrap();
    assert_eq!(uuid(&read("eth1")), uuid(&first.text));
}

#[test]
fn a_vlan_on_a_card_with_a_long_name_is_cut_to_what_the_kernel_takes() {
    let machine = Machine::new(
        &[("enp129s0f0np0", "02:00:00:00:00:21")],
        &[network("vlan-on-card")],
    );
    machine.pick();
    let name = "enp129s0f0.1234";
    assert_eq!(name.len(), 15);
    let profile = machine.read(&format!("{LIVE}/{name}.nmconnection"));
    assert!(
        profile.contains(&format!("interface-name={name}\n")),
        "{profile}"
    );
    assert!(profile.contains("parent=enp129s0f0np0\n"), "{profile}");
}

#[test]
fn addresses_compare_whatever_their_case() {
    let mut lower = network("static");
    lower.mac_interface_map[0].mac_address = "aA:bB:cC:00:00:01".to_owned();
    let machine = Machine::new(&[("eth9", "AA:bb:Cc:00:00:01")], &[lower]);
    machine.pick();
    assert_eq!(machine.list(LIVE), ["eth9.nmconnection"]);
}
