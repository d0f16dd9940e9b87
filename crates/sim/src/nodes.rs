//! The nodes of a cluster that is being installed: how far each has come, as the nodes themselves
//! know it.
//!
//! In a real installation this is the API of the new cluster, which bootstrap host, workers and
//! controller all look at.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use muster_model::HostStage;
use tokio::sync::watch;
use uuid::Uuid;

/// How far a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeState {
    /// Its disk is being written.
    Installing,
    /// It boots from its disk.
    Rebooting,
    /// It asks for its configuration.
    AsksForIgnition,
    /// It applies its configuration.
    Configuring,
    /// It is a node.
    Joined,
    /// It does work.
    Ready,
}

/// One node.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Where its host came from.
    pub infra_env: Uuid,
    /// What the service made of it: bootstrap, master, arbiter or worker.
    pub role: Role,
    /// How far it is.
    pub state: NodeState,
    /// The last stage that was reported for it by others than itself.
    pub reported: Option<HostStage>,
}

/// What an install command makes of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Control plane, and the one that starts it all.
    Bootstrap,
    /// Control plane.
    Master,
    /// Votes, and carries no load.
    Arbiter,
    /// Worker.
    Worker,
}

impl Role {
    /// The role an install command names; what is unknown works.
    #[must_use]
    pub fn named(text: &str) -> Self {
        match text {
            "bootstrap" => Self::Bootstrap,
            "master" => Self::Master,
            "arbiter" => Self::Arbiter,
            _ => Self::Worker,
        }
    }

    const fn votes(self) -> bool {
        matches!(self, Self::Bootstrap | Self::Master | Self::Arbiter)
    }
}

/// All nodes of one cluster.
#[derive(Debug)]
pub struct Nodes {
    nodes: Mutex<BTreeMap<Uuid, Node>>,
    changes: watch::Sender<u64>,
    quorum: usize,
}

/// The usual control plane of three.
impl Default for Nodes {
    fn default() -> Self {
        Self::of(3)
    }
}

impl Nodes {
    /// A cluster whose control plane has this many votes.
    #[must_use]
    pub fn of(votes: usize) -> Self {
        Self {
            nodes: Mutex::default(),
            changes: watch::Sender::default(),
            quorum: votes.saturating_sub(1).clamp(1, 2),
        }
    }

    /// The number of nodes that make a control plane that can do without the bootstrap host: two of three,
    /// one of two.
    #[must_use]
    pub const fn quorum(&self) -> usize {
        self.quorum
    }

    /// A host begins to install.
    pub fn begin(&self, host: Uuid, infra_env: Uuid, role: Role) {
        let node = Node {
            infra_env,
            role,
            state: NodeState::Installing,
            reported: None,
        };
        self.change(|nodes| nodes.insert(host, node));
    }

    /// A node has come further.
    pub fn advance(&self, host: Uuid, state: NodeState) {
        self.change(|nodes| nodes.get_mut(&host).map(|node| node.state = state));
    }

    /// A stage of a node was reported.
    pub fn reported(&self, host: Uuid, stage: HostStage) {
        self.change(|nodes| nodes.get_mut(&host).map(|node| node.reported = Some(stage)));
    }

    /// All nodes.
    #[must_use]
    pub fn all(&self) -> BTreeMap<Uuid, Node> {
        self.lock().clone()
    }

    /// How far a node is.
    #[must_use]
    pub fn state_of(&self, host: Uuid) -> Option<NodeState> {
        self.lock().get(&host).map(|node| node.state)
    }

    /// Nodes of the control plane that are at least this far, not counting the bootstrap host
    /// before its reboot.
    #[must_use]
    pub fn control_plane_at(&self, state: NodeState) -> usize {
        let nodes = self.lock();
        nodes
            .values()
            .filter(|node| node.role.votes() && node.state >= state)
            .count()
    }

    /// Nodes of the control plane the service knows to be done.
    #[must_use]
    pub fn control_plane_done(&self) -> usize {
        let nodes = self.lock();
        nodes
            .values()
            .filter(|node| node.role.votes() && node.reported == Some(HostStage::Done))
            .count()
    }

    /// Waits until something holds.
    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let mut changes = self.changes.subscribe();
        while !holds(self) {
            // The sender lives as long as `self`, so this ends only with a change.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// A receiver that wakes at every change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<Uuid, Node>) -> T) {
        change(&mut self.lock());
        self.changes.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Uuid, Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_for_the_control_plane_is_woken_by_its_second_node() {
        let nodes = std::sync::Arc::new(Nodes::default());
        for number in 1..=2 {
            nodes.begin(Uuid::from_u128(number), Uuid::nil(), Role::Master);
        }
        nodes.begin(Uuid::from_u128(3), Uuid::nil(), Role::Worker);
        let waiting = tokio::spawn({
            let nodes = std::sync::Arc::clone(&nodes);
            async move {
                nodes
                    .until(|nodes| nodes.control_plane_at(NodeState::Joined) == 2)
                    .await;
            }
        });
        nodes.advance(Uuid::from_u128(1), NodeState::Joined);
        nodes.advance(Uuid::from_u128(3), NodeState::Ready);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        nodes.advance(Uuid::from_u128(2), NodeState::Ready);
        waiting.await.unwrap();
    }
}
