//! The SQLite file: its address, its settings, and the lock that makes it ours alone; and the
//! thin driver for it. Calls block.
//!
//! The store keeps documents in memory and trusts them, so no other process may write the file. The
//! lock is on a file beside it, because closing any handle of the database file itself would
//! drop SQLite's own locks.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use percent_encoding::percent_decode_str;
use rusqlite::{
    OpenFlags,
    types::{ToSql, ToSqlOutput, Value, ValueRef},
};

use crate::{
    error::{Fault, StoreError},
    statement::{Arg, Statement},
};

/// Longest wait for SQLite's internal locks, e.g. while a checkpoint ends.
const BUSY: Duration = Duration::from_secs(10);

/// Statements kept prepared per connection; we have fewer texts than that.
const PREPARED_STATEMENTS: usize = 200;
/// Pages of the log before it is moved into the file: 16 MiB, so that commits rarely pay for it.
const CHECKPOINT_PAGES: i64 = 4096;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// One database file.
#[derive(Clone, Debug)]
pub(crate) struct SqliteFile {
    path: PathBuf,
}

impl SqliteFile {
    /// Reads `sqlite:///absolute/path`.
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        let bad = |reason: &str| StoreError::Address {
            reason: reason.to_owned(),
        };
        let path = url
            .strip_prefix("sqlite://")
            .ok_or_else(|| bad("sqlite: must be followed by // and an absolute path"))?;
        if path.contains('?') {
            return Err(bad("a sqlite address takes no parameters"));
        }
        let path = percent_decode_str(path)
            .decode_utf8()
            .map_err(|_| bad("the path is not UTF-8"))?;
        let path = PathBuf::from(path.as_ref());
        if !path.is_absolute() || path.file_name().is_none() {
            return Err(bad("the path of a sqlite file must be absolute"));
        }
        Ok(Self { path })
    }

    /// The file of this absolute path.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the file for this process; held until the returned handle is dropped.
    pub(crate) fn lock(&self) -> Result<File, StoreError> {
        let lock = private()
            .open(self.beside(".lock"))
            .map_err(|error| self.unusable(error))?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
                path: self.path.clone(),
            }),
            Err(TryLockError::Error(error)) => Err(self.unusable(error)),
        }
    }

    /// Whether a process holds it; makes no file, as the lock of the service must be the service's.
    pub(crate) fn is_locked(&self) -> bool {
        let Ok(lock) = File::open(self.beside(".lock")) else {
            return false;
        };
        matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Makes the file readable by its owner only, whatever the folder and the umask allow. SQLite
    /// gives the files it makes beside it the same mode.
    pub(crate) fn make_private(&self) -> Result<(), StoreError> {
        let made = private().open(&self.path);
        drop(made.map_err(|error| self.unusable(error))?);
        for ending in ["", "-wal", "-shm", ".lock"] {
            let file = self.beside(ending);
            match tighten(&file) {
                Ok(None) => {}
                Ok(Some(before)) => tracing::warn!(
                    file = %file.display(),
                    mode = %format_args!("{before:o}"),
                    "other users could open this file; it is private to its owner now"
                ),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.unusable(error)),
            }
        }
        Ok(())
    }

    /// The file of this ending next to the database.
    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        self.path.with_file_name(name)
    }

    fn unusable(&self, error: std::io::Error) -> StoreError {
        StoreError::unavailable(format!("cannot open {}: {error}", self.path.display()))
    }

    /// Opens a connection. The writing one creates the file, logs ahead, and syncs at every
    /// commit.
    pub(crate) fn connect(&self, access: Access) -> Result<SqliteConnection, Fault> {
        let flags = match access {
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
        if access == Access::Write {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        }
        Ok(SqliteConnection { connection })
    }
}

/// Opens or creates a file for its owner only.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    options
}

/// Takes from others what they may do with a file; returns the mode it had if that was anything.
fn tighten(file: &Path) -> io::Result<Option<u32>> {
    let mode = fs::metadata(file)?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(None);
    }
    fs::set_permissions(file, fs::Permissions::from_mode(mode & 0o700))?;
    Ok(Some(mode))
}

/// One open connection.
pub(crate) struct SqliteConnection {
    connection: rusqlite::Connection,
}

impl SqliteConnection {
    pub(crate) fn run(&mut self, statement: &Statement) -> Result<u64, Fault> {
        self.with(statement, |prepared| Ok(prepared.raw_execute()? as u64))
    }

