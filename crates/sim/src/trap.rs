//! Planned faults, and whether the service has noticed them.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    fault::{Ending, Fault, Planned, Sign},
    machine::Machine,
    network::Network,
    observer::Snapshot,
    pace::Pace,
};

/// A fault that was set, and whether the service has shown that it noticed.
#[derive(Debug)]
pub(crate) struct Trap {
    pub(crate) fault: Fault,
    pub(crate) machine: Arc<Machine>,
    /// The user named the host.
    named: bool,
    /// Since when the service shows the sign of it.
    shown_since: Option<Instant>,
    pub(crate) noticed: bool,
}

/// A sign must stay this long: for three rounds of polls, so that it is more than the state of
/// a service that has not heard from every machine yet.
const LASTING: Duration = Duration::from_secs(180);

impl Trap {
    /// Sets a fault on watch.
    pub(crate) const fn new(planned: Planned, machine: Arc<Machine>) -> Self {
        Self {
            fault: planned.fault,
            machine,
            named: planned.host.is_some(),
            shown_since: None,
            noticed: false,
        }
    }

    /// A fault of no host in particular may have moved to another one.
    pub(crate) fn follow(&mut self, network: &Network) {
        if self.named || self.machine.faults.has(self.fault) {
            return;
        }
        let mut machines = network.machines().iter();
        if let Some(other) = machines.find(|machine| machine.faults.has(self.fault)) {
            self.machine = Arc::clone(other);
            self.shown_since = None;
        }
    }

    /// Looks whether the service shows the fault, and keeps showing it. The first time it has
    /// for long enough, gives the words of the service.
    pub(crate) fn look<'a>(&mut self, snapshot: &'a Snapshot, pace: Pace) -> Option<&'a str> {
        let sign = self.fault.sign();
        if self.noticed {
            return None;
        }
        if !sign.shows_in(snapshot, self.machine.id) {
            self.shown_since = None;
            return None;
        }
        let since = *self.shown_since.get_or_insert_with(Instant::now);
        self.noticed = since.elapsed() >= pace.real(LASTING);
        self.noticed
            .then(|| sign.in_the_words_of_the_service(snapshot, self.machine.id))
    }

    /// Whether the installation waits for, or fails of, this fault.
    pub(crate) fn holds_up(&self) -> bool {
        self.fault.sign().ending != Ending::GoesOn && self.machine.faults.has(self.fault)
    }

    /// Still expected to show.
    pub(crate) fn is_open(&self) -> bool {
        self.holds_up() && !self.noticed
    }

    pub(crate) fn must_show_before_install(&self) -> bool {
        self.is_open() && self.fault.sign().failing.is_some()
    }
}

impl Sign {
    /// Whether everything that can be seen of it is there.
    fn shows_in(&self, snapshot: &Snapshot, host: Uuid) -> bool {
        let host = snapshot.hosts.get(&host);
        let status = |wanted| host.is_some_and(|host| host.status == wanted);
        let failing = |id| {
            snapshot.cluster.failing.contains_key(id)
                || host.is_some_and(|host| host.failing.contains_key(id))
        };
        let visible =
            self.host_status.is_some() || self.failing.is_some() || self.cluster_status.is_some();
        visible
            && self.host_status.is_none_or(status)
            && self.failing.is_none_or(failing)
            && self
                .cluster_status
                .is_none_or(|wanted| snapshot.cluster.status == wanted)
    }

    /// What the service says about it.
    fn in_the_words_of_the_service<'a>(&self, snapshot: &'a Snapshot, host: Uuid) -> &'a str {
        let host = snapshot.hosts.get(&host);
        let message = self.failing.and_then(|id| {
            let of_host = host.and_then(|host| host.failing.get(id));
            of_host.or_else(|| snapshot.cluster.failing.get(id))
        });
        message
            .or_else(|| host.map(|host| &host.info))
            .map_or("", String::as_str)
    }

    /// Leaves no trace in the service.
    pub(crate) const fn is_silent(&self) -> bool {
        self.host_status.is_none()
            && self.failing.is_none()
            && self.cluster_status.is_none()
            && self.event.is_none()
    }
}
