//! Cluster validations about its address ranges and network plugin.

use ipnet::IpNet;

use super::{Verdict, cluster::ClusterContext};
use crate::networks;

pub(super) fn cluster_cidr_defined(on: &ClusterContext<'_>) -> Verdict {
    let networks = on.cluster.networks.cluster.iter().flatten();
    if networks
        .filter(|net| !net.cidr.is_empty() || net.host_prefix != 0)
        .count()
        > 0
    {
        Verdict::pass("The network of the pods is set")
    } else {
        Verdict::fail("The network of the pods is not set; set cluster_networks")
    }
}

pub(super) fn service_cidr_defined(on: &ClusterContext<'_>) -> Verdict {
    if on
        .cluster
        .networks
        .service
        .iter()
        .flatten()
        .any(|net| !net.is_empty())
    {
        Verdict::pass("The network of the services is set")
    } else {
        Verdict::fail("The network of the services is not set; set service_networks")
    }
}

pub(super) fn machine_cidr_defined(on: &ClusterContext<'_>) -> Verdict {
    if !on.needs_machine_network() {
        return Verdict::pass("No machine network is needed: the user manages the network");
    }
    if on
        .cluster
        .networks
        .machine
        .iter()
        .flatten()
        .any(|net| !net.is_empty())
    {
        Verdict::pass("The machine network is set")
    } else if on.has_inventory() {
        Verdict::fail(
            "The machine network is not known; set the virtual addresses, it follows from them",
        )
    } else {
        Verdict::wait(
            "The machine network follows from the hosts, of which none has an inventory yet",
        )
    }
}

pub(super) fn network_prefix_valid(on: &ClusterContext<'_>) -> Verdict {
    let networks: Vec<_> = on.cluster.networks.cluster.iter().flatten().collect();
    if networks.is_empty() {
        return Verdict::wait("The network of the pods is not set yet");
    }
    let uses_prefix = matches!(
        on.cluster.network_type.as_deref(),
        Some("OVNKubernetes" | "OpenShiftSDN")
    );
    for network in networks {
        let Ok(range) = network.cidr.parse::<IpNet>() else {
            return Verdict::fail(format!(
                "{:?} is not an address range in CIDR form",
                network.cidr
            ));
        };
        let bits = i64::from(range.max_prefix_len());
        let prefix = match (uses_prefix, &range) {
            (true, _) => network.host_prefix,
            (false, IpNet::V4(_)) => 25,
            (false, IpNet::V6(_)) => 64,
        };
        if prefix < 1 || prefix > bits - 7 {
            return Verdict::fail(format!(
                "Host prefix {prefix} of {range} must lie between 1 and {}",
                bits - 7
            ));
        }
        let needed = if on.hosts.len() == 1 {
            1
        } else {
            on.hosts.len().max(4)
        };
        let shares = (prefix - i64::from(range.prefix_len())).clamp(0, 62);
        if (1_u64 << shares) < u64::try_from(needed).unwrap_or(u64::MAX) {
            return Verdict::fail(format!(
                "{range} has room for {} hosts with prefix {prefix}, {needed} are needed; widen the range or raise the prefix",
                1_u64 << shares
            ));
        }
    }
    Verdict::pass("Every host gets a share of the pods' network")
}

pub(super) fn network_type_valid(on: &ClusterContext<'_>) -> Verdict {
    const KNOWN: &[&str] = &[
        "OVNKubernetes",
        "OpenShiftSDN",
        "Cilium",
        "Calico",
        "CiscoACI",
        "None",
    ];
    let kind = on.cluster.network_type.as_deref().unwrap_or_default();
    if !kind.is_empty() && !KNOWN.contains(&kind) {
        return Verdict::fail(format!(
            "{kind:?} is no network type; use one of {}",
            KNOWN.join(", ")
        ));
    }
    let ranges = [
        networks::pods(on.cluster),
        networks::service(on.cluster),
        networks::machine(on.cluster),
    ];
    let has_v6 = ranges
        .iter()
        .flatten()
        .flatten()
        .any(|net| matches!(net, IpNet::V6(_)));
    if kind == "OpenShiftSDN" && has_v6 {
        return Verdict::fail("OpenShiftSDN cannot carry IPv6; use OVNKubernetes");
    }
    if kind == "OpenShiftSDN" && on.cluster.is_single_node() {
        return Verdict::fail("OpenShiftSDN does not run on a single node; use OVNKubernetes");
    }
    if kind == "OVNKubernetes" && networks::dhcp_vips(on.cluster) {
        return Verdict::fail(
            "OVNKubernetes cannot take virtual addresses from DHCP; set them yourself",
        );
    }
    Verdict::pass("The network type fits the cluster")
}

/// The three kinds of ranges, or why they cannot be compared.
fn all_ranges(on: &ClusterContext<'_>) -> Result<[Vec<IpNet>; 3], Verdict> {
    let read = |ranges: Result<Vec<IpNet>, networks::BadRange>| {
        ranges.map_err(|fault| Verdict::broken(fault.to_string()))
    };
    let pods = read(networks::pods(on.cluster))?;
    let service = read(networks::service(on.cluster))?;
    let machine = read(networks::machine(on.cluster))?;
    if pods.is_empty() || service.is_empty() || (on.needs_machine_network() && machine.is_empty()) {
        return Err(Verdict::wait("Not all networks are set yet"));
    }
    Ok([pods, service, machine])
}

pub(super) fn same_families(on: &ClusterContext<'_>) -> Verdict {
    let [pods, service, machine] = match all_ranges(on) {
        Ok(ranges) => ranges,
        Err(verdict) => return verdict,
    };
    let sorted = |nets: &[IpNet]| {
        let mut kinds = networks::families(nets);
        kinds.sort_unstable();
        kinds
    };
    let distinct = |nets: &[IpNet]| {
        let mut kinds = sorted(nets);
        kinds.dedup();
        kinds
    };
    if sorted(&service) != distinct(&pods) {
        return Verdict::fail("Networks of pods and services must use the same address families");
    }
    if on.needs_machine_network() && distinct(&machine) != sorted(&service) {
        return Verdict::fail(
            "The machine network must use the same address families as the services",
        );
    }
    Verdict::pass("All networks use the same address families")
}

pub(super) fn no_overlap(on: &ClusterContext<'_>) -> Verdict {
    let [pods, service, machine] = match all_ranges(on) {
        Ok(ranges) => ranges,
        Err(verdict) => return verdict,
    };
    if pods.len() != service.len() {
        return Verdict::broken(format!(
            "{} networks for pods, but {} for services",
            pods.len(),
            service.len()
        ));
    }
    let machine = if on.needs_machine_network() {
        machine
    } else {
        Vec::new()
    };
    let kinds = pods
        .iter()
        .map(|net| ("pods", net))
        .chain(service.iter().map(|net| ("services", net)))
        .chain(machine.iter().map(|net| ("machines", net)));
    let all: Vec<(&str, &IpNet)> = kinds.collect();
    for (i, (kind, net)) in all.iter().enumerate() {
        for (other, theirs) in &all[i + 1..] {
            if kind != other && networks::overlap(net, theirs) {
                return Verdict::fail(format!(
                    "Networks of {kind} ({net}) and {other} ({theirs}) overlap; move one of them"
                ));
            }
        }
    }
    Verdict::pass("No networks overlap")
}