    /// The rows, until their texts take more than `bytes`; the first one always comes.
    pub(crate) fn rows(
        &mut self,
        statement: &Statement,
        bytes: usize,
    ) -> Result<Vec<SqliteRow>, Fault> {
        self.with(statement, |prepared| {
            let columns = prepared.column_count();
            let (mut found, mut size) = (Vec::new(), 0_usize);
            let mut rows = prepared.raw_query();
            while let Some(row) = rows.next()? {
                let values = (0..columns).map(|column| row.get(column));
                let row = SqliteRow(values.collect::<Result<_, _>>()?);
                size = size.saturating_add(row.text_size());
                if size > bytes && !found.is_empty() {
                    break;
                }
                found.push(row);
            }
            Ok(found)
        })
    }

    pub(crate) fn script(&mut self, sql: &str) -> Result<(), Fault> {
        Ok(self.connection.execute_batch(sql)?)
    }

    pub(crate) fn close(self) -> Result<(), Fault> {
        Ok(self.connection.close().map_err(|(_, error)| error)?)
    }

    fn with<T>(
        &mut self,
        statement: &Statement,
        work: impl FnOnce(&mut rusqlite::Statement<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        let Statement { sql, args, keep } = statement;
        if *keep {
            let mut prepared = self.connection.prepare_cached(sql)?;
            bind(&mut prepared, args)?;
            Ok(work(&mut prepared)?)
        } else {
            let mut prepared = self.connection.prepare(sql)?;
            bind(&mut prepared, args)?;
            Ok(work(&mut prepared)?)
        }
    }
}

/// To SQLite `$2` is a name; its number is where it first occurs in the text.
fn bind(prepared: &mut rusqlite::Statement<'_>, args: &[Arg]) -> rusqlite::Result<()> {
    for index in 1..=prepared.parameter_count() {
        let name = prepared.parameter_name(index).unwrap_or_default();
        let number: Option<usize> = name
            .strip_prefix('$')
            .and_then(|digits| digits.parse().ok());
        let arg = number.and_then(|number| args.get(number.checked_sub(1)?));
        let arg = arg.ok_or_else(|| rusqlite::Error::InvalidParameterName(name.to_owned()))?;
        prepared.raw_bind_parameter(index, arg)?;
    }
    Ok(())
}

impl ToSql for Arg {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Text(text) | Self::MaybeText(Some(text)) => ValueRef::Text(text.as_bytes()),
            Self::Int(number) | Self::MaybeInt(Some(number)) => ValueRef::Integer(*number),
            Self::MaybeText(None) | Self::MaybeInt(None) => ValueRef::Null,
        }))
    }
}

/// One row of an answer.
pub(crate) struct SqliteRow(Vec<Value>);

impl SqliteRow {
    fn text_size(&self) -> usize {
        let sizes = self.0.iter().map(|value| match value {
            Value::Text(text) => text.len(),
            Value::Null | Value::Integer(_) | Value::Real(_) | Value::Blob(_) => 0,
        });
        sizes.sum()
    }

    pub(crate) fn text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::Null) => Ok(None),
            other => Err(unexpected(column, other)),
        }
    }

    pub(crate) fn int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.0.get(column) {
            Some(Value::Integer(number)) => Ok(Some(*number)),
            Some(Value::Null) => Ok(None),
            other => Err(unexpected(column, other)),
        }
    }
}

/// Names the type only: the value may be a secret.
fn unexpected(column: usize, value: Option<&Value>) -> StoreError {
    let found = value.map_or_else(
        || "nothing".to_owned(),
        |value| value.data_type().to_string(),
    );
    StoreError::corrupt(
        "a row of the database",
        format!("column {column} holds {found}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_paths_without_parameters_are_addresses() {
        for bad in [
            "sqlite:muster.db",
            "sqlite://muster.db",
            "sqlite::memory:",
            "sqlite://",
            "sqlite:///",
            "sqlite:///a/b.db?mode=ro",
            "sqlite:///a/%ff.db",
        ] {
            let error = SqliteFile::parse(bad).expect_err(bad);
            assert!(matches!(error, StoreError::Address { .. }), "{bad}");
        }
        let file = SqliteFile::parse("sqlite:///srv/my%20site/muster.db").expect("valid");
        assert_eq!(file.path(), Path::new("/srv/my site/muster.db"));
    }
}
