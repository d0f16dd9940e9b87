//! Files that are written atomically and readable only by their owner.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Only we: private keys.
    OwnerOnly,
    /// Anyone: certificates, public keys.
    Everyone,
}

/// Writes a file so that after a crash it is the old one or the new one, on disk for good.
pub fn replace(path: &Path, content: &[u8], readers: Readers) -> io::Result<()> {
    let draft = write_draft(path, content, readers)?;
    let moved = fs::rename(&draft, path);
    settle(path, &draft, moved)
}

/// Writes a file that must not exist yet; if another process was faster, its file stays and
/// the answer is `AlreadyExists`.
pub fn create(path: &Path, content: &[u8], readers: Readers) -> io::Result<()> {
    let draft = write_draft(path, content, readers)?;
    let linked = fs::hard_link(&draft, path);
    settle(path, &draft, linked)
}

fn write_draft(path: &Path, content: &[u8], readers: Readers) -> io::Result<PathBuf> {
    // Unique among the threads and processes that may write the same file at once.
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}-{number}.tmp", std::process::id()));
    let draft = PathBuf::from(draft);
    let mode = match readers {
        Readers::OwnerOnly => 0o600,
        Readers::Everyone => 0o644,
    };
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&draft)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        });
    match written {
        Ok(()) => Ok(draft),
        Err(error) => {
            // The write already failed; a draft that cannot be removed changes nothing.
            let _ = fs::remove_file(&draft);
            Err(error)
        }
    }
}

fn settle(path: &Path, draft: &Path, placed: io::Result<()>) -> io::Result<()> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound && placed.is_ok() => {
            return Err(error);
        }
        Ok(()) | Err(_) => {}
    }
    placed?;
    // The name itself lives in the folder, which has to reach the disk as well.
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_private_file_is_readable_by_its_owner_only_and_leaves_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.key");
        replace(&path, b"one", Readers::OwnerOnly).unwrap();
        replace(&path, b"two", Readers::OwnerOnly).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn creating_never_overwrites() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.key");
        create(&path, b"first", Readers::OwnerOnly).unwrap();
        let second = create(&path, b"second", Readers::OwnerOnly).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
