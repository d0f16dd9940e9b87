//! Which hosts can all reach each other, and which addresses are used twice.
//!
//! A group is a full mesh of at least three hosts. Hosts are taken in the order of their ids,
//! so the answer does not depend on who reported first. Start at [`Web::of`]; the search for
//! the largest mesh is in [`mesh`].

mod mesh;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use ipnet::IpNet;
use muster_model::{Host, HostId};
use serde::{Deserialize, Serialize};

use crate::{inventory::Inventory, reports::Connectivity, wire};

/// Fewer hosts than this make no majority.
pub(crate) const MIN_GROUP: usize = 3;

/// The stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Groups {
    pub(crate) majority_groups: BTreeMap<String, Vec<HostId>>,
    pub(crate) l3_connected_addresses: BTreeMap<HostId, Vec<String>>,
}

/// What each host says about the others.
pub(crate) struct Web {
    nodes: Vec<Node>,
    collisions: BTreeMap<String, Vec<String>>,
}

struct Node {
    id: HostId,
    addresses: Vec<IpNet>,
    /// Peers by index, with the addresses of theirs that answered.
    reached: BTreeMap<usize, Reached>,
}

#[derive(Default)]
struct Reached {
    on_link: Vec<IpAddr>,
    by_ping: BTreeSet<IpAddr>,
}

impl Web {
    /// Reads all reports; unreadable ones count as silence.
    pub(crate) fn of(hosts: &[Host], inventories: &[Option<Arc<Inventory>>]) -> Self {
        let mut order: Vec<usize> = (0..hosts.len()).collect();
        order.sort_by_key(|&i| hosts[i].id);
        let index: BTreeMap<String, usize> = order
            .iter()
            .enumerate()
            .map(|(place, &i)| (hosts[i].id.to_string(), place))
            .collect();
        let mut web = Self {
            nodes: Vec::new(),
            collisions: BTreeMap::new(),
        };
        for i in order {
            let report = wire::stored(hosts[i].reports.connectivity.as_deref());
            let report: Connectivity = report.ok().unwrap_or_default();
            web.note_collisions(&report);
            let addresses = inventories[i]
                .iter()
                .flat_map(|inventory| inventory.addresses());
            web.nodes.push(Node {
                id: hosts[i].id,
                addresses: addresses.map(|(_, address)| address).collect(),
                reached: reached(&report, &index),
            });
        }
        web
    }

    /// Groups per network seen on any host and per family.
    pub(crate) fn groups(&self) -> Groups {
        let networks: BTreeSet<IpNet> = self
            .nodes
            .iter()
            .flat_map(|node| node.addresses.iter().map(IpNet::trunc))
            .collect();
        let mut majority_groups = BTreeMap::new();
        for network in networks {
            majority_groups.insert(network.to_string(), self.group_in(&network));
        }
        for (name, v6) in [("IPv4", false), ("IPv6", true)] {
            let group = self.largest_mesh(|reached, peer| {
                let mut wanted = peer.addresses.iter().map(IpNet::addr);
                let mut wanted = wanted.by_ref().filter(|ip| ip.is_ipv6() == v6).peekable();
                wanted.peek().is_some() && wanted.all(|ip| reached.by_ping.contains(&ip))
            });
            majority_groups.insert(name.to_owned(), group);
        }
        Groups {
            majority_groups,
            l3_connected_addresses: self.addresses_all_others_reach(),
        }
    }

    /// Addresses that answered with two different MACs on one link.
    pub(crate) const fn collisions(&self) -> &BTreeMap<String, Vec<String>> {
        &self.collisions
    }

    fn group_in(&self, network: &IpNet) -> Vec<HostId> {
        let is_there = |node: &&Node| node.addresses.iter().any(|a| network.contains(&a.addr()));
        if self.nodes.iter().filter(is_there).count() < MIN_GROUP {
            return Vec::new();
        }
        let v6 = matches!(network, IpNet::V6(_));
        self.largest_mesh(|reached, _| {
            reached.on_link.iter().any(|ip| network.contains(ip))
                || (v6 && reached.by_ping.iter().any(|ip| network.contains(ip)))
        })
    }

