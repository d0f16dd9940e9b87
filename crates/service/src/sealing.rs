//! The files of the sealing key, and the change from one to the next.
//!
//! The next key is on disk before the first row is sealed under it, and the old one is kept: at no
//! moment can a power cut leave a database without its key. A next key that is there at a start is a
//! change that was asked for or interrupted, and is carried out.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use muster_auth::files::{self, Readers};
use muster_model::{Secret, Timestamp};
use muster_store::{SealingKey, SealingKeyError};

/// The files in a data directory.
#[derive(Clone, Debug)]
pub struct KeyFiles {
    /// The key in force.
    pub current: PathBuf,
    /// The one that is to replace it.
    pub next: PathBuf,
}

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// Its content.
    #[error(transparent)]
    Key(#[from] SealingKeyError),
    /// The file.
    #[error("{path}")]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl KeyFiles {
    /// The files of a data directory.
    #[must_use]
    pub fn of(data_dir: &Path) -> Self {
        let folder = data_dir.join("keys");
        Self {
            current: folder.join("sealing.key"),
            next: folder.join("sealing.key.new"),
        }
    }

    /// The key in force, made if there is none yet; with the next one, if there is one, in its place.
    ///
    /// # Errors
    /// A file cannot be used.
    pub fn open(&self) -> Result<SealingKey, KeyFileError> {
        if !self.current.try_exists().map_err(at(&self.current))? {
            make(&self.current)?;
        }
        let current = read(&self.current)?;
        match self.is_change_requested() {
            true => Ok(read(&self.next)?.replacing(current)),
            false => Ok(current),
        }
    }

    /// Whether there is a next key.
    #[must_use]
    pub fn is_change_requested(&self) -> bool {
        self.next.exists()
    }

    /// Makes the next key, unless there is one from a change that was interrupted.
    ///
    /// # Errors
    /// A file cannot be used.
    pub fn make_next(&self) -> Result<(), KeyFileError> {
        make(&self.next)
    }

    /// The next key.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn read_next(&self) -> Result<SealingKey, KeyFileError> {
        read(&self.next)
    }

    /// The key in force.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn read_current(&self) -> Result<SealingKey, KeyFileError> {
        read(&self.current)
    }

    /// Makes the next key the one in force, and returns where the old one is kept.
    ///
    /// # Errors
    /// A file cannot be renamed.
    pub fn exchange(&self) -> Result<PathBuf, KeyFileError> {
        let day: String = Timestamp::now()
            .to_string()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let kept = self.current.with_extension(format!("key.until-{day}"));
        fs::hard_link(&self.current, &kept).map_err(at(&kept))?;
        fs::rename(&self.next, &self.current).map_err(at(&self.current))?;
        let folder = self.current.parent().unwrap_or(Path::new("."));
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(at(folder))?;
        Ok(kept)
    }
}

fn make(path: &Path) -> Result<(), KeyFileError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(at(folder))?;
    }
    let text = format!("{}\n", SealingKey::generate()?.reveal());
    match files::create(path, text.as_bytes(), Readers::OwnerOnly) {
        // Another process was faster: then its key is the one.
        Err(taken) if taken.kind() == ErrorKind::AlreadyExists => Ok(()),
        written => written.map_err(at(path)),
    }
}

fn read(path: &Path) -> Result<SealingKey, KeyFileError> {
    let text = fs::read_to_string(path).map_err(at(path))?;
    let origin = format!(
        "the file {} (database.sealing_key is not set)",
        path.display()
    );
    Ok(SealingKey::parse(&Secret::new(text), origin)?)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> KeyFileError {
    let path = path.to_owned();
    move |cause| KeyFileError::File { path, cause }
}
