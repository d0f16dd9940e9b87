//! A decision being written: working copies of the records, compared with the view at the end
//! so that only real changes are stored.

use muster_model::{Cluster, ClusterStatus, Event, Host, HostKey, HostStatus, Timestamp};

use crate::{
    history,
    rules::triggers::{self, Fired, Not, Occasion, Trigger},
    view::{ClusterView, Decision, Job, Move},
};

#[derive(Debug)]
pub(crate) struct Draft<'a> {
    seen: &'a ClusterView<'a>,
    /// The hosts as they were, in the order of `hosts`.
    before: Vec<&'a Host>,
    pub(crate) cluster: Cluster,
    pub(crate) hosts: Vec<Host>,
    pub(crate) events: Vec<Event>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) moves: Vec<Move>,
    pub(crate) now: Timestamp,
}

impl<'a> Draft<'a> {
    pub(crate) fn of(seen: &'a ClusterView<'a>, now: Timestamp) -> Self {
        let mut before: Vec<&Host> = seen.hosts.iter().map(|h| h.host).collect();
        // Some rules take the first host that fits; the store's order must not matter.
        before.sort_by_key(|host| host.key());
        let hosts = before.iter().map(|host| (*host).clone()).collect();
        Self {
            seen,
            before,
            cluster: seen.cluster.clone(),
            hosts,
            events: Vec::new(),
            jobs: Vec::new(),
            moves: Vec::new(),
            now,
        }
    }

    /// Goes on from a decision that is part of this one.
    pub(crate) fn absorb(&mut self, decision: Decision) {
        if let Some(cluster) = decision.cluster {
            self.cluster = cluster;
        }
        for host in decision.hosts {
            if let Some(slot) = self.hosts.iter_mut().find(|h| h.key() == host.key()) {
                *slot = host;
            }
        }
        self.events.extend(decision.events);
        self.jobs.extend(decision.jobs);
        self.moves.extend(decision.moves);
    }

    /// Each host before and after the change.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'a Host, &Host)> {
        self.before.iter().copied().zip(&self.hosts)
    }

    pub(crate) fn move_cluster(&mut self, to: ClusterStatus, info: impl Into<String>) {
        history::move_cluster(&mut self.cluster, to, info, self.now, &mut self.events);
    }

    pub(crate) fn move_host(&mut self, index: usize, to: HostStatus, info: impl Into<String>) {
        history::move_host(&mut self.hosts[index], to, info, self.now, &mut self.events);
    }

    /// Lets something happen to the cluster.
    pub(crate) fn fire_cluster(&mut self, trigger: Trigger, said: &str) -> Result<Fired, Not> {
        let occasion = Occasion {
            said,
            ..Occasion::default()
        };
        let (rows, events) = (triggers::cluster::ROWS, &mut self.events);
        let cluster = &mut self.cluster;
        let fired = triggers::fire(rows, trigger, cluster, &occasion, self.now, events)?;
        self.note(None, fired);
        Ok(fired)
    }

    /// Lets something happen to a host.
    pub(crate) fn fire_host(
        &mut self,
        index: usize,
        trigger: Trigger,
        said: &str,
    ) -> Result<Fired, Not> {
        let occasion = Occasion {
            said,
            ..Occasion::default()
        };
        let (rows, events) = (triggers::host::ROWS, &mut self.events);
        let host = &mut self.hosts[index];
        let fired = triggers::fire(rows, trigger, host, &occasion, self.now, events)?;
        let key = host.key();
        self.note(Some(key), fired);
        Ok(fired)
    }

    fn note(&mut self, host: Option<HostKey>, fired: Fired) {
        if fired.moved {
            self.moves.push(Move {
                host,
                rule: fired.rule,
            });
        }
    }

    pub(crate) fn finish(mut self) -> Decision {
        let changed = self.cluster != *self.seen.cluster;
        if changed {
            self.cluster.updated_at = self.now;
        }
        let each = self.before.into_iter().zip(self.hosts);
        let changed_hosts = each.filter(|(before, after)| *before != after);
        let hosts = changed_hosts
            .map(|(_, mut host)| {
                host.updated_at = self.now;
                host
            })
            .collect();
        Decision {
            cluster: changed.then_some(self.cluster),
            hosts,
            events: self.events,
            jobs: self.jobs,
            moves: self.moves,
            measured: Vec::new(),
            needs_no_refresh: false,
            wake_at: None,
        }
    }
}

/// A decision about one host alone.
pub(crate) fn about_host(
    before: &Host,
    mut after: Host,
    events: Vec<Event>,
    now: Timestamp,
) -> Decision {
    let mut decision = Decision {
        events,
        ..Decision::default()
    };
    if after != *before {
        after.updated_at = now;
        decision.hosts.push(after);
    }
    decision
}
