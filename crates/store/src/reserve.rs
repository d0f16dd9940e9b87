//! A database for one process alone, for work during which no service may change it.
//!
//! An SQLite file is locked. A PostgreSQL server only shows who else has sessions: services keep some
//! open and look for each other's heartbeats, so one that runs is seen.

use std::{fs::File, time::Duration};

use crate::{
    database::{Address, Limits, Pool},
    error::StoreError,
    statement::{Connection, Statement, aside},
};

/// Other sessions of this program on the same database. A server ends a session a moment after its
/// client is gone.
const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE datname = current_database() AND application_name = 'muster' AND pid <> pg_backend_pid()";
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// A database that no service uses; an SQLite file until this is dropped.
#[derive(Debug)]
pub struct Reserved {
    _lock: Option<File>,
}

/// Takes a database for this process.
///
/// # Errors
/// If another process uses it, or it does not answer.
pub async fn reserve(url: &str) -> Result<Reserved, StoreError> {
    let address = Address::parse(url)?;
    aside(async move {
        let lock = lock(&address)?;
        if let Address::Postgres(options) = address {
            let pool = Pool::postgres(options, Limits::default());
            let mut connection = pool.connect().await?;
            let alone = require_alone(&mut connection).await;
            connection.close().await;
            alone?;
        }
        Ok(Reserved { _lock: lock })
    })
    .await?
}

/// The lock of an SQLite file.
pub(crate) fn lock(address: &Address) -> Result<Option<File>, StoreError> {
    match address {
        Address::Sqlite(file) => file.lock().map(Some),
        Address::Postgres(_) => Ok(None),
    }
}

/// Refuses a server on which others work; a file is locked already.
pub(crate) async fn require_alone(connection: &mut Connection) -> Result<(), StoreError> {
    if let Connection::Sqlite(_) = connection {
        return Ok(());
    }
    let mut sessions = others(connection).await?;
    for _ in 1..LOOKS {
        if sessions == 0 {
            break;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        sessions = others(connection).await?;
    }
    match sessions {
        0 => Ok(()),
        sessions => Err(StoreError::ServerInUse { sessions }),
    }
}

async fn others(connection: &mut Connection) -> Result<i64, StoreError> {
    let rows = connection.rows(&Statement::new(OTHERS).once()).await?;
    rows.first().map_or(Ok(0), |row| row.int(0))
}
