//! The SQLite file: its address, its settings, and the lock that makes it ours alone.
//!
//! The store keeps documents in memory and trusts them, so nobody else may write the file. The
//! lock is on a file beside it, because closing any handle of the database file itself would
//! drop SQLite's own locks.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

use percent_encoding::percent_decode_str;
use sqlx::{
    ConnectOptions as _,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use crate::error::StoreError;

/// Longest wait for SQLite's internal locks, e.g. while a checkpoint ends.
const BUSY: Duration = Duration::from_secs(10);

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

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the file for this process; held until the returned handle is dropped.
    pub(crate) fn lock(&self) -> Result<File, StoreError> {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.with_file_name(name))
            .map_err(|error| self.unusable(error))?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
                path: self.path.clone(),
            }),
            Err(TryLockError::Error(error)) => Err(self.unusable(error)),
        }
    }

    fn unusable(&self, error: std::io::Error) -> StoreError {
        StoreError::unavailable(format!("cannot open {}: {error}", self.path.display()))
    }

    /// The one connection that writes: log ahead, fsync at every commit.
    pub(crate) fn writer_options(&self, prepared_statements: usize) -> SqliteConnectOptions {
        self.options(prepared_statements)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
    }

    /// Connections that only read.
    pub(crate) fn reader_options(&self, prepared_statements: usize) -> SqliteConnectOptions {
        self.options(prepared_statements).read_only(true)
    }

    fn options(&self, prepared_statements: usize) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.path)
            .busy_timeout(BUSY)
            .foreign_keys(false)
            .statement_cache_capacity(prepared_statements)
            .row_buffer_size(256)
            .thread_name(|id| format!("muster-sqlite-{id}"))
            .disable_statement_logging()
    }
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
