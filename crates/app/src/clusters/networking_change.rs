//! Changing the network of a cluster: platform, ranges, virtual addresses.
//!
//! These settings lean on each other, so they are changed together and in this order: who
//! manages the network, whether DHCP hands out addresses, the ranges, the addresses.

use ipnet::IpNet;
use muster_api::wire;
use muster_model::{Cluster, Host, Vip};

use super::{
    dual_stack, machine_network,
    networks::{self, HostBits, MachineRange},
    platforms::{self, Choice, Ground, PlatformRequest},
    vips::{self, Pairs},
};
use crate::Invalid;

/// Takes over the members of the request that are about the network, and checks the result.
/// `ipv6_alone` says whether the service has clusters without IPv4.
pub fn apply(
    cluster: &mut Cluster,
    hosts: &[Host],
    request: &wire::V2ClusterUpdateParams,
    ipv6_alone: bool,
) -> Result<(), Invalid> {
    let before = cluster.clone();
    change_platform(cluster, request)?;
    if let Some(kind) = request
        .load_balancer
        .as_ref()
        .and_then(|balancer| balancer.r#type.clone())
    {
        cluster.load_balancer = Some(kind);
    }
    change_network_type(cluster, request.network_type.as_deref())?;
    change_allocation(cluster, request)?;
    change_ranges(cluster, hosts.len(), request)?;
    change_vips(cluster, request)?;
    drop_second_family(cluster, request);
    let version = cluster.openshift_version.parse().ok();
    if cluster.networks != before.networks || !same_vips(cluster, &before) {
        // A new cluster may have addresses of both families before its ranges; a change may not.
        if dual_stack::is_dual_stack(&before.networks) || !same_vips(cluster, &before) {
            check_second_vips(cluster)?;
        }
        let named = dual_stack::Named {
            pods: request.cluster_networks.is_some(),
            services: request.service_networks.is_some(),
            machines: request.machine_networks.is_some(),
            vips: request.api_vips.is_some() || request.ingress_vips.is_some(),
        };
        dual_stack::check(cluster, version.as_ref(), named)?;
        dual_stack::check_allowed(cluster, ipv6_alone)?;
    }
    if cluster.networks != before.networks
        || cluster.user_managed_networking != before.user_managed_networking
    {
        networks::check_overlap(
            &cluster.networks,
            cluster.user_managed_networking == Some(true),
        )?;
    }
    place_vips(cluster, hosts, &before)
}

fn change_platform(
    cluster: &mut Cluster,
    request: &wire::V2ClusterUpdateParams,
) -> Result<(), Invalid> {
    let wanted = PlatformRequest::read(
        request.platform.as_ref(),
        request.user_managed_networking,
        cluster.platform.as_ref(),
    )?;
    let ground = Ground::new(cluster.control_plane_count, cluster.arch());
    let choice = match &cluster.platform {
        _ if wanted == PlatformRequest::default() => None,
        Some(platform) => {
            let stored = Choice {
                platform: platform.clone(),
                user_managed: cluster.user_managed_networking,
            };
            platforms::change(&stored, wanted, ground)?
        }
        None => Some(platforms::choose(wanted, ground)?),
    };
    let Some(choice) = choice else { return Ok(()) };
    let manages_now = choice.user_managed == Some(true);
    if manages_now != (cluster.user_managed_networking == Some(true)) {
        clear(&mut cluster.networks.machine);
    }
    cluster.platform = Some(choice.platform);
    cluster.user_managed_networking = choice.user_managed;
    Ok(())
}

/// Single nodes never ran on the old network plugin.
pub fn check_network_type(network_type: Option<&str>, single_node: bool) -> Result<(), Invalid> {
    if single_node && network_type == Some("OpenShiftSDN") {
        return Err("a single node cannot use network_type OpenShiftSDN; use OVNKubernetes".into());
    }
    Ok(())
}

fn change_network_type(cluster: &mut Cluster, wanted: Option<&str>) -> Result<(), Invalid> {
    if let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) {
        check_network_type(Some(wanted), cluster.is_single_node())?;
        cluster.network_type = Some(wanted.to_owned());
    }
    Ok(())
}

