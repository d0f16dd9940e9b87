//! Rules about the networks of machines, pods and services.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{
    Diagnostics, Facts, Rule,
    checks::{is_all_zero, overlap},
};
use crate::install_config::{schema::wording::shown, types::Networking};

const NETS: &[&str] = &["networking"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "network-type", path: "networking.networkType", reads: &[], text: "A plugin that still exists: `Kuryr` is gone, `OpenShiftSDN` since 4.15. Other names are third parties'.", check: network_type },
    Rule { name: "network-address", path: "networking", reads: NETS, text: "Each network is written by its own address, not one of a host in it, and is not all zeros.", check: network_address },
    Rule { name: "service-network-size", path: "networking.serviceNetwork", reads: &[], text: "Prefix of at least 12 for IPv4 and 108 for IPv6.", check: service_network_size },
    Rule { name: "networks-apart", path: "networking", reads: NETS, text: "Networks of machines, services and pods do not overlap, neither among each other nor with another kind.", check: networks_apart },
    Rule { name: "docker-bridge", path: "networking", reads: NETS, text: "A warning for networks over 172.17.0.0/16, which container engines use for themselves.", check: docker_bridge },
    Rule { name: "ovn-internal-networks", path: "networking", reads: NETS, text: "With OVNKubernetes no network overlaps those it uses inside.", check: ovn_internal_networks },
    Rule { name: "host-prefix", path: "networking.clusterNetwork.hostPrefix", reads: NETS, text: "At least the prefix of its network; one value for all IPv4 networks; 64 for IPv6.", check: host_prefix },
    Rule { name: "cluster-network-mtu", path: "networking.clusterNetworkMTU", reads: &[], text: "Left out: it is for one cloud.", check: cluster_network_mtu },
    Rule { name: "network-observability", path: "networking.networkObservability.installationPolicy", reads: &[], text: "Needed as soon as `networkObservability` is there.", check: network_observability },
    Rule { name: "ip-families", path: "networking.serviceNetwork", reads: NETS, text: "One service network, or two for both IP families; then machines and pods have both families too, on nutanix with IPv4 first.", check: ip_families },
    Rule { name: "ip-families-unused", path: "networking.machineNetwork", reads: NETS, text: "A warning when machines or pods have a family that services lack: the cluster will not use it.", check: ip_families_unused },
];

/// Every network with its path and the kind of thing that lives in it.
fn every_network(networking: &Networking) -> Vec<(String, &'static str, IpNet)> {
    let mut all = Vec::new();
    for (index, network) in networking.machine_network.iter().enumerate() {
        let path = format!("networking.machineNetwork[{index}].cidr");
        all.push((path, "machine", network.cidr));
    }
    for (index, network) in networking.service_network.iter().enumerate() {
        all.push((
            format!("networking.serviceNetwork[{index}]"),
            "service",
            *network,
        ));
    }
    for (index, network) in networking.cluster_network.iter().enumerate() {
        let path = format!("networking.clusterNetwork[{index}].cidr");
        all.push((path, "cluster", network.cidr));
    }
    all
}

fn networking<'a>(facts: &Facts<'a>) -> Option<&'a Networking> {
    facts.config.networking.as_ref()
}

fn network_type(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = networking(facts) else {
        return;
    };
    let name = &networking.network_type;
    let path = "networking.networkType";
    let help = "write `OVNKubernetes`, or leave it out";
    if name.eq_ignore_ascii_case("Kuryr") {
        diagnostics.fault(path, format!("{} no longer exists", shown(name)), help);
    } else if name.eq_ignore_ascii_case("OpenShiftSDN") {
        if facts.around.at_least(4, 15) {
            diagnostics.fault(
                path,
                format!("{} ended with release 4.14", shown(name)),
                help,
            );
        } else {
            diagnostics.warn(
                path,
                format!("{} ends with release 4.14", shown(name)),
                help,
            );
        }
    }
}

fn network_address(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = networking(facts) else {
        return;
    };
    for (path, _, network) in every_network(networking) {
        check_address(&path, network, diagnostics);
    }
}

/// A network is named by its own address.
pub(super) fn check_address(path: &str, network: IpNet, diagnostics: &mut Diagnostics) {
    if is_all_zero(network.addr()) {
        let message = format!("{network} begins at the address that means nothing");
        diagnostics.fault(
            path,
            message,
            "write the network you have, for example `10.0.0.0/16`",
        );
    } else if network.addr() != network.network() {
        let message = format!("{network} names a host, not a network");
        diagnostics.fault(path, message, format!("write `{}`", network.trunc()));
    }
}

