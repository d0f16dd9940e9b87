//! Which hosts can all reach each other, and which addresses are used twice.
//!
//! A group is a full mesh of at least three hosts (by id order, so that the answer is stable).
//! The search starts from each host's neighbourhood and shrinks the largest candidate until
//! every member vouches for all of it.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use muster_model::{Host, HostId};
use serde::{Deserialize, Serialize};

use crate::{
    inventory::Inventory,
    reports::{Connectivity, RemoteHost},
    wire,
};

/// Fewer hosts than this make no majority.
pub(crate) const MIN_GROUP: usize = 3;
/// Sets looked at before the search gives up; real networks need a handful.
const MAX_CANDIDATES: usize = 4096;

/// The stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Groups {
    pub(crate) majority_groups: BTreeMap<String, Vec<HostId>>,
    pub(crate) l3_connected_addresses: BTreeMap<HostId, Vec<String>>,
}

/// What each host says about the others.
pub(crate) struct Web<'a> {
    hosts: Vec<Node<'a>>,
}

struct Node<'a> {
    id: HostId,
    inventory: Option<&'a Inventory>,
    says: Connectivity,
}

impl<'a> Web<'a> {
    pub(crate) fn of(hosts: &'a [Host], inventories: &'a [Option<Inventory>]) -> Self {
        let mut hosts: Vec<Node<'a>> = hosts
            .iter()
            .zip(inventories)
            .map(|(host, inventory)| Node {
                id: host.id,
                inventory: inventory.as_ref(),
                says: wire::stored(host.reports.connectivity.as_deref())
                    .ok()
                    .unwrap_or_default(),
            })
            .collect();
        hosts.sort_by_key(|node| node.id);
        Self { hosts }
    }

    /// Groups per network seen on any host and per family.
    pub(crate) fn groups(&self) -> Groups {
        let mut networks: BTreeSet<IpNet> = BTreeSet::new();
        for node in &self.hosts {
            networks.extend(
                node.inventory
                    .iter()
                    .flat_map(|i| i.addresses())
                    .map(|(_, a)| a.trunc()),
            );
        }
        let mut majority_groups = BTreeMap::new();
        for network in networks {
            let group = self.largest_mesh(|_, remote, _| reaches_in(remote, &network));
            majority_groups.insert(network.to_string(), group);
        }
        for (name, v6) in [("IPv4", false), ("IPv6", true)] {
            let group = self.largest_mesh(|_, remote, peer| reaches_all(remote, peer, v6));
            majority_groups.insert(name.to_owned(), group);
        }
        Groups {
            majority_groups,
            l3_connected_addresses: self.addresses_all_others_reach(),
        }
    }

    fn largest_mesh(
        &self,
        edge: impl Fn(&Node<'_>, &RemoteHost, &Node<'_>) -> bool,
    ) -> Vec<HostId> {
        let index: BTreeMap<String, usize> = self
            .hosts
            .iter()
            .enumerate()
            .map(|(i, n)| (n.id.to_string(), i))
            .collect();
        let mut reach: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.hosts.len()];
        for (from, node) in self.hosts.iter().enumerate() {
            for remote in node.says.remote_hosts.items() {
                if let Some(&to) = index.get(&remote.host_id)
                    && to != from
                    && edge(node, remote, &self.hosts[to])
                {
                    reach[from].insert(to);
                }
            }
        }
        let circles: Vec<BTreeSet<usize>> = (0..reach.len())
            .map(|me| {
                let mutual = reach[me]
                    .iter()
                    .copied()
                    .filter(|&peer| reach[peer].contains(&me));
                mutual.chain([me]).collect()
            })
            .collect();
        mesh(&circles)
            .into_iter()
            .map(|member| self.hosts[member].id)
            .collect()
    }

    /// Per host, its addresses that every other host could ping.
    fn addresses_all_others_reach(&self) -> BTreeMap<HostId, Vec<String>> {
        let mut witnesses: BTreeMap<(String, String), BTreeSet<HostId>> = BTreeMap::new();
        for node in &self.hosts {
            for remote in node.says.remote_hosts.items() {
                for ping in remote
                    .l3_connectivity
                    .items()
                    .iter()
                    .filter(|l3| l3.successful)
                {
                    let key = (remote.host_id.clone(), ping.remote_ip_address.clone());
                    witnesses.entry(key).or_default().insert(node.id);
                }
            }
        }
        let mut answer: BTreeMap<HostId, Vec<String>> = BTreeMap::new();
        for node in &self.hosts {
            let id = node.id.to_string();
            let others = self.hosts.len() - 1;
            let mut reached: Vec<String> = witnesses
                .range((id.clone(), String::new())..)
                .take_while(|((host, _), _)| *host == id)
                .filter(|(_, by)| {
                    others > 0 && by.iter().filter(|w| **w != node.id).count() == others
                })
                .map(|((_, address), _)| address.clone())
                .collect();
            reached.sort();
            if !reached.is_empty() {
                answer.insert(node.id, reached);
            }
        }
        answer
    }

    /// Addresses that answered with two different MACs on one link.
    pub(crate) fn collisions(&self) -> BTreeMap<String, Vec<String>> {
        let mut found = BTreeMap::new();
        for node in &self.hosts {
            let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
            for remote in node.says.remote_hosts.items() {
                for l2 in remote.l2_connectivity.items() {
                    let seen = first
                        .entry((&l2.outgoing_nic, &l2.remote_ip_address))
                        .or_insert(&l2.remote_mac);
                    if *seen != l2.remote_mac {
                        let mut macs = vec![(*seen).to_owned(), l2.remote_mac.clone()];
                        macs.sort();
                        found.insert(l2.remote_ip_address.clone(), macs);
                    }
                }
            }
        }
        found
    }
}

