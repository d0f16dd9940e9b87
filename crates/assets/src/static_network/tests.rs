//! Claims about static networks.

use muster_model::{HostNetwork, MacInterface, Timestamp};
use proptest::prelude::*;

use super::*;

pub const ETH0: &str =
    "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4: {enabled: true, dhcp: true}\n";

pub fn host(yaml: &str, map: &[(&str, &str)]) -> HostNetwork {
    let cards = map.iter().map(|(name, card)| MacInterface {
        logical_nic_name: (*name).to_owned(),
        mac_address: (*card).to_owned(),
    });
    HostNetwork {
        network_yaml: yaml.to_owned(),
        mac_interface_map: cards.collect(),
    }
}

#[test]
fn hosts_and_cards_are_stored_sorted() {
    let a = host(
        ETH0,
        &[("eth1", "02:00:00:00:00:02"), ("eth0", "02:00:00:00:00:01")],
    );
    let b = host(ETH0, &[("eth0", "02:00:00:00:00:09")]);
    let stored = read(vec![a.clone(), b.clone()]).unwrap();
    assert_eq!(stored, read(vec![b, a]).unwrap());
    assert_eq!(stored[0].mac_interface_map.len(), 1);
    assert_eq!(stored[1].mac_interface_map[0].logical_nic_name, "eth0");
}

#[test]
fn all_faults_of_all_hosts_come_at_once() {
    let card = "02:00:00:00:00:0a";
    let faults = read(vec![
        host("", &[]),
        host("interfaces: [", &[("eth0", "02:00:00:00:00:01")]),
        host(ETH0, &[("a", card), ("a", &card.to_uppercase())]),
        host(
            "interfaces:\n- type: bond\n",
            &[("eth0", "02:00:00:00:00:03")],
        ),
        host("dns-resolver: {}", &[("", card)]),
        host(ETH0, &[("../eth0", "no address")]),
    ])
    .unwrap_err();
    let wanted = [
        ("[0]", "is empty"),
        ("[0]", "nmstate document"),
        ("[1]", "not YAML"),
        ("[2]", "name \"a\" occurs twice"),
        ("[2]", "02:00:00:00:00:0A occurs twice"),
        (
            "[2]",
            "interface \"eth0\" (line 2): it is not in mac_interface_map",
        ),
        ("[3]", "interface 0 (line 2): it has no name"),
        ("[4]", "no logical_nic_name"),
        ("[4]", "no list of interfaces"),
        ("[4]", "is also in static_network_config[2]"),
        ("[5]", "\"../eth0\" begins with a dot"),
        ("[5]", "six pairs"),
        ("[5]", "it is not in mac_interface_map"),
    ];
    for (host, text) in wanted {
        let hit = faults
            .iter()
            .any(|fault| fault.contains(host) && fault.contains(text));
        assert!(hit, "{host} {text}: {faults:#?}");
    }
    assert_eq!(faults.len(), wanted.len(), "{faults:#?}");
}

#[test]
fn cards_known_by_address_or_place_need_no_entry() {
    let yaml = "interfaces:\n- {name: enp1s0, type: ethernet}\n\
        - {name: lan, type: ethernet, identifier: mac-address, mac-address: '02:00:00:00:00:07'}\n\
        - {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eth0, lan, enp1s0]}}\n";
    let card = [("eth0", "02:00:00:00:00:01")];
    assert_eq!(read(vec![host(yaml, &card)]).err(), None);
    let faults = read(vec![host(&yaml.replace("eth0", "eth7"), &card)]).unwrap_err();
    assert!(faults[0].contains("port \"eth7\""), "{faults:?}");
}

#[test]
fn what_nmstate_refuses_is_reported_with_interface_and_line() {
    let card = [("eth0", "02:00:00:00:00:01"), ("eth1", "02:00:00:00:00:02")];
    let second = |text: &str| {
        format!("interfaces:\n- name: eth0\n  type: ethernet\n- name: eth1\n  type: {text}\n")
    };
    for (yaml, wanted) in [
        (
            second(
                "ethernet\n  ipv4: {enabled: true, address: [{ip: 300.1.1.1, prefix-length: 24}]}",
            ),
            "interface \"eth1\" (line 4): ",
        ),
        (
            second("ethernet\n  typo: 7"),
            "interface \"eth1\" (line 4): ",
        ),
        (
            second("vlan\n  vlan: {base-iface: eth0, id: 5000}"),
            "(line 4): vlan.id 5000",
        ),
        (
            second("bond\n  link-aggregation: {port: [eth0]}"),
            "interface \"eth1\" (line 4): Bond mode",
        ),
        (
            format!(
                "{ETH0}routes:\n  config:\n  - {{destination: 0.0.0.0/0, next-hop-interface: eth9}}\n"
            ),
            "eth9 not found",
        ),
    ] {
        let faults = read(vec![host(&yaml, &card)]).unwrap_err();
        assert!(
            faults[0].starts_with("static_network_config[0]: network_yaml"),
            "{faults:?}"
        );
        assert!(faults[0].contains(wanted), "{wanted}: {faults:?}");
    }
}

