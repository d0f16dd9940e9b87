//! Rules about virtual addresses.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Diagnostics, Facts, Rule};
use crate::install_config::{
    Method,
    types::{LoadBalancerType, PlatformName},
};

const READS: &[&str] = &["platform", "networking"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "vip-count", path: "platform.baremetal.apiVIPs", reads: READS, text: "One or two each for API and ingress; on vsphere and nutanix none at all will do, unless hosts install themselves.", check: vip_count },
    Rule { name: "vips-apart", path: "platform.baremetal.apiVIPs", reads: READS, text: "API and ingress do not share an address, unless the load balancer is yours.", check: vips_apart },
    Rule { name: "vip-in-machine-network", path: "platform.baremetal.apiVIPs", reads: READS, text: "Each lies in a machine network, unless the load balancer is yours.", check: vip_in_machine_network },
    Rule { name: "vip-primary-family", path: "platform.baremetal.apiVIPs", reads: READS, text: "With both IP families the first is of the family that comes first in every list of networks.", check: vip_primary_family },
    Rule { name: "vip-pair", path: "platform.baremetal.apiVIPs", reads: READS, text: "Two are one of IPv4 and one of IPv6; on nutanix IPv4 comes first.", check: vip_pair },
];

/// The virtual addresses of a platform.
struct Vips<'a> {
    prefix: &'static str,
    lists: [(&'static str, &'a [IpAddr]); 2],
    required: bool,
    /// The load balancer is the user's.
    foreign: bool,
    in_machine_network: bool,
}

fn vips<'a>(facts: &Facts<'a>) -> Option<Vips<'a>> {
    let platform = &facts.config.platform;
    let agent = facts.around.method == Method::Agent;
    let foreign = facts.config.load_balancer_type() == Some(LoadBalancerType::UserManaged);
    let vips = platform.vips()?;
    let (prefix, required) = match platform.name()? {
        PlatformName::BareMetal => ("platform.baremetal", true),
        PlatformName::Vsphere => ("platform.vsphere", agent),
        PlatformName::Nutanix => ("platform.nutanix", agent),
        PlatformName::None | PlatformName::External => return None,
    };
    Some(Vips {
        prefix,
        lists: [("apiVIPs", vips.api), ("ingressVIPs", vips.ingress)],
        required,
        foreign,
        in_machine_network: required,
    })
}

impl<'a> Vips<'a> {
    fn each(&self) -> impl Iterator<Item = (String, IpAddr)> + use<'a> {
        let prefix = self.prefix;
        self.lists.into_iter().flat_map(move |(name, list)| {
            let entries = list.iter().enumerate();
            entries.map(move |(index, vip)| (format!("{prefix}.{name}[{index}]"), *vip))
        })
    }
}

fn vip_count(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(vips) = vips(facts) else { return };
    let some = vips.lists.iter().any(|(_, list)| !list.is_empty());
    for (name, list) in vips.lists {
        let path = format!("{}.{name}", vips.prefix);
        match list.len() {
            0 if vips.required || some => diagnostics.fault(
                path,
                "this is missing",
                format!("add `{name}:` with a free address of the machine network below it"),
            ),
            0..=2 => {}
            many => diagnostics.fault(
                path,
                format!("{many} addresses, at most two are allowed"),
                "keep one per IP family",
            ),
        }
    }
}

fn vips_apart(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(vips) = vips(facts).filter(|vips| !vips.foreign) else {
        return;
    };
    let [(_, api), (name, ingress)] = vips.lists;
    for (index, vip) in ingress.iter().enumerate() {
        if api.contains(vip) {
            diagnostics.fault(
                format!("{}.{name}[{index}]", vips.prefix),
                format!("{vip} is the address of the API too"),
                "choose another free address, or balance load yourself: `loadBalancer: {type: UserManaged}`",
            );
        }
    }
}

fn vip_in_machine_network(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(vips) = vips(facts).filter(|vips| !vips.foreign && vips.in_machine_network) else {
        return;
    };
    let Some(networking) = &facts.config.networking else {
        return;
    };
    let networks: Vec<String> = networking
        .machine_network
        .iter()
        .map(|n| n.cidr.to_string())
        .collect();
    for (path, vip) in vips.each() {
        if !networking
            .machine_network
            .iter()
            .any(|network| network.cidr.contains(&vip))
        {
            diagnostics.fault(
                path,
                format!("{vip} is in no machine network ({})", networks.join(", ")),
                "choose an address in it, or correct networking.machineNetwork",
            );
        }
    }
}

fn vip_primary_family(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(vips) = vips(facts) else { return };
    let Some(networking) = &facts.config.networking else {
        return;
    };
    let dual = |v6: bool| {
        networking
            .service_network
            .iter()
            .any(|n| n.addr().is_ipv6() == v6)
    };
    if !(dual(true) && dual(false)) {
        return;
    }
    let first = |network: Option<&IpNet>| network.map(|network| network.addr().is_ipv6());
    let lists = [
        (
            "machineNetwork",
            first(networking.machine_network.first().map(|n| &n.cidr)),
        ),
        ("serviceNetwork", first(networking.service_network.first())),
        (
            "clusterNetwork",
            first(networking.cluster_network.first().map(|n| &n.cidr)),
        ),
    ];
    for (name, list) in vips.lists {
        let Some(vip) = list.first() else { continue };
        for (network, is_v6) in lists {
            if is_v6.is_some_and(|is_v6| is_v6 != vip.is_ipv6()) {
                let family = if vip.is_ipv6() { "IPv6" } else { "IPv4" };
                diagnostics.fault(
                    format!("{}.{name}[0]", vips.prefix),
                    format!(
                        "{vip} is {family}, but networking.{network} begins with the other family"
                    ),
                    "put the same IP family first everywhere",
                );
            }
        }
    }
}

fn vip_pair(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(vips) = vips(facts) else { return };
    for (name, list) in vips.lists {
        if let [first, second] = list
            && first.is_ipv6() == second.is_ipv6()
        {
            let family = if first.is_ipv6() { "IPv6" } else { "IPv4" };
            diagnostics.fault(
                format!("{}.{name}[1]", vips.prefix),
                format!("{first} and {second} are both {family}"),
                "keep one, or make the other one of the other IP family",
            );
        }
        if let [first, second] = list
            && first.is_ipv6()
            && !second.is_ipv6()
            && facts.config.platform.nutanix.is_some()
        {
            diagnostics.fault(
                format!("{}.{name}[0]", vips.prefix),
                format!("{first} is IPv6 and comes before {second}"),
                "put the IPv4 address first: nutanix has no clusters with IPv6 first",
            );
        }
    }
}
