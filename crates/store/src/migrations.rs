//! Migrates the schema of a database to the version of this program.
//!
//! Each step is an SQL file; what has been done is a number in `schema_version`. All of it runs
//! in one transaction, under a lock, so that replicas may start together.

use crate::{
    error::StoreError,
    statement::{Connection, Statement},
};

/// Step n brings the schema to version n + 1. Never edit one that was released: add another.
const STEPS: &[&str] = &[
    include_str!("../migrations/0001_documents.sql"),
    include_str!("../migrations/0002_connectivity.sql"),
    include_str!("../migrations/0003_checksums.sql"),
    include_str!("../migrations/0004_ended_sessions.sql"),
];

/// The schema version this program works with.
pub(crate) const KNOWN: i64 = STEPS.len() as i64;

/// Any number will do as long as every replica uses the same.
const LOCK_REPLICAS: &str = "SELECT pg_advisory_xact_lock(7236837011)";

/// Runs the steps that are missing.
pub(crate) async fn run(connection: &mut Connection) -> Result<(), StoreError> {
    match connection {
        // The file is ours alone; IMMEDIATE only makes a broken file fail early.
        Connection::Sqlite(_) => connection.script("BEGIN IMMEDIATE").await?,
        Connection::Postgres(_) => {
            connection.script("BEGIN").await?;
            connection.script(LOCK_REPLICAS).await?;
        }
    }
    let outcome = catch_up(connection).await;
    let end = if outcome.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let ended = connection.script(end).await;
    outcome?;
    Ok(ended?)
}

async fn catch_up(connection: &mut Connection) -> Result<(), StoreError> {
    connection
        .script("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
        .await?;
    let found = version(connection).await?;
    if found > KNOWN {
        return Err(StoreError::TooNew {
            found,
            known: KNOWN,
        });
    }
    for (step, version) in STEPS.iter().zip(1..) {
        if version <= found {
            continue;
        }
        connection.script(&in_dialect(step, connection)).await?;
        let done = Statement::new("INSERT INTO schema_version (version) VALUES ($1)").int(version);
        connection.run(&done).await?;
        tracing::info!(version, "database schema brought up to date");
    }
    Ok(())
}

/// Refuses a database that this program would have to change before it can read it.
pub(crate) async fn require_current(connection: &mut Connection) -> Result<(), StoreError> {
    match version(connection).await? {
        found if found > KNOWN => Err(StoreError::TooNew {
            found,
            known: KNOWN,
        }),
        found if found < KNOWN => Err(StoreError::TooOld {
            found,
            known: KNOWN,
        }),
        _ => Ok(()),
    }
}

/// The same for a database that may be empty.
pub(crate) async fn version_or_none(connection: &mut Connection) -> Result<i64, StoreError> {
    let there = match connection {
        Connection::Sqlite(_) => {
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
        }
        Connection::Postgres(_) => "SELECT 1 WHERE to_regclass('schema_version') IS NOT NULL",
    };
    if connection.rows(&Statement::new(there)).await?.is_empty() {
        return Ok(0);
    }
    version(connection).await
}

async fn version(connection: &mut Connection) -> Result<i64, StoreError> {
    let rows = connection
        .rows(&Statement::new("SELECT MAX(version) FROM schema_version"))
        .await?;
    match rows.first() {
        Some(row) => Ok(row.maybe_int(0)?.unwrap_or(0)),
        None => Ok(0),
    }
}

/// A column that numbers rows by itself, and a member of a document, are what the dialects write
/// differently.
fn in_dialect(step: &str, connection: &Connection) -> String {
    let (identity, connectivity) = match connection {
        // Without AUTOINCREMENT the numbers of purged rows are reused, and a client that follows
        // history by number would take new rows for seen ones.
        Connection::Sqlite(_) => (
            "INTEGER PRIMARY KEY AUTOINCREMENT",
            "json_extract(doc, '$.reports.connectivity')",
        ),
        Connection::Postgres(_) => (
            "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            "(doc::json -> 'reports' ->> 'connectivity')",
        ),
    };
    step.replace("{{identity}}", identity)
        .replace("{{connectivity}}", connectivity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sqlite::{Access, SqliteFile},
        statement::Options,
    };

    #[tokio::test]
    async fn reports_of_the_first_schema_move_beside_their_hosts() {
        let dir = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}/muster.db", dir.path().display());
        let file = SqliteFile::parse(&url).expect("valid");
        let connection = Options::Sqlite(file, Access::Write).connect().await;
        let mut connection = connection.expect("opens");
        let first = in_dialect(STEPS[0], &connection);
        for script in [
            first.as_str(),
            "CREATE TABLE schema_version (version BIGINT NOT NULL); \
             INSERT INTO schema_version VALUES (1); \
             INSERT INTO hosts (infra_env_id, id, version, created_at, doc) VALUES \
             ('i', 'a', 1, 1, '{\"reports\":{\"connectivity\":\"{}\"}}'), \
             ('i', 'b', 1, 1, '{\"reports\":{\"connectivity\":null}}'), \
             ('i', 'c', 1, 1, '{}')",
        ] {
            connection.script(script).await.expect("runs");
        }
        run(&mut connection).await.expect("migrates");
        let all = Statement::new("SELECT host_id, report FROM host_connectivity");
        let rows = connection.rows(&all).await.expect("is there");
        let texts: Vec<_> = rows
            .iter()
            .map(|row| (row.text(0).expect("id"), row.text(1).expect("report")))
            .collect();
        assert_eq!(texts, [("a", "{}")]);
    }
}
