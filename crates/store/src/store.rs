//! The store: open it by address, read documents, commit changes.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use muster_model::{
    Cluster, ClusterId, EventScope, Host, HostKey, InfraEnv, InfraEnvId, Timestamp,
};
use tokio::sync::watch;

use crate::{
    cache::{Library, Listed},
    changes::Changes,
    claim::Claim,
    database::{Address, Limits, Pool},
    document::{Group, Row},
    error::StoreError,
    events::{self, EventPage, EventQuery},
    follow::{self, Follower, HistoryOf, Numbered},
    heartbeats::{self, Heartbeat},
    migrations,
    quarantine::Quarantine,
    reader::{Reader, Trust},
    sealing::{SealingKey, fingerprint},
    sqlite::{Access, SqliteFile},
    statement::{Connection, Options, RawRow, Statement, aside},
    unit::{Step, Unit},
    writer::{self, SqliteWriter},
};

/// Whether deleted rows are asked for too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// Only live ones.
    Excluded,
    /// All that were not purged.
    Included,
}

/// All that outlives the process, but for blobs. Clones share one store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    reader: Reader,
    writer: Writer,
    /// Counts the commits of this process.
    commits: watch::Sender<u64>,
    /// Held by changes from their sealing until they are written.
    sealing: Arc<tokio::sync::RwLock<()>>,
    /// The last write found the disk of the database full.
    full: AtomicBool,
    /// Writes that did.
    refused: AtomicU64,
}

enum Writer {
    Sqlite(SqliteWriter),
    Postgres,
}

impl Store {
    /// Opens `sqlite:///absolute/path` (created if missing, ours alone while open) or
    /// `postgres://user:password@host/database` (may be shared), and updates the schema. Secrets
    /// are sealed under `key`, which must be the same each time and for all who share.
    pub async fn open(url: &str, key: SealingKey) -> Result<Self, StoreError> {
        Self::open_within(url, key, Limits::default()).await
    }

    /// The same with other limits than the usual ones.
    pub async fn open_within(
        url: &str,
        key: SealingKey,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        match Address::parse(url)? {
            Address::Sqlite(file) => Self::open_sqlite(&file, key, limits).await,
            Address::Postgres(options) => {
                Self::open_postgres(Pool::postgres(options, limits), key).await
            }
        }
    }

    async fn open_sqlite(
        file: &SqliteFile,
        key: SealingKey,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        let lock = file.lock()?;
        file.make_private()?;
        let named = |error: StoreError| match error {
            StoreError::Corrupt { source, .. } => {
                StoreError::corrupt(format!("the database {}", file.path().display()), source)
            }
            other => other,
        };
        let options = Options::Sqlite(file.clone(), Access::Write);
        let opening = {
            let (options, key) = (options.clone(), key.clone());
            aside(async move {
                let mut connection = options.connect().await?;
                migrations::run(&mut connection).await?;
                fingerprint::check(&mut connection, &key).await?;
                Ok(connection)
            })
        };
        let connection = opening.await?.map_err(named)?;
        let library: Arc<RwLock<Library>> = Arc::default();
        let reader = Reader {
            pool: Pool::sqlite_readers(file, limits),
            library: Arc::clone(&library),
            trust: Trust::Full,
            key: RwLock::new(Arc::new(key)),
            quarantine: Quarantine::default(),
        };
        reader.list_all::<Cluster>().await.map_err(named)?;
        reader.list_all::<InfraEnv>().await.map_err(named)?;
        reader.list_all::<Host>().await.map_err(named)?;
        let writer = SqliteWriter::start(options, connection, library, lock)?;
        Ok(Self::of(reader, Writer::Sqlite(writer)))
    }

    async fn open_postgres(pool: Pool, key: SealingKey) -> Result<Self, StoreError> {
        let mut lease = pool.lease().await?;
        migrations::run(&mut lease.connection).await?;
        fingerprint::check(&mut lease.connection, &key).await?;
        warn_if_commits_are_not_durable(&mut lease.connection).await?;
        lease.give_back();
        let reader = Reader {
            pool,
            library: Arc::default(),
            trust: Trust::ByVersion,
            key: RwLock::new(Arc::new(key)),
            quarantine: Quarantine::default(),
        };
        Ok(Self::of(reader, Writer::Postgres))
    }

