//! Cables, switches and routers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    lab::{Lab, WIRE, on_wire},
    program::{command, ip, run},
    relay::Relay,
    room::Machine,
};

const GROUP: &str = "belongs-to-majority-group";
const MTU: &str = "mtu-valid";
const LOSS: &str = "sufficient-packet-loss-requirement-for-role";
const LATENCY: &str = "sufficient-network-latency-requirement-for-role";

/// A cluster on one switch.
fn on_a_switch() -> Value {
    json!({"api_vips": [{"ip": "192.168.70.100"}], "ingress_vips": [{"ip": "192.168.70.101"}]})
}

pub fn cut_cable() {
    let lab = Lab::new(&on_a_switch());
    let hosts = lab.hosts(4);
    let (others, last) = hosts.split_at(3);
    lab.expect_all(&hosts, GROUP, "success");
    ip("link set host-14-eth0 down");
    lab.expect_all(last, GROUP, "failure");
    lab.expect_all(others, GROUP, "success");
    lab.expect_all(last, "connected", "success");
    ip("link set host-14-eth0 up");
    lab.expect_all(&hosts, GROUP, "success");
    // The cable to the service.
    ip("link set host-14-eth1 down");
    lab.expect_all(last, "connected", "failure");
    lab.expect_status(&last[0], |status| status == "disconnected");
    lab.expect_all(others, "connected", "success");
    ip("link set host-14-eth1 up");
    lab.expect_all(last, "connected", "success");
    lab.expect_status(&last[0], |status| status != "disconnected");
    lab.expect_all(&hosts, GROUP, "success");
}

pub fn small_port() {
    let lab = Lab::new(&on_a_switch());
    ip(&format!("link set {WIRE} mtu 2000"));
    let machines: Vec<Machine> = (11..14).map(|number| lab.machine(number)).collect();
    for machine in &machines {
        machine.ip("link set eth0 mtu 2000");
        ip(&format!("link set {}-eth0 mtu 2000", machine.name));
    }
    let hosts = lab.host_all(machines.into_iter().zip(11..));
    lab.expect_all(&hosts, MTU, "success");
    ip("link set host-13-eth0 mtu 1500");
    lab.expect_all(&hosts, MTU, "failure");
    lab.expect_all(&hosts, GROUP, "success");
    ip("link set host-13-eth0 mtu 2000");
    lab.expect_all(&hosts, MTU, "success");
}

pub fn narrow_way() {
    let lab = Lab::new(&json!({"user_managed_networking": true}));
    // In the office hosts reach the service and not each other: only the routers are left.
    let apart = |machine: &Machine| {
        let port = format!("{}-eth1", machine.name);
        run(command("bridge").args(["link", "set", "dev", &port, "isolated", "on"]));
    };
    lab.room.switch("left", None);
    lab.room.switch("right", None);
    lab.room.switch("way", None);
    for switch in ["left", "right", "way"] {
        ip(&format!("link set {switch} mtu 1900"));
    }
    let wide_card = |machine: &Machine, card: &str| {
        machine.ip(&format!("link set {card} mtu 1900"));
        ip(&format!("link set {}-{card} mtu 1900", machine.name));
    };
    let router = |name: &str, side: &str, own: &str, beyond: &str, through: &str| {
        let router = Machine::new(&lab.room, name);
        router.plug("eth0", side);
        router.address("eth0", &format!("192.168.{own}.1/24"));
        router.plug("way", "way");
        router.address("way", &format!("10.1.0.{own}/24"));
        wide_card(&router, "eth0");
        wide_card(&router, "way");
        router.ip(&format!(
            "route add 192.168.{beyond}.0/24 via 10.1.0.{through}"
        ));
        router.shell("echo 1 > /proc/sys/net/ipv4/ip_forward", &[]);
        router
    };
    let routers = (
        router("near", "left", "71", "72", "72"),
        router("far", "right", "72", "71", "71"),
    );
    let sides = [
        (11, "left", 71, 72),
        (12, "left", 71, 72),
        (13, "right", 72, 71),
    ];
    let machines = sides.map(|(number, side, own, beyond)| {
        let machine = Machine::new(&lab.room, &format!("host-{number}"));
        machine.plug("eth0", side);
        machine.address("eth0", &format!("192.168.{own}.{number}/24"));
        wide_card(&machine, "eth0");
        lab.join_office(&machine, number);
        machine.ip(&format!(
            "route add 192.168.{beyond}.0/24 via 192.168.{own}.1"
        ));
        apart(&machine);
        (machine, number)
    });
    let hosts = lab.host_all(machines);
    lab.expect_all(&hosts, GROUP, "success");
    lab.expect_all(&hosts, MTU, "success");
    // Smaller packets only between the routers. They say so to those who forbid to cut packets,
    // and cut what others send.
    let width = |mtu: u16| {
        for router in [&routers.0, &routers.1] {
            router.ip(&format!("link set way mtu {mtu}"));
        }
    };
    width(1400);
    lab.expect_all(&hosts, MTU, "failure");
    lab.expect_all(&hosts, GROUP, "success");
    width(1900);
    lab.expect_all(&hosts, MTU, "success");
    // No way at all.
    ip("link set far-way down");
    lab.expect_all(&hosts, GROUP, "failure");
    lab.expect_all(&hosts, "connected", "success");
    ip("link set far-way up");
    lab.expect_all(&hosts, GROUP, "success");
}

pub fn bad_cable() {
    let lab = Lab::new(&on_a_switch());
    let mut hosts = lab.hosts(2);
    let machine = Machine::new(&lab.room, "host-13");
    let end = machine.cable("eth0");
    machine.address("eth0", &on_wire(13));
    ip("link add patch type veth peer name patch-end");
    ip(&format!("link set patch master {WIRE}"));
    ip("link set patch up");
    ip("link set patch-end up");
    let relay = Relay::between(&end, "patch-end");
    lab.join_office(&machine, 13);
    hosts.extend(lab.host_all([(machine, 13)]));
    lab.expect_all(&hosts, GROUP, "success");
    lab.expect_all(&hosts, LOSS, "success");
    lab.expect_all(&hosts, LATENCY, "success");
    relay.delay(Duration::from_millis(80));
    lab.expect_all(&hosts, LATENCY, "failure");
    lab.expect_all(&hosts, LOSS, "success");
    relay.repair();
    lab.expect_all(&hosts, LATENCY, "success");
    relay.lose_one_of(4);
    lab.expect_all(&hosts, LOSS, "failure");
    lab.expect_all(&hosts, LATENCY, "success");
    relay.repair();
    lab.expect_all(&hosts, LOSS, "success");
    lab.expect_all(&hosts, GROUP, "success");
}
