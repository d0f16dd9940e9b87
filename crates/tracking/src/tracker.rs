//! The account itself: compares what is seen with what was known, without input or output.

mod news;
mod waiting;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::observation::{ApiSeen, ClusterView, Event, Observation, ServiceSeen, Validation};

/// How far the account goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The bootstrap is complete.
    Bootstrap,
    /// The cluster is installed and stable.
    Install,
}

/// How important a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For the log file.
    Debug,
    /// Progress.
    Info,
    /// Stands in the way.
    Warning,
    /// Ends the account.
    Error,
}

/// Something new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How important.
    pub level: Level,
    /// For people.
    pub text: String,
}

/// Where the installation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The rendezvous host boots.
    Booting,
    /// Hosts register and are validated.
    Discovery,
    /// Disks are written.
    Installing,
    /// The rendezvous host runs the temporary control plane.
    Bootstrapping,
    /// The rendezvous host reboots; its service is gone for good.
    Handover,
    /// The cluster initializes.
    Finalizing,
    /// Its operators come to rest.
    Settling,
    /// The goal is reached.
    Complete,
}

impl Phase {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Booting => "the hosts boot",
            Self::Discovery => "the hosts are discovered and validated",
            Self::Installing => "the hosts are installed",
            Self::Bootstrapping => "the cluster bootstraps",
            Self::Handover => "the rendezvous host reboots into the cluster",
            Self::Finalizing => "the cluster initializes",
            Self::Settling => "the cluster operators settle",
            Self::Complete => "complete",
        }
    }
}

/// What happens at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Where the installation is.
    pub phase: Phase,
    /// What it waits for.
    pub waiting_for: String,
    /// For how long this phase has lasted.
    pub since: Duration,
}

/// How the account ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The goal is reached.
    Reached,
    /// It is not, and the exit code says in which phase.
    Failed {
        /// 5 bootstrap, 6 initialization, 7 operators.
        code: u8,
        /// Why.
        reason: String,
    },
}

/// How long phases may last. A limit counts only while nothing moves: it is extended as long as
/// the last progress is younger than `grace`.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until the bootstrap is complete.
    pub bootstrap: Duration,
    /// From there until the cluster version is available.
    pub install: Duration,
    /// From there until operators have settled.
    pub settle: Duration,
    /// How recent progress must be to go on after a limit.
    pub grace: Duration,
    /// For how long every operator must be at rest.
    pub rest: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let minutes = |number: u64| Duration::from_secs(number * 60);
        Self {
            bootstrap: minutes(60),
            install: minutes(40),
            settle: minutes(30),
            grace: minutes(10),
            rest: Duration::from_secs(30),
        }
    }
}

/// The account.
#[derive(Debug)]
pub struct Tracker {
    goal: Goal,
    limits: Limits,
    /// Something was seen.
    has_begun: bool,
    phase: Phase,
    phase_began: Duration,
    /// When something moved last.
    moved: Duration,
    /// When the present limit began to count.
    counting: Duration,
    service_seen: bool,
    /// Since when the service is silent.
    service_silent: Option<Duration>,
    api_seen: bool,
    /// The service said that the rendezvous host is about to reboot, or the cluster works.
    service_may_go: bool,
    said: BTreeSet<String>,
    /// When the cluster was registered in the service.
    registered: String,
    status: String,
    percent: i64,
    stages: BTreeMap<String, String>,
    validations: BTreeMap<(String, String), Validation>,
    events: BTreeSet<Event>,
    first_events: bool,
    operators: BTreeMap<String, bool>,
    progress: String,
    nodes: BTreeMap<String, bool>,
    /// The name of the rendezvous host, once the service has said it.
    leader: Option<String>,
    resting_since: Option<Duration>,
    bootstrap_complete: bool,
    version_complete: bool,
    /// The cluster that a node restored from a seed becomes.
    restored: Option<String>,
}

