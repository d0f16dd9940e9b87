//! Reading documents: from the library as far as it may answer, else from the database.
//!
//! Every read has the same three parts: which rows are there now and at which version, which of
//! their documents are in memory at that version, and a query for the others. On SQLite the
//! library itself knows the first part, so a warm read does no database work at all.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use muster_model::{Report, Timestamp};

use crate::{
    cache::{Library, Listed},
    checksum,
    database::Pool,
    document::{Document, Group, Row},
    error::StoreError,
    quarantine::Quarantine,
    sealing::{SealingKey, members},
    statement::{RawRow, Statement},
};

/// Documents fetched by one query; fewer are padded, so that there are two texts per noun.
const FETCH: usize = 16;

/// How far the library may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// No other process writes: it is the truth.
    Full,
    /// Others write too: it is a memo, to be checked by version.
    ByVersion,
}

/// The reading side of the store.
pub(crate) struct Reader {
    pub(crate) pool: Pool,
    pub(crate) library: Arc<RwLock<Library>>,
    pub(crate) trust: Trust,
    pub(crate) key: RwLock<Arc<SealingKey>>,
    /// Rows that could not be read.
    pub(crate) quarantine: Quarantine,
}

/// What a query for documents found.
struct Fetched<T> {
    rows: Vec<Row<T>>,
    /// Why one of them is missing.
    unreadable: Option<StoreError>,
}

impl Reader {
    /// Lists every live row, so that the library can be the truth.
    pub(crate) async fn list_all<T: Document>(&self) -> Result<(), StoreError> {
        let statement = Statement::built(format!(
            "SELECT {}, version, created_at, {} FROM {} WHERE {}",
            T::KEY,
            T::CLUSTER,
            T::TABLE,
            T::LIVE
        ));
        let rows = self.pool.rows(&statement).await?;
        let mut library = self.library_mut();
        let shelf = T::shelf_mut(&mut library);
        for row in rows {
            let listing = || {
                let version = row.int(T::KEY_COLUMNS)?;
                let created_at = Timestamp(row.int(T::KEY_COLUMNS + 1)?);
                let cluster = row.maybe_id(T::KEY_COLUMNS + 2)?;
                Ok((T::read_key(&row)?, version, (created_at, cluster)))
            };
            match listing() {
                Ok((key, version, place)) => shelf.put(key, version, place, None),
                Err(error) => self.set_aside::<T>(&row, &error),
            }
        }
        Ok(())
    }

    /// Remembers that a row cannot be read.
    fn set_aside<T: Document>(&self, row: &RawRow, error: &StoreError) {
        let name = match T::read_key(row) {
            Ok(key) => T::subject(key).to_string(),
            Err(_) => format!(
                "id {}",
                row.text(T::KEY_COLUMNS - 1).unwrap_or("unreadable")
            ),
        };
        self.quarantine.add(T::TABLE, name, error);
    }

    /// One live row.
    pub(crate) async fn one<T: Document>(&self, key: T::Key) -> Result<Option<Row<T>>, StoreError> {
        let listed = match self.trust {
            Trust::Full => T::shelf(&self.library()).get(key),
            Trust::ByVersion => self.version_of(key).await?,
        };
        match listed {
            None => Ok(None),
            Some(Listed { doc: Some(row), .. }) => Ok(Some(row)),
            Some(Listed { doc: None, .. }) => {
                let mut fetched = self.fetch(&[key]).await?;
                match fetched.unreadable {
                    Some(error) => Err(error),
                    None => Ok(fetched.rows.pop()),
                }
            }
        }
    }

    /// The live rows of a group that can be read, by creation, then id.
    pub(crate) async fn group<T: Document>(&self, group: Group) -> Result<Vec<Row<T>>, StoreError> {
        Ok(self.fetch_group(group).await?.rows)
    }

    /// The same, or an error if one of them cannot be read.
    pub(crate) async fn whole_group<T: Document>(
        &self,
        group: Group,
    ) -> Result<Vec<Row<T>>, StoreError> {
        let fetched = self.fetch_group(group).await?;
        match fetched.unreadable {
            Some(error) => Err(error),
            None => Ok(fetched.rows),
        }
    }

