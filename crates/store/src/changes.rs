//! What a caller wants written, all of it or nothing.
//!
//! [`Changes`] collects; [`Changes::into_unit`] turns it into statements for the writer and
//! into effects for the cache. Rows are always touched in the same order, so two units that
//! change the same rows can never wait for each other in a circle.

use std::{fmt, sync::Arc};

use muster_model::{Cluster, ClusterId, Event, Host, HostKey, InfraEnv, InfraEnvId, Timestamp};
use uuid::Uuid;

use crate::{
    cache::Library,
    document::{Document, Row},
    error::StoreError,
    events,
    sealing::{SealingKey, members},
    statement::Statement,
};

/// A unit of change under construction.
#[must_use = "changes are written by Store::commit"]
#[derive(Debug, Default)]
pub struct Changes {
    rows: Vec<Change>,
    events: Vec<Event>,
}

impl Changes {
    /// Nothing to write yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.events.is_empty()
    }

    /// Adds a cluster; conflicts if the id was ever used.
    pub fn insert_cluster(&mut self, cluster: Cluster) -> &mut Self {
        self.row(Change::Cluster(Write::Insert(Box::new(cluster))))
    }

    /// Replaces a cluster; conflicts if it is no longer the one `seen`. Set `deleted_at` to
    /// delete it.
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

    /// Removes an infra-env; missing if someone else was faster.
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

    fn row(&mut self, change: Change) -> &mut Self {
        self.rows.push(change);
        self
    }

    pub(crate) fn into_unit(mut self, key: &SealingKey) -> Result<Unit, StoreError> {
        // Stable: changes of the same row keep the order in which they were asked for.
        self.rows.sort_by_key(Change::place);
        let mut unit = Unit::default();
        for change in self.rows {
            match change {
                Change::Cluster(write) => unit.write(write, key, Effect::Cluster)?,
                Change::InfraEnv(write) => unit.write(write, key, Effect::InfraEnv)?,
                Change::Host(write) => unit.write(write, key, Effect::Host)?,
            }
        }
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

    fn place(&self) -> (u8, Uuid, Uuid) {
        match self {
            Self::Cluster(id) => (0, id.0, Uuid::nil()),
            Self::InfraEnv(id) => (1, id.0, Uuid::nil()),
            Self::Host(key) => (2, key.infra_env.0, key.host.0),
        }
    }

    /// The statements that remove the row.
    fn removal(&self) -> Vec<Step> {
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
                    "DELETE FROM hosts WHERE cluster_id = $1 AND deleted_at IS NOT NULL",
                    id,
                ),
                free("DELETE FROM events WHERE cluster_id = $1", id),
                free("DELETE FROM clusters WHERE id = $1", id),
            ],
            Self::InfraEnv(id) => vec![Step {
                statement: Statement::new("DELETE FROM infra_envs WHERE id = $1").text(id),
                no_row: NoRow::Missing(*self),
            }],
            Self::Host(key) => [
                "DELETE FROM heartbeats WHERE infra_env_id = $1 AND host_id = $2",
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
}

impl Change {
    fn place(&self) -> (u8, Uuid, Uuid) {
        match self {
            Self::Cluster(write) => write.subject().place(),
            Self::InfraEnv(write) => write.subject().place(),
            Self::Host(write) => write.subject().place(),
        }
    }
}

#[derive(Debug)]
enum Write<T: Document> {
    Insert(Box<T>),
    Update {
        key: T::Key,
        seen: i64,
        value: Box<T>,
    },
    Remove(T::Key),
}

impl<T: Document> Write<T> {
    fn update(seen: &Row<T>, value: T) -> Self {
        Self::Update {
            key: seen.value.key(),
            seen: seen.version,
            value: Box::new(value),
        }
    }

    fn subject(&self) -> Subject {
        T::subject(match self {
            Self::Insert(value) => value.key(),
            Self::Update { key, .. } => *key,
            Self::Remove(key) => *key,
        })
    }
}

/// What it means that a statement touched no row.
#[derive(Debug)]
pub(crate) enum NoRow {
    /// Nothing.
    Fine,
    /// The key was taken.
    Conflict(Subject),
    /// The row was gone.
    Missing(Subject),
    /// One of both; look which.
    Either(Subject),
}

/// One statement of a unit.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) statement: Statement,
    pub(crate) no_row: NoRow,
}

impl Step {
    pub(crate) fn free(statement: Statement) -> Self {
        Self {
            statement,
            no_row: NoRow::Fine,
        }
    }
}

/// A row as it is once its unit is durable; `Err` holds the key of one that is gone.
pub(crate) type Landing<T> = Result<Row<T>, <T as Document>::Key>;

/// What a durable unit changes in the cache.
pub(crate) enum Effect {
    Cluster(Landing<Cluster>),
    InfraEnv(Landing<InfraEnv>),
    Host(Landing<Host>),
}

impl Effect {
    pub(crate) fn apply(&self, library: &mut Library) {
        fn land<T: Document>(library: &mut Library, landing: &Landing<T>) {
            match landing {
                Ok(row) => T::shelf_mut(library).land(row),
                Err(key) => T::shelf_mut(library).remove(*key),
            }
        }
        match self {
            Self::Cluster(landing) => land(library, landing),
            Self::InfraEnv(landing) => land(library, landing),
            Self::Host(landing) => land(library, landing),
        }
    }
}

/// What the writer gets: statements that stand or fall together.
#[derive(Default)]
pub(crate) struct Unit {
    pub(crate) steps: Vec<Step>,
    pub(crate) effects: Vec<Effect>,
}

impl Unit {
    fn write<T: Document>(
        &mut self,
        write: Write<T>,
        sealing: &SealingKey,
        effect: fn(Landing<T>) -> Effect,
    ) -> Result<(), StoreError> {
        let subject = write.subject();
        let (step, row) = match write {
            Write::Insert(mut value) => {
                let version = first_version();
                let doc = members::to_text(&mut *value, sealing)?;
                let step = Step {
                    statement: value.insert(version, doc),
                    no_row: NoRow::Conflict(subject),
                };
                (step, row(version, value))
            }
            Write::Update {
                key,
                seen,
                mut value,
            } => {
                if value.key() != key {
                    return Err(StoreError::Invalid {
                        what: subject.to_string(),
                        reason: "an update cannot change the key; remove and insert".to_owned(),
                    });
                }
                let doc = members::to_text(&mut *value, sealing)?;
                let step = Step {
                    statement: value.update(seen, doc),
                    no_row: NoRow::Either(subject),
                };
                let version = seen + 1;
                (step, row(version, value))
            }
            Write::Remove(key) => {
                self.steps.extend(subject.removal());
                self.effects.push(effect(Err(key)));
                return Ok(());
            }
        };
        self.steps.push(step);
        self.effects.push(effect(Ok(row)));
        Ok(())
    }
}

/// Versions of a key must not come twice, even if its row is removed and inserted again: a
/// reader that was slow would take the old document for the new one. The clock sees to that.
fn first_version() -> i64 {
    Timestamp::now().0
}

fn row<T>(version: i64, value: Box<T>) -> Row<T> {
    Row {
        version,
        value: Arc::from(value),
    }
}
