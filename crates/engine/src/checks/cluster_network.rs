//! Cluster validations about its address ranges and network plugin.

use ipnet::IpNet;

use super::{CheckResult, cluster::ClusterContext};
use crate::networks;

pub(super) fn cluster_cidr_defined(on: &ClusterContext<'_>) -> CheckResult {
    if networks::has_pods(on.cluster) {
        CheckResult::pass("The cluster network is set")
    } else {
        CheckResult::fail("The cluster network is not set; set cluster_networks")
    }
}

pub(super) fn service_cidr_defined(on: &ClusterContext<'_>) -> CheckResult {
    if networks::has_service(on.cluster) {
        CheckResult::pass("The service network is set")
    } else {
        CheckResult::fail("The service network is not set; set service_networks")
    }
}

pub(super) fn machine_cidr_defined(on: &ClusterContext<'_>) -> CheckResult {
    if !on.needs_machine_network() {
        return CheckResult::pass("No machine network is needed: the user manages the network");
    }
    if networks::has_machine(on.cluster) {
        return CheckResult::pass("The machine network is set");
    }
    if !on.has_inventory() {
        return CheckResult::wait(
            "The machine network is derived from the hosts, and none has sent an inventory yet",
        );
    }
    let advice = if networks::dhcp_vips(on.cluster) || on.cluster.is_single_node() {
        "there are several host networks, set machine_networks to the one to use"
    } else if networks::user_load_balancer(on.cluster) || on.ranges.are_dual_stack() {
        "set machine_networks"
    } else {
        "set the virtual addresses, it is derived from them"
    };
    CheckResult::fail(format!("The machine network is not known; {advice}"))
}

pub(super) fn network_prefix_valid(on: &ClusterContext<'_>) -> CheckResult {
    if !networks::has_pods(on.cluster) {
        return CheckResult::wait("The cluster network is not set yet");
    }
    let plugin = networks::network_type(on.cluster);
    let uses_prefix = matches!(plugin.as_str(), "OVNKubernetes" | "OpenShiftSDN");
    for network in on.cluster.networks.cluster.iter().flatten() {
        let Ok(range) = network.cidr.parse::<IpNet>() else {
            return CheckResult::fail(format!(
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
            return CheckResult::fail(format!(
                "Host prefix {prefix} of {range} must be between 1 and {}",
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
            return CheckResult::fail(format!(
                "{range} has room for {} hosts with prefix {prefix}, {needed} are needed; widen the range or raise the prefix",
                1_u64 << shares
            ));
        }
    }
    CheckResult::pass("The cluster network has a subnet for every host")
}

pub(super) fn network_type_valid(on: &ClusterContext<'_>) -> CheckResult {
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
        return CheckResult::fail(format!(
            "{kind:?} is not a network type; use one of {}",
            KNOWN.join(", ")
        ));
    }
    let ranges = [&on.ranges.pods, &on.ranges.service, &on.ranges.machine];
    let has_v6 = ranges
        .into_iter()
        .flatten()
        .flatten()
        .any(|net| matches!(net, IpNet::V6(_)));
    if kind == "OpenShiftSDN" && has_v6 {
        return CheckResult::fail("OpenShiftSDN does not support IPv6; use OVNKubernetes");
    }
    if kind == "OpenShiftSDN" && on.cluster.is_single_node() {
        return CheckResult::fail("OpenShiftSDN does not run on a single node; use OVNKubernetes");
    }
    if kind == "OVNKubernetes" && networks::dhcp_vips(on.cluster) {
        return CheckResult::fail(
            "OVNKubernetes does not support virtual addresses from DHCP; set them explicitly",
        );
    }
    CheckResult::pass("The network type fits the cluster")
}

/// The ranges of pods, services and, where they matter, machines; or why they cannot be
/// compared.
fn all_ranges<'a>(on: &ClusterContext<'a>) -> Result<[&'a [IpNet]; 3], CheckResult> {
    let missing: Vec<&str> = [
        ("pods", networks::has_pods(on.cluster)),
        ("services", networks::has_service(on.cluster)),
        (
            "machines",
            networks::has_machine(on.cluster) || !on.needs_machine_network(),
        ),
    ]
    .into_iter()
    .filter(|(_, there)| !there)
    .map(|(name, _)| name)
    .collect();
    if !missing.is_empty() {
        return Err(CheckResult::wait(format!(
            "Not all networks are set yet: {} missing",
            missing.join(", ")
        )));
    }
    let machine = if on.needs_machine_network() {
        on.ranges.machine.as_deref()
    } else {
        Ok(&[][..])
    };
    let read = |list: Result<&'a [IpNet], &networks::BadRange>| {
        list.map_err(|fault| CheckResult::broken(format!("{fault}; correct it")))
    };
    Ok([
        read(on.ranges.pods.as_deref())?,
        read(on.ranges.service.as_deref())?,
        read(machine)?,
    ])
}

pub(super) fn same_families(on: &ClusterContext<'_>) -> CheckResult {
    let [pods, service, machine] = match all_ranges(on) {
        Ok(ranges) => ranges,
        Err(result) => return result,
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
    let named = |kinds: &[bool]| {
        let names: Vec<&str> = kinds
            .iter()
            .map(|v6| if *v6 { "IPv6" } else { "IPv4" })
            .collect();
        names.join(" and ")
    };
    let (of_pods, of_services, of_machines) = (distinct(pods), sorted(service), distinct(machine));
    if of_services != of_pods {
        return CheckResult::fail(format!(
            "Cluster networks are {}, service networks {}; use the same address families, each once among the service networks",
            named(&of_pods),
            named(&of_services)
        ));
    }
    if on.needs_machine_network() && of_machines != of_services {
        return CheckResult::fail(format!(
            "Machine networks are {}, service networks {}; use the same address families",
            named(&of_machines),
            named(&of_services)
        ));
    }
    CheckResult::pass("All networks use the same address families")
}

pub(super) fn no_overlap(on: &ClusterContext<'_>) -> CheckResult {
    let [pods, service, machine] = match all_ranges(on) {
        Ok(ranges) => ranges,
        Err(result) => return result,
    };
    if pods.len() != service.len() {
        return CheckResult::broken(format!(
            "{} cluster networks, but {} service networks; set the same number of each",
            pods.len(),
            service.len()
        ));
    }
    let kinds = pods
        .iter()
        .map(|net| ("pods", net))
        .chain(service.iter().map(|net| ("services", net)))
        .chain(machine.iter().map(|net| ("machines", net)));
    let all: Vec<(&str, &IpNet)> = kinds.collect();
    for (i, (kind, net)) in all.iter().enumerate() {
        for (other, theirs) in &all[i + 1..] {
            if kind != other && networks::overlap(net, theirs) {
                return CheckResult::fail(format!(
                    "Networks of {kind} ({net}) and {other} ({theirs}) overlap; move one of them"
                ));
            }
        }
    }
    CheckResult::pass("No networks overlap")
}