impl Tracker {
    /// An account that has seen nothing.
    #[must_use]
    pub fn new(goal: Goal, limits: Limits) -> Self {
        Self {
            goal,
            limits,
            has_begun: false,
            phase: Phase::Booting,
            phase_began: Duration::ZERO,
            moved: Duration::ZERO,
            counting: Duration::ZERO,
            service_seen: false,
            service_silent: None,
            api_seen: false,
            service_may_go: false,
            said: BTreeSet::new(),
            registered: String::new(),
            status: String::new(),
            percent: 0,
            stages: BTreeMap::new(),
            validations: BTreeMap::new(),
            events: BTreeSet::new(),
            first_events: true,
            operators: BTreeMap::new(),
            progress: String::new(),
            nodes: BTreeMap::new(),
            leader: None,
            resting_since: None,
            bootstrap_complete: false,
            version_complete: false,
            restored: None,
        }
    }

    /// Follows a node that is restored from a seed. It has the finished cluster of the seed from its
    /// first moment; that counts only once it has become the cluster of its site, with nodes that are
    /// ready.
    #[must_use]
    pub fn restored(mut self, cluster_id: impl Into<String>) -> Self {
        self.restored = Some(cluster_id.into());
        self
    }

    /// Takes in what was seen; returns what is new, and the end if this is it.
    pub fn take(&mut self, seen: &Observation) -> (Vec<Line>, Option<Outcome>) {
        let mut lines = Vec::new();
        let before = self.phase;
        let cancelled = self.take_service(seen, &mut lines);
        self.take_api(seen, &mut lines);
        let phase = self.phase_of(seen).max(match self.phase {
            // These are facts of the cluster, which does not unlearn them.
            Phase::Finalizing | Phase::Settling | Phase::Complete => self.phase,
            // Discovery may follow an installation that was reset or starts over.
            Phase::Booting
            | Phase::Discovery
            | Phase::Installing
            | Phase::Bootstrapping
            | Phase::Handover => Phase::Booting,
        });
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first || phase != before {
            self.phase = phase;
            self.phase_began = seen.at;
            self.moved = seen.at;
            if phase != Phase::Complete {
                let text = format!("Phase: {}", phase.name());
                lines.push(Line {
                    level: Level::Info,
                    text,
                });
            }
        }
        if lines.iter().any(|line| line.level >= Level::Info) {
            self.moved = seen.at;
        }
        let outcome = match cancelled {
            Some(reason) => Some(Outcome::Failed { code: 5, reason }),
            None if self.is_reached() => Some(Outcome::Reached),
            None => self.expired(seen),
        };
        (lines, outcome)
    }

    /// What happens now.
    #[must_use]
    pub fn status(&self, seen: &Observation) -> Status {
        Status {
            phase: self.phase,
            waiting_for: self.waiting_for(seen),
            since: seen.at.saturating_sub(self.phase_began),
        }
    }

    fn is_reached(&self) -> bool {
        match self.goal {
            Goal::Bootstrap => self.bootstrap_complete,
            Goal::Install => self.phase == Phase::Complete,
        }
    }

    /// The phase that facts alone speak for.
    fn phase_of(&self, seen: &Observation) -> Phase {
        if self.version_complete {
            let resting = self
                .resting_since
                .is_some_and(|since| seen.at.saturating_sub(since) >= self.limits.rest);
            return match resting {
                true => Phase::Complete,
                false => Phase::Settling,
            };
        }
        let service = match &seen.service {
            ServiceSeen::Cluster(view) => Some(view),
            ServiceSeen::None
            | ServiceSeen::Silent(_)
            | ServiceSeen::Refused(_)
            | ServiceSeen::Empty => None,
        };
        if self.bootstrap_complete {
            // The rendezvous host reboots after the bootstrap; without a service there is none.
            return match (&seen.service, self.service_seen) {
                (ServiceSeen::None, _) | (_, false) => Phase::Finalizing,
                (ServiceSeen::Cluster(view), _) if view.status == "finalizing" => Phase::Finalizing,
                (ServiceSeen::Cluster(_), _) => Phase::Bootstrapping,
                (ServiceSeen::Silent(_) | ServiceSeen::Refused(_) | ServiceSeen::Empty, true) => {
                    match self.has_leader_joined() {
                        true => Phase::Finalizing,
                        false => Phase::Handover,
                    }
                }
            };
        }
        match service {
            Some(view) => match view.status.as_str() {
                "installing" | "preparing-for-installation" | "installing-pending-user-action" => {
                    let leads = |host: &&crate::observation::HostView| host.bootstrap;
                    let waiting = view.hosts.iter().filter(leads).any(|host| {
                        host.stage.starts_with("Waiting for") || host.stage == "Rebooting"
                    });
                    match waiting || self.api_seen {
                        true => Phase::Bootstrapping,
                        false => Phase::Installing,
                    }
                }
                "finalizing" | "installed" | "adding-hosts" => Phase::Finalizing,
                _ => Phase::Discovery,
            },
            None if self.service_may_go => Phase::Handover,
            None if matches!(seen.api, ApiSeen::Alive(_)) => Phase::Bootstrapping,
            None if self.service_seen || self.api_seen => self.phase,
            None => match seen.service {
                ServiceSeen::Empty => Phase::Discovery,
                ServiceSeen::None
                | ServiceSeen::Silent(_)
                | ServiceSeen::Refused(_)
                | ServiceSeen::Cluster(_) => Phase::Booting,
            },
        }
    }

