//! Where extracted content goes: a file that appears only when complete and verified, or memory.

mod behind;

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions, TryLockError},
    io::{self, Seek, SeekFrom, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use behind::Behind;

use crate::{Digest, Error, blob::LayerFault, layer::Entry, search::Sink};

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Where.
    pub path: PathBuf,
    /// How many bytes.
    pub size: u64,
    /// Their digest.
    pub sha256: Digest,
}

/// A file in the making, beside its final place.
pub(crate) struct Output {
    path: PathBuf,
    part: PathBuf,
    file: File,
    hash: Sha256,
    size: u64,
    mode: u32,
    behind: Behind,
    done: bool,
}

impl Output {
    pub fn create(path: &Path) -> Result<Self, Error> {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(|| {
                Error::setting(path.display().to_string(), "this names no file to write to")
            })?;
        if path.is_dir() {
            return Err(Error::setting(
                path.display().to_string(),
                "this is a folder; name the file to write",
            ));
        }
        let part = path.with_file_name(format!(".{name}.part"));
        let file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&part)
            .map_err(Error::file(&part))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::setting(
                    path.display().to_string(),
                    "another process is writing it; wait for it or write elsewhere",
                ));
            }
            Err(TryLockError::Error(cause)) => return Err(Error::file(&part)(cause)),
        }
        let mut output = Self {
            path: path.to_owned(),
            part,
            file,
            hash: Sha256::new(),
            size: 0,
            mode: 0o644,
            behind: Behind::default(),
            done: false,
        };
        output.clear().map_err(Error::file(path))?;
        Ok(output)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.hash = Sha256::new();
        self.size = 0;
        Ok(())
    }

    /// The unfinished file, for changes before it is shown.
    pub fn unfinished(&mut self) -> (&mut File, &Path) {
        (&mut self.file, &self.part)
    }

    /// Counts the digest again after changes.
    pub fn rehash(&mut self) -> Result<(), Error> {
        self.hash = Sha256::new();
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| crate::cache::read_into(&mut self.file, &mut self.hash))
            .map(|_| ())
            .map_err(Error::file(&self.part))
    }

    pub fn digest(&self) -> Digest {
        Digest::finished(self.hash.clone())
    }

    /// Shows the file under its name. Blocks until it is on the disk.
    pub fn commit(mut self) -> Result<Written, Error> {
        let mode = 0o644 | (self.mode & 0o111);
        self.behind.end();
        self.file
            .set_permissions(Permissions::from_mode(mode))
            .and_then(|()| self.file.sync_all())
            .and_then(|()| fs::rename(&self.part, &self.path))
            .map_err(Error::file(&self.path))?;
        self.done = true;
        Ok(Written {
            path: self.path.clone(),
            size: self.size,
            sha256: self.digest(),
        })
    }

    fn fault(&self, cause: io::Error) -> LayerFault {
        LayerFault::Output(self.part.clone(), cause)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.done {
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// The files of a folder in memory, by their path below it; a single file has the empty path.
#[derive(Debug)]
pub(crate) struct Memory {
    pub files: BTreeMap<String, Vec<u8>>,
    limit: u64,
    left: u64,
    current: String,
}

impl Memory {
    pub fn new(limit: u64) -> Self {
        Self {
            files: BTreeMap::new(),
            limit,
            left: limit,
            current: String::new(),
        }
    }
}

/// Either of them.
pub(crate) enum Target {
    File(Box<Output>),
    Memory(Memory),
}

impl Sink for Target {
    fn begin(&mut self, below: &str, entry: &Entry) -> Result<(), LayerFault> {
        match self {
            Self::File(output) => {
                output.mode = entry.mode;
                output.clear().map_err(|cause| output.fault(cause))
            }
            Self::Memory(memory) => {
                // Each file costs its name and some bookkeeping, too.
                let cost = entry.size.saturating_add(below.len() as u64 + 128);
                memory.left = memory.left.checked_sub(cost).ok_or_else(|| {
                    LayerFault::Malformed(format!(
                        "{} is or belongs to more than the {} bytes that are read into memory",
                        entry.path, memory.limit
                    ))
                })?;
                below.clone_into(&mut memory.current);
                memory.files.insert(below.to_owned(), Vec::new());
                Ok(())
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), LayerFault> {
        match self {
            Self::File(output) => {
                output.hash.update(bytes);
                output.size += bytes.len() as u64;
                output
                    .file
                    .write_all(bytes)
                    .map_err(|cause| output.fault(cause))?;
                output.behind.wrote(bytes.len(), &output.file);
                Ok(())
            }
            Self::Memory(memory) => {
                if let Some(file) = memory.files.get_mut(&memory.current) {
                    file.extend_from_slice(bytes);
                }
                Ok(())
            }
        }
    }

    fn forget(&mut self) -> Result<(), LayerFault> {
        match self {
            Self::File(output) => output.clear().map_err(|cause| output.fault(cause)),
            Self::Memory(memory) => {
                memory.files.clear();
                memory.left = memory.limit;
                Ok(())
            }
        }
    }
}
