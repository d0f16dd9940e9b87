//! Input and output of the engine.
//!
//! A view is a consistent look at one cluster and its hosts, taken under the store's lock. A
//! [`Decision`] holds whole new records, only those that changed, and is stored in one
//! transaction with its events. Jobs are requests: the shell starts those that are not already
//! running, so a request that is repeated after a crash does no harm.

use muster_model::{Cluster, ClusterId, Event, Host, HostKey, InfraEnv, Timestamp};

/// A host and its live heartbeat, which may be newer than the stored one.
#[derive(Clone, Copy, Debug)]
pub struct HostView<'a> {
    /// The record.
    pub host: &'a Host,
    /// When its agent last asked for work.
    pub last_seen: Timestamp,
}

/// A cluster with all hosts bound to it (deleted ones left out).
#[derive(Clone, Debug)]
pub struct ClusterView<'a> {
    /// The record.
    pub cluster: &'a Cluster,
    /// Its hosts, in any order.
    pub hosts: Vec<HostView<'a>>,
}

impl<'a> ClusterView<'a> {
    /// The host with this key, if it belongs to the cluster.
    #[must_use]
    pub fn host(&self, key: HostKey) -> Option<HostView<'a>> {
        self.hosts.iter().find(|h| h.host.key() == key).copied()
    }
}

/// What surrounds one host: for steps and replies, which need no full refresh.
#[derive(Clone, Copy, Debug, Default)]
pub struct Environment<'a> {
    /// Its cluster, if bound.
    pub cluster: Option<&'a Cluster>,
    /// The other hosts of that cluster (itself may be among them).
    pub peers: &'a [HostView<'a>],
    /// The infra-env it booted.
    pub infra_env: Option<&'a InfraEnv>,
}

/// Work for the shell, to be run after the decision is stored unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Job {
    /// Generate install-config, manifests and Ignition; answer with
    /// [`crate::install::files_ready`] or [`crate::install::files_failed`].
    MakeClusterFiles(ClusterId),
    /// Generate the Ignition of a day-2 host. Must be finished *before* the decision is stored,
    /// because the host may ask for it with its next breath.
    MakeHostFiles(HostKey),
    /// Remove everything generated for the cluster; logs and the user's manifests stay.
    DeleteClusterFiles(ClusterId),
    /// Remove logs of an earlier attempt.
    DeleteLogs(ClusterId),
}

/// A rule that changed a status, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The host that moved; `None` means the cluster.
    pub host: Option<HostKey>,
    /// Name of the rule.
    pub rule: &'static str,
}

/// Something worth counting: what a host measured for the first time, and what the rules found.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// How long its installation disk takes to sync a write.
    DiskSync {
        /// In milliseconds.
        milliseconds: i64,
    },
    /// How pulling an image went.
    ImagePull {
        /// The image.
        image: String,
        /// `success` or `failure`.
        result: String,
        /// In MB/s.
        rate: f64,
    },
    /// A validation of a host fails that has passed before.
    HostCheckLost {
        /// Which one.
        id: String,
    },
    /// A validation of a cluster fails that has passed before.
    ClusterCheckLost {
        /// Which one.
        id: String,
    },
}

/// What is to become true.
///
/// Requests and replies change facts; only a refresh draws the conclusions. So the shell
/// refreshes after it has stored any other decision, and takes `wake_at` from that refresh.
#[must_use = "a decision changes nothing until it is stored"]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The new cluster record, if it changed.
    pub cluster: Option<Cluster>,
    /// New host records, only those that changed.
    pub hosts: Vec<Host>,
    /// History, stored in the same transaction.
    pub events: Vec<Event>,
    /// Work that should be under way.
    pub jobs: Vec<Job>,
    /// Rules that changed a status, in order.
    pub moves: Vec<Move>,
    /// Figures for those who watch the service; the records do not depend on them.
    pub measured: Vec<Measured>,
    /// A refresh would say the same as before: what changed is nothing the rules look at.
    pub needs_no_refresh: bool,
    /// Next moment at which a refresh may say something else.
    pub wake_at: Option<Timestamp>,
}

impl Decision {
    /// Nothing to store (there may still be jobs and a wake-up).
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        self.cluster.is_none() && self.hosts.is_empty() && self.events.is_empty()
    }

    /// The new record of a host, if it changed.
    #[must_use]
    pub fn host(&self, key: HostKey) -> Option<&Host> {
        self.hosts.iter().find(|h| h.key() == key)
    }
}

/// Why a request was turned down. How a caller learns of it is up to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request is wrong, or may succeed later by itself: agents try again.
    Invalid,
    /// What the request is about does not exist here.
    Missing,
    /// The request does not fit the state of the record: agents give up and wait for a person.
    Conflict,
}

/// A request that cannot be granted now.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    /// Kind.
    pub kind: RefusalKind,
    /// What is in the way and how to get past it.
    pub reason: String,
    /// History to store although nothing else changes.
    pub events: Vec<Event>,
}

impl Refused {
    /// Does not fit the state; without events.
    #[must_use]
    pub fn conflict(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Conflict, reason)
    }

    /// A wrong request; without events.
    #[must_use]
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Invalid, reason)
    }

    /// Something does not exist; without events.
    #[must_use]
    pub fn missing(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Missing, reason)
    }

    /// A refusal without events.
    #[must_use]
    pub fn new(kind: RefusalKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
            events: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }
}
