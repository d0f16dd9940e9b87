//! Brings the schema of a database up to what this program knows.
//!
//! Each step is an SQL file; what has been done is a number in `schema_version`. All of it runs
//! in one transaction, under a lock, so that replicas may start together.

use crate::{
    error::StoreError,
    statement::{Connection, Statement},
};

/// Step n brings the schema to version n + 1. Never edit one that was released: add another.
const STEPS: &[&str] = &[include_str!("../migrations/0001_documents.sql")];

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
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    connection
        .script("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
        .await?;
    let rows = connection
        .rows(&Statement::new("SELECT MAX(version) FROM schema_version"))
        .await?;
    let found = match rows.first() {
        Some(row) => row.maybe_int(0)?.unwrap_or(0),
        None => 0,
    };
    if found > known {
        return Err(StoreError::TooNew { found, known });
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

/// A column that numbers rows by itself is the one thing the dialects write differently.
fn in_dialect(step: &str, connection: &Connection) -> String {
    let identity = match connection {
        // Without AUTOINCREMENT the numbers of purged rows come again, and whoever follows
        // history by number would take new rows for seen ones.
        Connection::Sqlite(_) => "INTEGER PRIMARY KEY AUTOINCREMENT",
        Connection::Postgres(_) => "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    };
    step.replace("{{identity}}", identity)
}
