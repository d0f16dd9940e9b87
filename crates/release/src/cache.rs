//! What was read from registries, by digest: one file per manifest, configuration or layer.
//!
//! Many processes may share a folder, and any of them may be killed at any moment. The process that
//! fetches a blob holds a lock on its unfinished file, which the system releases when the process
//! dies; the next one resumes where it stopped. Finished files are created by renaming, and every
//! use checks the digest, so a file that a power cut has damaged is found and fetched again.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sha2::{Digest as _, Sha256};

use crate::{Digest, Error};

/// Unfinished files that were abandoned.
const STALE: Duration = Duration::from_secs(7 * 24 * 3600);

/// A folder of verified content.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    limit: Option<u64>,
}

/// What a claim on a blob gives.
#[derive(Debug)]
pub(crate) enum Claim {
    /// It is here, whole and checked.
    Here(File),
    /// It is ours to fetch.
    Ours(Part),
}

/// An unfinished blob, locked for as long as this lives.
#[derive(Debug)]
pub(crate) struct Part {
    pub file: File,
    path: PathBuf,
    finished: PathBuf,
}

impl Cache {
    /// Opens a folder, making it if need be; `limit` is in bytes.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn open(folder: impl Into<PathBuf>, limit: Option<u64>) -> Result<Self, Error> {
        let folder = folder.into();
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.map_err(Error::file(&folder))?;
        Ok(Self { folder, limit })
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.hex())
    }

    /// The blob if it is here and sound. Reads all of it.
    fn find(&self, digest: &Digest, size: Option<u64>) -> Option<File> {
        let path = self.path(digest);
        let mut file = File::open(&path).ok()?;
        let fits = size.is_none_or(|size| file.metadata().is_ok_and(|meta| meta.len() == size));
        let mut hash = Sha256::new();
        if fits
            && read_into(&mut file, &mut hash).is_ok()
            && Digest::finished(hash) == *digest
            && file.seek(SeekFrom::Start(0)).is_ok()
        {
            // The time of last use decides who leaves first.
            let _ = file.set_modified(SystemTime::now());
            return Some(file);
        }
        tracing::warn!(path = %path.display(), "damaged content in the cache is thrown away");
        let _ = fs::remove_file(path);
        None
    }

    /// A small blob, whole.
    pub(crate) fn small(&self, digest: &Digest, limit: u64) -> Option<Vec<u8>> {
        let file = self.find(digest, None)?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Keeps a small blob. A cache that is full or broken is no reason to fail.
    pub(crate) fn keep_small(&self, digest: &Digest, bytes: &[u8]) {
        let kept = self
            .try_claim(digest, bytes.len() as u64)
            .and_then(|claim| match claim {
                Some(Claim::Ours(part)) => {
                    part.file.set_len(0)?;
                    io::Write::write_all(&mut &part.file, bytes)?;
                    part.keep()
                }
                Some(Claim::Here(_)) | None => Ok(()),
            });
        if let Err(error) = kept {
            tracing::warn!(%error, folder = %self.folder.display(), "the cache cannot be written");
        }
    }

    /// Finds a blob or locks it for us; waits while another process fetches it. `waiting` is called
    /// once. Blocks.
    pub(crate) fn claim(
        &self,
        digest: &Digest,
        size: u64,
        mut waiting: impl FnMut(),
    ) -> Result<Claim, Error> {
        let failed = |cause| Error::file(&self.folder)(cause);
        let mut reported = false;
        loop {
            match self.try_claim(digest, size).map_err(failed)? {
                Some(claim) => return Ok(claim),
                None if reported => std::thread::sleep(Duration::from_millis(100)),
                None => {
                    reported = true;
                    waiting();
                }
            }
        }
    }

    fn try_claim(&self, digest: &Digest, size: u64) -> io::Result<Option<Claim>> {
        let finished = self.path(digest);
        if finished.exists()
            && let Some(file) = self.find(digest, Some(size))
        {
            return Ok(Some(Claim::Here(file)));
        }
        let path = finished.with_extension("part");
        let file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        // Between opening and locking, the last holder may have finished and renamed the file.
        let ours = file.metadata()?.ino();
        if fs::metadata(&path).is_ok_and(|there| there.ino() == ours) && !finished.exists() {
            if file.metadata()?.len() > size {
                file.set_len(0)?;
            }
            return Ok(Some(Claim::Ours(Part {
                file,
                path,
                finished,
            })));
        }
        Ok(None)
    }

    /// Throws out what was not used for longest until the rest fits.
    pub(crate) fn make_room(&self) -> Result<(), Error> {
        let failed = |cause| Error::file(&self.folder)(cause);
        let mut total = 0;
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            // Another process may be cleaning up at the same time.
            let Ok(entry) = entry else { continue };
            let Ok(meta) = entry.metadata() else { continue };
            let Ok(used) = meta.modified() else { continue };
            if meta.is_file() {
                total += meta.len();
                entries.push((used, meta.len(), entry.path()));
            }
        }
        entries.sort();
        let now = SystemTime::now();
        for (used, size, path) in entries {
            let is_part = path.extension().is_some();
            let stale = is_part && now.duration_since(used).is_ok_and(|age| age > STALE);
            let over = self.limit.is_some_and(|limit| total > limit);
            if (over || stale)
                && (!is_part || is_abandoned(&path))
                && fs::remove_file(&path).is_ok()
            {
                total -= size;
            }
        }
        Ok(())
    }
}

