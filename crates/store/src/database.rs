//! Where the database is, and the connections to it.
//!
//! The pool is our own because its rules are: a connection goes back only when its last answer
//! was sound (so an abandoned request or a broken network costs one connection, never a mixed-up
//! one), a connection that died while idle is replaced without the caller noticing, and no extra
//! round trip asks whether it is alive.

use std::{
    future::Future,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use sqlx::{ConnectOptions as _, postgres::PgConnectOptions};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    error::{Fault, StoreError},
    sqlite::{Access, SqliteFile},
    statement::{Connection, Options, Portion, RawRow, Statement, aside},
};

/// Readers beside the one writer of SQLite: event lists must not hold up each other.
const SQLITE_READERS: usize = 4;
/// Statements kept prepared per connection; we have fewer texts than that.
const PREPARED_STATEMENTS: usize = 200;
/// Longest wait for a free connection, a new one, or an answer; beyond it the network is broken.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// How the connections to a database server are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most at once. The default limit of a PostgreSQL server is 100 for all replicas together.
    pub connections: usize,
    /// Most that are kept while idle.
    pub idle: usize,
    /// One that is older is not used again.
    pub lifetime: Duration,
    /// What takes longer than this is logged.
    pub slow: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16,
            idle: 16,
            lifetime: Duration::from_secs(30 * 60),
            slow: Duration::from_millis(200),
        }
    }
}

/// Which database an address means.
pub(crate) enum Address {
    Sqlite(SqliteFile),
    Postgres(Box<PgConnectOptions>),
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => SqliteFile::parse(url).map(Self::Sqlite),
            Some("postgres" | "postgresql") => {
                let options: PgConnectOptions = url.parse().map_err(bad_address)?;
                let options = options
                    .application_name("muster")
                    .statement_cache_capacity(PREPARED_STATEMENTS)
                    .disable_statement_logging();
                Ok(Self::Postgres(Box::new(options)))
            }
            Some(other) => Err(StoreError::Address {
                reason: format!("unknown scheme {other:?}"),
            }),
            None => Err(StoreError::Address {
                reason: "no scheme".to_owned(),
            }),
        }
    }
}

fn bad_address(error: sqlx::Error) -> StoreError {
    StoreError::Address {
        reason: error.to_string(),
    }
}

/// Connections that are opened on demand and used again.
pub(crate) struct Pool {
    options: Options,
    /// With the moment each was opened.
    idle: Mutex<Vec<(Connection, Instant)>>,
    permits: Semaphore,
    pub(crate) limits: Limits,
}

impl Pool {
    /// Readers of a file: how many, and that they live on, is not for the limits to say.
    pub(crate) fn sqlite_readers(file: &SqliteFile, limits: Limits) -> Self {
        let limits = Limits {
            connections: SQLITE_READERS,
            idle: SQLITE_READERS,
            lifetime: Duration::MAX,
            ..limits
        };
        Self::new(Options::Sqlite(file.clone(), Access::Read), limits)
    }

    pub(crate) fn postgres(options: Box<PgConnectOptions>, limits: Limits) -> Self {
        Self::new(Options::Postgres(options), limits)
    }

    fn new(options: Options, limits: Limits) -> Self {
        let most = limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            options,
            idle: Mutex::default(),
            permits: Semaphore::new(most),
            limits,
        }
    }

    /// The rows of a query; asked again on a fresh connection if an idle one had died.
    pub(crate) async fn rows(&self, statement: &Statement) -> Result<Vec<RawRow>, StoreError> {
        self.rows_within(statement, usize::MAX).await
    }

    /// The same, but limited to rows whose texts fit into this many bytes; at least one, if any.
    pub(crate) async fn rows_within(
        &self,
        statement: &Statement,
        bytes: usize,
    ) -> Result<Vec<RawRow>, StoreError> {
        loop {
            let lease = self.lease().await?;
            let reused = lease.reused;
            let asked = Instant::now();
            let answer = lease.ask(statement, bytes).await?;
            if asked.elapsed() > self.limits.slow {
                // The text has placeholders, never values.
                tracing::warn!(took = ?asked.elapsed(), sql = %statement.sql, "slow query");
            }
            match answer {
                Ok(portion) => return Ok(portion.rows),
                Err(fault) if reused && fault.lost => self.forget_idle(),
                Err(fault) => return Err(fault.error),
            }
        }
    }

    /// A connection for several statements; lost unless given back.
    pub(crate) async fn lease(&self) -> Result<Lease<'_>, StoreError> {
        let permit = tokio::time::timeout(TIMEOUT, self.permits.acquire())
            .await
            .map_err(|_| StoreError::unavailable("all connections to the database are busy"))?
            .map_err(|_| StoreError::Closed)?;
        let idle = self.idle().pop();
        let young = idle.filter(|(_, born)| born.elapsed() < self.limits.lifetime);
        let (connection, born, reused) = match young {
            Some((connection, born)) => (connection, born, true),
            None => (self.connect().await?, Instant::now(), false),
        };
        Ok(Lease {
            connection,
            born,
            reused,
            pool: self,
            _permit: permit,
        })
    }

    /// A connection of its own beside the pool, for what lives as long as it.
    pub(crate) async fn connect(&self) -> Result<Connection, StoreError> {
        if self.options.block() {
            let options = self.options.clone();
            return Ok(aside(async move { options.connect().await }).await??);
        }
        Ok(with_timeout(self.options.connect()).await?)
    }

    /// After one connection died the others most likely did too.
    pub(crate) fn forget_idle(&self) {
        self.idle().clear();
    }

    pub(crate) async fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle());
        for (connection, _) in idle {
            connection.close().await;
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(Connection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection on loan.
pub(crate) struct Lease<'pool> {
    pub(crate) connection: Connection,
    born: Instant,
    /// It may have died while it was idle.
    pub(crate) reused: bool,
    pool: &'pool Pool,
    _permit: SemaphorePermit<'pool>,
}

impl Lease<'_> {
    /// The rows of one query; the connection goes back if it is still good.
    async fn ask(
        mut self,
        statement: &Statement,
        bytes: usize,
    ) -> Result<Result<Portion, Fault>, StoreError> {
        let answer = if self.pool.options.block() {
            let (mut connection, statement) = (self.connection, statement.clone());
            let asked = aside(async move {
                let answer = connection.portion(&statement, bytes).await;
                (connection, answer)
            });
            let (connection, answer) = asked.await?;
            self.connection = connection;
            answer
        } else {
            with_timeout(self.connection.portion(statement, bytes)).await
        };
        let sound = match &answer {
            Ok(portion) => !portion.leftover,
            Err(fault) => !fault.lost,
        };
        if sound {
            self.give_back();
        }
        Ok(answer)
    }

    /// Returns the connection; only when no statement or transaction is under way.
    pub(crate) fn give_back(self) {
        let mut idle = self.pool.idle();
        if !self.pool.permits.is_closed() && idle.len() < self.pool.limits.idle {
            idle.push((self.connection, self.born));
        }
    }
}

/// Waits for an answer, but not for ever.
pub(crate) async fn with_timeout<T>(
    answer: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    tokio::time::timeout(TIMEOUT, answer)
        .await
        .unwrap_or_else(|_| Err(Fault::silence()))
}
