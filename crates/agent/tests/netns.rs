//! Probes on a real link: two or three machines as network namespaces, joined by a cable.
//! Needs root and `ip`; both are said if they lack.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::process::{Command, Output};

use serde_json::{Value, json};

/// Runs `ip` with these words; anything but success fails the test.
fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output();
    let done = done.expect("these tests need the program ip (package iproute2)");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "ip {words}: {said} (these tests need root)"
    );
}

/// Two machines, `a` and `b`, at the two ends of a cable.
struct Lab {
    name: String,
}

impl Lab {
    fn new(name: &str) -> Self {
        let lab = Self {
            name: format!("{name}{}", std::process::id() % 10_000),
        };
        let (a, b) = (lab.space("a"), lab.space("b"));
        ip(&format!("netns add {a}"));
        ip(&format!("netns add {b}"));
        ip(&format!(
            "link add eth0 netns {a} type veth peer name eth0 netns {b}"
        ));
        for (space, end) in [(&a, 1), (&b, 2)] {
            ip(&format!("-n {space} address add 192.0.2.{end}/24 dev eth0"));
            ip(&format!(
                "-n {space} address add fd00:77::{end}/64 dev eth0 nodad"
            ));
            ip(&format!("-n {space} link set eth0 up"));
            ip(&format!("-n {space} link set lo up"));
        }
        lab
    }

    fn space(&self, end: &str) -> String {
        format!("{}{end}", self.name)
    }

    fn mac(&self, end: &str) -> String {
        let space = self.space(end);
        let shown = Command::new("ip")
            .args(["-n", &space, "-j", "link", "show", "eth0"])
            .output();
        let shown: Value = serde_json::from_slice(&shown.unwrap().stdout).unwrap();
        shown[0]["address"].as_str().unwrap().to_owned()
    }

    /// Does a step on one of the machines.
    fn step(&self, end: &str, words: &[&str]) -> Output {
        // A cable between namespaces is a virtual device, which the agent would not count as a
        // NIC. Where the kind of a device is unknown, it counts as one.
        let hide = "mount -t tmpfs none /sys/class/net && exec \"$@\"";
        Command::new("ip")
            .args(["netns", "exec", &self.space(end), "sh", "-c", hide, "sh"])
            .arg(env!("CARGO_BIN_EXE_muster-agent"))
            .arg("step")
            .args(words)
            .output()
            .unwrap()
    }