#[test]
fn names_that_would_leave_their_folder_are_refused() {
    let card = [("eth0", "02:00:00:00:00:01")];
    for name in [
        "../../etc/passwd",
        "a/b",
        "a\\nb",
        ".",
        "..",
        "-rf",
        "a b",
        "a=b",
        "x\\0y",
    ] {
        let yaml = format!("interfaces:\n- name: \"{name}\"\n  type: dummy\n");
        let faults = read(vec![host(&yaml, &card)]).unwrap_err();
        assert!(
            faults[0].contains("static_network_config[0]"),
            "{name}: {faults:?}"
        );
        let yaml =
            format!("interfaces:\n- name: eth0\n  type: ethernet\n  profile-name: \"{name}\"\n");
        assert!(read(vec![host(&yaml, &card)]).is_err(), "{name}");
    }
    // Even if something got past the rules, no file would.
    assert!(keyfiles("interfaces:\n- {name: ../x, type: dummy}\n").is_err());
}

#[test]
fn the_archive_has_the_files_of_each_host_readable_by_root_alone() {
    let hosts = read(vec![
        host(
            ETH0,
            &[("eth0", "02:00:00:00:00:01"), ("eth1", "02:00:00:00:00:00")],
        ),
        host(
            &format!("{ETH0}hostname: {{config: node-7.example.com}}\n"),
            &[("eth0", "02:00:00:00:00:03")],
        ),
    ])
    .unwrap();
    let listing = |with_policies: bool| {
        let bytes = tar(&hosts, Timestamp::from_unix_seconds(7), with_policies).unwrap();
        let mut archive = ::tar::Archive::new(bytes.as_slice());
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            assert_eq!(entry.header().mode().unwrap(), 0o600);
            let path = String::from_utf8(entry.path_bytes().to_vec()).unwrap();
            let mut text = String::new();
            std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
            found.push((path, text));
        }
        found
    };
    let plain = listing(false);
    let paths: Vec<_> = plain.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/etc/assisted/network/host0/eth0.nmconnection",
            "/etc/assisted/network/host0/mac_interface.ini",
            "/etc/assisted/network/host1/eth0.nmconnection",
            "/etc/assisted/network/host1/hostname",
            "/etc/assisted/network/host1/mac_interface.ini",
        ]
    );
    assert_eq!(plain[1].1, "02:00:00:00:00:00=eth1\n02:00:00:00:00:01=eth0");
    assert_eq!(plain[3].1, "node-7.example.com\n");
    let with = listing(true);
    assert_eq!(with.len(), 7);
    assert!(
        with.iter()
            .any(|(path, _)| path.ends_with("host1/ymlFile1.yml"))
    );
}

#[test]
fn a_profile_is_preferred_and_always_the_same() {
    let made = keyfiles(ETH0).unwrap();
    assert_eq!(made, keyfiles(ETH0).unwrap());
    let text = &made[0].text;
    assert!(
        text.starts_with("[connection]\nautoconnect=true\nautoconnect-priority=1\n"),
        "{text}"
    );
    assert_eq!(text.matches("autoconnect=").count(), 1, "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text: String, name: String, mac: String) {
        let _ = read(vec![host(&text, &[(&name, &mac)])]);
    }

    #[test]
    fn no_value_in_any_place_makes_the_reader_panic(
        key in prop_oneof![Just("ipv4"), Just("ipv6"), Just("vlan"), Just("link-aggregation"),
            Just("mtu"), Just("bridge"), Just("ethernet"), Just("802.1x"), Just("state"), Just("lldp"),
            Just("vrf"), Just("vxlan"), Just("mac-vlan"), Just("ovs-db"), Just("infiniband")],
        kind in prop_oneof![Just("ethernet"), Just("bond"), Just("vlan"), Just("linux-bridge"),
            Just("ovs-bridge"), Just("vrf"), Just("vxlan"), Just("dummy"), Just("mac-vlan"),
            Just("infiniband"), Just("loopback"), Just("unknown")],
        value in prop_oneof![Just("7".to_owned()), Just("[]".to_owned()), Just("{}".to_owned()),
            Just("-1".to_owned()), Just("~".to_owned()), Just("[eth0]".to_owned()),
            Just("{enabled: true, address: [{ip: '::1', prefix-length: 200}]}".to_owned()),
            Just("{id: 1, base-iface: eth0}".to_owned()), Just("{port: [{name: eth0}, {name: eth0}]}".to_owned()),
            "[a-z0-9:{}\\[\\]', -]{0,20}"],
    ) {
        let yaml = format!("interfaces:\n- name: eth0\n  type: {kind}\n  {key}: {value}\n");
        let _ = read(vec![host(&yaml, &[("eth0", "02:00:00:00:00:01")])]);
    }
}
