//! Rules about the join subnet of OVN-Kubernetes.

use ipnet::IpNet;

use super::{Diagnostics, Facts, Rule, checks::overlap, networks::check_address};

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "ovn-config", path: "networking.ovnKubernetesConfig", reads: &["networking"], text: "Only with `networkType: OVNKubernetes`.", check: ovn_config },
    Rule { name: "join-subnet", path: "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet", reads: &["networking"], text: "An IPv4 network by its own address that overlaps none of the others.", check: join_subnet },
    Rule { name: "join-subnet-size", path: "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet", reads: &["networking"], text: "Large enough for as many nodes as the networks of pods can serve.", check: join_subnet_size },
];

const PATH: &str = "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet";

fn ovn_config(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = &facts.config.networking else {
        return;
    };
    if networking.ovn_kubernetes_config.is_some() && !networking.is_ovn_kubernetes() {
        diagnostics.fault(
            "networking.ovnKubernetesConfig",
            format!("the network plugin is `{}`", networking.network_type),
            "remove it, or write `networkType: OVNKubernetes`",
        );
    }
}

fn join_subnet(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = &facts.config.networking else {
        return;
    };
    let Some(join) = networking.internal_join_subnet() else {
        return;
    };
    if let IpNet::V6(_) = join {
        diagnostics.fault(
            PATH,
            format!("{join} is not IPv4"),
            "write an IPv4 network such as `100.65.0.0/16`",
        );
        return;
    }
    check_address(PATH, join, diagnostics);
    let machines = networking
        .machine_network
        .iter()
        .map(|network| ("machine", network.cidr));
    let services = networking
        .service_network
        .iter()
        .map(|network| ("service", *network));
    let pods = networking
        .cluster_network
        .iter()
        .map(|network| ("cluster", network.cidr));
    for (kind, network) in machines.chain(services).chain(pods) {
        if overlap(join, network) {
            diagnostics.fault(
                PATH,
                format!("{join} overlaps the {kind} network {network}"),
                "choose a network that is not in use",
            );
        }
    }
}

/// Each node needs an address, and three are taken.
fn join_subnet_size(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = &facts.config.networking else {
        return;
    };
    let Some(join @ IpNet::V4(_)) = networking.internal_join_subnet() else {
        return;
    };
    let mut nodes: u128 = 0;
    for network in &networking.cluster_network {
        let IpNet::V4(cidr) = network.cidr else {
            continue;
        };
        // Smaller than its network: the rule about host prefixes reports that.
        let Ok(bits) = u32::try_from(network.host_prefix - i64::from(cidr.prefix_len())) else {
            return;
        };
        nodes += 1_u128 << bits.min(32);
    }
    let room = (1_u128 << (32 - u32::from(join.prefix_len()))).saturating_sub(3);
    if nodes >= room {
        diagnostics.fault(
            PATH,
            format!(
                "{join} has room for {} nodes, the networks of pods serve {nodes}",
                room.saturating_sub(1)
            ),
            "choose a larger network, or a larger hostPrefix number for fewer nodes",
        );
    }
}
