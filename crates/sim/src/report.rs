//! The record of a run, in order, for tests and for `--json`.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use serde::Serialize;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// The cluster it belongs to.
    pub cluster: String,
    /// The host, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What.
    #[serde(flatten)]
    pub what: Change,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// Something was done: by the user of the scenario, or a fault was set or lifted.
    Act {
        /// What, in words.
        what: String,
    },
    /// A status changed.
    Status {
        /// The new one.
        status: String,
        /// Its reason.
        info: String,
    },
    /// A stage was reached.
    Stage {
        /// Which.
        stage: String,
        /// How far that is.
        percent: i64,
    },
    /// A validation began to fail.
    Failing {
        /// Which.
        id: String,
        /// In the words of the service.
        message: String,
    },
    /// A validation passes again.
    Passing {
        /// Which.
        id: String,
    },
    /// The service recorded an event.
    Event {
        /// Its name.
        name: String,
        /// How bad.
        severity: String,
        /// Its words.
        message: String,
    },
}

/// The memory of a run.
#[derive(Debug)]
pub struct Report {
    began: Instant,
    moments: Mutex<Vec<Moment>>,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            moments: Mutex::default(),
        }
    }
}

impl Report {
    /// Remembers.
    pub fn note(&self, cluster: &str, host: Option<&str>, what: Change) {
        let moment = Moment {
            at_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            cluster: cluster.to_owned(),
            host: host.map(str::to_owned),
            what,
        };
        self.lock().push(moment);
    }

    /// What happened from moment number `from` on.
    #[must_use]
    pub fn since(&self, from: usize) -> Vec<Moment> {
        self.lock().get(from..).unwrap_or_default().to_vec()
    }

    /// Everything.
    #[must_use]
    pub fn all(&self) -> Vec<Moment> {
        self.since(0)
    }

    /// The statuses a host, or with `None` the cluster, was seen in, in order.
    #[must_use]
    pub fn statuses(&self, host: Option<&str>) -> Vec<String> {
        self.about(host, |what| {
            if let Change::Status { status, .. } = what {
                Some(status.clone())
            } else {
                None
            }
        })
    }

    /// The stages a host was seen in, in order.
    #[must_use]
    pub fn stages(&self, host: &str) -> Vec<String> {
        self.about(Some(host), |what| {
            if let Change::Stage { stage, .. } = what {
                Some(stage.clone())
            } else {
                None
            }
        })
    }

    /// Names of the events about a host, or with `None` about the cluster, in order.
    #[must_use]
    pub fn events(&self, host: Option<&str>) -> Vec<String> {
        self.about(host, |what| {
            if let Change::Event { name, .. } = what {
                Some(name.clone())
            } else {
                None
            }
        })
    }

    fn about(&self, host: Option<&str>, pick: impl Fn(&Change) -> Option<String>) -> Vec<String> {
        self.lock()
            .iter()
            .filter(|moment| moment.host.as_deref() == host)
            .filter_map(|moment| pick(&moment.what))
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Moment>> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
