//! A cluster with its hosts (or one unbound host) while it is being changed.
//!
//! Every change goes the same way: load, decide, store in one transaction, wake the driver.
//! If another request or replica was faster, the store says so by row versions and the
//! decision is made again on fresh records; that is why decisions are closures without
//! effects of their own.

use std::sync::Arc;

use muster_engine::{ClusterView, Decision, HostView, Job, Measured, Refused};
use muster_model::{Category, Cluster, ClusterId, Event, Host, HostKey, InfraEnv, Timestamp};
use muster_store::{Changes, Row, StoreError};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};
use tracing::debug;

use crate::{App, Error, Missing, heartbeats::Heartbeats};

/// How often a decision is repeated when others keep winning the race.
const MAX_ATTEMPTS: usize = 20;

/// Who asks for a change and when; stamped on records and events.
#[derive(Clone, Debug)]
pub struct Cause {
    /// The moment of the request.
    pub now: Timestamp,
    /// The request, if a request it was.
    pub request_id: Option<String>,
}

impl Cause {
    /// A change without a request: a timer, a restart, a finished job.
    #[must_use]
    pub fn internal() -> Self {
        Self {
            now: Timestamp::now(),
            request_id: None,
        }
    }
}

/// Records being changed. Edit `cluster`, `hosts` and `events` freely; what differs from the
/// loaded state is stored.
#[derive(Debug, Default)]
pub struct Aggregate {
    /// The cluster; `None` for an unbound host.
    pub cluster: Option<Cluster>,
    /// Its live hosts, oldest first.
    pub hosts: Vec<Host>,
    /// Events to write with the change.
    pub events: Vec<Event>,
    /// Work to start after the commit.
    pub jobs: Vec<Job>,
    /// What is counted once the change is stored.
    measured: Vec<Measured>,
    /// When to look again.
    pub wake_at: Option<Timestamp>,
    /// The rules have already seen the records as they are.
    pub settled: bool,
    /// Nothing changed that the rules look at.
    pub needs_no_refresh: bool,
    /// What an unbound host booted.
    infra_env: Option<Row<InfraEnv>>,
    seen_cluster: Option<Row<Cluster>>,
    seen_hosts: Vec<Row<Host>>,
}

impl Aggregate {
    fn new(cluster: Option<Row<Cluster>>, hosts: Vec<Row<Host>>) -> Self {
        Self {
            cluster: cluster.as_ref().map(|row| row.value.as_ref().clone()),
            hosts: hosts.iter().map(|row| row.value.as_ref().clone()).collect(),
            seen_cluster: cluster,
            seen_hosts: hosts,
            ..Self::default()
        }
    }

    /// The cluster; callers that loaded by cluster know it is there.
    pub fn cluster(&self) -> Result<&Cluster, Error> {
        self.cluster
            .as_ref()
            .ok_or_else(|| Error::not_found("the host is not bound to a cluster"))
    }

    /// The cluster, to be changed.
    pub fn cluster_mut(&mut self) -> Result<&mut Cluster, Error> {
        self.cluster
            .as_mut()
            .ok_or_else(|| Error::not_found("the host is not bound to a cluster"))
    }

    /// One of the hosts.
    pub fn host(&self, key: HostKey) -> Result<&Host, Error> {
        self.hosts
            .iter()
            .find(|host| host.key() == key)
            .ok_or_else(|| Missing::Host(key).into())
    }

    /// One of the hosts, to be changed.
    pub fn host_mut(&mut self, key: HostKey) -> Result<&mut Host, Error> {
        self.hosts
            .iter_mut()
            .find(|host| host.key() == key)
            .ok_or_else(|| Missing::Host(key).into())
    }