    fn largest_mesh(&self, edge: impl Fn(&Reached, &Node) -> bool) -> Vec<HostId> {
        let reaches = |from: &Node, to: usize| {
            let seen = from.reached.get(&to);
            seen.is_some_and(|reached| edge(reached, &self.nodes[to]))
        };
        let oneway: Vec<BTreeSet<usize>> = self
            .nodes
            .iter()
            .map(|node| {
                let peers = node.reached.keys().copied();
                peers.filter(|&to| reaches(node, to)).collect()
            })
            .collect();
        let mutual: Vec<BTreeSet<usize>> = (0..oneway.len())
            .map(|me| {
                let peers = oneway[me].iter().copied();
                peers.filter(|&peer| oneway[peer].contains(&me)).collect()
            })
            .collect();
        let members = mesh::largest(&mutual, MIN_GROUP);
        members.into_iter().map(|i| self.nodes[i].id).collect()
    }

    /// Per host, its addresses that every other host could ping.
    fn addresses_all_others_reach(&self) -> BTreeMap<HostId, Vec<String>> {
        let mut witnesses: BTreeMap<(usize, IpAddr), usize> = BTreeMap::new();
        for (place, node) in self.nodes.iter().enumerate() {
            for (&peer, reached) in node.reached.iter().filter(|(peer, _)| **peer != place) {
                for &ip in &reached.by_ping {
                    *witnesses.entry((peer, ip)).or_default() += 1;
                }
            }
        }
        let others = self.nodes.len().saturating_sub(1);
        let mut answer: BTreeMap<HostId, Vec<String>> = BTreeMap::new();
        for ((place, ip), count) in witnesses {
            if count == others {
                let id = self.nodes[place].id;
                answer.entry(id).or_default().push(ip.to_string());
            }
        }
        for addresses in answer.values_mut() {
            addresses.sort();
        }
        answer
    }

    fn note_collisions(&mut self, report: &Connectivity) {
        let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
        for remote in report.remote_hosts.items() {
            for l2 in remote.l2_connectivity.items() {
                let place = (l2.outgoing_nic.as_str(), l2.remote_ip_address.as_str());
                let seen = *first.entry(place).or_insert(&l2.remote_mac);
                if seen != l2.remote_mac {
                    let mut macs = vec![seen.to_owned(), l2.remote_mac.clone()];
                    macs.sort();
                    self.collisions.insert(l2.remote_ip_address.clone(), macs);
                }
            }
        }
    }
}

/// Who answered; peers that are not in the cluster are left out.
fn reached(report: &Connectivity, index: &BTreeMap<String, usize>) -> BTreeMap<usize, Reached> {
    let mut all: BTreeMap<usize, Reached> = BTreeMap::new();
    for remote in report.remote_hosts.items() {
        let Some(&place) = index.get(&remote.host_id) else {
            continue;
        };
        let entry = all.entry(place).or_default();
        let l2 = remote.l2_connectivity.items().iter();
        let l2 = l2.filter(|l2| l2.successful);
        entry
            .on_link
            .extend(l2.filter_map(|l2| l2.remote_ip_address.parse::<IpAddr>().ok()));
        let l3 = remote.l3_connectivity.items().iter();
        let l3 = l3.filter(|l3| l3.successful);
        entry
            .by_ping
            .extend(l3.filter_map(|l3| l3.remote_ip_address.parse::<IpAddr>().ok()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        reports::{L2, RemoteHost},
        testing::START,
    };

    #[test]
    fn an_address_that_answers_with_two_macs_is_used_twice() {
        let l2 = |mac: &str| L2 {
            outgoing_nic: "eth0".into(),
            remote_ip_address: "192.0.2.9".into(),
            remote_mac: mac.into(),
            ..L2::default()
        };
        let report = Connectivity {
            remote_hosts: vec![RemoteHost {
                l2_connectivity: vec![l2("b"), l2("a"), l2("b")].into(),
                ..RemoteHost::default()
            }]
            .into(),
        };
        let mut host = Host::registered(crate::testing::key(1), None, "", START);
        host.reports.connectivity = Some(wire::text(&report).into());
        let web = Web::of(&[host], &[None]);
        let expected =
            BTreeMap::from([("192.0.2.9".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
        assert_eq!(*web.collisions(), expected);
    }
}
