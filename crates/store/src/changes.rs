//! A set of writes, applied completely or not at all.
//!
//! [`Changes`] collects; [`Changes::into_unit`] turns it into steps for the writer and into
//! effects for the cache. Rows are always touched in the same order, so two units that change
//! the same rows can never wait for each other in a circle.
//!
//! Rows that are changed are checked by version. Rows that a decision only leans on are not,
//! unless it says so: see [`Changes::require_live_cluster`]. Conversely, no row
//! that live hosts depend on can be deleted.

use std::fmt;

use muster_model::{Cluster, ClusterId, Event, Host, HostKey, InfraEnv, InfraEnvId};
use uuid::Uuid;

use crate::{
    document::{Document, Row},
    error::StoreError,
    events,
    sealing::SealingKey,
    statement::Statement,
    unit::{Effect, NoRow, Step, Unit},
};

/// A unit of change under construction.
#[must_use = "changes are written by Store::commit"]
#[derive(Debug, Default)]
pub struct Changes {
    rows: Vec<Change>,
    required: Vec<Subject>,
    events: Vec<Event>,
}

impl Changes {
    /// Nothing to write yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing to write, whatever may be required.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.events.is_empty()
    }

    /// Adds a cluster; conflicts if the id was ever used.
    pub fn insert_cluster(&mut self, cluster: Cluster) -> &mut Self {
        self.row(Change::Cluster(Write::Insert(Box::new(cluster))))
    }

    /// Replaces a cluster; conflicts if it is no longer the one `seen`. Set `deleted_at` to
    /// delete it: that conflicts too if live hosts would stay behind in it, for instance one
    /// that registered after the caller had looked.
    pub fn update_cluster(&mut self, seen: &Row<Cluster>, cluster: Cluster) -> &mut Self {
        self.row(Change::Cluster(Write::update(seen, cluster)))
    }

    /// Removes every trace of a cluster: row, events, deleted hosts. No error if it is gone.
    pub fn purge_cluster(&mut self, id: ClusterId) -> &mut Self {
        self.row(Change::Cluster(Write::Remove(id)))
    }

    /// Adds an infra-env; conflicts if the id is in use.
    pub fn insert_infra_env(&mut self, infra_env: InfraEnv) -> &mut Self {
        self.row(Change::InfraEnv(Write::Insert(Box::new(infra_env))))
    }

    /// Replaces an infra-env; conflicts if it is no longer the one `seen`.
    pub fn update_infra_env(&mut self, seen: &Row<InfraEnv>, infra_env: InfraEnv) -> &mut Self {
        self.row(Change::InfraEnv(Write::update(seen, infra_env)))
    }

    /// Removes an infra-env; missing if someone else was faster, and a conflict while live
    /// hosts are registered with it.
    pub fn delete_infra_env(&mut self, id: InfraEnvId) -> &mut Self {
        self.row(Change::InfraEnv(Write::Remove(id)))
    }

    /// Adds a host, in the place of a deleted one if there is; conflicts with a live one.
    pub fn insert_host(&mut self, host: Host) -> &mut Self {
        self.row(Change::Host(Write::Insert(Box::new(host))))
    }

    /// Replaces a host; conflicts if it is no longer the one `seen`. Set `deleted_at` to delete
    /// it.
    pub fn update_host(&mut self, seen: &Row<Host>, host: Host) -> &mut Self {
        self.row(Change::Host(Write::update(seen, host)))
    }

    /// Removes a host and its heartbeat. No error if it is gone.
    pub fn purge_host(&mut self, key: HostKey) -> &mut Self {
        self.row(Change::Host(Write::Remove(key)))
    }

    /// What is written here makes sense only in this cluster: the unit fails as missing if the
    /// cluster is gone or deleted when it is written. That the cluster merely changed is fine.
    pub fn require_live_cluster(&mut self, id: ClusterId) -> &mut Self {
        self.required.push(Subject::Cluster(id));
        self
    }

    /// The same for an infra-env.
    pub fn require_infra_env(&mut self, id: InfraEnvId) -> &mut Self {
        self.required.push(Subject::InfraEnv(id));
        self
    }

    /// Adds one line of history.
    pub fn event(&mut self, event: Event) -> &mut Self {
        self.events.push(event);
        self
    }

    /// Adds lines of history.
    pub fn events(&mut self, events: impl IntoIterator<Item = Event>) -> &mut Self {
        self.events.extend(events);
        self
    }

    /// The lines of history added so far, to be read or thinned out.
    pub fn events_mut(&mut self) -> &mut Vec<Event> {
        &mut self.events
    }

    fn row(&mut self, change: Change) -> &mut Self {
        self.rows.push(change);
        self
    }

    pub(crate) fn into_unit(mut self, key: &SealingKey) -> Result<Unit, StoreError> {
        for subject in self.required {
            // A write of the row checks it anyway, and once is enough.
            let place = subject.place();
            if self.rows.iter().all(|change| change.place() != place) {
                self.rows.push(Change::Required(subject));
            }
        }
        // Stable: changes of the same row keep the order in which they were asked for.
        self.rows.sort_by_key(Change::place);
        let mut unit = Unit::default();
        // Looked at last: then the unit's own hosts have moved, and the locks it took by then
        // keep new ones away.
        let mut vacated = Vec::new();
        for change in self.rows {
            vacated.extend(change.vacates());
            match change {
                Change::Cluster(write) => unit.write(write, key, Effect::Cluster)?,
                Change::InfraEnv(write) => unit.write(write, key, Effect::InfraEnv)?,
                Change::Host(write) => unit.write(write, key, Effect::Host)?,
                Change::Required(subject) => unit.steps.push(Step::Hold(subject)),
            }
        }
        unit.steps.extend(vacated.into_iter().map(Step::Vacant));
        unit.steps
            .extend(events::inserts(&self.events)?.into_iter().map(Step::free));
        Ok(unit)
    }
}