fn service_network_size(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = networking(facts) else {
        return;
    };
    for (index, network) in networking.service_network.iter().enumerate() {
        let (least, example) = match network {
            IpNet::V4(_) => (12, "172.30.0.0/16"),
            IpNet::V6(_) => (108, "fd02::/112"),
        };
        if network.prefix_len() < least {
            diagnostics.fault(
                format!("networking.serviceNetwork[{index}]"),
                format!("{network} is too large for services; the prefix must be at least {least}"),
                format!("write a smaller network such as `{example}`"),
            );
        }
    }
}

fn networks_apart(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = networking(facts) else {
        return;
    };
    let all = every_network(networking);
    for (index, (path, _, network)) in all.iter().enumerate() {
        for (other_path, kind, other) in &all[..index] {
            if overlap(*network, *other) {
                diagnostics.fault(
                    path.as_str(),
                    format!("{network} overlaps the {kind} network {other}"),
                    format!("choose another network here or at {other_path}"),
                );
            }
        }
    }
}

const DOCKER_BRIDGE: IpNet = v4([172, 17, 0, 0], 16);

fn docker_bridge(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = networking(facts) else {
        return;
    };
    for (path, _, network) in every_network(networking) {
        if overlap(network, DOCKER_BRIDGE) {
            diagnostics.warn(
                path,
                format!(
                    "{network} overlaps {DOCKER_BRIDGE}, which container engines use for themselves"
                ),
                "if machines of this network cannot be reached from a workstation, this is why",
            );
        }
    }
}

/// What OVN-Kubernetes uses inside: name, network.
const OVN_INTERNAL: &[(&str, IpNet)] = &[
    ("join", v4([100, 64, 0, 0], 16)),
    ("transit", v4([100, 88, 0, 0], 16)),
    ("masquerade", v4([169, 254, 0, 0], 17)),
    ("join", v6([0xfd98, 0, 0, 0, 0, 0, 0, 0], 64)),
    ("transit", v6([0xfd97, 0, 0, 0, 0, 0, 0, 0], 64)),
    ("masquerade", v6([0xfd69, 0, 0, 0, 0, 0, 0, 0], 112)),
];

fn ovn_internal_networks(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = networking(facts) else {
        return;
    };
    if !networking.is_ovn_kubernetes() {
        return;
    }
    let own_join = networking.internal_join_subnet().is_some();
    for (path, _, network) in every_network(networking) {
        for (name, inside) in OVN_INTERNAL {
            let replaced = own_join && *name == "join" && inside.addr().is_ipv4();
            if !replaced && overlap(network, *inside) {
                let help = if *name == "join" && inside.addr().is_ipv4() {
                    "choose another network, or move OVN's with networking.ovnKubernetesConfig.ipv4.internalJoinSubnet"
                } else {
                    "choose another network"
                };
                diagnostics.fault(
                    path.as_str(),
                    format!(
                        "{network} overlaps {inside}, which OVN-Kubernetes uses inside ({name})"
                    ),
                    help,
                );
            }
        }
    }
}

fn host_prefix(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = networking(facts) else {
        return;
    };
    let is_ovn = networking.network_type == "OVNKubernetes";
    let mut first_v4: Option<i64> = None;
    for (index, network) in networking.cluster_network.iter().enumerate() {
        let prefix = network.host_prefix;
        if !is_ovn && prefix == 0 {
            continue;
        }
        let path = format!("networking.clusterNetwork[{index}].hostPrefix");
        let least = i64::from(network.cidr.prefix_len());
        let most = i64::from(network.cidr.max_prefix_len());
        if prefix == 0 {
            let example = if most == 128 { 64 } else { 23.max(least) };
            diagnostics.fault(
                path,
                "this is missing",
                format!("add `hostPrefix: {example}`"),
            );
            continue;
        }
        if prefix < least {
            diagnostics.fault(
                path.as_str(),
                format!(
                    "a share of /{prefix} is larger than its network {}",
                    network.cidr
                ),
                format!("write a number from {least} to {most}"),
            );
        }
        if network.cidr.addr().is_ipv6() {
            if prefix != 64 {
                let message = format!("a share of /{prefix}; IPv6 networks are shared out by 64");
                diagnostics.fault(path, message, "write `hostPrefix: 64`");
            }
        } else if prefix > 32 {
            diagnostics.fault(
                path,
                format!("/{prefix} is no prefix of IPv4"),
                "write a number up to 32",
            );
        } else if *first_v4.get_or_insert(prefix) != prefix {
            let first = first_v4.unwrap_or_default();
            diagnostics.fault(
                path,
                format!("{prefix}, but another IPv4 network has {first}"),
                "give all IPv4 networks of pods the same hostPrefix",
            );
        }
    }
}