    fn result(&self, end: &str, words: &[&str]) -> Value {
        let done = self.step(end, words);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{words:?}: {said}");
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// What `a` finds out about `b`.
    fn connectivity(&self, addresses: &[&str], mac: &str) -> Value {
        let peers = json!([{
            "host_id": "bd06fb3f-e824-6ad4-5de3-f8727e3775cb",
            "nics": [{"name": "eth0", "mac": mac, "ip_addresses": addresses}],
        }]);
        let report = self.result("a", &["connectivity-check", &peers.to_string()]);
        report["remote_hosts"][0].clone()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for end in ["a", "b", "c"] {
            let _ = Command::new("ip")
                .args(["netns", "delete", &self.space(end)])
                .output();
        }
    }
}

const BOTH: &[&str] = &["192.0.2.2", "fd00:77::2"];

#[test]
fn a_neighbour_answers_by_arp_ndp_and_ping_in_both_families() {
    let lab = Lab::new("near");
    let mac = lab.mac("b");
    let found = lab.connectivity(BOTH, &mac);
    let l2 = found["l2_connectivity"].as_array().unwrap();
    assert_eq!(l2.len(), 2, "{found}");
    assert!(
        l2.iter()
            .all(|one| one["successful"] == true && one["remote_mac"] == mac.as_str())
    );
    assert_eq!(l2[0]["outgoing_ip_address"], "192.0.2.1");
    assert_eq!(l2[0]["outgoing_nic"], "eth0");
    assert!(l2[1].get("outgoing_ip_address").is_none());
    let l3 = found["l3_connectivity"].as_array().unwrap();
    assert_eq!(l3.len(), 2, "{found}");
    assert!(
        l3.iter()
            .all(|one| one["successful"] == true && one["average_rtt_ms"].is_number())
    );
    assert!(
        l3.iter()
            .all(|one| one.get("packet_loss_percentage").is_none()),
        "{found}"
    );
    assert!(
        found["mtu_report"].is_null(),
        "the usual size proves nothing: {found}"
    );
}

#[test]
fn a_cut_cable_leaves_only_the_names_of_addresses() {
    let lab = Lab::new("cut");
    let mac = lab.mac("b");
    ip(&format!("-n {} link set eth0 down", lab.space("b")));
    let found = lab.connectivity(BOTH, &mac);
    assert!(
        found["l2_connectivity"].is_null() && found["mtu_report"].is_null(),
        "{found}"
    );
    let l3 = &found["l3_connectivity"];
    assert_eq!(l3[0], json!({"remote_ip_address": "192.0.2.2"}));
}

#[test]
fn ports_that_a_firewall_drops_or_prohibits_are_reported_and_closed_ones_are_not() {
    let lab = Lab::new("fw");
    let (mac, b) = (lab.mac("b"), lab.space("b"));
    let found = lab.connectivity(BOTH, &mac);
    assert!(
        found.get("blocked_ports").is_none(),
        "a machine that refuses is reached: {found}"
    );
    // What comes in passes our rules before the table of own addresses.
    for family in ["-4", "-6"] {
        ip(&format!("-n {b} {family} rule add pref 10 lookup local"));
        ip(&format!("-n {b} {family} rule delete pref 0"));
    }
    let rule = "rule add pref 1 iif eth0 ipproto tcp dport";
    ip(&format!("-n {b} -4 {rule} 6443 blackhole"));
    ip(&format!("-n {b} -6 {rule} 22623 prohibit"));
    let found = lab.connectivity(BOTH, &mac);
    assert_eq!(
        found["blocked_ports"],
        json!([
            {"remote_ip_address": "192.0.2.2", "ports": [6443]},
            {"remote_ip_address": "fd00:77::2", "ports": [22623]},
        ]),
        "{found}"
    );
    assert!(
        found["l3_connectivity"][0]["successful"] == true,
        "pings still pass: {found}"
    );
}

#[test]
fn full_packets_pass_until_the_other_end_takes_only_smaller_ones() {
    let lab = Lab::new("mtu");
    let mac = lab.mac("b");
    for end in ["a", "b"] {
        ip(&format!("-n {} link set eth0 mtu 2000", lab.space(end)));
    }
    let passes = |found: &Value| -> Vec<bool> {
        let report = found["mtu_report"].as_array().unwrap();
        report
            .iter()
            .map(|one| one["mtu_successful"] == true)
            .collect()
    };
    let found = lab.connectivity(BOTH, &mac);
    assert_eq!(passes(&found), [true, true], "{found}");
    ip(&format!("-n {} link set eth0 mtu 1500", lab.space("b")));
    let found = lab.connectivity(BOTH, &mac);
    assert_eq!(passes(&found), [false, false], "{found}");
    assert!(
        found["l3_connectivity"][0]["successful"] == true,
        "small packets still pass: {found}"
    );
}

#[test]
fn two_machines_with_one_address_are_both_reported() {
    let lab = Lab::new("dup");
    let mac = lab.mac("b");
    let (b, c) = (lab.space("b"), lab.space("c"));
    ip(&format!("netns add {c}"));
    ip(&format!(
        "-n {b} link add twin link eth0 type macvlan mode private"
    ));
    ip(&format!("-n {b} link set twin netns {c}"));
    ip(&format!("-n {c} address add 192.0.2.2/24 dev twin"));
    ip(&format!("-n {c} link set twin up"));
    let found = lab.connectivity(&["192.0.2.2"], &mac);
    let l2 = found["l2_connectivity"].as_array().unwrap();
    assert_eq!(l2.len(), 2, "{found}");
    assert_eq!(
        l2.iter().filter(|one| one["successful"] == true).count(),
        1,
        "{found}"
    );
}

#[test]
fn taken_addresses_are_not_free_and_not_for_virtual_ones() {
    let lab = Lab::new("vip");
    let found = lab.result("a", &["free-network-addresses", r#"["192.0.2.0/29"]"#]);
    let free = found[0]["free_addresses"].as_array().unwrap();
    assert_eq!(free.len(), 6, "{found}");
    assert!(
        !free
            .iter()
            .any(|one| one == "192.0.2.1" || one == "192.0.2.2"),
        "{found}"
    );
    let vips = json!([
        {"vip": "192.0.2.2", "vip_type": "api"}, {"vip": "192.0.2.9", "vip_type": "ingress"},
        {"vip": "fd00:77::2", "vip_type": "api"}, {"vip": "fd00:77::9", "vip_type": "ingress"},
        {"vip": "192.0.2.1", "vip_type": "api"},
    ]);
    let found = lab.result("a", &["verify-vips", &vips.to_string()]);
    let results: Vec<&str> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["verification"].as_str().unwrap())
        .collect();
    assert_eq!(
        results,
        ["failed", "succeeded", "failed", "succeeded", "failed"],
        "{found}"
    );
}

/// A DHCP server on machine `b`, ended with the test.
struct Dhcp(std::process::Child);

impl Drop for Dhcp {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn virtual_addresses_are_leased_under_their_own_cards_and_kept() {
    let lab = Lab::new("dhcp");
    let folder = tempfile::tempdir().unwrap();
    let leases = format!(
        "--dhcp-leasefile={}",
        folder.path().join("leases").display()
    );
    let server = Command::new("ip")
        .args([
            "netns",
            "exec",
            &lab.space("b"),
            "/usr/sbin/dnsmasq",
            "--keep-in-foreground",
        ])
        .args([
            "--conf-file=/dev/null",
            "--port=0",
            "--interface=eth0",
            "--bind-interfaces",
        ])
        .args(["--dhcp-range=192.0.2.50,192.0.2.60,1h", &leases])
        .stderr(std::process::Stdio::null())
        .spawn();
    let _server = Dhcp(server.expect("this test needs dnsmasq (package dnsmasq-base)"));
    let mut request = json!({
        "interface": "eth0", "api_vip_mac": "00:1a:4a:00:00:01", "ingress_vip_mac": "00:1a:4a:00:00:02",
    });
    let first = lab.result("a", &["dhcp-lease-allocate", &request.to_string()]);
    let (api, ingress) = (&first["api_vip_address"], &first["ingress_vip_address"]);
    assert!(
        api.is_string() && ingress.is_string() && api != ingress,
        "{first}"
    );
    request["api_vip_lease"] = first["api_vip_lease"].clone();
    request["ingress_vip_lease"] = first["ingress_vip_lease"].clone();
    let second = lab.result("a", &["dhcp-lease-allocate", &request.to_string()]);
    assert_eq!(
        (&second["api_vip_address"], &second["ingress_vip_address"]),
        (api, ingress)
    );
    let links = Command::new("ip")
        .args(["-n", &lab.space("a"), "link"])
        .output()
        .unwrap();
    let links = String::from_utf8_lossy(&links.stdout).into_owned();
    assert!(
        !links.contains("macvlan") && !links.contains("api"),
        "left behind: {links}"
    );
}
