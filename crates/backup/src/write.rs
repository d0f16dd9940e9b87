//! Writes an archive while the service runs.
//!
//! The service writes a file before the record that refers to it, and deletes it after that record.
//! So files are taken before the database and, those that are new since, after it: every record in
//! the archive finds its files.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use futures::TryStreamExt as _;
use muster_store::{BlobInfo, BlobPath, Blobs};
use sha2::{Digest as _, Sha256};
use tempfile::SpooledTempFile;

use crate::{
    BackupError, Contents, DATABASE, FILES, Installation, KEPT, Member, OS_IMAGES, contents,
};

/// Files up to this size are held in memory on their way into the archive.
const IN_MEMORY: usize = 1 << 20;

/// Writes an archive of an installation, which may be in use; `with_os_images` adds the OS images
/// in its data directory. Temporary files go to `scratch`.
///
/// # Errors
/// Something cannot be read, or `out` cannot be written.
pub async fn write(
    installation: &Installation,
    scratch: &Path,
    with_os_images: bool,
    out: impl Write,
) -> Result<Contents, BackupError> {
    let mut archive = Archive {
        tar: tar::Builder::new(out),
        contents: Contents::new(&installation.release),
    };
    let blobs = Blobs::open(&installation.storage).await?;
    let kept = KEPT.iter().copied();
    for name in kept.chain(with_os_images.then_some(OS_IMAGES)) {
        archive.tree(&installation.data_dir, name)?;
    }
    let early = archive.files(&blobs, &BTreeMap::new()).await?;
    // Gone before the database was copied: deleted by a request that was answered already.
    let mut listed = names(&blobs).await?;

    let folder = tempfile::tempdir_in(scratch).map_err(BackupError::io(format!(
        "{}: cannot be written",
        scratch.display()
    )))?;
    let copy = folder.path().join("muster.db");
    muster_store::snapshot(&installation.database, &copy).await?;
    archive.file(DATABASE, &copy)?;

    listed.extend(archive.files(&blobs, &early).await?);
    archive.contents.members.retain(|name, _| {
        let blob = name
            .strip_prefix(FILES)
            .and_then(|name| name.strip_prefix('/'));
        blob.is_none_or(|blob| listed.contains_key(blob))
    });
    archive.finish()
}

/// Stored files with what shows that one was replaced.
type Listed = BTreeMap<String, BlobInfo>;

async fn names(blobs: &Blobs) -> Result<Listed, BackupError> {
    let all = blobs.list(&BlobPath::root()).await?;
    Ok(all
        .into_iter()
        .map(|blob| (blob.path.to_string(), blob))
        .collect())
}

struct Archive<W: Write> {
    tar: tar::Builder<W>,
    contents: Contents,
}

impl<W: Write> Archive<W> {
    /// A file or all files of a folder below the data directory; nothing if there is none.
    fn tree(&mut self, data_dir: &Path, name: &str) -> Result<(), BackupError> {
        let path = data_dir.join(name);
        let failed = || BackupError::io(format!("{}: cannot be read", path.display()));
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed()(error)),
        };
        if found.is_file() {
            return self.file(name, &path);
        }
        let entries = fs::read_dir(&path).map_err(failed())?;
        let mut entries = entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed())?;
        entries.sort();
        for entry in entries {
            let entry = entry.to_string_lossy();
            // Drafts and locks of a running service come and go.
            if !entry.ends_with(".tmp") && !entry.ends_with(".lock") {
                self.tree(data_dir, &format!("{name}/{entry}"))?;
            }
        }
        Ok(())
    }

    fn file(&mut self, name: &str, path: &Path) -> Result<(), BackupError> {
        let failed = || BackupError::io(format!("{}: cannot be read", path.display()));
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed()(error)),
        };
        let size = file.metadata().map_err(failed())?.len();
        self.append(name, size, &mut file)
    }

    /// Adds stored files that are not among `before`, or have changed since; returns all there are.
    async fn files(&mut self, blobs: &Blobs, before: &Listed) -> Result<Listed, BackupError> {
        let listed = names(blobs).await?;
        for (name, blob) in &listed {
            if before.get(name) == Some(blob) {
                continue;
            }
            // Deleted in the meantime.
            let Some((size, pieces)) = blobs.stream(&blob.path).await? else {
                continue;
            };
            let mut spool = SpooledTempFile::new(IN_MEMORY);
            let failed = || BackupError::io(format!("{name}: cannot be buffered"));
            futures::pin_mut!(pieces);
            while let Some(piece) = pieces.try_next().await? {
                spool.write_all(&piece).map_err(failed())?;
            }
            spool.seek(SeekFrom::Start(0)).map_err(failed())?;
            self.append(&format!("{FILES}/{name}"), size, &mut spool)?;
        }
        Ok(listed)
    }

    fn append(
        &mut self,
        name: &str,
        size: u64,
        content: &mut impl Read,
    ) -> Result<(), BackupError> {
        let mut header = tar::Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o600);
        header.set_mtime(0);
        let mut hashed = Hashed {
            content: content.take(size),
            digest: Sha256::new(),
            read: 0,
        };
        self.tar
            .append_data(&mut header, name, &mut hashed)
            .map_err(BackupError::io(format!(
                "{name}: cannot be written to the backup"
            )))?;
        if hashed.read != size {
            let cut = io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter meanwhile");
            return Err(BackupError::io(format!("{name}: cannot be read"))(cut));
        }
        let member = Member {
            size,
            sha256: hex(&hashed.digest.finalize()),
        };
        self.contents.members.insert(name.to_owned(), member);
        Ok(())
    }

    fn finish(mut self) -> Result<Contents, BackupError> {
        let failed = || BackupError::io("the backup cannot be completed");
        let list = serde_json::to_vec_pretty(&self.contents)
            .map_err(|error| failed()(io::Error::other(error)))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(list.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(0);
        self.tar
            .append_data(&mut header, contents::NAME, list.as_slice())
            .map_err(failed())?;
        let mut out = self.tar.into_inner().map_err(failed())?;
        out.flush().map_err(failed())?;
        Ok(self.contents)
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Computes a digest of what passes.
pub(crate) struct Hashed<R> {
    pub(crate) content: R,
    pub(crate) digest: Sha256,
    pub(crate) read: u64,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.digest.update(&buffer[..count]);
        self.read += count as u64;
        Ok(count)
    }
}