    /// The rendezvous host is a node of the cluster. An account that began without the service does
    /// not know its name; then any node counts.
    fn has_leader_joined(&self) -> bool {
        let Some(leader) = &self.leader else {
            return !self.nodes.is_empty();
        };
        // Either name may have the domain behind it.
        let is_within = |long: &str, short: &str| {
            let rest = long.strip_prefix(short);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut nodes = self.nodes.keys();
        nodes.any(|node| is_within(node, leader) || is_within(leader, node))
    }

    fn expired(&self, seen: &Observation) -> Option<Outcome> {
        let (limit, code, what) = match (self.bootstrap_complete, self.version_complete) {
            (false, false) => (self.limits.bootstrap, 5, "the bootstrap is not complete"),
            (_, true) => (self.limits.settle, 7, "cluster operators have not settled"),
            (true, false) => (self.limits.install, 6, "the cluster is not initialized"),
        };
        let elapsed = seen.at.saturating_sub(self.counting);
        let idle = seen.at.saturating_sub(self.moved);
        (elapsed >= limit && idle >= self.limits.grace.min(limit)).then(|| Outcome::Failed {
            code,
            reason: format!(
                "{what} after {} minutes, and nothing has moved for {} minutes; it waits for: {}",
                elapsed.as_secs() / 60,
                idle.as_secs() / 60,
                self.waiting_for(seen)
            ),
        })
    }

    fn take_api(&mut self, seen: &Observation, lines: &mut Vec<Line>) {
        let ApiSeen::Alive(view) = &seen.api else {
            return;
        };
        if !self.api_seen {
            self.api_seen = true;
            let way = view.way.as_deref().map(|way| {
                format!(
                    " at {way}; its name is not in DNS here, so `oc` with the kubeconfig needs a \
                     DNS record for it"
                )
            });
            lines.push(Line {
                level: Level::Info,
                text: format!("The Kubernetes API answers{}", way.unwrap_or_default()),
            });
        }
        self.news_of_cluster(view, lines);
        self.take_facts(view, seen, lines);
    }

    fn take_facts(&mut self, view: &ClusterView, seen: &Observation, lines: &mut Vec<Line>) {
        let at = seen.at;
        if self.restored.is_some() && !self.bootstrap_complete {
            // There is none: the control plane came with the seed.
            self.bootstrap_complete = true;
            self.counting = at;
        }
        // Users remove their bootstrap host after this; the service reboots its own by itself.
        let etcd_needs_it =
            matches!(seen.service, ServiceSeen::None) && view.etcd_bootstrap_removed == Some(false);
        if view.bootstrap_complete && !etcd_needs_it && !self.bootstrap_complete {
            self.bootstrap_complete = true;
            self.service_may_go = true;
            self.counting = at;
            let text = "The bootstrap is complete".to_owned();
            lines.push(Line {
                level: Level::Info,
                text,
            });
        }
        let version = view.version.as_ref();
        let is_complete = version.is_some_and(|version| version.complete());
        if is_complete && self.missing_of_site(view).is_none() && !self.version_complete {
            // A cluster that is initialized has been bootstrapped, also without the ConfigMap.
            self.bootstrap_complete = true;
            self.version_complete = true;
            self.counting = at;
            let text = "The cluster is initialized".to_owned();
            lines.push(Line {
                level: Level::Info,
                text,
            });
        }
        let resting = view.operators.values().all(|one| one.progressing.is_none());
        self.resting_since = match resting && self.version_complete {
            true => self.resting_since.or(Some(at)),
            false => None,
        };
    }
}

#[cfg(test)]
mod tests;
