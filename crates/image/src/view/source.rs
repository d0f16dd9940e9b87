//! Where unchanged bytes come from.

use std::{fmt, fs::File, io, os::unix::fs::FileExt, sync::Arc};

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// Bytes at the start of a file that identify it if its digest is unknown: they contain the volume
/// descriptors of an ISO with label and creation time.
const NAMING_BYTES: usize = 64 * 1024;

/// Bytes that can be read at any place by many readers at once.
pub trait ReadAt: Send + Sync {
    /// Reads some bytes from `offset` on; 0 means the end.
    ///
    /// # Errors
    ///
    /// Those of the medium.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The file behind it, for those who can pass ranges of files to the kernel.
    fn as_file(&self) -> Option<&File> {
        None
    }
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn as_file(&self) -> Option<&File> {
        Some(self)
    }
}

impl ReadAt for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..))
            .unwrap_or(&[]);
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// A shared medium, its length and what names its content.
#[derive(Clone)]
pub struct Source {
    medium: Arc<dyn ReadAt>,
    len: u64,
    identity: [u8; 32],
}

impl Source {
    /// A file, named by its length and its first 64 KiB.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is no regular file or block device with a known length.
    pub fn file(file: File) -> io::Result<Self> {
        let len = match file.metadata()? {
            meta if meta.is_file() => meta.len(),
            meta if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            _ => io::Seek::seek(&mut &file, io::SeekFrom::End(0))?,
        };
        Self::medium(Arc::new(file), len)
    }

    /// Bytes in memory, named by their length and their first 64 KiB.
    pub fn memory(bytes: impl Into<Bytes>) -> Self {
        let bytes: Bytes = bytes.into();
        let len = bytes.len() as u64;
        let identity = name(len, &bytes[..bytes.len().min(NAMING_BYTES)]);
        Self {
            medium: Arc::new(bytes),
            len,
            identity,
        }
    }

    /// Any medium of a known length.
    ///
    /// # Errors
    ///
    /// When its first bytes cannot be read.
    pub fn medium(medium: Arc<dyn ReadAt>, len: u64) -> io::Result<Self> {
        let mut head = vec![0; NAMING_BYTES];
        let mut done = 0;
        while done < head.len() {
            match medium.read_at(&mut head[done..], done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            medium,
            len,
            identity: name(len, &head[..done]),
        })
    }

    /// The same source under a better name, such as its SHA-256.
    #[must_use]
    pub fn named(mut self, identity: [u8; 32]) -> Self {
        self.identity = identity;
        self
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// No bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What names its content.
    pub fn identity(&self) -> &[u8; 32] {
        &self.identity
    }

    /// The file behind it, if it is one.
    pub fn as_file(&self) -> Option<&File> {
        self.medium.as_file()
    }

    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.medium.read_at(buffer, offset)
    }
}

fn name(len: u64, head: &[u8]) -> [u8; 32] {
    Sha256::new()
        .chain_update(len.to_le_bytes())
        .chain_update(head)
        .finalize()
        .into()
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({} bytes)", self.len)
    }
}
