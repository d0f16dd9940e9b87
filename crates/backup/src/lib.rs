//! A backup of an installation in one file: written while the service runs, restored elsewhere.
//!
//! The archive is a tar: keys and certificates, every stored file, the database as an SQLite file
//! whatever it is kept in, and as the last member `backup.json` with size and SHA-256 of all
//! others, so that a file that was cut short or altered is noticed before anything is restored.
//! Start at [`write`] and [`restore`].

mod contents;
mod error;
mod restore;
mod write;

use std::path::PathBuf;

pub use contents::{Contents, Member};
pub use error::BackupError;
pub use restore::restore;
pub use write::write;

/// Where the parts of an installation are.
#[derive(Clone)]
pub struct Installation {
    /// Folder of keys, certificates and all that is on this machine.
    pub data_dir: PathBuf,
    /// Address of the database, with its password.
    pub database: String,
    /// Address of the file store, with its credentials.
    pub storage: String,
    /// Version of the program, for the record.
    pub release: String,
}

impl std::fmt::Debug for Installation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Installation")
            .field("data_dir", &self.data_dir)
            .finish_non_exhaustive()
    }
}

/// What a backup holds besides the database and the stored files, below the data directory.
const KEPT: &[&str] = &["keys", "tls", "first-user.hash", "first-user.password"];
/// The same, if it is asked for: large, and fetched again when it is missing.
const OS_IMAGES: &str = "os-images";
/// The database in the archive.
const DATABASE: &str = "database/muster.db";
/// Stored files in the archive.
const FILES: &str = "files";
