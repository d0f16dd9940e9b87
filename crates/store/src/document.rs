//! The three nouns as rows: which table, which key, which statements.

use std::{fmt, hash::Hash, ops::Deref, sync::Arc};

use muster_model::{Cluster, ClusterId, Host, HostKey, InfraEnv, InfraEnvId, Report, Timestamp};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::{
    cache::{Library, Shelf},
    changes::Subject,
    error::StoreError,
    sealing::members::HoldsSecrets,
    statement::{RawRow, Statement},
    unknown::Unknown,
};

/// A document with the version it was read at. Hand it back to change it.
pub struct Row<T> {
    /// Grows with every change of the row.
    pub version: i64,
    /// The document; shared, never changed in place.
    pub value: Arc<T>,
    /// Members of the stored document that `T` does not have.
    pub(crate) unknown: Unknown,
}

impl<T> Clone for Row<T> {
    fn clone(&self) -> Self {
        Self {
            version: self.version,
            value: Arc::clone(&self.value),
            unknown: self.unknown.clone(),
        }
    }
}

impl<T> Deref for Row<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Row<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("version", &self.version)
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}

/// A document as the database keeps it.
pub(crate) struct Text {
    pub(crate) json: String,
    pub(crate) checksum: String,
}

/// Rows that are listed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Group {
    All,
    OfCluster(ClusterId),
    OfInfraEnv(InfraEnvId),
}

impl Group {
    /// The condition and its one argument, if it takes one.
    pub(crate) fn condition(self) -> (&'static str, Option<String>) {
        match self {
            Self::All => ("1 = 1", None),
            Self::OfCluster(id) => ("cluster_id = $1", Some(id.to_string())),
            Self::OfInfraEnv(id) => ("infra_env_id = $1", Some(id.to_string())),
        }
    }
}

/// What the store must know of a noun.
pub(crate) trait Document:
    HoldsSecrets + Serialize + DeserializeOwned + Send + Sync + 'static
{
    type Key: Copy + Eq + Hash + Ord + fmt::Debug + Send + Sync;

    const TABLE: &'static str;
    /// Columns of the key, and how many.
    const KEY: &'static str;
    const KEY_COLUMNS: usize;
    /// Condition of rows that are not deleted.
    const LIVE: &'static str;
    /// Column, or SQL constant, that names the cluster.
    const CLUSTER: &'static str;

    fn key(&self) -> Self::Key;
    fn created_at(&self) -> Timestamp;
    fn cluster(&self) -> Option<ClusterId>;
    fn is_live(&self) -> bool;

    fn subject(key: Self::Key) -> Subject;
    /// The id that breaks ties of `created_at`.
    fn id(key: Self::Key) -> Uuid;
    fn groups(key: Self::Key, cluster: Option<ClusterId>) -> [Option<Group>; 2];
    fn key_args(key: Self::Key) -> Vec<String>;
    /// Reads the key from the first columns of a row.
    fn read_key(row: &RawRow) -> Result<Self::Key, StoreError>;

    /// Touches no row if the key is taken.
    fn insert(&self, version: i64, doc: Text) -> Statement;
    /// Touches no row if the version is not `seen`.
    fn update(&self, seen: i64, doc: Text) -> Statement;

    /// SQL for the text that is kept beside the document.
    const BESIDE: &'static str = "NULL";

    /// A text too large to be written with every change; it has a table of its own.
    fn beside(&self) -> Option<&Report> {
        None
    }
    /// Takes it out, or puts it back.
    fn set_beside(&mut self, _: Option<Report>) {}
    /// Writes that text, or removes it.
    fn write_beside(_: Self::Key, _: Option<&Report>) -> Option<Statement> {
        None
    }

    fn shelf(library: &Library) -> &Shelf<Self>
    where
        Self: Sized;
    fn shelf_mut(library: &mut Library) -> &mut Shelf<Self>
    where
        Self: Sized;
}

impl Document for Cluster {
    type Key = ClusterId;
    const TABLE: &'static str = "clusters";
    const KEY: &'static str = "id";
    const KEY_COLUMNS: usize = 1;
    const LIVE: &'static str = "deleted_at IS NULL";
    const CLUSTER: &'static str = "NULL";

