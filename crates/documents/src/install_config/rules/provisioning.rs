//! Rules about the provisioning network.
//!
//! They hold when machines are really started through it: when the installer makes the cluster
//! itself, or when hosts that install themselves name a management controller.

use std::net::IpAddr;

use ipnet::IpNet;
use url::Url;

use super::{
    Diagnostics, Facts, Rule,
    baremetal::each_host,
    checks::{is_subdomain, overlap},
};
use crate::install_config::{
    Method,
    schema::wording::shown,
    types::{BareMetal, ProvisioningNetwork},
};

const READS: &[&str] = &["platform.baremetal", "networking"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "provisioning-network", path: "platform.baremetal.provisioningNetworkCIDR", reads: READS, text: "By its own address, apart from machine networks; IPv6 with a prefix of at least 64 when Managed.", check: provisioning_network },
    Rule { name: "provisioning-addresses", path: "platform.baremetal.clusterProvisioningIP", reads: READS, text: "Inside the provisioning network; in a machine network when it is Disabled.", check: provisioning_addresses },
    Rule { name: "provisioning-gateway", path: "platform.baremetal.provisioningNetworkGateway", reads: READS, text: "A host of the provisioning network, not the provisioning service itself.", check: provisioning_gateway },
    Rule { name: "provisioning-dhcp", path: "platform.baremetal.provisioningDHCPRange", reads: READS, text: "`first,last` inside the provisioning network, without the addresses that are taken.", check: provisioning_dhcp },
    Rule { name: "bmc-fields", path: "platform.baremetal.hosts.bmc", reads: READS, text: "When the installer makes the cluster: username, password and address.", check: bmc_fields },
    Rule { name: "bootstrap-machine", path: "platform.baremetal.libvirtURI", reads: READS, text: "When the installer makes the cluster: libvirtURI is a URI; static address, gateway and name server come all or not at all; images are URLs with a sha256; time servers are names or addresses.", check: bootstrap_machine },
];

/// The platform, if the provisioning network is going to be used.
fn in_use<'a>(facts: &Facts<'a>) -> Option<(&'a BareMetal, ProvisioningNetwork)> {
    let platform = facts.config.platform.baremetal.as_ref()?;
    let used = match facts.around.method {
        Method::Plain | Method::ImageBased => false,
        Method::Cluster => true,
        Method::Agent => platform
            .hosts
            .iter()
            .any(|host| !host.bmc.address.is_empty()),
    };
    let mode = platform.provisioning_network?;
    used.then_some((platform, mode))
}

fn at(name: &str) -> String {
    format!("platform.baremetal.{name}")
}

fn machine_networks(facts: &Facts<'_>) -> Vec<IpNet> {
    let networking = facts.config.networking.iter();
    networking
        .flat_map(|n| &n.machine_network)
        .map(|network| network.cidr)
        .collect()
}

fn provisioning_network(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some((platform, mode)) = in_use(facts) else {
        return;
    };
    let Some(cidr) = platform
        .provisioning_network_cidr
        .filter(|_| mode != ProvisioningNetwork::Disabled)
    else {
        return;
    };
    let path = at("provisioningNetworkCIDR");
    super::networks::check_address(&path, cidr, diagnostics);
    if mode == ProvisioningNetwork::Managed && cidr.addr().is_ipv6() && cidr.prefix_len() < 64 {
        diagnostics.fault(
            path.as_str(),
            format!("{cidr} is too large for DHCP"),
            "write a prefix of at least 64",
        );
    }
    for network in machine_networks(facts) {
        if overlap(cidr, network) {
            diagnostics.fault(
                path.as_str(),
                format!("{cidr} overlaps the machine network {network}"),
                "choose a network of its own, or `provisioningNetwork: Disabled`",
            );
        }
    }
}

fn provisioning_addresses(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some((platform, mode)) = in_use(facts) else {
        return;
    };
    let machines = machine_networks(facts);
    let addresses = [
        ("clusterProvisioningIP", platform.cluster_provisioning_ip),
        (
            "bootstrapProvisioningIP",
            platform.bootstrap_provisioning_ip,
        ),
    ];
    for (name, ip) in addresses {
        let Some(ip) = ip else { continue };
        let in_machines = machines.iter().any(|network| network.contains(&ip));
        if mode == ProvisioningNetwork::Disabled {
            if !in_machines {
                diagnostics.fault(
                    at(name),
                    format!("{ip} is in no machine network"),
                    "choose an address in one of them",
                );
            }
            continue;
        }
        if let Some(cidr) = platform
            .provisioning_network_cidr
            .filter(|cidr| !cidr.contains(&ip))
        {
            diagnostics.fault(
                at(name),
                format!("{ip} is not in the provisioning network {cidr}"),
                "choose an address in it",
            );
        }
        if in_machines {
            diagnostics.fault(
                at(name),
                format!("{ip} is in a machine network"),
                "choose an address of the provisioning network",
            );
        }
    }
}