    /// The records as the rules see them.
    #[must_use]
    pub fn host_views<'a>(&'a self, heartbeats: &Heartbeats) -> Vec<HostView<'a>> {
        self.hosts
            .iter()
            .map(|host| HostView {
                host,
                last_seen: heartbeats.last_seen(host),
            })
            .collect()
    }

    /// Takes over a decision, or turns a refusal into its answer; its events are stored either way.
    pub fn settle_with(&mut self, result: Result<Decision, Refused>) -> Result<(), Error> {
        match result {
            Ok(decision) => {
                self.take(decision);
                Ok(())
            }
            Err(refused) => Err(self.refuse(refused)),
        }
    }

    /// The answer to a refused request; keeps its events.
    pub fn refuse(&mut self, mut refused: Refused) -> Error {
        self.events.append(&mut refused.events);
        refused.into()
    }

    /// The cluster with its hosts as the rules see them.
    pub fn view<'a>(&'a self, heartbeats: &Heartbeats) -> Result<ClusterView<'a>, Error> {
        Ok(ClusterView {
            cluster: self.cluster()?,
            hosts: self.host_views(heartbeats),
        })
    }

    /// Takes over what the rules decided.
    pub fn take(&mut self, decision: Decision) {
        for step in &decision.moves {
            debug!(
                host = step.host.map(|key| key.to_string()),
                rule = step.rule,
                "a rule moved a status"
            );
        }
        if let Some(cluster) = decision.cluster {
            self.cluster = Some(cluster);
        }
        // Decisions name hosts in our order, so the search goes on where it ended: large clusters
        // are gone through once and not once per host.
        let mut next = 0;
        for host in decision.hosts {
            let (before, after) = self.hosts.split_at(next);
            let is_it = |known: &Host| known.key() == host.key();
            let place = after.iter().position(is_it).map(|at| at + next);
            match place.or_else(|| before.iter().position(is_it)) {
                Some(place) => {
                    self.hosts[place] = host;
                    next = place + 1;
                }
                None => self.hosts.push(host),
            }
        }
        self.events.extend(decision.events);
        self.jobs.extend(decision.jobs);
        self.measured.extend(decision.measured);
        self.wake_at = match (self.wake_at, decision.wake_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    /// Re-evaluates validations, roles and statuses on the records as they are now.
    pub fn refresh(&mut self, app: &App, now: Timestamp) {
        let decision = match &self.cluster {
            Some(cluster) => {
                let view = ClusterView {
                    cluster,
                    hosts: self.host_views(&app.heartbeats),
                };
                muster_engine::refresh(&view, &app.rules.of(Some(cluster)), now)
            }
            None => {
                let mut all = Decision::default();
                let infra_env = self.infra_env.as_deref();
                let settings = app.rules.of_pool(infra_env);
                for view in self.host_views(&app.heartbeats) {
                    let one = muster_engine::refresh_unbound(&view, infra_env, &settings, now);
                    all.hosts.extend(one.hosts);
                    all.events.extend(one.events);
                    all.measured.extend(one.measured);
                    all.wake_at = all.wake_at.into_iter().chain(one.wake_at).min();
                }
                all
            }
        };
        self.take(decision);
        self.settled = true;
    }

    /// Counts what became different, once it is stored.
    fn count(&self, app: &App, figures: &[Event], now: Timestamp) {
        let cluster = self.seen_cluster.as_deref().zip(self.cluster.as_ref());
        // Most hosts stand where they were loaded to; one that was moved is not worth a search.
        let hosts = self.seen_hosts.iter().map(|seen| &**seen).zip(&self.hosts);
        let hosts = hosts.filter(|(before, after)| before.key() == after.key());
        app.metrics.stored(cluster, hosts, figures, now);
    }

    /// What differs from the loaded state.
    fn changes(&mut self, cause: &Cause) -> Changes {
        let mut changes = Changes::default();
        if let Some(cluster) = &mut self.cluster {
            match &self.seen_cluster {
                Some(seen) if **seen == *cluster => {}
                Some(seen) => {
                    cluster.updated_at = cause.now;
                    changes.update_cluster(seen, cluster.clone());
                }
                None => {
                    changes.insert_cluster(cluster.clone());
                }
            }
        }
        for (place, host) in self.hosts.iter_mut().enumerate() {
            // Where it was loaded to, unless a handler has moved it.
            let seen = self
                .seen_hosts
                .get(place)
                .filter(|seen| seen.key() == host.key())
                .or_else(|| self.seen_hosts.iter().find(|seen| seen.key() == host.key()));
            if let Some(joined) = host.cluster
                && seen.is_none_or(|seen| seen.cluster != Some(joined))
            {
                changes.require_live_cluster(joined);
            }
            match seen {
                Some(seen) if **seen == *host => {}
                Some(seen) => {
                    host.updated_at = cause.now;
                    changes.update_host(seen, host.clone());
                }
                None => {
                    changes.insert_host(host.clone());
                }
            }
        }
        for mut event in self.events.drain(..) {
            event.request_id.clone_from(&cause.request_id);
            changes.event(event);
        }
        changes
    }
}

/// How much is loaded for a change.
#[derive(Clone, Copy, Debug)]
enum Extent {
    /// A cluster with every host.
    Cluster(ClusterId),
    /// A host and its cluster's own record, without neighbours.
    Host(HostKey),
    /// A host with all it depends on: its cluster with every host, or itself alone.
    HostInContext(HostKey),
    /// A host and the own record of the cluster it is asked to join, if there is such a one.
    HostAndCluster(HostKey, ClusterId),
}

impl App {
    /// Changes a cluster and its hosts: `decide` edits the aggregate, the result is stored.
    pub async fn change_cluster<T>(
        self: &Arc<Self>,
        id: ClusterId,
        cause: &Cause,
        decide: impl FnMut(&mut Aggregate) -> Result<T, Error>,
    ) -> Result<(T, Aggregate), Error> {
        self.change(Extent::Cluster(id), cause, decide).await
    }

    /// Changes one host, and its cluster's own record if need be: no neighbours are loaded, so
    /// it stays cheap in large clusters. The driver re-evaluates the cluster afterwards; do not
    /// call [`Aggregate::refresh`] on this partial view.
    pub async fn change_host<T>(
        self: &Arc<Self>,
        key: HostKey,
        cause: &Cause,
        decide: impl FnMut(&mut Aggregate) -> Result<T, Error>,
    ) -> Result<(T, Aggregate), Error> {
        self.change(Extent::Host(key), cause, decide).await
    }

    /// Changes a host together with all it depends on: its cluster with every host if it is
    /// bound, itself alone if not. For rules that look at neighbours (roles, disks, names).
    pub async fn change_host_in_context<T>(
        self: &Arc<Self>,
        key: HostKey,
        cause: &Cause,
        decide: impl FnMut(&mut Aggregate) -> Result<T, Error>,
    ) -> Result<(T, Aggregate), Error> {
        self.change(Extent::HostInContext(key), cause, decide).await
    }

    /// Changes one host in view of a cluster it may join: the aggregate's cluster is that one,
    /// or none if it does not exist (any more).
    pub async fn change_host_joining<T>(
        self: &Arc<Self>,
        key: HostKey,
        cluster: ClusterId,
        cause: &Cause,
        decide: impl FnMut(&mut Aggregate) -> Result<T, Error>,
    ) -> Result<(T, Aggregate), Error> {
        self.change(Extent::HostAndCluster(key, cluster), cause, decide)
            .await
    }

    /// Asks what a change of a host in its context would be answered, and stores nothing.
    pub async fn would_change_host<T>(
        &self,
        key: HostKey,
        decide: impl FnOnce(&mut Aggregate) -> Result<T, Error>,
    ) -> Result<T, Error> {
        decide(&mut self.load(Extent::HostInContext(key)).await?)
    }

    async fn change<T>(
        self: &Arc<Self>,
        extent: Extent,
        cause: &Cause,
        mut decide: impl FnMut(&mut Aggregate) -> Result<T, Error>,
    ) -> Result<(T, Aggregate), Error> {
        for _ in 0..MAX_ATTEMPTS {
            let _turn = self.turn_for(extent).await?;
            let mut aggregate = self.load(extent).await?;
            let answer = decide(&mut aggregate);
            if let Some(done) = self.store_attempt(answer, &mut aggregate, cause).await? {
                return Ok((done, aggregate));
            }
        }
        Err(contended())
    }

    /// Changes of whole clusters queue up; changes of single hosts go side by side in between.
    async fn turn_for(&self, extent: Extent) -> Result<Turn, Error> {
        let turn = match extent {
            Extent::Cluster(id) => Turn::whole(self, Some(id)).await,
            Extent::HostInContext(key) => Turn::whole(self, self.host(key).await?.cluster).await,
            Extent::Host(key) | Extent::HostAndCluster(key, _) => {
                match self.host(key).await?.cluster {
                    Some(id) => Turn::Shared {
                        _guard: self.driver.shared_turn(id).await,
                    },
                    None => Turn::Free,
                }
            }
        };
        Ok(turn)
    }

    async fn load(&self, extent: Extent) -> Result<Aggregate, Error> {
        let whole = match extent {
            Extent::Cluster(id) => id,
            Extent::Host(key) => {
                let host = self.host(key).await?;
                let cluster = match host.cluster {
                    Some(id) => self.store.cluster(id).await?,
                    None => None,
                };
                return Ok(Aggregate::new(cluster, vec![host]));
            }
            Extent::HostAndCluster(key, cluster) => {
                let host = self.host(key).await?;
                let cluster = self.store.cluster(cluster).await?;
                return Ok(Aggregate::new(cluster, vec![host]));
            }
            Extent::HostInContext(key) => {
                let host = self.host(key).await?;
                match host.cluster {
                    Some(id) => id,
                    None => {
                        let infra_env = self.store.infra_env(key.infra_env);
                        return Ok(Aggregate {
                            infra_env: infra_env.await?,
                            ..Aggregate::new(None, vec![host])
                        });
                    }
                }
            }
        };
        let cluster = self.cluster(whole).await?;
        let hosts = self.store.every_host_of_cluster(whole).await?;
        Ok(Aggregate::new(Some(cluster), hosts))
    }

    /// Stores a decision. `Ok(None)` means that another change was faster: decide again.
    ///
    /// A refusal is stored too if it brought events ("bind failed"), but nothing else of it.
    async fn store_attempt<T>(
        self: &Arc<Self>,
        answer: Result<T, Error>,
        aggregate: &mut Aggregate,
        cause: &Cause,
    ) -> Result<Option<T>, Error> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(refusal) => {
                let mut changes = Changes::default();
                for mut event in aggregate.events.drain(..) {
                    event.request_id.clone_from(&cause.request_id);
                    changes.event(event);
                }
                if !changes.is_empty() {
                    self.commit(changes).await?;
                }
                return Err(refusal);
            }
        };
        let is_figure = |event: &&Event| event.category == Category::Metrics;
        let figures: Vec<Event> = aggregate.events.iter().filter(is_figure).cloned().collect();
        let changes = aggregate.changes(cause);
        if !changes.is_empty() {
            match self.commit(changes).await {
                Ok(()) => {}
                // What is gone is not found on the next round, and that has its own answer.
                Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => return Ok(None),
                Err(other) => return Err(other.into()),
            }
        }
        aggregate.count(self, &figures, cause.now);
        for figure in aggregate.measured.drain(..) {
            self.metrics.measured(&figure);
        }
        self.driver.committed(self, aggregate);
        Ok(Some(answer))
    }
}

/// The right to change something, given back when dropped.
enum Turn {
    /// No other task changes the cluster.
    Whole { _guard: OwnedRwLockWriteGuard<()> },
    /// No task changes the cluster as a whole.
    Shared { _guard: OwnedRwLockReadGuard<()> },
    /// There is no cluster.
    Free,
}

impl Turn {
    async fn whole(app: &App, cluster: Option<ClusterId>) -> Self {
        match cluster {
            Some(id) => Self::Whole {
                _guard: app.driver.turn(id).await,
            },
            None => Self::Free,
        }
    }
}

fn contended() -> Error {
    Error::conflict("too many concurrent changes of this record; retry in a moment")
}