fn reaches_in(remote: &RemoteHost, network: &IpNet) -> bool {
    let inside = |text: &str| {
        text.parse()
            .is_ok_and(|ip: std::net::IpAddr| network.contains(&ip))
    };
    let l2 = remote.l2_connectivity.items().iter();
    let on_link = l2
        .filter(|l2| l2.successful)
        .any(|l2| inside(&l2.remote_ip_address));
    let l3 = remote.l3_connectivity.items().iter();
    on_link
        || (matches!(network, IpNet::V6(_))
            && l3
                .filter(|l3| l3.successful)
                .any(|l3| inside(&l3.remote_ip_address)))
}

fn reaches_all(remote: &RemoteHost, peer: &Node<'_>, v6: bool) -> bool {
    let reached: BTreeSet<std::net::IpAddr> = remote
        .l3_connectivity
        .items()
        .iter()
        .filter(|l3| l3.successful)
        .filter_map(|l3| l3.remote_ip_address.parse().ok())
        .collect();
    let mut wanted = peer
        .inventory
        .iter()
        .flat_map(|i| i.addresses())
        .map(|(_, address)| address.addr())
        .filter(|ip| ip.is_ipv6() == v6)
        .peekable();
    wanted.peek().is_some() && wanted.all(|ip| reached.contains(&ip))
}

/// The largest set in which every member's circle contains the whole set.
fn mesh(circles: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let big_enough = |set: &BTreeSet<usize>| set.len() >= MIN_GROUP;
    let mut pool: BTreeSet<BTreeSet<usize>> =
        circles.iter().filter(|c| big_enough(c)).cloned().collect();
    let originals: Vec<BTreeSet<usize>> = pool.iter().cloned().collect();
    let vouching =
        |set: &BTreeSet<usize>| set.iter().filter(|&&m| set.is_subset(&circles[m])).count();
    let mut looked_at = 0;
    // Largest first; ties go to the better vouched, then to the smaller ids.
    while let Some(best) = pool
        .iter()
        .max_by(|a, b| {
            (a.len(), vouching(a))
                .cmp(&(b.len(), vouching(b)))
                .then_with(|| b.cmp(a))
        })
        .cloned()
    {
        looked_at += 1;
        if vouching(&best) == best.len() {
            return best;
        }
        if looked_at > MAX_CANDIDATES {
            break;
        }
        pool.remove(&best);
        let smaller = originals
            .iter()
            .map(|circle| {
                best.intersection(circle)
                    .copied()
                    .collect::<BTreeSet<usize>>()
            })
            .filter(|set| set.len() < best.len() && set.len() >= MIN_GROUP);
        pool.extend(smaller);
    }
    BTreeSet::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(count: usize, cut: &[(usize, usize)]) -> Vec<BTreeSet<usize>> {
        (0..count)
            .map(|me| {
                (0..count)
                    .filter(|&peer| !cut.contains(&(me, peer)) && !cut.contains(&(peer, me)))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn an_isolated_host_is_outside_the_majority() {
        let group = mesh(&circles(4, &[(3, 0), (3, 1), (3, 2)]));
        assert_eq!(group, BTreeSet::from([0, 1, 2]));
    }

    #[test]
    fn one_broken_link_costs_the_host_with_the_larger_id() {
        let group = mesh(&circles(4, &[(0, 3)]));
        assert_eq!(group, BTreeSet::from([0, 1, 2]));
    }

    #[test]
    fn two_pairs_and_a_ring_have_no_majority() {
        assert!(mesh(&circles(4, &[(0, 2), (0, 3), (1, 2), (1, 3)])).is_empty());
        let ring: Vec<BTreeSet<usize>> = (0..6)
            .map(|me| BTreeSet::from([me, (me + 1) % 6, (me + 5) % 6]))
            .collect();
        assert!(mesh(&ring).is_empty());
    }
}
