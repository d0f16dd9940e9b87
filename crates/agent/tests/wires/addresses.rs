//! Addresses: duplicate ones, and those that a DHCP server leases.

use serde_json::json;

use crate::{
    lab::{Lab, WIRE},
    room::Machine,
};

const COLLISIONS: &str = "no-ip-collisions-in-network";

pub fn taken() {
    let lab = Lab::new(&json!({
        "api_vips": [{"ip": "192.168.70.100"}], "ingress_vips": [{"ip": "192.168.70.101"}],
    }));
    let hosts = lab.hosts(3);
    lab.expect_all(&hosts, COLLISIONS, "success");
    for validation in ["api-vips-valid", "ingress-vips-valid"] {
        lab.expect_of_cluster(validation, "success");
    }
    let stranger = Machine::new(&lab.room, "stranger");
    stranger.plug("eth0", WIRE);
    // The address of a host.
    stranger.address("eth0", "192.168.70.12/24");
    lab.expect(&hosts[1], COLLISIONS, "failure");
    lab.expect(&hosts[0], COLLISIONS, "success");
    stranger.ip("address flush dev eth0");
    lab.expect_all(&hosts, COLLISIONS, "success");
    // The virtual ones.
    for (address, validation, other) in [
        ("192.168.70.100", "api-vips-valid", "ingress-vips-valid"),
        ("192.168.70.101", "ingress-vips-valid", "api-vips-valid"),
    ] {
        stranger.address("eth0", &format!("{address}/24"));
        lab.expect_of_cluster(validation, "failure");
        lab.expect_of_cluster(other, "success");
        stranger.ip("address flush dev eth0");
        lab.expect_of_cluster(validation, "success");
    }
}

/// Takes over what a DHCP server says.
const LEASED: &str = "#!/bin/sh
[ \"$1\" != bound ] || ip address add $ip/$mask dev $interface
";

pub fn leased() {
    // Releases after this one cannot do without addresses of the user.
    let lab = Lab::new(&json!({
        "openshift_version": "4.14", "vip_dhcp_allocation": true,
        "machine_networks": [{"cidr": "192.168.70.0/24"}], "network_type": "OpenShiftSDN",
    }));
    crate::program::ip(&format!("address add 192.168.70.1/24 dev {WIRE}"));
    let script = lab.room.write("leased", LEASED);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).unwrap();
    let script = script.display().to_string();
    let leases = format!("--dhcp-leasefile={}", lab.room.file("leases").display());
    let serve = |range: &str| {
        let range = format!("--dhcp-range={range},255.255.255.0,1h");
        let wire = format!("--interface={WIRE}");
        let args = [
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--user=root",
            "--port=0",
            "--bind-interfaces",
            "--no-ping",
            &wire,
            &range,
            &leases,
        ];
        lab.room.server("/usr/sbin/dnsmasq", &args)
    };
    let server = serve("192.168.70.150,192.168.70.159");
    let hosts: Vec<_> = (11..14)
        .map(|number| {
            let machine = Machine::new(&lab.room, &format!("host-{number}"));
            machine.plug("eth0", WIRE);
            let ask = "busybox udhcpc -i eth0 -n -q -f -t 10 -T 1 -s \"$1\"";
            machine.shell(ask, &[&script]);
            lab.join_office(&machine, number);
            machine
        })
        .collect();
    // No DHCP server any more, so the virtual addresses have to wait.
    drop(server);
    let hosts = lab.host_all(hosts.into_iter().zip(11..));
    lab.expect_all(&hosts, "belongs-to-machine-cidr", "success");
    lab.expect_of_cluster("api-vips-defined", "failure");
    lab.expect_of_cluster("ingress-vips-defined", "failure");
    let _server = serve("192.168.70.200,192.168.70.209");
    lab.expect_of_cluster("api-vips-defined", "success");
    lab.expect_of_cluster("ingress-vips-defined", "success");
    let known = lab.of_cluster();
    let (api, ingress) = (&known["api_vips"][0]["ip"], &known["ingress_vips"][0]["ip"]);
    assert!(api != ingress, "{api} for both");
    for vip in [api, ingress] {
        let vip = vip.as_str().unwrap_or_default();
        assert!(
            vip.starts_with("192.168.70.20"),
            "{vip} is not of the server"
        );
    }
    lab.expect_of_cluster("api-vips-valid", "success");
    lab.expect_of_cluster("ingress-vips-valid", "success");
}
