//! Which hosts can all reach each other, and duplicate addresses.
//!
//! A group is a full mesh of at least three hosts. Hosts are taken in the order of their ids,
//! so the answer does not depend on who reported first. Start at [`Web::of`], which reads each
//! report once and draws an edge per network and family; the search for the largest mesh is in
//! [`mesh`].

mod bits;
mod collisions;
mod links;
mod mesh;

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    net::IpAddr,
    sync::Arc,
};

use ipnet::IpNet;
use muster_model::{Cluster, Host, HostId};
use serde::{Deserialize, Serialize};

use crate::{
    inventory::Inventory,
    reports::{self, Reach},
    roles,
};
use bits::Matrix;
use collisions::Collisions;
use links::Links;

/// Fewer hosts than this make no majority.
pub(crate) const MIN_GROUP: usize = 3;

/// How many hosts make a majority in this cluster: two that can switch each other off do.
pub(crate) fn least_group(cluster: &Cluster, hosts: &[Host]) -> usize {
    if roles::is_fenced_pair(cluster, hosts) {
        2
    } else {
        MIN_GROUP
    }
}

/// A digest of everything the groups and collisions of a cluster follow from. Figures such as
/// round-trip times are no part of it: they differ in every report and change nothing here.
pub(crate) fn basis(witnesses: &[Witness], least: usize) -> u64 {
    let mut digest = DefaultHasher::new();
    least.hash(&mut digest);
    for witness in witnesses {
        witness.id.hash(&mut digest);
        for nic in witness.inventory.iter().flat_map(|i| i.interfaces.items()) {
            nic.ipv4_addresses.items().hash(&mut digest);
            nic.ipv6_addresses.items().hash(&mut digest);
        }
        let reach = witness.reach.as_ref();
        reach.map(|reach| reach.links).hash(&mut digest);
    }
    digest.finish()
}

/// What one host says of itself and of the others; an unreadable report counts as silence.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    id: HostId,
    inventory: Option<Arc<Inventory>>,
    reach: Option<Arc<Reach>>,
}

impl Witness {
    pub(crate) fn new(host: &Host, inventory: Option<&Arc<Inventory>>) -> Self {
        Self {
            id: host.id,
            inventory: inventory.cloned(),
            reach: reports::connectivity_of(host).ok(),
        }
    }
}

/// The stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Groups {
    pub(crate) majority_groups: BTreeMap<String, Vec<HostId>>,
    pub(crate) l3_connected_addresses: BTreeMap<HostId, Vec<String>>,
}

/// What each host says about the others.
#[derive(Debug)]
pub(crate) struct Web {
    ids: Vec<HostId>,
    /// Places of those who sent a report.
    reporters: Vec<usize>,
    /// Per network seen on any host, which hosts reach each other inside; `None` where too few hosts
    /// live for a group.
    networks: BTreeMap<IpNet, Option<Matrix>>,
    /// Which hosts reach every address of each other, per family (IPv4, IPv6).
    families: [Matrix; 2],
    /// Per host, how many others could ping its addresses.
    witnesses: Vec<BTreeMap<IpAddr, usize>>,
    collisions: Collisions,
    least: usize,
}

impl Web {
    /// Draws it from what all hosts say.
    pub(crate) fn of(witnesses: &[Witness], least: usize) -> Self {
        let mut order: Vec<&Witness> = witnesses.iter().collect();
        order.sort_by_key(|witness| witness.id);
        let addresses: Vec<Vec<IpNet>> = order
            .iter()
            .map(|witness| {
                let own = witness.inventory.iter();
                let all = own.flat_map(|inventory| inventory.addresses());
                all.map(|(_, address)| address).collect()
            })
            .collect();
        let ids: Vec<HostId> = order.iter().map(|witness| witness.id).collect();
        let mut links = Links::among(&ids, &addresses, least);
        let mut collisions = Collisions::default();
        let mut reporters = Vec::new();
        for (place, witness) in order.iter().enumerate() {
            if let Some(report) = &witness.reach {
                reporters.push(place);
                collisions.note(report);
                links.note(place, report);
            }
        }
        let Links {
            networks,
            families,
            witnesses,
            ..
        } = links;
        Self {
            ids,
            reporters,
            networks,
            families,
            witnesses,
            collisions,
            least,
        }
    }

    /// Groups per network seen on any host and per family.
    pub(crate) fn groups(&self) -> Groups {
        let mut majority_groups = BTreeMap::new();
        for (network, links) in &self.networks {
            let group = links.as_ref().map(|links| self.largest_mesh(links));
            majority_groups.insert(network.to_string(), group.unwrap_or_default());
        }
        for (name, links) in ["IPv4", "IPv6"].into_iter().zip(&self.families) {
            majority_groups.insert(name.to_owned(), self.largest_mesh(links));
        }
        Groups {
            majority_groups,
            l3_connected_addresses: self.addresses_all_others_reach(),
        }
    }

    /// Hosts that reported that they got no answer from this one in a network, in the order of ids.
    pub(crate) fn deaf_in(&self, network: &IpNet, host: HostId) -> Vec<HostId> {
        let links = self.networks.get(network).and_then(Option::as_ref);
        self.deaf(links, host)
    }

    /// Hosts that reported that they did not reach every address of this one in a family (true means IPv6).
    pub(crate) fn deaf_by(&self, v6: bool, host: HostId) -> Vec<HostId> {
        self.deaf(Some(&self.families[usize::from(v6)]), host)
    }

    fn deaf(&self, links: Option<&Matrix>, host: HostId) -> Vec<HostId> {
        let (Some(links), Ok(to)) = (links, self.ids.binary_search(&host)) else {
            return Vec::new();
        };
        let reporters = self.reporters.iter();
        let deaf = reporters.filter(|from| **from != to && !links.row(**from).has(to));
        deaf.map(|from| self.ids[*from]).collect()
    }

    /// Addresses that answered with different MACs on one link.
    pub(crate) fn collisions(&self) -> BTreeMap<String, Vec<String>> {
        self.collisions.by_address()
    }

    fn largest_mesh(&self, links: &Matrix) -> Vec<HostId> {
        let members = mesh::largest(&links.mutual(), self.least);
        members.into_iter().map(|i| self.ids[i]).collect()
    }

    /// Per host, its addresses that every other host could ping.
    fn addresses_all_others_reach(&self) -> BTreeMap<HostId, Vec<String>> {
        let others = self.ids.len().saturating_sub(1);
        let mut answer = BTreeMap::new();
        for (id, seen) in self.ids.iter().zip(&self.witnesses) {
            let by_all = seen.iter().filter(|(_, count)| **count == others);
            let mut addresses: Vec<String> = by_all.map(|(ip, _)| ip.to_string()).collect();
            addresses.sort();
            if !addresses.is_empty() {
                answer.insert(*id, addresses);
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests;
