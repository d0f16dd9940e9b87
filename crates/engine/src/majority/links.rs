//! Edges between hosts, collected while the reports are read.
//!
//! Each entry of each report is looked at once: an answered address is found in the table of
//! networks by its prefixes, so the work grows with the size of the reports and not with the
//! number of networks times hosts.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use ipnet::IpNet;
use muster_model::HostId;

use super::bits::Matrix;
use crate::reports::{Connectivity, RemoteHost};

/// Edges so far.
pub(super) struct Links {
    /// See [`super::Web`].
    pub(super) networks: BTreeMap<IpNet, Option<Matrix>>,
    pub(super) families: [Matrix; 2],
    pub(super) witnesses: Vec<BTreeMap<IpAddr, usize>>,
    /// Prefix lengths in use, per family, so that an address finds its networks.
    prefixes: [BTreeSet<u8>; 2],
    /// Own addresses of each host, per family.
    own: Vec<[BTreeSet<IpAddr>; 2]>,
    /// Hosts in order, so that a place is found by halving.
    ids: Vec<HostId>,
    /// Addresses of one peer that answered a ping; kept to be used again.
    pinged: Vec<IpAddr>,
}

impl Links {
    /// No edges yet among these hosts, given in the order of their ids.
    pub(super) fn among(ids: &[HostId], addresses: &[Vec<IpNet>], least: usize) -> Self {
        let size = ids.len();
        let mut residents: BTreeMap<IpNet, BTreeSet<usize>> = BTreeMap::new();
        let mut own = Vec::with_capacity(size);
        let mut prefixes = [BTreeSet::new(), BTreeSet::new()];
        for (place, list) in addresses.iter().enumerate() {
            let mut mine = [BTreeSet::new(), BTreeSet::new()];
            for address in list {
                let network = address.trunc();
                residents.entry(network).or_default().insert(place);
                prefixes[family(&address.addr())].insert(network.prefix_len());
                mine[family(&address.addr())].insert(address.addr());
            }
            own.push(mine);
        }
        let nested = residents.clone();
        let networks = residents
            .into_iter()
            .map(|(network, mut there)| {
                // A host of a smaller network inside lives here as well.
                for (other, hosts) in nested.range(network..) {
                    if !network.contains(other) {
                        break;
                    }
                    there.extend(hosts);
                }
                (network, (there.len() >= least).then(|| Matrix::empty(size)))
            })
            .collect();
        Self {
            networks,
            families: [Matrix::empty(size), Matrix::empty(size)],
            witnesses: vec![BTreeMap::new(); size],
            prefixes,
            own,
            ids: ids.to_vec(),
            pinged: Vec::new(),
        }
    }

    /// Adds what one host found; peers that are not in the cluster are left out.
    pub(super) fn note(&mut self, from: usize, report: &Connectivity) {
        let mut peers: Vec<(usize, &RemoteHost)> = report
            .remote_hosts
            .items()
            .iter()
            .filter_map(|remote| Some((self.place(&remote.host_id)?, remote)))
            .filter(|(to, _)| *to != from)
            .collect();
        peers.sort_by_key(|(to, _)| *to);
        for same in peers.chunk_by(|a, b| a.0 == b.0) {
            self.note_peer(from, same);
        }
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.ids.binary_search(&HostId(id.parse().ok()?)).ok()
    }

    /// All that was found about one peer, which may be reported in several entries.
    fn note_peer(&mut self, from: usize, entries: &[(usize, &RemoteHost)]) {
        let to = entries[0].0;
        let mut pinged = std::mem::take(&mut self.pinged);
        pinged.clear();
        for (_, remote) in entries {
            let answered = remote.l2_connectivity.items().iter();
            for l2 in answered.filter(|l2| l2.successful) {
                if let Ok(ip) = l2.remote_ip_address.parse() {
                    self.draw(from, to, ip);
                }
            }
            let answered = remote.l3_connectivity.items().iter();
            let answered = answered.filter(|l3| l3.successful);
            pinged.extend(answered.filter_map(|l3| l3.remote_ip_address.parse::<IpAddr>().ok()));
        }
        pinged.sort_unstable();
        pinged.dedup();
        for &ip in &pinged {
            // IPv6 has no ARP; a ping inside the network says as much.
            if ip.is_ipv6() {
                self.draw(from, to, ip);
            }
            *self.witnesses[to].entry(ip).or_default() += 1;
        }
        for (links, wanted) in self.families.iter_mut().zip(&self.own[to]) {
            let reached = |ip: &IpAddr| pinged.binary_search(ip).is_ok();
            if !wanted.is_empty() && wanted.iter().all(reached) {
                links.set(from, to);
            }
        }
        self.pinged = pinged;
    }

    /// `to` answered from `ip`: an edge in every network that holds it.
    fn draw(&mut self, from: usize, to: usize, ip: IpAddr) {
        for &prefix in &self.prefixes[family(&ip)] {
            let Ok(network) = IpNet::new(ip, prefix) else {
                continue;
            };
            if let Some(Some(links)) = self.networks.get_mut(&network.trunc()) {
                links.set(from, to);
            }
        }
    }
}

const fn family(ip: &IpAddr) -> usize {
    match ip {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) => 1,
    }
}
