//! `muster migrate`: the database or the stored files of a service, moved to another place.

use std::collections::HashSet;

use anyhow::{Context, bail};
use clap::Args;
use muster_store::{BlobError, BlobPath, Blobs};
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
    /// The new place of stored files, empty or with some of the same files: file:///folder or s3://bucket/prefix?endpoint=URL
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
    let config = migrate.of.load_to_write()?;
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
        // A service that goes on would store files that are not copied any more.
        let reserved = runtime
            .block_on(muster_store::reserve(config.database.url.reveal()))
            .context("no file was copied")?;
        let (count, bytes) = runtime.block_on(files(&config.storage.address(), to))?;
        drop(reserved);
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
    let wanted = from.list(&BlobPath::root()).await?;
    let known: HashSet<&BlobPath> = wanted.iter().map(|blob| &blob.path).collect();
    // What an earlier attempt copied may be there, and nothing of another service.
    let there = to.list(&BlobPath::root()).await?;
    if let Some(foreign) = there.iter().find(|blob| !known.contains(&blob.path)) {
        bail!(
            "the new place of stored files is not empty: it has {}, which this service does not; \
             name an empty place",
            foreign.path
        );
    }
    let (mut count, mut bytes) = (0, 0);
    for blob in &wanted {
        let copied = async {
            let Some((size, pieces)) = from.stream(&blob.path).await? else {
                return Ok(());
            };
            to.put_stream(&blob.path, pieces).await?;
            count += 1;
            bytes += size;
            Ok::<_, BlobError>(())
        };
        copied.await.with_context(|| {
            format!(
                "not all stored files were copied ({}); run it again",
                blob.path
            )
        })?;
    }
    Ok((count, bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn files_go_to_an_empty_place_or_on_where_an_attempt_ended() {
        let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let address = |folder: &tempfile::TempDir| format!("file://{}", folder.path().display());
        fs::create_dir(old.path().join("c")).unwrap();
        for name in ["a", "c/b"] {
            fs::write(old.path().join(name), name).unwrap();
        }
        fs::write(new.path().join("a"), "half").unwrap();
        let copied = files(&address(&old), &address(&new)).await.unwrap();
        assert_eq!(copied, (2, 4));
        assert_eq!(fs::read_to_string(new.path().join("a")).unwrap(), "a");

        fs::write(new.path().join("of-another-service"), "").unwrap();
        let refused = files(&address(&old), &address(&new)).await.unwrap_err();
        assert!(
            refused.to_string().contains("of-another-service"),
            "{refused}"
        );
    }
}
