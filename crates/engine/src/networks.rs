//! Address ranges: parsing, overlap, families, and the machine network.

use std::{net::IpAddr, sync::Arc};

use ipnet::IpNet;
use muster_model::{Cluster, Vip};

use crate::{agent_json, inventory::Inventory};

/// A range that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an address range in CIDR form")]
pub(crate) struct BadRange(String);

fn parse(text: &str) -> Result<IpNet, BadRange> {
    text.parse::<IpNet>()
        .map(|net| net.trunc())
        .map_err(|_| BadRange(text.to_owned()))
}

fn parse_all<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<IpNet>, BadRange> {
    texts.filter(|text| !text.is_empty()).map(parse).collect()
}

pub(crate) fn machine(cluster: &Cluster) -> Result<Vec<IpNet>, BadRange> {
    parse_all(
        cluster
            .networks
            .machine
            .iter()
            .flatten()
            .map(String::as_str),
    )
}

pub(crate) fn service(cluster: &Cluster) -> Result<Vec<IpNet>, BadRange> {
    parse_all(
        cluster
            .networks
            .service
            .iter()
            .flatten()
            .map(String::as_str),
    )
}

pub(crate) fn pods(cluster: &Cluster) -> Result<Vec<IpNet>, BadRange> {
    let networks = cluster.networks.cluster.iter().flatten();
    parse_all(networks.map(|network| network.cidr.as_str()))
}

/// The ranges of a cluster, read once; a list with an unreadable range is a fault.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    pub(crate) machine: Result<Vec<IpNet>, BadRange>,
    pub(crate) service: Result<Vec<IpNet>, BadRange>,
    pub(crate) pods: Result<Vec<IpNet>, BadRange>,
}

impl Ranges {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        Self {
            machine: machine(cluster),
            service: service(cluster),
            pods: pods(cluster),
        }
    }

    /// Some list holds both families.
    pub(crate) fn are_dual_stack(&self) -> bool {
        let lists = [&self.machine, &self.service, &self.pods];
        lists.into_iter().flatten().any(|list| {
            let kinds = families(list);
            kinds.contains(&true) && kinds.contains(&false)
        })
    }
}

/// The machine network is given, readable or not.
pub(crate) fn has_machine(cluster: &Cluster) -> bool {
    let mut list = cluster.networks.machine.iter().flatten();
    list.any(|network| !network.is_empty())
}

/// The network of the services is given.
pub(crate) fn has_service(cluster: &Cluster) -> bool {
    let mut list = cluster.networks.service.iter().flatten();
    list.any(|network| !network.is_empty())
}

/// The network of the pods is given, in part at least.
pub(crate) fn has_pods(cluster: &Cluster) -> bool {
    let mut list = cluster.networks.cluster.iter().flatten();
    list.any(|network| !network.cidr.is_empty() || network.host_prefix != 0)
}

/// The network plugin that will run: the user's override of the install-config wins.
pub(crate) fn network_type(cluster: &Cluster) -> String {
    let overrides = cluster.install_config_overrides.as_deref();
    let overrides: Option<serde_json::Value> = agent_json::stored(overrides).ok();
    let forced = overrides
        .as_ref()
        .and_then(|text| text.pointer("/networking/networkType"))
        .and_then(serde_json::Value::as_str)
        .filter(|kind| !kind.is_empty());
    let chosen = forced.or(cluster.network_type.as_deref());
    chosen.unwrap_or_default().to_owned()
}

/// Either contains the other's first address.
pub(crate) fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

/// Families in order of appearance; true means IPv6.
pub(crate) fn families(networks: &[IpNet]) -> Vec<bool> {
    networks
        .iter()
        .map(|net| matches!(net, IpNet::V6(_)))
        .collect()
}

/// The user brings DNS and load balancing.
pub(crate) fn user_managed(cluster: &Cluster) -> bool {
    cluster.user_managed_networking == Some(true)
}

/// The user brings the load balancer only.
pub(crate) fn user_load_balancer(cluster: &Cluster) -> bool {
    cluster.load_balancer.as_deref() == Some("user-managed")
}

/// VIPs are leased.
pub(crate) fn dhcp_vips(cluster: &Cluster) -> bool {
    cluster.vip_dhcp_allocation == Some(true)
}

pub(crate) fn vips(list: &Option<Vec<Vip>>) -> &[Vip] {
    list.as_deref().unwrap_or_default()
}

