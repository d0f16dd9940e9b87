//! Cluster topologies, and what a user does to get each: data, read by [`crate::scenario`].

use std::{fmt, str::FromStr};

use crate::machine::Build;

/// A shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One node.
    SingleNode,
    /// Three nodes that are everything.
    Compact,
    /// Three control plane nodes and workers.
    HighlyAvailable,
    /// Two control plane nodes and an arbiter.
    Arbiter,
    /// Two control plane nodes that can switch each other off.
    Fencing,
    /// A compact cluster that gets more workers after it is installed.
    Day2,
    /// Machines that are discovered first and bound to a cluster later.
    LateBinding,
    /// Machines that are bound to one cluster, taken out of it and bound to another.
    Rebinding,
    /// A compact cluster whose installation is cancelled midway, reset and begun again.
    Restarted,
}

/// One thing the user does or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Creates the cluster.
    CreateCluster,
    /// Creates the infra-env of the cluster.
    CreateInfraEnv,
    /// Creates an infra-env that belongs to no cluster.
    CreatePool,
    /// Switches on the machines of the cluster.
    SwitchOn,
    /// Waits until the service knows what all of them are.
    AwaitDiscovery,
    /// Binds them to the cluster.
    Bind,
    /// Sets names of the network: virtual addresses, or the machine network of a single node.
    SetNetwork,
    /// Gives every host its role.
    SetRoles,
    /// Says how each host can be switched off.
    SetFencing,
    /// Takes the hosts out of their cluster.
    Unbind,
    /// Waits until the cluster is ready.
    AwaitReady,
    /// Starts the installation.
    Install,
    /// Waits until the first disk is being written.
    AwaitWriting,
    /// Cancels the installation.
    Cancel,
    /// Waits until all hosts have stopped.
    AwaitCancelled,
    /// Resets the cluster after that.
    Reset,
    /// Waits for its end.
    AwaitInstalled,
    /// Opens the installed cluster for more hosts.
    AllowMoreHosts,
    /// Switches on the additional workers.
    SwitchOnMore,
    /// Waits until the service knows what they are and finds them fit.
    AwaitMoreReady,
    /// Installs the additional workers.
    InstallMore,
    /// Waits until they were added.
    AwaitAdded,
}

/// How far a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// All hosts are known to the service.
    Discovered,
    /// The cluster could be installed.
    Ready,
    /// The end.
    #[default]
    Installed,
}

use Act::*;

const BEGINNING: &[Act] = &[CreateCluster, CreateInfraEnv, SwitchOn, AwaitDiscovery];
const END: &[Act] = &[SetNetwork, SetRoles, AwaitReady, Install, AwaitInstalled];
const POOL: &[Act] = &[
    CreatePool,
    SwitchOn,
    AwaitDiscovery,
    CreateCluster,
    Bind,
    AwaitDiscovery,
];
const ANOTHER: &[Act] = &[Unbind, AwaitDiscovery, CreateCluster, Bind, AwaitDiscovery];
const BROKEN_OFF: &[Act] = &[
    SetNetwork,
    SetRoles,
    AwaitReady,
    Install,
    AwaitWriting,
    Cancel,
    AwaitCancelled,
    Reset,
    SwitchOn,
    AwaitDiscovery,
    AwaitReady,
    Install,
    AwaitInstalled,
];
const FENCED: &[Act] = &[
    SetNetwork,
    SetRoles,
    SetFencing,
    AwaitReady,
    Install,
    AwaitInstalled,
];
const MORE: &[Act] = &[
    AllowMoreHosts,
    CreateInfraEnv,
    SwitchOnMore,
    AwaitMoreReady,
    InstallMore,
    AwaitAdded,
];

static NAMES: &[(&str, Topology, &str)] = &[
    ("sno", Topology::SingleNode, "one node"),
    (
        "compact",
        Topology::Compact,
        "three nodes, control plane and work on each",
    ),
    (
        "ha",
        Topology::HighlyAvailable,
        "three control plane nodes and workers (--workers, 2)",
    ),
    (
        "arbiter",
        Topology::Arbiter,
        "two control plane nodes and an arbiter",
    ),
    (
        "fencing",
        Topology::Fencing,
        "two control plane nodes that can switch each other off (TNF_CLUSTERS_SUPPORT)",
    ),
    (
        "day2",
        Topology::Day2,
        "a compact cluster, then workers (--workers, 2) added to it",
    ),
    (
        "late-binding",
        Topology::LateBinding,
        "machines discovered in a pool, bound to a compact cluster later",
    ),
    (
        "rebinding",
        Topology::Rebinding,
        "machines bound to one cluster, then taken out and bound to another",
    ),
    (
        "restarted",
        Topology::Restarted,
        "a compact cluster, cancelled while disks are written, reset and installed again",
    ),
];

impl Topology {
    /// Every shape with its name and a line about it.
    pub fn all() -> impl Iterator<Item = (&'static str, Self, &'static str)> {
        NAMES.iter().copied()
    }