fn cluster_network_mtu(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if networking(facts).is_some_and(|networking| networking.cluster_network_mtu != 0) {
        diagnostics.fault(
            "networking.clusterNetworkMTU",
            "this can be set on one cloud only",
            "remove it; set the MTU of machines in their network configuration",
        );
    }
}

fn network_observability(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let observability = networking(facts).and_then(|n| n.network_observability.as_ref());
    if observability.is_some_and(|o| o.installation_policy.is_none()) {
        diagnostics.fault(
            "networking.networkObservability.installationPolicy",
            "this is missing",
            "write `InstallAndEnable` or `NoAction`, or remove networkObservability",
        );
    }
}

/// Whether a list of networks has IPv4 and IPv6.
fn families<'a>(networks: impl IntoIterator<Item = &'a IpNet>) -> (bool, bool) {
    networks
        .into_iter()
        .fold((false, false), |(v4, v6), network| match network {
            IpNet::V4(_) => (true, v6),
            IpNet::V6(_) => (v4, true),
        })
}

/// The same of machines, services and pods, with the path of each list.
fn all_families(networking: &Networking) -> [(&'static str, (bool, bool), bool); 3] {
    let v6_first = |first: Option<&IpNet>| matches!(first, Some(IpNet::V6(_)));
    let machines = networking
        .machine_network
        .iter()
        .map(|network| &network.cidr);
    let pods = networking
        .cluster_network
        .iter()
        .map(|network| &network.cidr);
    [
        (
            "networking.machineNetwork",
            families(machines.clone()),
            v6_first(machines.clone().next()),
        ),
        (
            "networking.serviceNetwork",
            families(&networking.service_network),
            v6_first(networking.service_network.first()),
        ),
        (
            "networking.clusterNetwork",
            families(pods.clone()),
            v6_first(pods.clone().next()),
        ),
    ]
}

fn ip_families(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = networking(facts) else {
        return;
    };
    let services = networking.service_network.len();
    let path = "networking.serviceNetwork";
    match families(&networking.service_network) {
        (true, true) => {
            if services != 2 {
                diagnostics.fault(
                    path,
                    format!("{services} service networks; with both IP families there are two"),
                    "keep one IPv4 and one IPv6 network",
                );
            }
            let ordered = facts.config.platform.nutanix.is_some();
            for (path, (v4, v6), v6_first) in all_families(networking) {
                if ordered && v4 && v6_first {
                    diagnostics.fault(
                        path,
                        "an IPv6 network comes first",
                        "put the IPv4 network first: nutanix has no clusters with IPv6 first",
                    );
                }
                if !(v4 && v6) {
                    let missing = if v4 { "IPv6" } else { "IPv4" };
                    diagnostics.fault(
                        path,
                        format!("no {missing} network, but services have both IP families"),
                        format!("add an {missing} network here, or take it out of serviceNetwork"),
                    );
                }
            }
        }
        (true, false) | (false, true) if services > 1 => diagnostics.fault(
            path,
            format!("{services} service networks of one IP family"),
            "keep one; a second one is for the other IP family",
        ),
        (true | false, _) => {}
    }
}

fn ip_families_unused(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = networking(facts) else {
        return;
    };
    let (v4, v6) = families(&networking.service_network);
    for (path, (has_v4, has_v6), _) in all_families(networking) {
        for (has, used, family) in [(has_v4, v4, "IPv4"), (has_v6, v6, "IPv6")] {
            if has && !used {
                diagnostics.warn(
                    path,
                    format!("there is an {family} network, but services have none: the cluster will not be dual-stack"),
                    format!("add an {family} network to networking.serviceNetwork, or remove it here"),
                );
            }
        }
    }
}

const fn v4(address: [u8; 4], prefix: u8) -> IpNet {
    let [a, b, c, d] = address;
    IpNet::V4(Ipv4Net::new_assert(
        std::net::Ipv4Addr::new(a, b, c, d),
        prefix,
    ))
}

const fn v6(address: [u16; 8], prefix: u8) -> IpNet {
    let [a, b, c, d, e, f, g, h] = address;
    IpNet::V6(Ipv6Net::new_assert(
        std::net::Ipv6Addr::new(a, b, c, d, e, f, g, h),
        prefix,
    ))
}
