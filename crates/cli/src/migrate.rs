//! `muster migrate`: the database or the stored files of a service, moved to another place.

use anyhow::{Context, bail};
use clap::Args;
use muster_store::{BlobPath, Blobs};
use serde_json::json;

use crate::{format, output::Printed, settings::OfService};

/// Copy the database, or the stored files, to another place: SQLite to PostgreSQL and back.
///
/// Stop the service first (all replicas, if it runs on PostgreSQL). The source stays unchanged;
/// afterwards set database.url or storage.url to the new place. Keys stay in the data directory.
#[derive(Debug, Args)]
pub struct Migrate {
    /// The new database, empty: sqlite:///path/muster.db or postgres://user@host/name; a password
    /// comes from MUSTER_MIGRATE_DATABASE or PGPASSWORD
    #[arg(
        long,
        value_name = "URL",
        env = "MUSTER_MIGRATE_DATABASE",
        hide_env_values = true
    )]
    database_to: Option<String>,
    /// The new place of stored files, empty: file:///folder or s3://bucket/prefix?endpoint=URL
    #[arg(long, value_name = "URL")]
    files_to: Option<String>,
    #[command(flatten)]
    pub output: format::Output,
    #[command(flatten)]
    of: OfService,
}

/// Copies what was asked for and prints what to set.
pub fn run(migrate: &Migrate) -> anyhow::Result<Printed> {
    if migrate.database_to.is_none() && migrate.files_to.is_none() {
        bail!("nothing to copy: name a new place with --database-to or --files-to");
    }
    let config = migrate.of.load()?.config;
    let runtime = tokio::runtime::Runtime::new()?;
    let mut lines = Vec::new();
    let mut json = json!({});
    if let Some(to) = &migrate.database_to {
        let copied = runtime
            .block_on(muster_store::copy(config.database.url.reveal(), to))
            .context("the database was not copied")?;
        let counts: Vec<String> = copied
            .iter()
            .map(|(table, rows)| format!("{table} {rows}"))
            .collect();
        lines.push(format!("database: {} rows copied", counts.join(", ")));
        let rows = copied
            .iter()
            .map(|(table, rows)| (table.to_string(), json!(rows)));
        json["database"] = json!({"rows": rows.collect::<serde_json::Map<_, _>>()});
        lines.push("next: set database.url (MUSTER_DATABASE_URL) to the new address".to_owned());
    }
    if let Some(to) = &migrate.files_to {
        let (count, bytes) = runtime
            .block_on(files(&config.storage.address(), to))
            .context("not all stored files were copied; run it again")?;
        json["files"] = json!({"count": count, "bytes": bytes});
        lines.push(format!(
            "files: {count} copied, {:.1} MB",
            bytes as f64 / 1e6
        ));
        lines.push("next: set storage.url (MUSTER_STORAGE_URL) to the new place".to_owned());
    }
    Ok(Printed {
        text: lines.join("\n"),
        json,
    })
}

async fn files(from: &str, to: &str) -> anyhow::Result<(usize, u64)> {
    let (from, to) = (Blobs::open(from).await?, Blobs::open(to).await?);
    let (mut count, mut bytes) = (0, 0);
    for blob in from.list(&BlobPath::root()).await? {
        if let Some((size, pieces)) = from.stream(&blob.path).await? {
            to.put_stream(&blob.path, pieces).await?;
            count += 1;
            bytes += size;
        }
    }
    Ok((count, bytes))
}