    /// What the user does, up to `until`.
    #[must_use]
    pub fn acts(self, until: Until) -> Vec<Act> {
        let mut acts = match self {
            Self::LateBinding => [POOL, END].concat(),
            Self::Rebinding => [POOL, ANOTHER, END].concat(),
            Self::Restarted => [BEGINNING, BROKEN_OFF].concat(),
            Self::Fencing => [BEGINNING, FENCED].concat(),
            Self::Day2 => [BEGINNING, END, MORE].concat(),
            Self::SingleNode | Self::Compact | Self::HighlyAvailable | Self::Arbiter => {
                [BEGINNING, END].concat()
            }
        };
        if until == Until::Installed {
            return acts;
        }
        let upto = |end: Option<usize>, all: usize| end.map_or(all, |end| end + 1);
        // The first time ready is ready; known are the hosts the last time before that.
        acts.truncate(upto(
            acts.iter().position(|act| *act == AwaitReady),
            acts.len(),
        ));
        if until == Until::Discovered {
            let known = acts.iter().rposition(|act| *act == AwaitDiscovery);
            acts.truncate(upto(known, acts.len()));
        }
        acts
    }

    /// The machines of the cluster itself.
    #[must_use]
    pub fn machines(self, workers: Option<usize>) -> Vec<Build> {
        let mut builds = match self {
            Self::SingleNode => vec![Build::Single],
            Self::Compact
            | Self::HighlyAvailable
            | Self::Day2
            | Self::LateBinding
            | Self::Rebinding
            | Self::Restarted => vec![Build::ControlPlane; 3],
            Self::Fencing => vec![Build::ControlPlane; 2],
            Self::Arbiter => vec![Build::ControlPlane, Build::ControlPlane, Build::Arbiter],
        };
        let more = match self {
            Self::HighlyAvailable => workers.unwrap_or(2),
            Self::LateBinding | Self::Rebinding | Self::Arbiter => workers.unwrap_or(0),
            Self::SingleNode | Self::Compact | Self::Day2 | Self::Restarted | Self::Fencing => 0,
        };
        builds.extend(vec![Build::Worker; more]);
        builds
    }

    /// Machines that come later.
    #[must_use]
    pub fn later(self, workers: Option<usize>) -> Vec<Build> {
        match self {
            Self::Day2 => vec![Build::Worker; workers.unwrap_or(2).max(1)],
            Self::SingleNode
            | Self::Compact
            | Self::HighlyAvailable
            | Self::Arbiter
            | Self::Fencing
            | Self::LateBinding
            | Self::Rebinding
            | Self::Restarted => Vec::new(),
        }
    }

    /// Number of control plane hosts the user asks for.
    #[must_use]
    pub const fn control_plane(self) -> u8 {
        match self {
            Self::SingleNode => 1,
            Self::Arbiter | Self::Fencing => 2,
            Self::Compact
            | Self::HighlyAvailable
            | Self::Day2
            | Self::LateBinding
            | Self::Rebinding
            | Self::Restarted => 3,
        }
    }
}

impl Topology {
    /// Members of the control plane that vote, the arbiter included.
    #[must_use]
    pub const fn votes(self) -> usize {
        match self {
            Self::Arbiter => 3,
            Self::SingleNode
            | Self::Compact
            | Self::HighlyAvailable
            | Self::Fencing
            | Self::LateBinding
            | Self::Rebinding
            | Self::Day2
            | Self::Restarted => self.control_plane() as usize,
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, topology, _)| topology == self);
        f.pad(name.map_or("", |(name, ..)| name))
    }
}

/// A name that is no shape or goal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is none of {known}")]
pub struct UnknownName {
    given: String,
    known: String,
}

impl UnknownName {
    pub(crate) fn new(given: &str, known: impl Iterator<Item = &'static str>) -> Self {
        Self {
            given: given.to_owned(),
            known: known.collect::<Vec<_>>().join(", "),
        }
    }
}

impl FromStr for Topology {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = NAMES.iter().find(|(name, ..)| *name == text);
        found
            .map(|(_, topology, _)| *topology)
            .ok_or_else(|| UnknownName::new(text, NAMES.iter().map(|(name, ..)| *name)))
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Discovered => "discovered",
            Self::Ready => "ready",
            Self::Installed => "installed",
        })
    }
}

impl FromStr for Until {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "discovered" => Ok(Self::Discovered),
            "ready" => Ok(Self::Ready),
            "installed" => Ok(Self::Installed),
            _ => {
                let known = ["discovered", "ready", "installed"];
                Err(UnknownName::new(text, known.into_iter()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_a_name_that_leads_back_to_it() {
        for (name, topology, _) in Topology::all() {
            assert_eq!(name.parse(), Ok(topology));
            assert_eq!(topology.to_string(), name);
        }
        let wrong = "star".parse::<Topology>().unwrap_err().to_string();
        assert!(
            wrong.contains("star") && wrong.contains("late-binding"),
            "{wrong}"
        );
    }

    #[test]
    fn a_run_that_stops_early_leaves_out_what_comes_later() {
        for (_, topology, _) in Topology::all() {
            let ready = topology.acts(Until::Ready);
            assert_eq!(ready.last(), Some(&AwaitReady));
            assert!(!ready.contains(&Install));
            let discovered = topology.acts(Until::Discovered);
            assert_eq!(discovered.last(), Some(&AwaitDiscovery));
            assert!(discovered.len() < ready.len());
        }
    }
}
