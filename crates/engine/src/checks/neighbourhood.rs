//! What the hosts of a cluster have in common.
//!
//! Worked out once per refresh, so that evaluating one host looks at its own reports and asks here
//! about the rest.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use ipnet::IpNet;
use muster_model::{Cluster, Host, HostId, HostRole};

use super::operators::Scene;
use crate::{
    agent_json::{self, Stored},
    ignition::Ignition,
    inventory::{self, Inventory},
    majority::{self, Groups, MIN_GROUP, Web, Witness},
    networks::{self, BadRange},
    reports,
};

/// The cluster as one of its hosts sees it.
#[derive(Debug)]
pub(crate) struct Neighbourhood {
    /// The machine networks.
    pub(crate) machine: Result<Vec<IpNet>, BadRange>,
    /// Families of pods and services; true means IPv6.
    pub(crate) families: Result<BTreeSet<bool>, BadRange>,
    /// Which hosts reach each other.
    pub(crate) groups: Stored<Groups>,
    /// What the hosts say of each other; see [`Self::web`].
    pub(crate) witnesses: Vec<Witness>,
    web: OnceCell<Web>,
    /// Addresses used twice, with the cards that use them.
    pub(crate) collisions: Stored<BTreeMap<IpAddr, Vec<String>>>,
    /// How many hosts with an inventory have a name.
    pub(crate) names: BTreeMap<String, usize>,
    /// The hosts.
    pub(crate) peers: BTreeMap<HostId, Peer>,
    /// Fewer hosts than this make no majority.
    pub(crate) least_group: usize,
    /// For imported clusters: whether the cluster answers for its own names, as its Ignition
    /// says; `None` until a host could fetch that.
    pub(crate) own_names: Option<bool>,
    /// The operators of the cluster and the roles they depend on.
    pub(crate) operators: Scene,
}

/// A host as the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) role: HostRole,
    pub(crate) inventory: InventoryState,
}

/// What is known of a peer's hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InventoryState {
    Nothing,
    Garbage,
    Inventory,
}

impl Default for Neighbourhood {
    fn default() -> Self {
        Self {
            machine: Ok(Vec::new()),
            families: Ok(BTreeSet::new()),
            groups: Stored::Missing,
            witnesses: Vec::new(),
            web: OnceCell::new(),
            collisions: Stored::Missing,
            names: BTreeMap::new(),
            peers: BTreeMap::new(),
            least_group: MIN_GROUP,
            own_names: None,
            operators: Scene::default(),
        }
    }
}

impl Neighbourhood {
    /// What no pass of a refresh changes; [`Self::renew`] adds the rest. `inventories` go with
    /// `hosts`, and `broken` says which of the missing ones could not be read.
    pub(crate) fn of(
        cluster: &Cluster,
        hosts: &[Host],
        inventories: &[Option<Arc<Inventory>>],
        broken: &[bool],
    ) -> Self {
        let mut around = Self::default();
        for ((host, inventory), broken) in hosts.iter().zip(inventories).zip(broken) {
            around
                .witnesses
                .push(Witness::new(host, inventory.as_ref()));
            let name = inventory::hostname_with(host, inventory.as_deref());
            if inventory.is_some() {
                *around.names.entry(name.clone()).or_insert(0) += 1;
            }
            let peer = Peer {
                name,
                role: host.effective_role(),
                inventory: match inventory {
                    Some(_) => InventoryState::Inventory,
                    None if *broken => InventoryState::Garbage,
                    None => InventoryState::Nothing,
                },
            };
            around.peers.insert(host.id, peer);
        }
        if cluster.imported {
            around.own_names = own_names(hosts);
        }
        around.renew(cluster, hosts);
        around
    }

    /// What a pass may have changed: networks and roles.
    pub(crate) fn renew(&mut self, cluster: &Cluster, hosts: &[Host]) {
        self.machine = networks::machine(cluster);
        self.families = families(cluster);
        for host in hosts {
            if let Some(peer) = self.peers.get_mut(&host.id) {
                peer.role = host.effective_role();
            }
        }
        self.least_group = majority::least_group(cluster, hosts);
        self.operators = Scene::of(cluster, hosts.iter());
    }

    /// Which hosts reach each other, link by link. Costly, so it is computed only on demand: to find
    /// groups after a change, and to name the links that a lonely host lacks.
    pub(crate) fn web(&self) -> &Web {
        self.web
            .get_or_init(|| Web::of(&self.witnesses, self.least_group))
    }

    /// The hosts were compared with each other just now.
    pub(crate) fn compared(
        &mut self,
        web: Web,
        groups: Groups,
        collisions: &BTreeMap<String, Vec<String>>,
    ) {
        self.web = OnceCell::from(web);
        self.groups = Stored::Here(groups);
        self.collisions = Stored::Here(by_address(collisions));
    }

    /// What was found out before stands: no link has changed, or the installation has begun.
    pub(crate) fn recall(&mut self, cluster: &Cluster) {
        self.groups = agent_json::stored(cluster.connectivity_majority_groups.as_deref());
        self.collisions = match agent_json::stored(cluster.ip_collisions.as_deref()) {
            Stored::Missing => Stored::Missing,
            Stored::Broken => Stored::Broken,
            Stored::Here(texts) => Stored::Here(by_address(&texts)),
        };
    }

    pub(crate) fn host_count(&self) -> usize {
        self.peers.len()
    }
}

fn families(cluster: &Cluster) -> Result<BTreeSet<bool>, BadRange> {
    let mut all = networks::families(&networks::pods(cluster)?);
    all.extend(networks::families(&networks::service(cluster)?));
    Ok(all.into_iter().collect())
}

fn by_address(texts: &BTreeMap<String, Vec<String>>) -> BTreeMap<IpAddr, Vec<String>> {
    texts
        .iter()
        .filter_map(|(address, cards)| Some((address.parse().ok()?, cards.clone())))
        .collect()
}

/// The first readable Ignition decides; unreadable ones mean a cluster that needs no DNS of ours.
fn own_names(hosts: &[Host]) -> Option<bool> {
    let mut fetched = None;
    for host in hosts {
        let Stored::Here(reply) = reports::api_vip_of(host) else {
            continue;
        };
        if !reply.is_success {
            continue;
        }
        if let Some(ignition) = Ignition::parse(&reply.ignition) {
            return Some(ignition.manages_its_network());
        }
        fetched = Some(true);
    }
    fetched
}
