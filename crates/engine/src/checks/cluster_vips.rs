//! Cluster validations of virtual addresses and their machine network.

use ipnet::IpNet;
use muster_model::Vip;

use super::{CheckResult, Outcome, cluster::ClusterContext, cluster_network::machine_cidr_defined};
use crate::{leases, networks, vips::Standing};

/// Hosts named in one message; the others are counted.
const MOST_NAMES: usize = 3;

fn vips_defined(on: &ClusterContext<'_>, list: &Option<Vec<Vip>>, kind: &str) -> CheckResult {
    if !on.needs_vips() {
        return CheckResult::pass(format!("No virtual address for {kind} is needed"));
    }
    let list = networks::vips(list);
    if !list.is_empty() {
        return CheckResult::pass(format!(
            "The virtual address for {kind} is set: {}",
            addresses(list)
        ));
    }
    if !networks::dhcp_vips(on.cluster) {
        return CheckResult::fail(format!(
            "The virtual address for {kind} is not set; choose a free one in the hosts' network"
        ));
    }
    if machine_cidr_defined(on).outcome != Outcome::Success {
        CheckResult::wait(format!(
            "The virtual address for {kind} is leased by DHCP once the machine network is known"
        ))
    } else if leases::are_overdue(on.cluster, on.settings, on.now) {
        CheckResult::fail(format!(
            "No DHCP lease for the {kind} address came within {} minutes; check that the DHCP server answers in the machine network",
            on.settings.timeouts.vip_lease.as_secs() / 60
        ))
    } else {
        CheckResult::fail(format!(
            "No DHCP lease for the {kind} address yet; the hosts are requesting one"
        ))
    }
}

fn addresses(list: &[Vip]) -> String {
    let texts: Vec<String> = list.iter().map(|vip| vip.ip.to_string()).collect();
    texts.join(", ")
}

pub(super) fn api_vips_defined(on: &ClusterContext<'_>) -> CheckResult {
    vips_defined(on, &on.cluster.api_vips, "API")
}

pub(super) fn ingress_vips_defined(on: &ClusterContext<'_>) -> CheckResult {
    vips_defined(on, &on.cluster.ingress_vips, "ingress")
}

fn vips_valid(on: &ClusterContext<'_>, list: &Option<Vec<Vip>>, kind: &str) -> CheckResult {
    if !on.needs_vips() {
        return CheckResult::pass(format!("No virtual address for {kind} is needed"));
    }
    let list = networks::vips(list);
    if list.is_empty() {
        return CheckResult::wait(format!("The virtual address for {kind} is not set yet"));
    }
    if !on.has_inventory() || machine_cidr_defined(on).outcome != Outcome::Success {
        return CheckResult::wait("The machine network is not known yet");
    }
    let machine = match &on.ranges.machine {
        Ok(machine) => machine,
        Err(fault) => {
            return CheckResult::fail(format!("Machine network: {fault}; correct it"));
        }
    };
    let faults: Vec<String> = if networks::user_load_balancer(on.cluster) {
        let vip = &list[0];
        let inside = behind_load_balancer(on, vip, machine);
        fault(&inside, vip, machine, kind).into_iter().collect()
    } else {
        list.iter()
            .enumerate()
            .filter_map(|(i, vip)| {
                let network = machine.get(i);
                let standing = network.map_or(Standing::Unverified, |network| {
                    on.evidence.standing(vip, network, true)
                });
                fault(&standing, vip, network.as_slice(), kind)
            })
            .collect()
    };
    if faults.is_empty() {
        CheckResult::pass(format!(
            "The virtual address for {kind} can be used: {}",
            addresses(list)
        ))
    } else {
        CheckResult::fail(faults.join("; "))
    }
}

/// The user's load balancer answers there, so the hosts do not probe whether the address is free;
/// any machine network will do.
fn behind_load_balancer(on: &ClusterContext<'_>, vip: &Vip, machine: &[IpNet]) -> Standing {
    let mut standings: Vec<Standing> = machine
        .iter()
        .map(|network| on.evidence.standing(vip, network, false))
        .collect();
    standings.sort_by_key(|standing| match standing {
        Standing::Free => 0,
        Standing::Broadcast => 1,
        Standing::Outside | Standing::Taken(_) | Standing::Unverified => 2,
    });
    standings.into_iter().next().unwrap_or(Standing::Outside)
}

