//! Which address a node shall go by where no virtual address says which network is the
//! cluster's (several nodes, user-managed networking).
//!
//! The address must be one that all other hosts reach, on a card with a default route. And the
//! networks of all choices must be told apart by every node: a network that one host chose may
//! not be another, unchosen network of some other host, or that node would guess wrong.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use ipnet::IpNet;
use muster_model::{Cluster, Host, HostId};

use crate::{
    inventory::Inventory,
    majority::Groups,
    networks::{self, Ranges},
    wire,
};

/// Comparisons of choices before the search is given up; a thousand hosts that need no going
/// back take half a million.
const BUDGET: usize = 5_000_000;

/// The choice for one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeIp {
    /// Its own address.
    pub ip: IpAddr,
    /// First address of its network; a node finds its own address by it.
    pub hint: IpAddr,
    /// The network.
    pub network: IpNet,
}

struct Node {
    id: HostId,
    /// Best route first.
    candidates: Vec<NodeIp>,
    networks: BTreeSet<IpNet>,
}

/// A choice for every host, or `None`: where it is not needed, where a host is not reached by
/// all others yet, or where no choice fits all.
#[must_use]
pub fn choose(cluster: &Cluster, hosts: &[&Host]) -> Option<BTreeMap<HostId, NodeIp>> {
    if !networks::user_managed(cluster) || cluster.is_single_node() || hosts.is_empty() {
        return None;
    }
    let groups: Groups = wire::stored(cluster.connectivity_majority_groups.as_deref()).ok()?;
    let ranges = Ranges::of(cluster);
    let lists = [&ranges.machine, &ranges.service, &ranges.pods];
    let configured: Vec<bool> = lists
        .into_iter()
        .flatten()
        .flat_map(|list| networks::families(list))
        .collect();
    let v6 = !configured.is_empty() && !configured.contains(&false);
    let mut nodes: Vec<Node> = hosts
        .iter()
        .map(|host| node(host, &groups, v6))
        .collect::<Option<_>>()?;
    nodes.sort_by_key(|node| node.id);
    let mut chosen = Vec::new();
    let mut budget = BUDGET;
    pick(&nodes, &mut chosen, &mut budget).then(|| {
        let ids = nodes.iter().map(|node| node.id);
        ids.zip(chosen).collect()
    })
}

fn node(host: &Host, groups: &Groups, v6: bool) -> Option<Node> {
    let inventory = Inventory::of(host).ok()?;
    let reached = groups.l3_connected_addresses.get(&host.id)?;
    let metric = |nic: &str| {
        let routes = inventory.routes.items().iter();
        let routes = routes.filter(|route| route.is_default() && route.interface == nic);
        let family = |gateway: &str| gateway.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6() == v6);
        routes
            .filter(|route| family(&route.gateway))
            .map(|route| route.metric)
            .min()
    };
    let mut candidates: Vec<(i64, NodeIp)> = inventory
        .addresses()
        .filter(|(_, address)| address.addr().is_ipv6() == v6)
        .filter(|(_, address)| reached.contains(&address.addr().to_string()))
        .filter_map(|(nic, address)| {
            let network = address.trunc();
            let choice = NodeIp {
                ip: address.addr(),
                hint: network.addr(),
                network,
            };
            Some((metric(&nic.name)?, choice))
        })
        .collect();
    candidates.sort_by_key(|(metric, _)| *metric);
    Some(Node {
        id: host.id,
        candidates: candidates.into_iter().map(|(_, choice)| choice).collect(),
        networks: inventory
            .addresses()
            .map(|(_, address)| address.trunc())
            .filter(|network| network.addr().is_ipv6() == v6)
            .collect(),
    })
}

/// Two hosts with these choices are never in doubt about each other's network.
fn agree(one: (&Node, &NodeIp), other: (&Node, &NodeIp)) -> bool {
    let clear = |(node, own): (&Node, &NodeIp), theirs: &NodeIp| {
        own.network == theirs.network || !node.networks.contains(&theirs.network)
    };
    clear(one, other.1) && clear(other, one.1)
}

/// Chooses for the hosts behind those already chosen for; goes back where nothing fits.
fn pick(nodes: &[Node], chosen: &mut Vec<NodeIp>, budget: &mut usize) -> bool {
    let Some(next) = nodes.get(chosen.len()) else {
        return true;
    };
    for candidate in &next.candidates {
        let Some(left) = budget.checked_sub(1 + chosen.len()) else {
            return false;
        };
        *budget = left;
        let fits = nodes
            .iter()
            .zip(chosen.iter())
            .all(|(node, theirs)| agree((next, candidate), (node, theirs)));
        if fits {
            chosen.push(*candidate);
            if pick(nodes, chosen, budget) {
                return true;
            }
            chosen.pop();
        }
    }
    false
}

#[cfg(test)]
mod tests;