/// The first network of any host that contains `vip`.
pub(crate) fn containing(vip: IpAddr, inventories: &[Option<Arc<Inventory>>]) -> Option<IpNet> {
    inventories
        .iter()
        .flatten()
        .flat_map(|inventory| inventory.addresses())
        .map(|(_, address)| address.trunc())
        .find(|network| network.contains(&vip))
}

/// The machine networks the service would set, or `None` to leave them as they are.
pub(crate) fn automatic(
    cluster: &Cluster,
    inventories: &[Option<Arc<Inventory>>],
) -> Option<Vec<String>> {
    let present = cluster.networks.machine.as_deref().unwrap_or_default();
    let wanted = if dhcp_vips(cluster) {
        only_network(inventories)?
    } else if cluster.is_single_node() {
        if !present.is_empty() {
            return None;
        }
        single_node(cluster, inventories)?
    } else if user_managed(cluster) || user_load_balancer(cluster) {
        return None;
    } else {
        from_vips(cluster, present, inventories)?
    };
    (wanted != present).then_some(wanted)
}

/// Empties machine networks that followed from virtual addresses and hosts. For a cluster whose
/// last host has left: the next hosts may live elsewhere. What users set themselves stays.
/// Returns whether anything changed.
pub fn forget_derived_machine_networks(cluster: &mut Cluster) -> bool {
    let derived = cluster.status.accepts_changes()
        && !cluster.is_day2()
        && !cluster.is_single_node()
        && !user_managed(cluster)
        && !user_load_balancer(cluster)
        && !dhcp_vips(cluster)
        && !Ranges::of(cluster).are_dual_stack();
    let known = cluster.networks.machine.as_mut();
    match known.filter(|list| derived && !list.is_empty()) {
        Some(list) => {
            list.clear();
            true
        }
        None => false,
    }
}

fn all_networks(inventories: &[Option<Arc<Inventory>>]) -> Vec<IpNet> {
    let mut networks: Vec<IpNet> = inventories
        .iter()
        .flatten()
        .flat_map(|inventory| inventory.addresses())
        .map(|(_, address)| address.trunc())
        .collect();
    networks.sort();
    networks.dedup();
    networks
}

fn only_network(inventories: &[Option<Arc<Inventory>>]) -> Option<Vec<String>> {
    match all_networks(inventories).as_slice() {
        [only] => Some(vec![only.to_string()]),
        _ => None,
    }
}

/// One network per family the cluster uses; among several the one with the default gateway.
fn single_node(cluster: &Cluster, inventories: &[Option<Arc<Inventory>>]) -> Option<Vec<String>> {
    let wanted = families(&service(cluster).ok()?);
    let mut used = families(&pods(cluster).ok()?);
    used.sort_unstable();
    used.dedup();
    let mut sorted = wanted.clone();
    sorted.sort_unstable();
    if used != sorted {
        return None;
    }
    let host = inventories.iter().flatten().next()?;
    let networks = all_networks(inventories);
    let of_family = |v6: bool| {
        let fitting: Vec<&IpNet> = networks
            .iter()
            .filter(|net| matches!(net, IpNet::V6(_)) == v6)
            .collect();
        match fitting.as_slice() {
            [] => None,
            [only] => Some(only.to_string()),
            several => {
                let gateway = host.default_gateway(v6)?;
                let reached = several.iter().find(|net| net.contains(&gateway));
                reached.map(ToString::to_string)
            }
        }
    };
    // The primary family comes first, as it does among the services.
    wanted.into_iter().map(of_family).collect()
}

fn from_vips(
    cluster: &Cluster,
    present: &[String],
    inventories: &[Option<Arc<Inventory>>],
) -> Option<Vec<String>> {
    let (api, ingress) = (vips(&cluster.api_vips), vips(&cluster.ingress_vips));
    let nth = |n: usize| {
        let vip = api.get(n).or_else(|| ingress.get(n))?;
        containing(vip.ip, inventories).map(|net| net.to_string())
    };
    let (first, second) = (nth(0), nth(1));
    if first.is_none() && (second.is_none() || Ranges::of(cluster).are_dual_stack()) {
        return None;
    }
    // A second network that no VIP speaks of was set by the user and stays.
    let second = second.or_else(|| present.get(1).cloned());
    Some(first.into_iter().chain(second).collect())
}

#[cfg(test)]
mod tests;
