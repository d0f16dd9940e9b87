//! Copies the whole content of a database into another one of either kind.
//!
//! For changing between SQLite and PostgreSQL, and for backups, which are always an SQLite file.
//! Rows are copied unchanged: versions, checksums and sealed secrets stay what they were, so the
//! copy opens with the same sealing key and the numbers of events go on where they were.

use std::path::Path;

use crate::{
    database::{Address, Limits, Pool},
    error::StoreError,
    migrations,
    reserve::{lock, require_alone},
    sqlite::{Access, SqliteFile},
    statement::{Arg, Connection, Options, RawRow, Statement, aside},
};

/// Rows read at a time: documents of hosts can be megabytes large.
const BATCH: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Int,
}
use Kind::{Int, Text};

/// A table: its key comes first among the columns.
struct Table {
    name: &'static str,
    key: usize,
    columns: &'static [(&'static str, Kind)],
}

/// Where the database numbers rows by itself.
const NUMBERED: &str = "events";
/// Has rows in every database that was ever opened; of a new one they are replaced.
const SETTINGS: &str = "settings";

const TABLES: &[Table] = &[
    Table {
        name: "clusters",
        key: 1,
        columns: &[
            ("id", Text),
            ("version", Int),
            ("created_at", Int),
            ("deleted_at", Int),
            ("doc", Text),
            ("checksum", Text),
        ],
    },
    Table {
        name: "infra_envs",
        key: 1,
        columns: &[
            ("id", Text),
            ("version", Int),
            ("created_at", Int),
            ("cluster_id", Text),
            ("doc", Text),
            ("checksum", Text),
        ],
    },
    Table {
        name: "hosts",
        key: 2,
        columns: &[
            ("infra_env_id", Text),
            ("id", Text),
            ("version", Int),
            ("created_at", Int),
            ("deleted_at", Int),
            ("cluster_id", Text),
            ("doc", Text),
            ("checksum", Text),
        ],
    },
    Table {
        name: NUMBERED,
        key: 1,
        columns: &[
            ("seq", Int),
            ("at", Int),
            ("cluster_id", Text),
            ("infra_env_id", Text),
            ("host_id", Text),
            ("name", Text),
            ("severity", Text),
            ("category", Text),
            ("folded_message", Text),
            ("doc", Text),
            ("checksum", Text),
        ],
    },
    Table {
        name: SETTINGS,
        key: 1,
        columns: &[("key", Text), ("value", Text)],
    },
    Table {
        name: "heartbeats",
        key: 2,
        columns: &[
            ("infra_env_id", Text),
            ("host_id", Text),
            ("checked_in_at", Int),
            ("agent_clock", Int),
        ],
    },
    Table {
        name: "host_connectivity",
        key: 2,
        columns: &[("infra_env_id", Text), ("host_id", Text), ("report", Text)],
    },
    Table {
        name: "ended_sessions",
        key: 1,
        columns: &[("id", Text), ("expires_at", Int)],
    },
];