    fn key(&self) -> ClusterId {
        self.id
    }
    fn created_at(&self) -> Timestamp {
        self.created_at
    }
    fn cluster(&self) -> Option<ClusterId> {
        None
    }
    fn is_live(&self) -> bool {
        self.deleted_at.is_none()
    }

    fn subject(key: ClusterId) -> Subject {
        Subject::Cluster(key)
    }
    fn id(key: ClusterId) -> Uuid {
        key.0
    }
    fn groups(_: ClusterId, _: Option<ClusterId>) -> [Option<Group>; 2] {
        [Some(Group::All), None]
    }
    fn key_args(key: ClusterId) -> Vec<String> {
        vec![key.to_string()]
    }
    fn read_key(row: &RawRow) -> Result<ClusterId, StoreError> {
        row.id(0)
    }

    fn insert(&self, version: i64, doc: Text) -> Statement {
        Statement::new(
            "INSERT INTO clusters (id, version, created_at, deleted_at, doc, checksum) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        )
        .text(self.id)
        .int(version)
        .int(self.created_at.0)
        .maybe_int(self.deleted_at.map(|at| at.0))
        .json(doc.json)
        .json(doc.checksum)
    }
    fn update(&self, seen: i64, doc: Text) -> Statement {
        Statement::new(
            "UPDATE clusters SET version = version + 1, created_at = $3, deleted_at = $4, doc = $5, \
             checksum = $6 \
             WHERE id = $1 AND version = $2",
        )
        .text(self.id)
        .int(seen)
        .int(self.created_at.0)
        .maybe_int(self.deleted_at.map(|at| at.0))
        .json(doc.json)
        .json(doc.checksum)
    }

    fn shelf(library: &Library) -> &Shelf<Self> {
        &library.clusters
    }
    fn shelf_mut(library: &mut Library) -> &mut Shelf<Self> {
        &mut library.clusters
    }
}

impl Document for InfraEnv {
    type Key = InfraEnvId;
    const TABLE: &'static str = "infra_envs";
    const KEY: &'static str = "id";
    const KEY_COLUMNS: usize = 1;
    const LIVE: &'static str = "1 = 1";
    const CLUSTER: &'static str = "cluster_id";

    fn key(&self) -> InfraEnvId {
        self.id
    }
    fn created_at(&self) -> Timestamp {
        self.created_at
    }
    fn cluster(&self) -> Option<ClusterId> {
        self.cluster
    }
    fn is_live(&self) -> bool {
        true
    }

    fn subject(key: InfraEnvId) -> Subject {
        Subject::InfraEnv(key)
    }
    fn id(key: InfraEnvId) -> Uuid {
        key.0
    }
    fn groups(_: InfraEnvId, cluster: Option<ClusterId>) -> [Option<Group>; 2] {
        [Some(Group::All), cluster.map(Group::OfCluster)]
    }
    fn key_args(key: InfraEnvId) -> Vec<String> {
        vec![key.to_string()]
    }
    fn read_key(row: &RawRow) -> Result<InfraEnvId, StoreError> {
        row.id(0)
    }

    fn insert(&self, version: i64, doc: Text) -> Statement {
        Statement::new(
            "INSERT INTO infra_envs (id, version, created_at, cluster_id, doc, checksum) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        )
        .text(self.id)
        .int(version)
        .int(self.created_at.0)
        .maybe_text(self.cluster)
        .json(doc.json)
        .json(doc.checksum)
    }
    fn update(&self, seen: i64, doc: Text) -> Statement {
        Statement::new(
            "UPDATE infra_envs SET version = version + 1, created_at = $3, cluster_id = $4, doc = $5, \
             checksum = $6 \
             WHERE id = $1 AND version = $2",
        )
        .text(self.id)
        .int(seen)
        .int(self.created_at.0)
        .maybe_text(self.cluster)
        .json(doc.json)
        .json(doc.checksum)
    }

    fn shelf(library: &Library) -> &Shelf<Self> {
        &library.infra_envs
    }
    fn shelf_mut(library: &mut Library) -> &mut Shelf<Self> {
        &mut library.infra_envs
    }
}

impl Document for Host {
    type Key = HostKey;
    const TABLE: &'static str = "hosts";
    const KEY: &'static str = "infra_env_id, id";
    const KEY_COLUMNS: usize = 2;
    const LIVE: &'static str = "deleted_at IS NULL";
    const CLUSTER: &'static str = "cluster_id";

