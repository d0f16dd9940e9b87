//! Errors between a caller and the database, in the caller's terms.

use std::{error::Error, path::PathBuf};

use crate::changes::Subject;

type Cause = Box<dyn Error + Send + Sync + 'static>;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The row is not the one the caller saw, or the key is already taken. Read again and retry.
    #[error("{what} was changed or created by someone else in the meantime; read it again")]
    Conflict {
        /// The row.
        what: String,
    },
    /// The row a change was meant for is gone.
    #[error("{what} does not exist")]
    Missing {
        /// The row.
        what: String,
    },
    /// The caller handed in something no database could keep.
    #[error("cannot store {what}: {reason}")]
    Invalid {
        /// What was handed in.
        what: String,
        /// What is wrong with it and how to fix it.
        reason: String,
    },
    /// The address names no database we know.
    #[error(
        "bad database address: {reason}; use sqlite:///folder/muster.db or postgres://user@host/name"
    )]
    Address {
        /// What is wrong with it; never holds a password.
        reason: String,
    },
    /// Another process works on the same SQLite file.
    #[error(
        "{} is in use by another process; stop that one, or use postgres:// to share a database",
        path.display()
    )]
    InUse {
        /// The database file.
        path: PathBuf,
    },
    /// Services work on the same database of a server.
    #[error(
        "the database is in use: {sessions} other sessions of muster are open; stop the service, all \
         replicas of it, and try again"
    )]
    ServerInUse {
        /// How many.
        sessions: i64,
    },
    /// The database was written by a newer Muster.
    #[error(
        "the database has schema version {found}, this program knows up to {known}; start a newer program"
    )]
    TooNew {
        /// Version in the database.
        found: i64,
        /// Newest version this program knows.
        known: i64,
    },
    /// The database was written by an older Muster and not opened by this one yet.
    #[error(
        "the database has schema version {found}, this program reads {known}; start `muster serve` \
         of this release on it once, or use the program that wrote it"
    )]
    TooOld {
        /// Version in the database.
        found: i64,
        /// The version this program works with.
        known: i64,
    },
    /// The database to copy into holds something already.
    #[error(
        "the database to copy into is not empty: there are rows in {table}; name a new one, or \
         empty it first"
    )]
    NotEmpty {
        /// Where rows were found.
        table: &'static str,
    },
    /// The secrets in the database are sealed under another key.
    #[error(
        "the secrets in this database are sealed under key {wanted}, but {origin} holds key \
         {given}; put the key there that the database was made with"
    )]
    WrongKey {
        /// Where the given key comes from.
        origin: String,
        /// Fingerprint of the given key.
        given: String,
        /// Fingerprint of the key the database was first opened with.
        wanted: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The database or its disk does not do its work; a later attempt may succeed.
    #[error("the database cannot be used now")]
    Unavailable {
        /// What it said.
        #[source]
        source: Cause,
    },
    /// The database has no room for another write; it works again once there is.
    #[error(
        "the disk of the database takes no more data: it is full, over its quota, or failing; \
         free some space"
    )]
    DiskFull {
        /// What it said.
        #[source]
        source: Cause,
    },
    /// What the database holds makes no sense.
    #[error("{what} is damaged; restore it from a backup")]
    Corrupt {
        /// The file or the row.
        what: String,
        /// How it was noticed.
        #[source]
        source: Cause,
    },
}

impl StoreError {
    /// Whether the database server could not be reached, or is still being set up: waiting helps.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        let Self::Unavailable { source } = self else {
            return false;
        };
        match source.downcast_ref() {
            Some(sqlx::Error::Io(_)) => true,
            Some(sqlx::Error::Database(said)) => said.code().is_some_and(|code| {
                POSTGRES_STARTING
                    .iter()
                    .any(|start| code.starts_with(start))
            }),
            _ => false,
        }
    }

    pub(crate) fn conflict(subject: &Subject) -> Self {
        Self::Conflict {
            what: subject.to_string(),
        }
    }

    pub(crate) fn missing(subject: &Subject) -> Self {
        Self::Missing {
            what: subject.to_string(),
        }
    }

    pub(crate) fn unavailable(source: impl Into<Cause>) -> Self {
        Self::Unavailable {
            source: source.into(),
        }
    }

    pub(crate) fn disk_full(source: impl Into<Cause>) -> Self {
        Self::DiskFull {
            source: source.into(),
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>, source: impl Into<Cause>) -> Self {
        Self::Corrupt {
            what: what.into(),
            source: source.into(),
        }
    }
}

/// A statement that failed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) error: StoreError,
    /// The connection is of no use any more.
    pub(crate) lost: bool,
}

impl Fault {
    /// The database did not answer in time.
    pub(crate) fn silence() -> Self {
        Self {
            error: StoreError::unavailable("no answer from the database"),
            lost: true,
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.error
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::{
            ErrorCode::{DatabaseCorrupt, DiskFull, NotADatabase, SystemIoFailure},
            ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE},
        };
        let extended = error.sqlite_error().map(|said| said.extended_code);
        let error = match (error.sqlite_error_code(), extended) {
            (Some(DatabaseCorrupt | NotADatabase), _) => StoreError::corrupt("the database", error),
            // SQLite reports a quota and a limit of file sizes as writes that failed.
            (Some(DiskFull), _)
            | (Some(SystemIoFailure), Some(SQLITE_IOERR_WRITE | SQLITE_IOERR_SHMSIZE)) => {
                StoreError::disk_full(error)
            }
            _ => StoreError::unavailable(error),
        };
        Self { error, lost: false }
    }
}

/// PostgreSQL gave up one of two transactions: deadlock, serialization failure.
const POSTGRES_RETRY: [&str; 2] = ["40P01", "40001"];
/// PostgreSQL found damaged data or a damaged index.
const POSTGRES_CORRUPT: [&str; 2] = ["XX001", "XX002"];
/// PostgreSQL found no space on its disk.
const POSTGRES_FULL: &str = "53100";
/// Starting up or shutting down; the database or the user was not created yet.
const POSTGRES_STARTING: [&str; 3] = ["57P0", "3D000", "28"];
/// Connection exceptions; server shutting down, crashed or starting up.
const POSTGRES_LOST: [&str; 2] = ["08", "57P0"];

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(|said| said.code());
        let Some(code) = code.map(std::borrow::Cow::into_owned) else {
            return Self {
                error: StoreError::unavailable(error),
                lost: true,
            };
        };
        let lost = POSTGRES_LOST.iter().any(|class| code.starts_with(class));
        let error = if POSTGRES_RETRY.contains(&code.as_str()) {
            let what = "a row of this change".to_owned();
            StoreError::Conflict { what }
        } else if POSTGRES_CORRUPT.contains(&code.as_str()) {
            StoreError::corrupt("the database", error)
        } else if code == POSTGRES_FULL {
            StoreError::disk_full(error)
        } else {
            StoreError::unavailable(error)
        };
        Self { error, lost }
    }
}
