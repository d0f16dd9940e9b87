//! Cluster validations about its virtual addresses and the machine network they lie in.

use ipnet::IpNet;
use muster_model::Vip;

use super::{Outcome, Verdict, cluster::ClusterContext, cluster_network::machine_cidr_defined};
use crate::{
    networks,
    vips::{self, Standing},
};

fn vips_defined(on: &ClusterContext<'_>, list: &Option<Vec<Vip>>, kind: &str) -> Verdict {
    if !on.needs_vips() {
        return Verdict::pass(format!("No virtual address for {kind} is needed"));
    }
    if !networks::vips(list).is_empty() {
        return Verdict::pass(format!("The virtual address for {kind} is set"));
    }
    if networks::dhcp_vips(on.cluster) {
        let known = machine_cidr_defined(on).outcome == Outcome::Success;
        return if known {
            Verdict::fail(format!(
                "No DHCP lease for the {kind} address yet; check the DHCP server"
            ))
        } else {
            Verdict::wait("The machine network is not known yet")
        };
    }
    Verdict::fail(format!(
        "The virtual address for {kind} is not set; choose a free one in the hosts' network"
    ))
}

pub(super) fn api_vips_defined(on: &ClusterContext<'_>) -> Verdict {
    vips_defined(on, &on.cluster.api_vips, "API")
}

pub(super) fn ingress_vips_defined(on: &ClusterContext<'_>) -> Verdict {
    vips_defined(on, &on.cluster.ingress_vips, "ingress")
}

fn vips_valid(on: &ClusterContext<'_>, list: &Option<Vec<Vip>>, kind: &str) -> Verdict {
    if !on.needs_vips() {
        return Verdict::pass(format!("No virtual address for {kind} is needed"));
    }
    let list = networks::vips(list);
    if list.is_empty() {
        return Verdict::wait(format!("The virtual address for {kind} is not set yet"));
    }
    let machine = match networks::machine(on.cluster) {
        Ok(machine) => machine,
        Err(fault) => return Verdict::broken(format!("Machine network: {fault}")),
    };
    if !on.has_inventory() || machine.is_empty() {
        return Verdict::wait("The machine network is not known yet");
    }
    let judge =
        |vip: &Vip, network: &IpNet, ask: bool| vips::standing(vip, network, ask, on.hosts.iter());
    let standings: Vec<(Standing, &Vip)> = if networks::user_load_balancer(on.cluster) {
        let inside = machine
            .iter()
            .any(|net| judge(&list[0], net, false) == Standing::Free);
        vec![(
            if inside {
                Standing::Free
            } else {
                Standing::Outside
            },
            &list[0],
        )]
    } else {
        list.iter()
            .enumerate()
            .map(|(i, vip)| {
                let network = machine.get(i);
                (
                    network.map_or(Standing::Unverified, |net| judge(vip, net, true)),
                    vip,
                )
            })
            .collect()
    };
    match standings
        .into_iter()
        .find(|(standing, _)| *standing != Standing::Free)
    {
        None => Verdict::pass(format!("The virtual address for {kind} is free")),
        Some((standing, vip)) => {
            let fault = match standing {
                Standing::Taken => "is used by another machine; choose a free one",
                Standing::Outside => "is outside the machine network; choose one inside",
                Standing::Broadcast => {
                    "is the broadcast address of the machine network; choose another"
                }
                Standing::Unverified | Standing::Free => {
                    "has not been looked at by the hosts yet; wait for their report"
                }
            };
            Verdict::fail(format!("Virtual address {} for {kind} {fault}", vip.ip))
        }
    }
}

pub(super) fn api_vips_valid(on: &ClusterContext<'_>) -> Verdict {
    vips_valid(on, &on.cluster.api_vips, "API")
}

pub(super) fn ingress_vips_valid(on: &ClusterContext<'_>) -> Verdict {
    vips_valid(on, &on.cluster.ingress_vips, "ingress")
}

pub(super) fn machine_cidr_as_calculated(on: &ClusterContext<'_>) -> Verdict {
    if networks::user_managed(on.cluster) || networks::user_load_balancer(on.cluster) {
        return Verdict::pass("The user decides about the machine network");
    }
    let api = networks::vips(&on.cluster.api_vips);
    let ingress = networks::vips(&on.cluster.ingress_vips);
    if api.is_empty() && ingress.is_empty() {
        return Verdict::wait("The virtual addresses are not set yet");
    }
    if !on.has_inventory() {
        return Verdict::wait("No host has sent its inventory yet");
    }
    let machine = match networks::machine(on.cluster) {
        Ok(machine) => machine,
        Err(fault) => return Verdict::fail(format!("Machine network: {fault}")),
    };
    let vips = if api.is_empty() { ingress } else { api };
    for (i, vip) in vips.iter().enumerate() {
        let Some(found) = networks::containing(vip.ip, on.inventories) else {
            return Verdict::fail(format!(
                "No host has a network that contains {}; choose an address in the hosts' network",
                vip.ip
            ));
        };
        if let Some(set) = machine.get(i)
            && *set != found
        {
            return Verdict::fail(format!(
                "The machine network is {set}, but {} belongs to {found}; correct one of them",
                vip.ip
            ));
        }
    }
    Verdict::pass("The machine network contains the virtual addresses")
}
