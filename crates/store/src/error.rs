//! What can go wrong between a caller and the database, in the caller's words.

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
        /// What is wrong with it and how to mend it.
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

    pub(crate) fn corrupt(what: impl Into<String>, source: impl Into<Cause>) -> Self {
        Self::Corrupt {
            what: what.into(),
            source: source.into(),
        }
    }
}

/// SQLite's codes for a file that is no database or no longer a sound one.
const SQLITE_CORRUPT: i32 = 11;
const SQLITE_NOT_A_DATABASE: i32 = 26;
/// SQLite puts the detail in the upper bits of its codes.
const SQLITE_PRIMARY_CODE: i32 = 0xff;
/// PostgreSQL gave up one of two transactions: deadlock, serialization failure.
const POSTGRES_RETRY: [&str; 2] = ["40P01", "40001"];
/// PostgreSQL found damaged data or a damaged index.
const POSTGRES_CORRUPT: [&str; 2] = ["XX001", "XX002"];

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let Some(code) = error.as_database_error().and_then(|e| e.code()) else {
            return Self::unavailable(error);
        };
        if POSTGRES_RETRY.contains(&code.as_ref()) {
            return Self::Conflict {
                what: "a row of this change".to_owned(),
            };
        }
        let damaged = match code.parse::<i32>() {
            // A PostgreSQL code has five characters and may be all digits.
            Ok(number) if code.len() < 5 => matches!(
                number & SQLITE_PRIMARY_CODE,
                SQLITE_CORRUPT | SQLITE_NOT_A_DATABASE
            ),
            Ok(_) => false,
            Err(_) => POSTGRES_CORRUPT.contains(&code.as_ref()),
        };
        if damaged {
            Self::corrupt("the database", error)
        } else {
            Self::unavailable(error)
        }
    }
}