fn provisioning_gateway(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some((platform, mode)) = in_use(facts) else {
        return;
    };
    let (Some(gateway), Some(cidr)) = (
        platform.provisioning_network_gateway,
        platform.provisioning_network_cidr,
    ) else {
        return;
    };
    if mode == ProvisioningNetwork::Disabled {
        return;
    }
    let edges = cidr.addr().is_ipv4() && cidr.prefix_len() < 31;
    let reason = if !cidr.contains(&gateway) {
        format!("{gateway} is not in the provisioning network {cidr}")
    } else if Some(gateway) == platform.cluster_provisioning_ip {
        format!("{gateway} is the address of the provisioning service")
    } else if edges && (gateway == cidr.network() || gateway == cidr.broadcast()) {
        format!("{gateway} is no host of {cidr}")
    } else {
        return;
    };
    diagnostics.fault(
        at("provisioningNetworkGateway"),
        reason,
        "write the router of that network, or leave it out",
    );
}

fn provisioning_dhcp(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some((platform, _)) =
        in_use(facts).filter(|(_, mode)| *mode == ProvisioningNetwork::Managed)
    else {
        return;
    };
    let Some(cidr) = platform.provisioning_network_cidr else {
        return;
    };
    let path = at("provisioningDHCPRange");
    let text = &*platform.provisioning_dhcp_range;
    let ends: Vec<Option<IpAddr>> = text.split(',').map(|ip| ip.trim().parse().ok()).collect();
    let [Some(first), Some(last)] = ends[..] else {
        diagnostics.fault(
            path,
            format!("{} is not `first,last`", shown(text)),
            "write two addresses with a comma, or leave it out",
        );
        return;
    };
    for end in [first, last] {
        if !cidr.contains(&end) {
            diagnostics.fault(
                path.as_str(),
                format!("{end} is not in the provisioning network {cidr}"),
                "choose addresses in it",
            );
        }
    }
    let taken = [
        ("clusterProvisioningIP", platform.cluster_provisioning_ip),
        (
            "bootstrapProvisioningIP",
            platform.bootstrap_provisioning_ip,
        ),
        (
            "provisioningNetworkGateway",
            platform.provisioning_network_gateway,
        ),
    ];
    for (name, ip) in taken {
        if ip.is_some_and(|ip| first <= ip && ip <= last) {
            diagnostics.fault(
                path.as_str(),
                format!("{name} is inside the range"),
                "keep that address out of the range",
            );
        }
    }
}

fn bmc_fields(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if facts.around.method != Method::Cluster {
        return;
    }
    for (path, host) in each_host(facts) {
        let fields = [
            ("username", host.bmc.username.is_empty()),
            ("password", host.bmc.password.is_empty()),
            ("address", host.bmc.address.is_empty()),
        ];
        for (name, missing) in fields {
            if missing {
                diagnostics.fault(
                    format!("{path}.bmc.{name}"),
                    "this is missing",
                    format!("add `{name}: …`"),
                );
            }
        }
    }
}

fn bootstrap_machine(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = &facts.config.platform.baremetal else {
        return;
    };
    if facts.around.method != Method::Cluster {
        return;
    }
    if Url::parse(&platform.libvirt_uri).is_err() {
        diagnostics.fault(
            at("libvirtURI"),
            format!("{} is not a URI", shown(&platform.libvirt_uri)),
            "write `qemu:///system` or another URI",
        );
    }
    let fixed = [
        (
            "bootstrapExternalStaticIP",
            platform.bootstrap_external_static_ip,
        ),
        (
            "bootstrapExternalStaticGateway",
            platform.bootstrap_external_static_gateway,
        ),
        (
            "bootstrapExternalStaticDNS",
            platform.bootstrap_external_static_dns,
        ),
    ];
    if fixed.iter().any(|(_, ip)| ip.is_some()) {
        for (name, _) in fixed.iter().filter(|(_, ip)| ip.is_none()) {
            diagnostics.fault(
                at(name),
                "this is missing",
                "set static address, gateway and name server together",
            );
        }
    }
    for (name, url) in [
        ("bootstrapOSImage", &platform.bootstrap_os_image),
        ("clusterOSImage", &platform.cluster_os_image),
    ] {
        if !url.is_empty() && !is_image_url(url) {
            diagnostics.fault(
                at(name),
                format!("{} is not an image with its digest", shown(url)),
                "write `https://…?sha256=` and 64 hexadecimal digits",
            );
        }
    }
    for (index, server) in platform.additional_ntp_servers.iter().enumerate() {
        if server.parse::<IpAddr>().is_err() && !is_subdomain(server) {
            diagnostics.fault(
                at(&format!("additionalNTPServers[{index}]")),
                format!("{} is no name or address", shown(server)),
                "write for example `pool.ntp.org`",
            );
        }
    }
}

fn is_image_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        let digest = url.query_pairs().find(|(key, _)| key == "sha256");
        let whole = digest.is_some_and(|(_, digest)| digest.len() == 64);
        matches!(url.scheme(), "http" | "https") && whole
    })
}
