//! Files that survive a power cut.
//!
//! A blob is written beside its final place, synced, renamed into place, and its folder is
//! synced: at any moment there is the whole old blob or the whole new one. The object store
//! library reads the same folder; it ignores names that end in `#` and digits, which is how
//! unfinished files are called.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use bytes::Bytes;
use object_store::path::Path as StorePath;
use tokio::io::AsyncWriteExt as _;
use uuid::Uuid;

/// Names of unfinished files begin like this; no blob name does, as `#` is encoded in them.
const UNFINISHED: &str = "incoming#";
/// Attempts before giving up because another process removed the folder or file being created.
const ATTEMPTS: usize = 20;
/// Pause after the first lost race with another process; it grows with every further one.
const RACE_PAUSE: Duration = Duration::from_millis(1);

/// A folder of blobs.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    root: Arc<Path>,
    /// Held while a blob moves into its folder and while empty folders are removed, so that a
    /// deletion never removes the folder another task has just created for its blob. Other
    /// processes do not see this lock; races with them are retried.
    layout: Arc<Mutex<()>>,
}

impl Folder {
    /// Creates the folder if it is missing and clears what died processes left: unfinished files
    /// on which no process holds a lock any more. Other processes may share the folder.
    pub(super) async fn open(root: &Path) -> io::Result<Self> {
        let root: Arc<Path> = root.into();
        let folder = Self {
            root: Arc::clone(&root),
            layout: Arc::default(),
        };
        blocking(move || {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&root)?;
            for entry in fs::read_dir(&root)? {
                let entry = entry?;
                let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
                if unfinished {
                    remove_if_abandoned(&entry.path())?;
                }
            }
            Ok(())
        })
        .await?;
        Ok(folder)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) async fn put(&self, location: &StorePath, bytes: Bytes) -> io::Result<()> {
        let mut incoming = self.incoming().await?;
        incoming.write(&bytes).await?;
        incoming.land(location).await.map(drop)
    }

    /// A file to write to.
    pub(super) async fn incoming(&self) -> io::Result<Incoming> {
        let root = Arc::clone(&self.root);
        let (file, unfinished) = blocking(move || create_locked(&root)).await?;
        let file = tokio::fs::File::from_std(file);
        Ok(Incoming {
            folder: self.clone(),
            file,
            unfinished,
            size: 0,
        })
    }

    /// Removes folders that a deletion left empty; one that is in use again stays.
    pub(super) async fn remove_empty_folders(&self, location: &StorePath) {
        let top = self.path(location);
        let layout = Arc::clone(&self.layout);
        let done = blocking(move || {
            let _held = layout.lock().unwrap_or_else(PoisonError::into_inner);
            remove_if_empty(&top);
            Ok(())
        });
        // Empty folders do no harm.
        let _ = done.await;
    }

    fn path(&self, location: &StorePath) -> PathBuf {
        let mut path = self.root.to_path_buf();
        path.extend(location.parts().map(|part| part.as_ref().to_owned()));
        path
    }
}

/// A blob that is being written; vanishes unless it lands.
pub(super) struct Incoming {
    folder: Folder,
    file: tokio::fs::File,
    unfinished: Unfinished,
    size: u64,
}

impl Incoming {
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.size += bytes.len() as u64;
        self.file.write_all(bytes).await
    }

    /// Makes it durable under its name and returns its size.
    pub(super) async fn land(mut self, location: &StorePath) -> io::Result<u64> {
        self.file.flush().await?;
        self.file.sync_all().await?;
        let target = self.folder.path(location);
        let Folder { root, layout } = self.folder;
        let unfinished = self.unfinished;
        blocking(move || {
            let held = layout.lock().unwrap_or_else(PoisonError::into_inner);
            let changed = move_into_place(&root, &unfinished.0, &target)?;
            drop(held);
            changed.iter().try_for_each(File::sync_all)
        })
        .await?;
        Ok(self.size)
    }
}

/// The name of a file that is not a blob yet; once it was renamed there is nothing to remove.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Renames, creating folders as needed; returns the folders to sync. The syncs come last: until
/// the blob is in it, a new folder is empty and another process may remove it.
fn move_into_place(root: &Path, from: &Path, to: &Path) -> io::Result<Vec<File>> {
    let mut attempt = 1;
    loop {
        let moved = create_folders(root, to.parent().unwrap_or(root))
            .and_then(|changed| fs::rename(from, to).map(|()| changed));
        match moved {
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => {
                thread::sleep(RACE_PAUSE * u32::try_from(attempt).unwrap_or(u32::MAX));
                attempt += 1;
            }
            done => return done,
        }
    }
}

/// Creates the folders from `root` down to `folder`; returns those that need a sync.
fn create_folders(root: &Path, folder: &Path) -> io::Result<Vec<File>> {
    let Ok(below) = folder.strip_prefix(root) else {
        return Err(io::Error::other("a blob is never outside its folder"));
    };
    let mut changed = Vec::new();
    let mut parent = root.to_path_buf();
    for name in below {
        let child = parent.join(name);
        match fs::create_dir(&child) {
            Ok(()) => changed.push(File::open(&parent)?),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        parent = child;
    }
    changed.push(File::open(&parent)?);
    Ok(changed)
}

/// `remove_dir` refuses folders with something in them, which is all the care this needs.
fn remove_if_empty(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_if_empty(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

/// A new unfinished file, locked for as long as it is open, so that a starting process can
/// distinguish it from what a dead one left.
fn create_locked(root: &Path) -> io::Result<(File, Unfinished)> {
    for _ in 0..ATTEMPTS {
        let name = format!("{UNFINISHED}{}", Uuid::new_v4().as_u128());
        let unfinished = Unfinished(root.join(name));
        // Kubeconfigs and Ignition configs are full of private keys.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished.0)?;
        // A process that starts at this very moment may have been faster to lock and remove it.
        if file.try_lock().is_ok() && file.metadata()?.nlink() > 0 {
            return Ok((file, unfinished));
        }
    }
    Err(io::Error::other("the folder takes no locks on files"))
}

fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    let removed = File::open(path).and_then(|file| match file.try_lock() {
        Ok(()) => fs::remove_file(path),
        Err(_) => Ok(()),
    });
    match removed {
        // Another process that starts cleans up too, or the upload has just landed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}