/// Who hands out the virtual addresses: the user's own network knows none, DHCP leases them.
fn change_allocation(
    cluster: &mut Cluster,
    request: &wire::V2ClusterUpdateParams,
) -> Result<(), Invalid> {
    if cluster.user_managed_networking == Some(true) {
        if request.vip_dhcp_allocation == Some(true) {
            return Err(
                "vip_dhcp_allocation cannot be combined with user_managed_networking".into(),
            );
        }
        clear(&mut cluster.api_vips);
        clear(&mut cluster.ingress_vips);
        cluster.vip_dhcp_allocation = cluster.vip_dhcp_allocation.map(|_| false);
        return Ok(());
    }
    let Some(wanted) = request.vip_dhcp_allocation else {
        return Ok(());
    };
    if wanted != cluster.vip_dhcp_allocation.unwrap_or(false) {
        clear(&mut cluster.api_vips);
        clear(&mut cluster.ingress_vips);
        clear(&mut cluster.networks.machine);
    }
    cluster.vip_dhcp_allocation = Some(wanted);
    Ok(())
}

fn change_ranges(
    cluster: &mut Cluster,
    hosts: usize,
    request: &wire::V2ClusterUpdateParams,
) -> Result<(), Invalid> {
    if let Some(list) = &request.cluster_networks {
        let wanted = networks::pods(list, HostBits::Refuse)?;
        if cluster.networks.cluster.as_ref() != Some(&wanted) {
            networks::check_pods(&wanted, hosts)?;
            cluster.networks.cluster = Some(wanted);
        }
    }
    if let Some(list) = &request.service_networks {
        let wanted = networks::services(list, HostBits::Refuse)?;
        if cluster.networks.service.as_ref() != Some(&wanted) {
            networks::check_services(&wanted)?;
            cluster.networks.service = Some(wanted);
        }
    }
    let Some(list) = &request.machine_networks else {
        return Ok(());
    };
    let wanted = networks::machines(list, HostBits::Refuse)?;
    if cluster.networks.machine.as_ref() == Some(&wanted) {
        return Ok(());
    }
    change_machines(cluster, wanted)
}

fn change_machines(cluster: &mut Cluster, wanted: Vec<String>) -> Result<(), Invalid> {
    let user_balancer = vips::is_user_balanced(cluster);
    let leased = cluster.vip_dhcp_allocation == Some(true);
    let range = match (cluster.is_single_node(), user_balancer) {
        (true, _) => MachineRange::SingleNode,
        (false, true) => MachineRange::UserLoadBalancer,
        (false, false) => MachineRange::ManyNodes,
    };
    networks::check_machines(&wanted, range)?;
    let leads_with_v6 = wanted.first().is_some_and(|text| {
        text.parse::<IpNet>()
            .is_ok_and(|range| range.addr().is_ipv6())
    });
    if leased && leads_with_v6 {
        return Err("machine_networks begins with an IPv6 range, but with vip_dhcp_allocation the addresses are leased by DHCP for IPv4; put an IPv4 range first or switch vip_dhcp_allocation off".into());
    }
    let first_changed = cluster
        .networks
        .machine
        .as_ref()
        .and_then(|list| list.first())
        != wanted.first();
    let several = wanted.len() > 1;
    let empty = wanted.is_empty();
    cluster.networks.machine = Some(wanted);
    let dual = dual_stack::is_dual_stack(&cluster.networks);
    if !(empty || dual || leased || user_balancer || cluster.user_managed_networking == Some(true))
    {
        return Err("machine_networks is found from the virtual addresses and the hosts' interfaces in this cluster, so it cannot \
                    be set; give api_vips and ingress_vips instead"
            .into());
    }
    if several && !dual && !user_balancer {
        return Err("several machine_networks are possible in dual-stack clusters or with a user-managed load_balancer only".into());
    }
    if leased && first_changed {
        clear(&mut cluster.api_vips);
        clear(&mut cluster.ingress_vips);
    }
    Ok(())
}