    async fn fetch_group<T: Document>(&self, group: Group) -> Result<Fetched<T>, StoreError> {
        let listed = self.listed::<T>(group).await?;
        let cold: Vec<T::Key> = listed
            .iter()
            .filter(|row| row.doc.is_none())
            .map(|row| row.key)
            .collect();
        let mut fetched: HashMap<T::Key, Row<T>> = HashMap::with_capacity(cold.len());
        let mut unreadable = None;
        for keys in cold.chunks(FETCH) {
            let some = self.fetch::<T>(keys).await?;
            fetched.extend(some.rows.into_iter().map(|row| (row.value.key(), row)));
            unreadable = unreadable.or(some.unreadable);
        }
        let rows = listed.into_iter().filter_map(|listed| {
            // Not found: it went away since it was listed, or it cannot be read.
            listed.doc.or_else(|| fetched.remove(&listed.key))
        });
        Ok(Fetched {
            rows: rows.collect(),
            unreadable,
        })
    }

    /// The versions of a group, with the documents that are in memory.
    pub(crate) async fn listed<T: Document>(
        &self,
        group: Group,
    ) -> Result<Vec<Listed<T>>, StoreError> {
        if self.trust == Trust::Full {
            return Ok(T::shelf(&self.library()).list(group));
        }
        let (condition, arg) = group.condition();
        let mut statement = Statement::built(format!(
            "SELECT {}, version FROM {} WHERE {} AND {condition} ORDER BY created_at, id",
            T::KEY,
            T::TABLE,
            T::LIVE
        ));
        if let Some(arg) = arg {
            statement = statement.json(arg);
        }
        let rows = self.pool.rows(&statement).await?;
        let library = self.library();
        let mut listed = Vec::with_capacity(rows.len());
        for row in &rows {
            match T::read_key(row).and_then(|key| Ok((key, row.int(T::KEY_COLUMNS)?))) {
                Ok((key, version)) => {
                    let doc = T::shelf(&library).recall(key, version);
                    listed.push(Listed { key, version, doc });
                }
                Err(error) => self.set_aside::<T>(row, &error),
            }
        }
        Ok(listed)
    }

    async fn version_of<T: Document>(&self, key: T::Key) -> Result<Option<Listed<T>>, StoreError> {
        let statement = select::<T>("version", &[key]);
        let rows = self.pool.rows(&statement).await?;
        let Some(row) = rows.first() else {
            T::shelf_mut(&mut self.library_mut()).remove(key);
            return Ok(None);
        };
        let version = row.int(T::KEY_COLUMNS)?;
        let doc = T::shelf(&self.library()).recall(key, version);
        Ok(Some(Listed { key, version, doc }))
    }

    /// Reads up to [`FETCH`] live documents and keeps them; in no particular order.
    async fn fetch<T: Document>(&self, keys: &[T::Key]) -> Result<Fetched<T>, StoreError> {
        let raw = self.pool.rows(&select::<T>(&whole::<T>(), keys)).await?;
        let Fetched { rows, unreadable } = self.read_all::<T>(&raw);
        if unreadable.is_none() {
            for key in keys {
                let name = T::subject(*key).to_string();
                self.quarantine.release(T::TABLE, &name);
            }
        }
        let mut library = self.library_mut();
        for row in &rows {
            match self.trust {
                Trust::Full => T::shelf_mut(&mut library).fill(row),
                Trust::ByVersion => T::shelf_mut(&mut library).land(row),
            }
        }
        if self.trust == Trust::ByVersion {
            library.trim_memo();
        }
        Ok(Fetched { rows, unreadable })
    }

    /// One row straight from the database, even if it is deleted.
    pub(crate) async fn one_even_deleted<T: Document>(
        &self,
        condition: &str,
        arg: String,
    ) -> Result<Option<Row<T>>, StoreError> {
        let mut fetched = self.fetch_even_deleted(condition, Some(arg)).await?;
        match fetched.unreadable {
            Some(error) => Err(error),
            None => Ok(fetched.rows.pop()),
        }
    }

    /// Rows straight from the database that can be read, deleted ones too.
    pub(crate) async fn even_deleted<T: Document>(
        &self,
        condition: &str,
        arg: Option<String>,
    ) -> Result<Vec<Row<T>>, StoreError> {
        Ok(self.fetch_even_deleted(condition, arg).await?.rows)
    }

    async fn fetch_even_deleted<T: Document>(
        &self,
        condition: &str,
        arg: Option<String>,
    ) -> Result<Fetched<T>, StoreError> {
        let mut statement = Statement::built(format!(
            "SELECT {}, {} FROM {} WHERE {condition} ORDER BY created_at, id",
            T::KEY,
            whole::<T>(),
            T::TABLE
        ));
        if let Some(arg) = arg {
            statement = statement.json(arg);
        }
        let raw = self.pool.rows(&statement).await?;
        Ok(self.read_all(&raw))
    }