/// The row a statement is about, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    Cluster(ClusterId),
    InfraEnv(InfraEnvId),
    Host(HostKey),
}

impl Subject {
    /// Finds the row whether live or deleted.
    pub(crate) fn probe(&self) -> Statement {
        match self {
            Self::Cluster(id) => Statement::new("SELECT 1 FROM clusters WHERE id = $1").text(id),
            Self::InfraEnv(id) => Statement::new("SELECT 1 FROM infra_envs WHERE id = $1").text(id),
            Self::Host(key) => {
                Statement::new("SELECT 1 FROM hosts WHERE infra_env_id = $1 AND id = $2")
                    .text(key.infra_env)
                    .text(key.host)
            }
        }
    }

    /// Finds the row if it is live.
    pub(crate) fn live(&self) -> Statement {
        match self {
            Self::Cluster(id) => {
                Statement::new("SELECT 1 FROM clusters WHERE id = $1 AND deleted_at IS NULL")
                    .text(id)
            }
            Self::InfraEnv(_) => self.probe(),
            Self::Host(key) => Statement::new(
                "SELECT 1 FROM hosts WHERE infra_env_id = $1 AND id = $2 AND deleted_at IS NULL",
            )
            .text(key.infra_env)
            .text(key.host),
        }
    }

    /// Finds the live hosts that need the row.
    pub(crate) fn tenants(&self) -> Statement {
        match self {
            Self::Cluster(id) => Statement::new(
                "SELECT 1 FROM hosts WHERE cluster_id = $1 AND deleted_at IS NULL LIMIT 1",
            )
            .text(id),
            Self::InfraEnv(id) => Statement::new(
                "SELECT 1 FROM hosts WHERE infra_env_id = $1 AND deleted_at IS NULL LIMIT 1",
            )
            .text(id),
            Self::Host(_) => self.live(),
        }
    }

    fn place(&self) -> (u8, Uuid, Uuid) {
        match self {
            Self::Cluster(id) => (0, id.0, Uuid::nil()),
            Self::InfraEnv(id) => (1, id.0, Uuid::nil()),
            Self::Host(key) => (2, key.infra_env.0, key.host.0),
        }
    }