/// How many rows of each table were copied.
pub type Copied = Vec<(&'static str, u64)>;

/// Copies a database into another one, which must be new or empty. Neither may be in use; an SQLite
/// file of an older release is brought up to date first.
pub async fn copy(from: &str, to: &str) -> Result<Copied, StoreError> {
    let (from, to) = (Address::parse(from)?, Address::parse(to)?);
    aside(async move {
        let from_lock = lock(&from)?;
        let to_lock = lock(&to)?;
        let mut source = connect(&from, Access::Write).await?;
        require_alone(&mut source).await?;
        if from_lock.is_some() {
            migrations::run(&mut source).await?;
        }
        let mut target = connect(&to, Access::Write).await?;
        require_alone(&mut target).await?;
        if let Address::Sqlite(file) = &to {
            file.make_private()?;
        }
        migrations::run(&mut target).await?;
        let copied = both(&mut source, &mut target).await;
        source.close().await;
        target.close().await;
        drop((from_lock, to_lock));
        copied
    })
    .await?
}

/// Writes all that is committed at this moment into a new SQLite file, while others use the
/// database.
pub async fn snapshot(from: &str, file: &Path) -> Result<(), StoreError> {
    let from = Address::parse(from)?;
    let file = file.to_owned();
    aside(async move {
        let mut source = connect(&from, Access::Read).await?;
        let done = match &from {
            Address::Sqlite(_) => vacuum(&mut source, &file).await,
            Address::Postgres(_) => {
                let copy = SqliteFile::at(&file);
                copy.make_private()?;
                let mut target = Options::Sqlite(copy, Access::Write).connect().await?;
                migrations::run(&mut target).await?;
                let copied = both(&mut source, &mut target).await;
                target.close().await;
                copied.map(drop)
            }
        };
        source.close().await;
        done
    })
    .await?
}

/// The schema version of a database that this program knows, and of which it makes backups.
#[must_use]
pub fn schema_version() -> i64 {
    migrations::KNOWN
}

/// The schema version of a database; 0 if it was never opened.
pub async fn version_of(url: &str) -> Result<i64, StoreError> {
    let address = Address::parse(url)?;
    aside(async move {
        let mut connection = connect(&address, Access::Read).await?;
        let version = migrations::version_or_none(&mut connection).await;
        connection.close().await;
        version
    })
    .await?
}

/// Whether a process has this database open; `false` for servers, which do not show it.
#[must_use]
pub fn in_use(url: &str) -> bool {
    match Address::parse(url) {
        Ok(Address::Sqlite(file)) => file.is_locked(),
        Ok(Address::Postgres(_)) | Err(_) => false,
    }
}

async fn vacuum(source: &mut Connection, file: &Path) -> Result<(), StoreError> {
    migrations::require_current(source).await?;
    let path = file
        .to_str()
        .ok_or_else(|| StoreError::unavailable("the path of a snapshot must be UTF-8"))?;
    source
        .run(&Statement::new("VACUUM INTO $1").once().text(path))
        .await?;
    Ok(())
}

async fn connect(address: &Address, access: Access) -> Result<Connection, StoreError> {
    match address {
        Address::Sqlite(file) => Ok(Options::Sqlite(file.clone(), access).connect().await?),
        Address::Postgres(options) => {
            Pool::postgres(options.clone(), Limits::default())
                .connect()
                .await
        }
    }
}

/// Reads one state of the source, and writes it in one transaction.
async fn both(source: &mut Connection, target: &mut Connection) -> Result<Copied, StoreError> {
    let begin = match source {
        Connection::Sqlite(_) => "BEGIN",
        Connection::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    };
    source.script(begin).await?;
    migrations::require_current(source).await?;
    target.script("BEGIN").await?;
    let copied = rows(source, target).await;
    let end = if copied.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = target.script(end).await;
    source.script("ROLLBACK").await?;
    let copied = copied?;
    ended?;
    Ok(copied)
}

async fn rows(source: &mut Connection, target: &mut Connection) -> Result<Copied, StoreError> {
    for table in TABLES.iter().filter(|table| table.name != SETTINGS) {
        let any = Statement::built(format!("SELECT 1 FROM {} LIMIT 1", table.name));
        if !target.rows(&any).await?.is_empty() {
            return Err(StoreError::NotEmpty { table: table.name });
        }
    }
    target.script("DELETE FROM settings").await?;
    let mut copied = Copied::new();
    for table in TABLES {
        copied.push((table.name, table.copy(source, target).await?));
    }
    if let Some(last) = last_number(source).await? {
        set_last_number(target, last).await?;
    }
    Ok(copied)
}

impl Table {
    async fn copy(
        &self,
        source: &mut Connection,
        target: &mut Connection,
    ) -> Result<u64, StoreError> {
        let insert = self.insert(target);
        let (mut count, mut after) = (0, None);
        loop {
            let batch = source.rows(&self.select(after.as_deref())).await?;
            for row in &batch {
                let values = self.values(row)?;
                target
                    .run(&Statement::built(insert.clone()).args(values))
                    .await?;
                count += 1;
            }
            let Some(last) = batch.last() else {
                return Ok(count);
            };
            let mut values = self.values(last)?;
            values.truncate(self.key);
            after = Some(values);
        }
    }

    /// The next rows in the order of the key.
    fn select(&self, after: Option<&[Arg]>) -> Statement {
        let key = self.names(self.key);
        let range = match after {
            None => String::new(),
            Some(_) => format!("WHERE ({key}) > ({})", placeholders(self.key)),
        };
        let (columns, table) = (self.names(self.columns.len()), self.name);
        Statement::built(format!(
            "SELECT {columns} FROM {table} {range} ORDER BY {key} LIMIT {BATCH}"
        ))
        .args(after.unwrap_or_default().iter().cloned())
    }

    fn insert(&self, target: &Connection) -> String {
        let given = match target {
            Connection::Postgres(_) if self.name == NUMBERED => "OVERRIDING SYSTEM VALUE",
            Connection::Postgres(_) | Connection::Sqlite(_) => "",
        };
        let (columns, values) = (
            self.names(self.columns.len()),
            placeholders(self.columns.len()),
        );
        format!(
            "INSERT INTO {} ({columns}) {given} VALUES ({values})",
            self.name
        )
    }

    fn values(&self, row: &RawRow) -> Result<Vec<Arg>, StoreError> {
        let kinds = self.columns.iter().map(|(_, kind)| kind).enumerate();
        kinds
            .map(|(column, kind)| {
                Ok(match kind {
                    Text => Arg::MaybeText(row.maybe_text(column)?.map(str::to_owned)),
                    Int => Arg::MaybeInt(row.maybe_int(column)?),
                })
            })
            .collect()
    }

    fn names(&self, count: usize) -> String {
        let names: Vec<&str> = self
            .columns
            .iter()
            .take(count)
            .map(|(name, _)| *name)
            .collect();
        names.join(", ")
    }
}

fn placeholders(count: usize) -> String {
    let numbers: Vec<String> = (1..=count).map(|number| format!("${number}")).collect();
    numbers.join(", ")
}

/// The last number that was given to an event, even if that event is gone.
async fn last_number(source: &mut Connection) -> Result<Option<i64>, StoreError> {
    let query = match source {
        Connection::Sqlite(_) => "SELECT seq FROM sqlite_sequence WHERE name = 'events'",
        Connection::Postgres(_) => {
            "SELECT pg_sequence_last_value(pg_get_serial_sequence('events', 'seq')::regclass)"
        }
    };
    let rows = source.rows(&Statement::new(query)).await?;
    match rows.first() {
        Some(row) => row.maybe_int(0),
        None => Ok(None),
    }
}

async fn set_last_number(target: &mut Connection, last: i64) -> Result<(), StoreError> {
    match target {
        Connection::Sqlite(_) => {
            target
                .script("DELETE FROM sqlite_sequence WHERE name = 'events'")
                .await?;
            let set =
                Statement::new("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', $1)");
            target.run(&set.int(last)).await?;
        }
        Connection::Postgres(_) => {
            let set = Statement::new("SELECT setval(pg_get_serial_sequence('events', 'seq'), $1)");
            target.rows(&set.int(last)).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_column_of_the_schema_is_copied() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = SqliteFile::at(&folder.path().join("muster.db"));
        let connection = Options::Sqlite(file, Access::Write).connect().await;
        let mut connection = connection.expect("opens");
        migrations::run(&mut connection).await.expect("migrates");
        let query = Statement::new(
            "SELECT t.name, c.name, c.type FROM sqlite_master t JOIN pragma_table_info(t.name) c \
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'schema_version'",
        );
        let mut there: Vec<String> = connection
            .rows(&query)
            .await
            .expect("lists")
            .iter()
            .map(|row| {
                let kind = match row.text(2).expect("a type") {
                    "TEXT" => Text,
                    _ => Int,
                };
                let (table, column) = (row.text(0).expect("table"), row.text(1).expect("column"));
                format!("{table}.{column} {kind:?}")
            })
            .collect();
        let mut copied: Vec<String> = TABLES
            .iter()
            .flat_map(|table| {
                let columns = table.columns.iter();
                columns.map(move |(column, kind)| format!("{}.{column} {kind:?}", table.name))
            })
            .collect();
        there.sort();
        copied.sort();
        assert_eq!(there, copied);
    }
}
