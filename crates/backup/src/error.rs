//! Why a backup could not be made or restored.

use std::{io, path::PathBuf};

use muster_store::{BlobError, StoreError};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file or folder.
    #[error("{what}")]
    Io {
        /// What was tried, with the file.
        what: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The database.
    #[error("the database")]
    Database(#[from] StoreError),
    /// The file store.
    #[error("the file store")]
    Files(#[from] BlobError),
    /// The archive is not what was written.
    #[error("the backup is not usable: {0}; nothing was restored")]
    Archive(String),
    /// Something is there that would be overwritten.
    #[error("{} exists; restore into an empty data directory (--data-dir)", .0.display())]
    Occupied(PathBuf),
}

impl BackupError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