    fn of(reader: Reader, writer: Writer) -> Self {
        Self {
            inner: Arc::new(Inner {
                reader,
                writer,
                commits: watch::Sender::new(0),
                sealing: Arc::default(),
                full: AtomicBool::new(false),
                refused: AtomicU64::new(0),
            }),
        }
    }

    /// Finishes what was committed before, closes all connections and frees the file. Calls that
    /// come later fail with [`StoreError::Closed`].
    pub async fn close(&self) {
        self.reader().pool.close().await;
        match &self.inner.writer {
            Writer::Sqlite(writer) => writer.stop().await,
            Writer::Postgres => {}
        }
    }

    /// Asks the database for a sign of life. While its disk is full that is a small write, so that
    /// it is noticed when there is space again.
    pub async fn ping(&self) -> Result<(), StoreError> {
        if self.inner.full.load(Ordering::Relaxed) {
            return self.put_setting("write_probe", "1").await;
        }
        let statement = Statement::new("SELECT 1");
        self.reader().pool.rows(&statement).await.map(drop)
    }

    /// How many writes were refused because the disk of the database was full.
    #[must_use]
    pub fn refused_by_full_disk(&self) -> u64 {
        self.inner.refused.load(Ordering::Relaxed)
    }

    /// How many rows of each table could not be read.
    #[must_use]
    pub fn quarantined(&self) -> BTreeMap<&'static str, usize> {
        self.reader().quarantine.counts()
    }

    /// Claims a piece of work for this process among all that share the database; nothing when
    /// another process has it. The claim ends when it is dropped, or with the process.
    pub async fn claim(&self, work: &str) -> Result<Option<Claim>, StoreError> {
        match &self.inner.writer {
            // The file belongs to this process alone.
            Writer::Sqlite(_) => Ok(Some(Claim::default())),
            Writer::Postgres => Claim::take(&self.reader().pool, work).await,
        }
    }

    /// A live cluster.
    pub async fn cluster(&self, id: ClusterId) -> Result<Option<Row<Cluster>>, StoreError> {
        self.reader().one(id).await
    }

    /// A cluster, also a deleted one that is not purged yet.
    pub async fn cluster_even_deleted(
        &self,
        id: ClusterId,
    ) -> Result<Option<Row<Cluster>>, StoreError> {
        if let Some(live) = self.cluster(id).await? {
            return Ok(Some(live));
        }
        let found = self.reader().one_even_deleted("id = $1", id.to_string());
        found.await
    }

    /// All clusters, by creation, then id.
    pub async fn clusters(&self, which: Deleted) -> Result<Vec<Row<Cluster>>, StoreError> {
        match which {
            Deleted::Excluded => self.reader().group(Group::All).await,
            Deleted::Included => self.reader().even_deleted("1 = 1", None).await,
        }
    }

    /// An infra-env.
    pub async fn infra_env(&self, id: InfraEnvId) -> Result<Option<Row<InfraEnv>>, StoreError> {
        self.reader().one(id).await
    }

    /// All infra-envs, by creation, then id.
    pub async fn infra_envs(&self) -> Result<Vec<Row<InfraEnv>>, StoreError> {
        self.reader().group(Group::All).await
    }

    /// The infra-envs bound to a cluster, by creation, then id.
    pub async fn infra_envs_of_cluster(
        &self,
        id: ClusterId,
    ) -> Result<Vec<Row<InfraEnv>>, StoreError> {
        self.reader().group(Group::OfCluster(id)).await
    }

    /// A live host.
    pub async fn host(&self, key: HostKey) -> Result<Option<Row<Host>>, StoreError> {
        self.reader().one(key).await
    }

    /// Every live host.
    pub async fn hosts(&self) -> Result<Vec<Row<Host>>, StoreError> {
        if self.is_shared() {
            return self.reader().group(Group::All).await;
        }
        // The library lists hosts by their infra-env, and each has one.
        let mut hosts = Vec::new();
        for infra_env in self.reader().listed::<InfraEnv>(Group::All).await? {
            hosts.extend(self.hosts_of_infra_env(infra_env.key).await?);
        }
        Ok(hosts)
    }

    /// Every live host of a cluster, by creation, then id; an error if one cannot be read. For
    /// decisions, which a host that is left out would make wrong.
    pub async fn every_host_of_cluster(&self, id: ClusterId) -> Result<Vec<Row<Host>>, StoreError> {
        self.reader().whole_group(Group::OfCluster(id)).await
    }

    /// The live hosts of a cluster that can be read, by creation, then id.
    pub async fn hosts_of_cluster(&self, id: ClusterId) -> Result<Vec<Row<Host>>, StoreError> {
        self.reader().group(Group::OfCluster(id)).await
    }

    /// The live hosts of an infra-env, by creation, then id.
    pub async fn hosts_of_infra_env(&self, id: InfraEnvId) -> Result<Vec<Row<Host>>, StoreError> {
        self.reader().group(Group::OfInfraEnv(id)).await
    }

    /// How many live hosts an infra-env has.
    pub async fn count_hosts_of_infra_env(&self, id: InfraEnvId) -> Result<u64, StoreError> {
        let group = Group::OfInfraEnv(id);
        if !self.is_shared() {
            return Ok(self.reader().listed::<Host>(group).await?.len() as u64);
        }
        let count = Statement::new(
            "SELECT COUNT(*) FROM hosts WHERE infra_env_id = $1 AND deleted_at IS NULL",
        );
        self.number(count.text(id)).await
    }

    /// The hosts of a cluster, also deleted ones that are not purged yet.
    pub async fn hosts_of_cluster_even_deleted(
        &self,
        id: ClusterId,
    ) -> Result<Vec<Row<Host>>, StoreError> {
        let (condition, arg) = Group::OfCluster(id).condition();
        self.reader().even_deleted(condition, arg).await
    }

    /// A number that changes whenever the cluster or one of its hosts does; `None` if there is no
    /// such cluster. Ask for it before reading what it stands for: then a change in between
    /// makes the answer newer than its number, which the next comparison puts right.
    pub async fn cluster_revision(&self, id: ClusterId) -> Result<Option<u64>, StoreError> {
        let Some(cluster) = self.reader().one::<Cluster>(id).await? else {
            return Ok(None);
        };
        let hosts: Vec<Listed<Host>> = self.reader().listed(Group::OfCluster(id)).await?;
        let mut hasher = DefaultHasher::new();
        cluster.version.hash(&mut hasher);
        for host in hosts {
            (host.key, host.version).hash(&mut hasher);
        }
        Ok(Some(hasher.finish()))
    }

    /// Writes all changes or none; they are durable when this returns. Once called it is carried
    /// out even if the caller stops waiting.
    pub async fn commit(&self, changes: Changes) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        let held = Arc::clone(&self.inner.sealing).read_owned().await;
        let mut unit = changes.into_unit(&self.reader().key())?;
        unit.sealing = Some(held);
        self.write(unit).await?;
        self.inner.commits.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Follows what is committed, here or by others who share the database.
    pub async fn follow(&self) -> Result<Follower, StoreError> {
        Follower::start(
            self.clone(),
            self.inner.commits.subscribe(),
            self.is_shared(),
        )
        .await
    }

    /// At most `limit` events with numbers above `after` and up to `head`, in that order. What
    /// [`Follower::head`] says is complete stays complete.
    pub async fn events_after(
        &self,
        of: HistoryOf,
        after: i64,
        head: i64,
        limit: i64,
    ) -> Result<Vec<Numbered>, StoreError> {
        let Reader {
            pool, quarantine, ..
        } = self.reader();
        follow::events_after(pool, quarantine, of, (after, head), limit).await
    }

    /// Removes for good what cannot be asked for any more: hosts deleted before a moment, and
    /// events from before it whose infra-env is gone and that belong to no cluster.
    pub async fn purge_leftovers(&self, before: Timestamp) -> Result<(), StoreError> {
        let mut unit = Unit::default();
        for sql in [
            "DELETE FROM heartbeats WHERE EXISTS (SELECT 1 FROM hosts \
             WHERE hosts.infra_env_id = heartbeats.infra_env_id \
             AND hosts.id = heartbeats.host_id AND hosts.deleted_at < $1)",
            "DELETE FROM host_connectivity WHERE EXISTS (SELECT 1 FROM hosts \
             WHERE hosts.infra_env_id = host_connectivity.infra_env_id \
             AND hosts.id = host_connectivity.host_id AND hosts.deleted_at < $1)",
            "DELETE FROM hosts WHERE deleted_at < $1",
            "DELETE FROM events WHERE at < $1 AND cluster_id IS NULL \
             AND infra_env_id IS NOT NULL AND NOT EXISTS \
             (SELECT 1 FROM infra_envs WHERE infra_envs.id = events.infra_env_id)",
        ] {
            let statement = Statement::new(sql).int(before.0);
            unit.steps.push(Step::free(statement));
        }
        self.write(unit).await
    }

    /// A query for the modules beside this one.
    pub(crate) async fn rows(&self, statement: &Statement) -> Result<Vec<RawRow>, StoreError> {
        self.reader().pool.rows(statement).await
    }

    /// Answers a question about history.
    pub async fn events(&self, query: &EventQuery) -> Result<EventPage, StoreError> {
        events::page(&self.reader().pool, query, &self.reader().quarantine).await
    }

    /// Whether an event of this name and exactly this scope happened at or after `since`.
    pub async fn event_happened_since(
        &self,
        name: &str,
        scope: &EventScope,
        since: Timestamp,
    ) -> Result<bool, StoreError> {
        events::happened_since(&self.reader().pool, name, scope, since).await
    }

    /// Bytes of the events of an infra-env and its hosts.
    pub async fn event_bytes_of_infra_env(&self, id: InfraEnvId) -> Result<u64, StoreError> {
        let sum = Statement::new(
            "SELECT COALESCE(SUM(LENGTH(doc)), 0) FROM events WHERE infra_env_id = $1",
        );
        self.number(sum.text(id)).await
    }

    /// Bytes of the events of a cluster that belong to no infra-env.
    pub async fn event_bytes_of_cluster(&self, id: ClusterId) -> Result<u64, StoreError> {
        let sum = Statement::new(
            "SELECT COALESCE(SUM(LENGTH(doc)), 0) FROM events \
             WHERE cluster_id = $1 AND infra_env_id IS NULL",
        );
        self.number(sum.text(id)).await
    }

    async fn number(&self, statement: Statement) -> Result<u64, StoreError> {
        let rows = self.reader().pool.rows(&statement).await?;
        let number = rows.first().map_or(Ok(0), |row| row.int(0))?;
        Ok(u64::try_from(number).unwrap_or(0))
    }

    /// A setting, if it was ever put.
    pub async fn setting(&self, key: &str) -> Result<Option<String>, StoreError> {
        let statement = Statement::new("SELECT value FROM settings WHERE key = $1").text(key);
        let rows = self.reader().pool.rows(&statement).await?;
        rows.first()
            .map(|row| row.text(0).map(str::to_owned))
            .transpose()
    }

    /// Puts a setting; durable when this returns.
    pub async fn put_setting(&self, key: &str, value: &str) -> Result<(), StoreError> {
        if key.contains('\0') || value.contains('\0') {
            return Err(StoreError::Invalid {
                what: format!("setting {key:?}"),
                reason: "databases keep no NUL characters; encode it".to_owned(),
            });
        }
        let statement = Statement::new(
            "INSERT INTO settings (key, value) VALUES ($1, $2) \
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        );
        let mut unit = Unit::default();
        unit.steps.push(Step::free(statement.text(key).text(value)));
        self.write(unit).await
    }

    /// Ends a session for all who share the database; durable when this returns. Sessions whose
    /// time is over at `now` (both in seconds) need no record any more.
    pub async fn end_session(&self, id: &str, expires_at: i64, now: i64) -> Result<(), StoreError> {
        let mut unit = Unit::default();
        let over = Statement::new("DELETE FROM ended_sessions WHERE expires_at < $1").int(now);
        let ended = Statement::new(
            "INSERT INTO ended_sessions (id, expires_at) VALUES ($1, $2) \
             ON CONFLICT (id) DO NOTHING",
        );
        unit.steps.push(Step::free(over));
        unit.steps.push(Step::free(ended.text(id).int(expires_at)));
        self.write(unit).await
    }

    /// Whether a session was ended.
    pub async fn session_has_ended(&self, id: &str) -> Result<bool, StoreError> {
        let asked = Statement::new("SELECT 1 FROM ended_sessions WHERE id = $1").text(id);
        Ok(!self.rows(&asked).await?.is_empty())
    }

    /// Saves signs of life; of several for one host the newest wins.
    pub async fn save_heartbeats(&self, beats: &[Heartbeat]) -> Result<(), StoreError> {
        if beats.is_empty() {
            return Ok(());
        }
        self.write(heartbeats::save(beats)).await
    }

    /// The last saved sign of life of each host.
    pub async fn heartbeats(&self) -> Result<Vec<Heartbeat>, StoreError> {
        let rows = self.reader().pool.rows(&heartbeats::all()).await?;
        rows.iter().map(heartbeats::read).collect()
    }

    /// The signs of life saved since a moment, also by others who share the database.
    pub async fn heartbeats_since(&self, at: Timestamp) -> Result<Vec<Heartbeat>, StoreError> {
        let rows = self.reader().pool.rows(&heartbeats::since(at)).await?;
        rows.iter().map(heartbeats::read).collect()
    }

    /// Whether other processes may use the same database.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.reader().trust == Trust::ByVersion
    }

    /// The key of the secrets now.
    pub(crate) fn key(&self) -> Arc<SealingKey> {
        self.reader().key()
    }

    /// Uses another key from now on; returns when nothing that was sealed under the one before is
    /// waiting to be written.
    pub(crate) async fn replace_key(&self, key: SealingKey) {
        let _alone = self.inner.sealing.write().await;
        let mut current = self
            .reader()
            .key
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(key);
    }

    pub(crate) async fn write(&self, unit: Unit) -> Result<(), StoreError> {
        let (began, statements) = (Instant::now(), unit.steps.len());
        let written = self.write_unit(unit).await;
        let took = began.elapsed();
        if took > self.reader().pool.limits.slow {
            tracing::warn!(?took, statements, "slow commit");
        }
        self.note_space(&written);
        written
    }

    fn note_space(&self, written: &Result<(), StoreError>) {
        let full = match written {
            Ok(()) => false,
            Err(StoreError::DiskFull { .. }) => {
                self.inner.refused.fetch_add(1, Ordering::Relaxed);
                true
            }
            // Says nothing about space.
            Err(_) => return,
        };
        let was_full = self.inner.full.swap(full, Ordering::Relaxed);
        if was_full && !full {
            tracing::info!("the disk of the database takes data again");
        }
    }

    async fn write_unit(&self, unit: Unit) -> Result<(), StoreError> {
        match &self.inner.writer {
            Writer::Sqlite(writer) => writer.write(unit).await,
            Writer::Postgres => {
                let inner = Arc::clone(&self.inner);
                let task = tokio::spawn(async move {
                    let Reader { pool, library, .. } = &inner.reader;
                    writer::write_to_postgres(pool, library, &unit).await
                });
                task.await.map_err(|_| StoreError::Closed)?
            }
        }
    }

    fn reader(&self) -> &Reader {
        &self.inner.reader
    }
}

/// The address may hold a password and the cache holds documents: show neither.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.inner.writer {
            Writer::Sqlite(_) => "sqlite",
            Writer::Postgres => "postgres",
        };
        f.debug_tuple("Store").field(&kind).finish()
    }
}

/// "Answered means durable" is the server's promise; say so if it does not give it.
async fn warn_if_commits_are_not_durable(connection: &mut Connection) -> Result<(), StoreError> {
    let asked =
        Statement::new("SELECT current_setting('synchronous_commit'), current_setting('fsync')");
    for row in connection.rows(&asked).await? {
        let (synchronous_commit, fsync) = (row.text(0)?, row.text(1)?);
        if synchronous_commit == "off" || fsync == "off" {
            tracing::warn!(
                synchronous_commit,
                fsync,
                "the PostgreSQL server may lose answered writes in a crash; turn both on"
            );
        }
    }
    Ok(())
}
