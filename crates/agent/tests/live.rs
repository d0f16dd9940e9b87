//! The machine the tests run on, seen by us and by the usual tools, field by field.
//!
//! The tools come from Debian (`scripts/prepare test`). The interesting interfaces are made in
//! a network namespace of the test's own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod compare;

use std::process::Command;

use compare::{by, list, same_interfaces, same_routes};
use serde_json::Value;

const AGENT: &str = env!("CARGO_BIN_EXE_muster-agent");

fn json(command: &[&str]) -> Value {
    let output = Command::new(command[0])
        .args(&command[1..])
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; run scripts/prepare test", command[0]));
    assert!(output.status.success(), "{command:?}: {output:?}");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{command:?}: {error}: {output:?}"))
}

fn inventory() -> Value {
    json(&[AGENT, "inventory", "--output", "json"])
}

#[test]
fn processors_are_those_of_lscpu() {
    let ours = &inventory()["cpu"];
    let shown = json(&["lscpu", "-J"]);
    let fields = by(list(&shown["lscpu"]), "field");
    let field = |name: &str| fields.get(name).and_then(|field| field["data"].as_str());
    assert_eq!(ours["architecture"].as_str(), field("Architecture:"));
    assert_eq!(
        ours["count"]
            .as_i64()
            .map(|count| count.to_string())
            .as_deref(),
        field("CPU(s):")
    );
    if let Some(model) = field("Model name:") {
        assert_eq!(ours["model_name"].as_str(), Some(model));
    }
    let flags: Vec<&str> = list(&ours["flags"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(Some(flags.join(" ").as_str()), field("Flags:"));
    if let Some(highest) = field("CPU max MHz:") {
        let highest: f64 = highest.parse().unwrap();
        assert!((ours["frequency"].as_f64().unwrap() - highest).abs() < 1.0);
    }
}

/// lsblk also shows devices that are never installed to.
fn is_disk(name: &str) -> bool {
    !["loop", "zram", "ram", "dm-"]
        .iter()
        .any(|start| name.starts_with(start))
}

#[test]
fn disks_are_those_of_lsblk() {
    let ours = inventory();
    let ours = by(list(&ours["disks"]), "name");
    let columns = "NAME,KNAME,PATH,SIZE,RM,ROTA,SERIAL,MODEL,VENDOR,HCTL,WWN,MOUNTPOINTS";
    let shown = json(&["lsblk", "-J", "-b", "-o", columns]);
    let shown = by(list(&shown["blockdevices"]), "kname");
    let names: Vec<&str> = shown.keys().copied().filter(|name| is_disk(name)).collect();
    let found: Vec<&str> = ours.keys().copied().filter(|name| is_disk(name)).collect();
    assert_eq!(found, names);
    for name in names {
        let (ours, shown) = (ours[name], shown[name]);
        assert_eq!(ours["path"], shown["path"], "{name}");
        assert_eq!(ours["size_bytes"], shown["size"], "{name}");
        assert_eq!(
            ours["removable"].as_bool().unwrap_or(false),
            shown["rm"],
            "{name}"
        );
        if name.starts_with("sd") || name.starts_with("vd") {
            let turning = ours["drive_type"] == "HDD";
            assert_eq!(turning, shown["rota"], "{name}");
        }
        // Where lsblk knows nothing we may.
        for (field, column) in [("serial", "serial"), ("vendor", "vendor"), ("hctl", "hctl")] {
            if let Some(text) = shown[column].as_str() {
                assert_eq!(ours[field].as_str(), Some(text.trim()), "{name} {field}");
            }
        }
        let mounted = list(&shown["mountpoints"]).iter().any(Value::is_string);
        let eligible = ours["installation_eligibility"]["eligible"] == true;
        assert!(
            !(mounted && eligible),
            "{name} is mounted and must not be offered"
        );
    }
}

/// All parts of a tree of lshw, of one class.
fn parts<'a>(tree: &'a Value, class: &str, found: &mut Vec<&'a Value>) {
    if tree["class"] == class {
        found.push(tree);
    }
    let inner = tree.get("children").unwrap_or(tree);
    for part in list(inner) {
        parts(part, class, found);
    }
}

#[test]
fn machine_memory_disks_and_cards_are_those_of_lshw() {
    let ours = inventory();
    let shown = json(&["lshw", "-json", "-quiet"]);
    let of = |class| {
        let mut found = Vec::new();
        parts(&shown, class, &mut found);
        found
    };
    let memory = of("memory")
        .into_iter()
        .find(|part| {
            part["description"] == "System memory" || part["description"] == "System Memory"
        })
        .expect("lshw shows the memory");
    assert_eq!(ours["memory"]["physical_bytes"], memory["size"]);

    let system = of("system");
    let vendor = &ours["system_vendor"];
    for (field, column) in [("manufacturer", "vendor"), ("serial_number", "serial")] {
        if let Some(text) = system.first().and_then(|system| system[column].as_str()) {
            assert_eq!(vendor[field].as_str(), Some(text), "{field}");
        }
    }
    let processors = of("processor");
    assert_eq!(ours["cpu"]["model_name"], processors[0]["product"]);

    let interfaces = by(list(&ours["interfaces"]), "name");
    for card in of("network") {
        let name = match &card["logicalname"] {
            Value::Array(names) => names[0].as_str(),
            name => name.as_str(),
        };
        let Some(name) = name else { continue };
        assert_eq!(interfaces[name]["mac_address"], card["serial"], "{name}");
        let linked = card["configuration"]["link"] == "yes";
        let carries = interfaces[name]["has_carrier"] == true;
        assert_eq!(carries, linked, "{name}");
    }
    let disks = by(list(&ours["disks"]), "path");
    let mut seen = 0;
    for disk in of("disk").into_iter().chain(of("volume")) {
        let name = match &disk["logicalname"] {
            Value::Array(names) => names[0].as_str(),
            name => name.as_str(),
        };
        if let Some(ours) = name.and_then(|name| disks.get(name)) {
            // lshw opens the device for its size, which may be forbidden.
            if disk["size"].is_i64() {
                assert_eq!(ours["size_bytes"], disk["size"], "{name:?}");
            }
            seen += 1;
        }
    }
    assert!(seen > 0 || disks.is_empty(), "lshw and we agree on no disk");
}

/// A network namespace that goes when the test ends.
struct Namespace(String);

impl Namespace {
    fn new() -> Self {
        let name = format!("muster-live-{}", std::process::id());
        run(&["ip", "netns", "add", &name]);
        Self(name)
    }

    /// `ip` inside; whether it worked.
    fn ip(&self, words: &str) -> bool {
        Command::new("ip")
            .args(["-n", &self.0])
            .args(words.split(' '))
            .output()
            .is_ok_and(|output| output.status.success())
    }

    fn json(&self, command: &[&str]) -> Value {
        let mut words = vec!["ip", "netns", "exec", &self.0];
        words.extend(command);
        json(&words)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

fn run(command: &[&str]) {
    let output = Command::new(command[0])
        .args(&command[1..])
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// What every kernel can make.
const ALWAYS: &[&str] = &[
    "link set lo up",
    "link add left type veth peer name right",
    "link set left address 02:00:00:00:00:11 mtu 1400",
    "link set left up",
    "link set right up",
    "addr add 192.0.2.5/24 dev left",
    "addr add 192.0.2.6/24 dev left",
    "addr add 169.254.3.4/16 dev left",
    "addr add 2001:db8::5/64 dev left nodad",
    "link add bridge0 type bridge",
    "link set right master bridge0",
    "link set bridge0 up",
    "addr add 198.51.100.9/28 dev bridge0",
    "route add default via 192.0.2.1 metric 77",
    "route add 203.0.113.0/24 nexthop via 192.0.2.2 nexthop via 192.0.2.3",
    "-6 route add default via 2001:db8::1 metric 88",
    "route add 10.9.0.0/16 via 192.0.2.1 table 100",
    "route add unreachable 10.8.0.0/16",
];
/// What a kernel may have been built without; a step that fails changes nothing.
const WHERE_POSSIBLE: &[&str] = &[
    "link add bond0 type bond mode active-backup",
    "link add member0 type dummy",
    "link set member0 address 02:00:00:00:00:22",
    "link set member0 master bond0",
    "link add link left name left.100 type vlan id 100",
    "link add macvlan0 link left type macvlan",
    "link add vxlan0 type vxlan id 9 dstport 4789",
    "tuntap add tap0 mode tap",
];

#[test]
fn interfaces_and_routes_are_those_of_ip() {
    let namespace = Namespace::new();
    for step in ALWAYS {
        assert!(namespace.ip(step), "ip {step}");
    }
    let possible = WHERE_POSSIBLE
        .iter()
        .filter(|step| namespace.ip(step))
        .count();
    let ours = namespace.json(&[AGENT, "inventory"]);
    let shown = namespace.json(&["ip", "-j", "-d", "addr"]);
    same_interfaces(&ours, &shown);
    let told_routes = ["-4", "-6"]
        .map(|family| namespace.json(&["ip", "-j", family, "route", "show", "table", "main"]));
    same_routes(&ours, &told_routes);
    assert!(list(&ours["routes"]).len() >= 6, "with {possible} extras");
}

#[test]
fn a_capture_of_this_machine_shows_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("capture");
    let capture = capture.to_str().unwrap();
    run(&[AGENT, "capture", capture]);
    assert_eq!(json(&[AGENT, "inventory", "--from", capture]), inventory());
    let again = Command::new(AGENT)
        .args(["capture", capture])
        .output()
        .unwrap();
    assert!(
        !again.status.success(),
        "a folder that is not empty is left alone"
    );

    let scrubbed = folder.path().join("scrubbed");
    let scrubbed = scrubbed.to_str().unwrap();
    run(&[AGENT, "capture", "--scrub", scrubbed]);
    let plain = inventory();
    let disguised = json(&[AGENT, "inventory", "--from", scrubbed]);
    for (plain, disguised) in list(&plain["interfaces"])
        .iter()
        .zip(list(&disguised["interfaces"]))
    {
        assert_eq!(plain["name"], disguised["name"]);
        if let Some(mac) = plain["mac_address"].as_str() {
            assert_ne!(disguised["mac_address"].as_str(), Some(mac));
        }
    }
}