    /// Every row that can be read; the others are set aside.
    fn read_all<T: Document>(&self, raw: &[RawRow]) -> Fetched<T> {
        let mut fetched = Fetched {
            rows: Vec::with_capacity(raw.len()),
            unreadable: None,
        };
        for row in raw {
            match self.read(row) {
                Ok(row) => fetched.rows.push(row),
                Err(error) => {
                    self.set_aside::<T>(row, &error);
                    fetched.unreadable = Some(error);
                }
            }
        }
        fetched
    }

    /// Key, version, document, checksum and what is beside it, in the columns of these queries.
    fn read<T: Document>(&self, row: &RawRow) -> Result<Row<T>, StoreError> {
        let key = T::read_key(row)?;
        let named = |error: StoreError| match error {
            StoreError::Corrupt { source, .. } => {
                StoreError::corrupt(T::subject(key).to_string(), source)
            }
            other => other,
        };
        let version = row.int(T::KEY_COLUMNS).map_err(named)?;
        let text = row.text(T::KEY_COLUMNS + 1).map_err(named)?;
        let stored = row.maybe_text(T::KEY_COLUMNS + 2).map_err(named)?;
        if !checksum::fits(stored, &T::key_args(key), version, text) {
            return Err(StoreError::corrupt(
                T::subject(key).to_string(),
                "the document does not fit its checksum",
            ));
        }
        let (mut value, unknown): (T, _) = members::from_text(text, key, &self.key())?;
        value.set_beside(row.maybe_text(T::KEY_COLUMNS + 3)?.map(Report::from));
        Ok(Row {
            version,
            value: Arc::new(value),
            unknown,
        })
    }

    /// The key of the secrets now.
    pub(crate) fn key(&self) -> Arc<SealingKey> {
        let key = self.key.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&key)
    }

    fn library(&self) -> RwLockReadGuard<'_, Library> {
        self.library.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn library_mut(&self) -> RwLockWriteGuard<'_, Library> {
        self.library.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The columns of a whole row, all but its key.
fn whole<T: Document>() -> String {
    format!("version, doc, checksum, {}", T::BESIDE)
}

/// Key and `columns` of the live rows with these keys. Equality and OR, because SQLite answers
/// `(a, b) IN (VALUES …)` by reading the whole table.
fn select<T: Document>(columns: &str, keys: &[T::Key]) -> Statement {
    let places = if keys.len() == 1 { 1 } else { FETCH };
    let mut number = 0;
    let mut one_of = Vec::with_capacity(places);
    for _ in 0..places {
        let parts = T::KEY.split(", ").map(|column| {
            number += 1;
            format!("{column} = ${number}")
        });
        one_of.push(format!("({})", parts.collect::<Vec<_>>().join(" AND ")));
    }
    let mut statement = Statement::built(format!(
        "SELECT {}, {columns} FROM {} WHERE {} AND ({})",
        T::KEY,
        T::TABLE,
        T::LIVE,
        one_of.join(" OR "),
    ));
    // The last key fills the places that are left.
    let padded = keys.iter().chain(keys.last().into_iter().cycle());
    for key in padded.take(places) {
        for part in T::key_args(*key) {
            statement = statement.json(part);
        }
    }
    statement
}

#[cfg(test)]
mod tests {
    use muster_model::{Cluster, ClusterId, Host, HostId, HostKey, InfraEnvId};
    use uuid::Uuid;

    use super::*;
    use crate::{
        migrations,
        sqlite::{Access, SqliteFile},
        statement::Options,
    };

    async fn plan(connection: &mut crate::statement::Connection, query: Statement) -> String {
        let explained = Statement::built(format!("EXPLAIN QUERY PLAN {}", query.sql));
        let rows = connection.rows(&explained.args(query.args)).await;
        let rows = rows.expect("it can be explained");
        let lines = rows.iter().map(|row: &RawRow| row.text(3).expect("a line"));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[tokio::test]
    async fn no_fetch_by_key_reads_a_whole_table() {
        let dir = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}/muster.db", dir.path().display());
        let file = SqliteFile::parse(&url).expect("valid");
        let connection = Options::Sqlite(file, Access::Write).connect().await;
        let mut connection = connection.expect("opens");
        migrations::run(&mut connection).await.expect("migrates");
        let cluster = ClusterId(Uuid::nil());
        let host = HostKey {
            infra_env: InfraEnvId(Uuid::nil()),
            host: HostId(Uuid::nil()),
        };
        for query in [
            select::<Cluster>("version", &[cluster]),
            select::<Cluster>(&whole::<Cluster>(), &[cluster; 5]),
            select::<Host>("version", &[host]),
            select::<Host>(&whole::<Host>(), &[host; 16]),
        ] {
            let plan = plan(&mut connection, query.clone()).await;
            assert!(!plan.contains("SCAN"), "{query:?}\n{plan}");
        }
    }
}