fn change_vips(
    cluster: &mut Cluster,
    request: &wire::V2ClusterUpdateParams,
) -> Result<(), Invalid> {
    if request.api_vips.is_none() && request.ingress_vips.is_none() {
        return Ok(());
    }
    if let Some(list) = &request.api_vips {
        let known = cluster.api_vips.clone().unwrap_or_default();
        cluster.api_vips = Some(vips::read(
            "api_vips",
            list.iter().map(|vip| vip.ip.as_deref()),
            &known,
        )?);
    }
    if let Some(list) = &request.ingress_vips {
        let known = cluster.ingress_vips.clone().unwrap_or_default();
        cluster.ingress_vips = Some(vips::read(
            "ingress_vips",
            list.iter().map(|vip| vip.ip.as_deref()),
            &known,
        )?);
    }
    vips::check_manager(cluster)?;
    vips::check(cluster, Pairs::WhenBothAreSet)
}

/// A cluster that goes back to one family keeps no range of the other among its machines.
fn drop_second_family(cluster: &mut Cluster, request: &wire::V2ClusterUpdateParams) {
    let narrowed = request.cluster_networks.is_some() || request.service_networks.is_some();
    if !narrowed || request.machine_networks.is_some() {
        return;
    }
    let mut others = cluster.networks.clone();
    others.machine = None;
    if dual_stack::is_dual_stack(&others) {
        return;
    }
    let Some(v6) = networks::ranges(others.service.as_deref())
        .first()
        .map(|range| range.addr().is_ipv6())
    else {
        return;
    };
    if let Some(machines) = &mut cluster.networks.machine {
        machines.retain(|text| {
            text.parse::<IpNet>()
                .is_ok_and(|range| range.addr().is_ipv6() == v6)
        });
    }
}

/// A second address of a kind belongs to the second family.
fn check_second_vips(cluster: &Cluster) -> Result<(), Invalid> {
    let most = cluster
        .api_vips
        .iter()
        .chain(&cluster.ingress_vips)
        .map(Vec::len)
        .max()
        .unwrap_or(0);
    if most > 1 && !dual_stack::is_dual_stack(&cluster.networks) {
        return Err("two addresses in api_vips or ingress_vips need a dual-stack cluster; give ranges of both families as well".into());
    }
    Ok(())
}

/// Addresses that changed must lie among the machines. In a plain cluster they define where
/// that is; elsewhere the user said so.
fn place_vips(cluster: &mut Cluster, hosts: &[Host], before: &Cluster) -> Result<(), Invalid> {
    let unchanged = same_vips(cluster, before);
    let by_user = dual_stack::is_dual_stack(&cluster.networks) || vips::is_user_balanced(cluster);
    if by_user {
        if unchanged && cluster.networks.machine == before.networks.machine {
            return Ok(());
        }
        return vips::check_places(
            cluster,
            &networks::ranges(cluster.networks.machine.as_deref()),
        );
    }
    let computed =
        cluster.user_managed_networking != Some(true) && cluster.vip_dhcp_allocation != Some(true);
    if unchanged || !computed {
        return Ok(());
    }
    let Some(leader) = first(&cluster.api_vips)
        .or_else(|| first(&cluster.ingress_vips))
        .map(|vip| vip.ip)
    else {
        // What was found stays: the hosts have not moved.
        return Ok(());
    };
    let range = machine_network::holding(leader, hosts).ok_or_else(|| {
        format!(
            "no host has an interface in a network that holds {leader}, so the machine network cannot be found; choose virtual \
             addresses from the hosts' network, after the hosts have been discovered"
        )
    })?;
    vips::check_places(cluster, &[range])?;
    vips::check_free(cluster, range, hosts)?;
    cluster.networks.machine = Some(vec![range.to_string()]);
    Ok(())
}

fn first(vips: &Option<Vec<Vip>>) -> Option<&Vip> {
    vips.as_ref()?.first()
}

fn same_vips(one: &Cluster, other: &Cluster) -> bool {
    let addresses =
        |vips: &Option<Vec<Vip>>| vips.iter().flatten().map(|vip| vip.ip).collect::<Vec<_>>();
    addresses(&one.api_vips) == addresses(&other.api_vips)
        && addresses(&one.ingress_vips) == addresses(&other.ingress_vips)
}

/// Empties a list; one that was never set stays so.
fn clear<T>(list: &mut Option<Vec<T>>) {
    if let Some(list) = list {
        list.clear();
    }
}

#[cfg(test)]
#[path = "networking_change_tests.rs"]
mod tests;