/// Why an address cannot be used, if so.
fn fault<N: std::borrow::Borrow<IpNet>>(
    standing: &Standing,
    vip: &Vip,
    machine: &[N],
    kind: &str,
) -> Option<String> {
    let range: Vec<String> = machine.iter().map(|net| net.borrow().to_string()).collect();
    let range = range.join(", ");
    let why = match standing {
        Standing::Free => return None,
        Standing::Taken(by) if by.is_empty() => {
            "is used by another machine; choose a free one".to_owned()
        }
        Standing::Taken(by) => format!(
            "is used by another machine, as seen by {}; choose a free one",
            names(by)
        ),
        Standing::Outside => {
            format!("is outside the machine network {range}; choose one inside it")
        }
        Standing::Broadcast => {
            format!("is the broadcast address of the machine network {range}; choose another")
        }
        Standing::Unverified if machine.is_empty() => {
            "has no machine network; set one for each address".to_owned()
        }
        Standing::Unverified => {
            "has not been checked by the hosts yet; wait for their report".to_owned()
        }
    };
    Some(format!("Virtual address {} for {kind} {why}", vip.ip))
}

fn names(hosts: &[String]) -> String {
    let named = hosts[..hosts.len().min(MOST_NAMES)].join(", ");
    match hosts.len().saturating_sub(MOST_NAMES) {
        0 => named,
        others => format!("{named} and {others} more"),
    }
}

pub(super) fn api_vips_valid(on: &ClusterContext<'_>) -> CheckResult {
    vips_valid(on, &on.cluster.api_vips, "API")
}

pub(super) fn ingress_vips_valid(on: &ClusterContext<'_>) -> CheckResult {
    vips_valid(on, &on.cluster.ingress_vips, "ingress")
}

pub(super) fn machine_cidr_as_calculated(on: &ClusterContext<'_>) -> CheckResult {
    if networks::user_managed(on.cluster) || networks::user_load_balancer(on.cluster) {
        return CheckResult::pass("The user manages the machine network");
    }
    let api = networks::vips(&on.cluster.api_vips);
    let ingress = networks::vips(&on.cluster.ingress_vips);
    if api.is_empty() && ingress.is_empty() {
        return CheckResult::wait("The virtual addresses are not set yet");
    }
    if !on.has_inventory() {
        return CheckResult::wait("No host has sent its inventory yet");
    }
    let faults: Vec<String> = (0..api.len().max(ingress.len()))
        .filter_map(|i| {
            let vip = api.get(i).or_else(|| ingress.get(i))?;
            misplaced(on, i, vip)
        })
        .collect();
    if faults.is_empty() {
        CheckResult::pass(
            "The machine network is the host network that contains the virtual addresses",
        )
    } else {
        CheckResult::fail(faults.join("; "))
    }
}

/// Why the machine network does not follow from an address, if so.
fn misplaced(on: &ClusterContext<'_>, index: usize, vip: &Vip) -> Option<String> {
    let Some(found) = networks::containing(vip.ip, on.inventories) else {
        return Some(format!(
            "No host has a network that contains {}; choose an address in the hosts' network",
            vip.ip
        ));
    };
    if !networks::has_machine(on.cluster) {
        return None;
    }
    let list = on.cluster.networks.machine.as_deref().unwrap_or_default();
    let set = list.get(index).map_or("", String::as_str);
    match set.parse::<IpNet>() {
        Ok(network) if network.trunc() == found => None,
        Ok(network) => Some(format!(
            "The machine network is {network}, but {} belongs to {found}; correct one of them",
            vip.ip
        )),
        Err(_) if set.is_empty() => Some(format!(
            "{} belongs to {found}, which is not among the machine networks; add it",
            vip.ip
        )),
        Err(_) => Some(format!(
            "The machine network {set:?} is not an address range in CIDR form; set {found}"
        )),
    }
}