    /// The statements that remove the row.
    pub(crate) fn removal(&self) -> Vec<Step> {
        let free = |sql: &'static str, id: &ClusterId| Step::free(Statement::new(sql).text(id));
        match self {
            Self::Cluster(id) => vec![
                free(
                    "DELETE FROM heartbeats WHERE EXISTS (SELECT 1 FROM hosts \
                     WHERE hosts.infra_env_id = heartbeats.infra_env_id \
                     AND hosts.id = heartbeats.host_id \
                     AND hosts.cluster_id = $1 AND hosts.deleted_at IS NOT NULL)",
                    id,
                ),
                free(
                    "DELETE FROM host_connectivity WHERE EXISTS (SELECT 1 FROM hosts \
                     WHERE hosts.infra_env_id = host_connectivity.infra_env_id \
                     AND hosts.id = host_connectivity.host_id \
                     AND hosts.cluster_id = $1 AND hosts.deleted_at IS NOT NULL)",
                    id,
                ),
                free(
                    "DELETE FROM hosts WHERE cluster_id = $1 AND deleted_at IS NOT NULL",
                    id,
                ),
                free("DELETE FROM events WHERE cluster_id = $1", id),
                free("DELETE FROM clusters WHERE id = $1", id),
            ],
            Self::InfraEnv(id) => vec![Step::Run {
                statement: Statement::new("DELETE FROM infra_envs WHERE id = $1").text(id),
                no_row: NoRow::Missing(*self),
            }],
            Self::Host(key) => [
                "DELETE FROM heartbeats WHERE infra_env_id = $1 AND host_id = $2",
                "DELETE FROM host_connectivity WHERE infra_env_id = $1 AND host_id = $2",
                "DELETE FROM hosts WHERE infra_env_id = $1 AND id = $2",
            ]
            .map(|sql| Step::free(Statement::new(sql).text(key.infra_env).text(key.host)))
            .into(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(id) => write!(f, "cluster {id}"),
            Self::InfraEnv(id) => write!(f, "infra-env {id}"),
            Self::Host(key) => write!(f, "host {} of infra-env {}", key.host, key.infra_env),
        }
    }
}

#[derive(Debug)]
enum Change {
    Cluster(Write<Cluster>),
    InfraEnv(Write<InfraEnv>),
    Host(Write<Host>),
    Required(Subject),
}

impl Change {
    /// What ends with this change, so that no live host may be in it.
    fn vacates(&self) -> Option<Subject> {
        match self {
            Self::Cluster(Write::Insert(cluster) | Write::Update { value: cluster, .. }) => {
                let deleted = cluster.deleted_at.is_some();
                deleted.then_some(Subject::Cluster(cluster.id))
            }
            Self::InfraEnv(Write::Remove(id)) => Some(Subject::InfraEnv(*id)),
            // Only what was deleted before is purged.
            Self::Cluster(Write::Remove(_)) => None,
            Self::InfraEnv(Write::Insert(_) | Write::Update { .. }) => None,
            Self::Host(_) | Self::Required(_) => None,
        }
    }

    fn place(&self) -> (u8, Uuid, Uuid) {
        match self {
            Self::Cluster(write) => write.subject().place(),
            Self::InfraEnv(write) => write.subject().place(),
            Self::Host(write) => write.subject().place(),
            Self::Required(subject) => subject.place(),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Write<T: Document> {
    Insert(Box<T>),
    Update {
        key: T::Key,
        seen: i64,
        value: Box<T>,
        /// What is kept beside the document is another one than before.
        beside: bool,
        /// The row as it was, if its document has members that the type does not.
        before: Option<Row<T>>,
    },
    Remove(T::Key),
}

impl<T: Document> Write<T> {
    fn update(seen: &Row<T>, value: T) -> Self {
        Self::Update {
            beside: value.beside() != seen.value.beside(),
            before: (!seen.unknown.is_empty()).then(|| seen.clone()),
            key: seen.value.key(),
            seen: seen.version,
            value: Box::new(value),
        }
    }

    pub(crate) fn subject(&self) -> Subject {
        T::subject(match self {
            Self::Insert(value) => value.key(),
            Self::Update { key, .. } => *key,
            Self::Remove(key) => *key,
        })
    }
}
