//! An OS image on its way: a file that grows, with a note of what it belongs to.
//!
//! Each kind of source pushes its bytes here and finishes: only what has the
//! right digest and is a live image becomes one that is served.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use muster_catalog::OsImage;
use sha2::{Digest, Sha256};

use crate::{
    base::{
        BaseImages, Origin, PartNote, Record,
        change::{check_digest, hex},
    },
    fetch::FetchError,
    inspect::inspect,
};

/// The unfinished file, locked for as long as this lives.
pub struct Part {
    file: File,
    /// Bytes that are here.
    pub size: u64,
    hash: Sha256,
    /// What they belong to.
    pub note: PartNote,
    /// A source that names no length has said all it had to say.
    pub ended: bool,
}

impl Part {
    /// Takes up what an earlier fetch of the same left, unless another process is fetching it.
    pub fn open(store: &BaseImages, image: &OsImage) -> Result<Self, FetchError> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(store.part(image))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FetchError::UnderWay),
            Err(TryLockError::Error(cause)) => return Err(cause.into()),
        }
        let note = store
            .read_part_note(image)
            .filter(|note| note.url == image.url);
        let mut part = Self {
            file,
            size: 0,
            hash: Sha256::new(),
            note: note.unwrap_or_default(),
            ended: false,
        };
        if part.note.validator.is_empty() {
            part.restart()?;
        } else {
            tokio::task::block_in_place(|| part.read_again())?;
        }
        Ok(part)
    }

    /// What is here counts towards the digest, too.
    fn read_again(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            let count = self.file.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            self.hash.update(&buffer[..count]);
            self.size += count as u64;
        }
    }

    /// Begins again at the first byte.
    pub fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.size = 0;
        self.ended = false;
        self.hash = Sha256::new();
        Ok(())
    }

    /// Adds what has come.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes).map_err(|cause| {
            let have = self.size >> 20;
            let what = format!("writing the image after {have} MiB: {cause}");
            io::Error::new(cause.kind(), what)
        })?;
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Whether the rest of `total` bytes fits on the disk.
    pub fn check_room(&self, total: u64) -> io::Result<()> {
        let disk = rustix::fs::fstatvfs(&self.file)?;
        let (free, rest) = (
            disk.f_bavail.saturating_mul(disk.f_frsize),
            total.saturating_sub(self.size),
        );
        if rest > free {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                format!(
                    "the disk of the data directory has {} MiB left and {} MiB are still to come; \
                     make room, or choose another data_dir",
                    free >> 20,
                    rest.div_ceil(1 << 20)
                ),
            ));
        }
        Ok(())
    }

    /// Whether all has come.
    pub fn is_complete(&self) -> bool {
        match self.note.total {
            Some(total) => self.size == total && self.size > 0,
            None => self.ended && self.size > 0,
        }
    }

    /// Checks what has come and makes it the image; what is of no use is removed.
    pub fn finish(self, store: &BaseImages, image: &OsImage) -> Result<Record, FetchError> {
        let path = store.part(image);
        let record = Record {
            sha256: hex(&self.hash.finalize()),
            size: self.size,
            origin: Origin::Fetched,
        };
        let sound = check_digest(&record.sha256, image.sha256.as_deref())
            .and_then(|()| inspect(&path, image.cpu_architecture).map_err(io::Error::other));
        if let Err(cause) = sound {
            discard(&path)?;
            discard(&store.part_note(image))?;
            return Err(cause.into());
        }
        self.file.sync_all()?;
        store.take(image, &path, &record)?;
        discard(&store.part_note(image))?;
        Ok(record)
    }
}

fn discard(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
