//! Rules about addresses of machines in vSphere.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Diagnostics, Facts, Rule, vsphere::platform};
use crate::install_config::{
    schema::wording::shown,
    types::{NetworkDevice, VsphereHostRole},
};

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "node-networking", path: "platform.vsphere.nodeNetworking", reads: &["platform.vsphere"], text: "Networks are networks, and `network` is one of the failure domains'.", check: node_networking },
    Rule { name: "vsphere-hosts", path: "platform.vsphere.hosts", reads: &["platform.vsphere", "controlPlane", "compute"], text: "One bootstrap machine, and as many others of each role as replicas; addresses with prefix; at most three name servers; failure domains that exist.", check: hosts },
];

fn node_networking(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    let Some(networking) = &platform.node_networking else {
        return;
    };
    for (side, spec) in [
        ("external", &networking.external),
        ("internal", &networking.internal),
    ] {
        let path = format!("platform.vsphere.nodeNetworking.{side}");
        for (name, list) in [
            ("networkSubnetCidr", &spec.network_subnet_cidr),
            (
                "excludeNetworkSubnetCidr",
                &spec.exclude_network_subnet_cidr,
            ),
        ] {
            for (index, network) in list.iter().enumerate() {
                if network.parse::<IpNet>().is_err() {
                    diagnostics.fault(
                        format!("{path}.{name}[{index}]"),
                        format!("{} is not a network", shown(network)),
                        "write for example `192.168.10.0/24`",
                    );
                }
            }
        }
        let known = platform
            .failure_domains
            .iter()
            .any(|domain| domain.topology.networks.contains(&spec.network));
        if !spec.network.is_empty() && !known {
            diagnostics.fault(
                format!("{path}.network"),
                format!("{} is no network of a failure domain", shown(&spec.network)),
                "write one of them, spelled alike",
            );
        }
    }
}

fn hosts(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts).filter(|platform| !platform.hosts.is_empty()) else {
        return;
    };
    let path = "platform.vsphere.hosts";
    let config = facts.config;
    for (role, wanted) in [
        (VsphereHostRole::Bootstrap, 1),
        (
            VsphereHostRole::ControlPlane,
            config.control_plane_replicas(),
        ),
        (VsphereHostRole::Compute, config.compute_replicas()),
    ] {
        let found = platform
            .hosts
            .iter()
            .filter(|host| host.role == Some(role))
            .count();
        if i64::try_from(found).unwrap_or(i64::MAX) != wanted {
            diagnostics.fault(
                path,
                format!("{found} hosts of role {role}, {wanted} are wanted"),
                "name as many hosts as replicas, and one for bootstrap",
            );
        }
    }
    for (index, host) in platform.hosts.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if host.role.is_none() {
            diagnostics.fault(
                format!("{path}.role"),
                "this is missing",
                "write `bootstrap`, `control-plane` or `compute`",
            );
        }
        let domain = &host.failure_domain;
        if !domain.is_empty()
            && !platform
                .failure_domains
                .iter()
                .any(|known| known.name == *domain)
        {
            diagnostics.fault(
                format!("{path}.failureDomain"),
                format!("{} is no failure domain", shown(domain)),
                "write the name of one of them",
            );
        }
        match &host.network_device {
            Some(device) => check_device(&format!("{path}.networkDevice"), device, diagnostics),
            None => diagnostics.fault(
                format!("{path}.networkDevice"),
                "this is missing",
                "add `networkDevice: {ipAddrs: [192.168.10.5/24]}`",
            ),
        }
    }
}

fn check_device(path: &str, device: &NetworkDevice, diagnostics: &mut Diagnostics) {
    if device.ip_addrs.is_empty() {
        diagnostics.fault(
            format!("{path}.ipAddrs"),
            "this is missing",
            "add an address with prefix",
        );
    }
    for (index, address) in device.ip_addrs.iter().enumerate() {
        if address.parse::<IpNet>().is_err() {
            diagnostics.fault(
                format!("{path}.ipAddrs[{index}]"),
                format!("{} is not an address with a prefix", shown(address)),
                "write for example `192.168.10.5/24`",
            );
        }
    }
    if !device.gateway.is_empty() && device.gateway.parse::<IpAddr>().is_err() {
        diagnostics.fault(
            format!("{path}.gateway"),
            format!("{} is not an IP address", shown(&device.gateway)),
            "write the address of the router",
        );
    }
    if device.nameservers.len() > 3 {
        diagnostics.fault(
            format!("{path}.nameservers"),
            format!(
                "{} name servers, at most three are allowed",
                device.nameservers.len()
            ),
            "keep three",
        );
    }
    for (index, server) in device.nameservers.iter().enumerate() {
        if server.parse::<IpAddr>().is_err() {
            diagnostics.fault(
                format!("{path}.nameservers[{index}]"),
                format!("{} is not an IP address", shown(server)),
                "write an address",
            );
        }
    }
}
