//! The plan of a run, and how it can end.

use std::time::Duration;

use uuid::Uuid;

use crate::{
    controller::Attention,
    fault::{Fault, Planned},
    feature::Feature,
    observer::Snapshot,
    pace::Pace,
    seed::Seed,
    topology::{Topology, Until},
    user::Trouble,
};

/// What is to happen.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the cluster.
    pub name: String,
    /// Its shape.
    pub topology: Topology,
    /// Number of workers, where the shape has any.
    pub workers: Option<usize>,
    /// Random seed.
    pub seed: Seed,
    /// How fast.
    pub pace: Pace,
    /// What goes wrong.
    pub faults: Vec<Planned>,
    /// Repair what went wrong once the service has noticed, and go on.
    pub heal: bool,
    /// How far.
    pub until: Until,
    /// Version to install; the service's default if not given.
    pub version: Option<String>,
    /// What it has beyond its shape.
    pub features: Vec<Feature>,
    /// Operators to install with it, by name.
    pub operators: Vec<String>,
    /// Agents repeat themselves as real ones do.
    pub faithful: bool,
    /// How the controller of the new cluster learns of changes there.
    pub attention: Attention,
    /// The machines boot an infra-env that exists; a person is the user.
    pub join: Option<Uuid>,
    /// Longest real time one wait may take.
    pub timeout: Duration,
    /// Pause between two looks at the service.
    pub look_every: Duration,
}

impl Plan {
    /// A plan without faults, for one shape.
    #[must_use]
    pub fn of(topology: Topology, seed: Seed, pace: Pace) -> Self {
        let look = pace.real(Duration::from_secs(10));
        Self {
            name: format!("sim-{topology}"),
            topology,
            workers: None,
            seed,
            pace,
            faults: Vec::new(),
            heal: false,
            until: Until::default(),
            version: None,
            features: Vec::new(),
            operators: Vec::new(),
            faithful: false,
            attention: Attention::default(),
            join: None,
            // Three simulated hours, and a minute for a service that is busy.
            timeout: Duration::from_secs(60) + pace.real(Duration::from_secs(3 * 3600)),
            look_every: look.clamp(Duration::from_millis(100), Duration::from_secs(5)),
        }
    }
}

/// How a run ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It got where it should.
    Reached,
    /// The service noticed these faults, which was the point of it.
    Noticed(Vec<Fault>),
}

/// Why a run did not end well.
#[derive(Debug, thiserror::Error)]
pub enum Stuck {
    /// The service refused something it should do.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// Something never came.
    #[error("waited {seconds} s for {what}, but {why}")]
    Waited {
        /// For how long.
        seconds: u64,
        /// For what.
        what: String,
        /// What is there instead.
        why: String,
    },
    /// The installation failed, and no fault explains it.
    #[error("the installation failed: {0}")]
    Failed(String),
    /// What was made is not there any more, or not for us.
    #[error("the cluster or its infra-env cannot be seen any more: {0}")]
    Lost(String),
    /// The service did not see a fault.
    #[error("the service never noticed {0}: expected {1}")]
    Unnoticed(Fault, String),
    /// A fault for a host that is not there.
    #[error("there is no host {host} to have {fault}: the cluster has {hosts}")]
    NoSuchHost {
        /// Which fault.
        fault: Fault,
        /// Whose.
        host: usize,
        /// How many there are.
        hosts: usize,
    },
    /// The cluster's own reports were not taken.
    #[error("a report of the new cluster was refused: {0}")]
    Controller(String),
}

/// What keeps a cluster where it is.
pub(crate) fn explain(snapshot: &Snapshot) -> String {
    let mut parts = vec![format!(
        "the cluster is {} ({})",
        snapshot.cluster.status, snapshot.cluster.info
    )];
    if let Some(trouble) = &snapshot.trouble {
        parts.push(format!("the last look brought nothing: {trouble}"));
    }
    for (id, message) in &snapshot.cluster.failing {
        parts.push(format!("{id}: {message}"));
    }
    for host in snapshot.hosts.values().take(10) {
        let mut line = format!("{} is {}", host.name, host.status);
        if !host.stage.is_empty() {
            line += &format!(" at {:?}", host.stage);
        }
        if !matches!(host.status.as_str(), "known" | "installed") {
            line += &format!(" ({})", host.info);
        }
        for (id, message) in &host.failing {
            line += &format!("; {id}: {message}");
        }
        parts.push(line);
    }
    parts.join("\n  ")
}