    fn key(&self) -> HostKey {
        self.key()
    }
    fn created_at(&self) -> Timestamp {
        self.created_at
    }
    fn cluster(&self) -> Option<ClusterId> {
        self.cluster
    }
    fn is_live(&self) -> bool {
        self.deleted_at.is_none()
    }

    fn subject(key: HostKey) -> Subject {
        Subject::Host(key)
    }
    fn id(key: HostKey) -> Uuid {
        key.host.0
    }
    fn groups(key: HostKey, cluster: Option<ClusterId>) -> [Option<Group>; 2] {
        [
            Some(Group::OfInfraEnv(key.infra_env)),
            cluster.map(Group::OfCluster),
        ]
    }
    fn key_args(key: HostKey) -> Vec<String> {
        vec![key.infra_env.to_string(), key.host.to_string()]
    }
    fn read_key(row: &RawRow) -> Result<HostKey, StoreError> {
        Ok(HostKey {
            infra_env: row.id(0)?,
            host: row.id(1)?,
        })
    }

    /// A deleted host that says hello again is a new one in the old place.
    fn insert(&self, version: i64, doc: Text) -> Statement {
        Statement::new(
            "INSERT INTO hosts (infra_env_id, id, version, created_at, deleted_at, cluster_id, doc, \
             checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
             ON CONFLICT (infra_env_id, id) DO UPDATE SET version = excluded.version, \
             created_at = excluded.created_at, deleted_at = excluded.deleted_at, \
             cluster_id = excluded.cluster_id, doc = excluded.doc, \
             checksum = excluded.checksum \
             WHERE hosts.deleted_at IS NOT NULL",
        )
        .text(self.infra_env)
        .text(self.id)
        .int(version)
        .int(self.created_at.0)
        .maybe_int(self.deleted_at.map(|at| at.0))
        .maybe_text(self.cluster)
        .json(doc.json)
        .json(doc.checksum)
    }
    fn update(&self, seen: i64, doc: Text) -> Statement {
        Statement::new(
            "UPDATE hosts SET version = version + 1, created_at = $4, deleted_at = $5, \
             cluster_id = $6, doc = $7, checksum = $8 WHERE infra_env_id = $1 AND id = $2 AND version = $3",
        )
        .text(self.infra_env)
        .text(self.id)
        .int(seen)
        .int(self.created_at.0)
        .maybe_int(self.deleted_at.map(|at| at.0))
        .maybe_text(self.cluster)
        .json(doc.json)
        .json(doc.checksum)
    }

    const BESIDE: &'static str = "(SELECT report FROM host_connectivity AS beside \
        WHERE beside.infra_env_id = hosts.infra_env_id AND beside.host_id = hosts.id)";

    fn beside(&self) -> Option<&Report> {
        self.reports.connectivity.as_ref()
    }
    fn set_beside(&mut self, report: Option<Report>) {
        self.reports.connectivity = report;
    }
    fn write_beside(key: HostKey, report: Option<&Report>) -> Option<Statement> {
        let statement = Statement::new(match report {
            Some(_) => {
                "INSERT INTO host_connectivity (infra_env_id, host_id, report) \
                 VALUES ($1, $2, $3) \
                 ON CONFLICT (infra_env_id, host_id) DO UPDATE SET report = excluded.report"
            }
            None => "DELETE FROM host_connectivity WHERE infra_env_id = $1 AND host_id = $2",
        });
        let statement = statement.text(key.infra_env).text(key.host);
        Some(match report {
            Some(report) => statement.text(report.text()),
            None => statement,
        })
    }

    fn shelf(library: &Library) -> &Shelf<Self> {
        &library.hosts
    }
    fn shelf_mut(library: &mut Library) -> &mut Shelf<Self> {
        &mut library.hosts
    }
}
