//! Work that only one of several processes may do at a time.
//!
//! On PostgreSQL a claim is an advisory lock of a session of its own: a process that dies, however
//! suddenly, loses it, and no other has to guess how long to wait for the dead.

use crate::{
    database::{Pool, with_timeout},
    error::StoreError,
    statement::{Connection, Statement},
};

/// The first text separates these locks from others in the same database.
const LOCK: &str =
    "SELECT 1 WHERE pg_try_advisory_lock(hashtextextended('muster/claim/' || $1, 0))";

/// A piece of work that is ours until this is dropped.
#[derive(Default)]
pub struct Claim {
    /// Its session holds the lock; on SQLite none is needed.
    _session: Option<Connection>,
}

impl Claim {
    pub(crate) async fn take(pool: &Pool, work: &str) -> Result<Option<Self>, StoreError> {
        let mut session = pool.connect().await?;
        let locked = Statement::new(LOCK).text(work);
        if with_timeout(session.rows(&locked)).await?.is_empty() {
            session.close().await;
            return Ok(None);
        }
        Ok(Some(Self {
            _session: Some(session),
        }))
    }
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Claim")
    }
}