fn is_abandoned(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Feeds all of a file to a hash, and says how much it was.
pub(crate) fn read_into(file: &mut File, hash: &mut Sha256) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 20];
    let mut total = 0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(total);
        }
        hash.update(&buffer[..count]);
        total += count as u64;
    }
}

impl Part {
    /// The blob is whole and was checked.
    pub fn keep(self) -> io::Result<()> {
        fs::rename(&self.path, &self.finished)
    }

    /// What is here is of no use.
    pub fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0)).map(|_| ())
    }

    /// Gives up caching this blob.
    pub fn discard(self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn put(cache: &Cache, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        cache.keep_small(&digest, bytes);
        digest
    }

    #[test]
    fn what_was_kept_is_found_and_damage_is_noticed() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path().join("a/b"), None).expect("opens");
        let digest = put(&cache, b"content");
        assert_eq!(cache.small(&digest, 100).as_deref(), Some(&b"content"[..]));
        fs::write(cache.path(&digest), b"CONTENT").expect("damages");
        assert_eq!(cache.small(&digest, 100), None);
        assert!(!cache.path(&digest).exists(), "damage is thrown away");
    }

    #[test]
    fn the_least_recently_used_leaves_first_and_a_locked_part_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path(), Some(2500)).expect("opens");
        let blobs: Vec<Digest> = (0..3u8).map(|byte| put(&cache, &[byte; 1000])).collect();
        for (age, digest) in [(10, 1), (30, 0), (20, 2)] {
            let file = File::options().write(true).open(cache.path(&blobs[digest]));
            file.and_then(|file| file.set_modified(SystemTime::now() - Duration::from_secs(age)))
                .expect("ages");
        }
        let unfinished = Digest::of(b"unfinished");
        let Ok(Claim::Ours(part)) = cache.claim(&unfinished, 600, || {}) else {
            panic!("nothing else asks for it");
        };
        (&part.file).write_all(&[0; 600]).expect("writes");
        part.file
            .set_modified(SystemTime::UNIX_EPOCH)
            .expect("ages");
        cache.make_room().expect("makes room");
        let here: Vec<bool> = blobs
            .iter()
            .map(|digest| cache.path(digest).exists())
            .collect();
        assert_eq!(here, [false, true, false]);
        assert!(part.path.exists(), "it is being fetched");
        let path = part.path.clone();
        drop(part);
        cache.make_room().expect("makes room");
        assert!(!path.exists(), "it was abandoned");
    }

    #[test]
    fn of_two_that_want_the_same_one_waits_and_finds_it_done() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path(), None).expect("opens");
        let digest = Digest::of(b"content");
        let Ok(Claim::Ours(part)) = cache.claim(&digest, 7, || {}) else {
            panic!("nothing else asks for it");
        };
        let (waits, waited) = std::sync::mpsc::channel();
        let other = cache.clone();
        let second = std::thread::spawn(move || {
            match other.claim(&digest, 7, || waits.send(()).expect("the test listens")) {
                Ok(Claim::Here(mut file)) => {
                    let mut text = String::new();
                    file.read_to_string(&mut text).expect("reads");
                    text
                }
                other => panic!("{other:?}"),
            }
        });
        waited.recv().expect("it waits");
        (&part.file).write_all(b"content").expect("writes");
        part.keep().expect("keeps");
        assert_eq!(second.join().expect("ends well"), "content");
    }

    #[test]
    fn what_a_killed_process_left_is_taken_up() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path(), None).expect("opens");
        let digest = Digest::of(b"content");
        fs::write(cache.path(&digest).with_extension("part"), b"cont").expect("writes");
        let Ok(Claim::Ours(part)) = cache.claim(&digest, 7, || {}) else {
            panic!("the lock is free");
        };
        assert_eq!(part.file.metadata().expect("is there").len(), 4);
    }
}
