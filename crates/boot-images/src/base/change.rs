//! Putting OS images into the folder, taking them out, and checking them.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
    sync::PoisonError,
    time::SystemTime,
};

use muster_catalog::OsImage;
use sha2::{Digest, Sha256};

use super::{BaseImages, Origin, PartNote, Record, State, stem};
use crate::inspect::{inspect, inspect_all};

/// How files are called while they are written.
const ADDING: &str = ".adding-";
const WRITING: &str = ".writing-";

impl BaseImages {
    /// Removes what processes left that ended while they were adding an image. Unfinished
    /// downloads stay: they are continued.
    pub fn remove_leftovers(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // The process that takes an image out of a release holds the lock of its unfinished download.
            let lock = match path.extension() {
                _ if name.starts_with(ADDING) || name.starts_with(WRITING) => path.clone(),
                Some(ending) if ending == "taken-out" => path.with_extension("part"),
                Some(_) | None => continue,
            };
            let in_use = File::open(lock).is_ok_and(|file| file.try_lock().is_err());
            if !in_use {
                let removed = fs::remove_file(&path);
                tracing::info!(file = %path.display(), ?removed, "removed an interrupted upload");
            }
        }
    }

    /// Copies a file in as this image, after checking what it is.
    ///
    /// # Errors
    /// When it cannot be read or written, is not an image for this architecture, or has another
    /// digest than `sha256` or the catalogue says.
    pub fn add(
        &self,
        image: &OsImage,
        from: &Path,
        sha256: Option<&str>,
        mut progress: impl FnMut(u64, Option<u64>),
    ) -> io::Result<Record> {
        inspect(from, image.cpu_architecture).map_err(io::Error::other)?;
        let mut source = File::open(from)?;
        let total = source.metadata()?.len();
        let mut adding = self.begin_adding()?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            let count = source.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            adding.push(&buffer[..count])?;
            progress(adding.size, Some(total));
        }
        adding.finish(self, image, sha256)
    }

    /// Begins to add an image a piece at a time.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn begin_adding(&self) -> io::Result<Adding> {
        self.make_folder()?;
        let copy = tempfile::Builder::new()
            .prefix(ADDING)
            .tempfile_in(&self.folder)?;
        lock(copy.as_file());
        Ok(Adding {
            copy,
            hash: Sha256::new(),
            size: 0,
            limit: LARGEST,
        })
    }

    /// Makes a complete, checked file the image.
    pub(crate) fn take(&self, image: &OsImage, from: &Path, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(record).map_err(io::Error::other)?;
        write_whole(&self.own_record_file(image), &text)?;
        fs::rename(from, self.own_file(image))?;
        File::open(&self.folder)?.sync_all()
    }

    pub(crate) fn write_part_note(&self, image: &OsImage, note: &PartNote) -> io::Result<()> {
        let text = serde_json::to_vec(note).map_err(io::Error::other)?;
        write_whole(&self.part_note(image), &text)
    }

    pub(crate) fn make_folder(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)
    }

    /// Removes fetched images, those unused longest first, until `needed` more bytes fit into
    /// `limit`. Downloads under way go on: they have the file open.
    ///
    /// # Errors
    /// When the images that must stay leave too little room.
    pub fn make_room(
        &self,
        known: &[&OsImage],
        keep: &OsImage,
        needed: u64,
        limit: u64,
    ) -> io::Result<()> {
        let fetched = self.fetched(known);
        let mut total: u64 = fetched.iter().map(|(.., size)| size).sum();
        for (_, image, size) in fetched {
            if total.saturating_add(needed) <= limit {
                return Ok(());
            }
            if stem(image) != stem(keep) {
                tracing::info!(image = stem(image), "an OS image is evicted for another");
                self.remove(image)?;
                total -= size;
            }
        }
        if needed <= limit {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the image has {needed} bytes and images.cache_gib leaves room for {limit}; raise it"
        )))
    }

    /// What the fetched images take together.
    pub(crate) fn fetched_bytes(&self, known: &[&OsImage]) -> u64 {
        self.fetched(known).iter().map(|(.., size)| size).sum()
    }

    /// The fetched images that are there with their sizes, those unused longest first.
    fn fetched<'a>(&self, known: &[&'a OsImage]) -> Vec<(SystemTime, &'a OsImage, u64)> {
        let mut fetched: Vec<(SystemTime, &OsImage, u64)> = known
            .iter()
            .filter_map(|image| match self.state(image) {
                State::Ready(record) if record.origin == Origin::Fetched => {
                    let used = fs::metadata(self.record_file(image))
                        .ok()?
                        .modified()
                        .ok()?;
                    Some((used, *image, record.size))
                }
                State::Missing
                | State::Fetching { .. }
                | State::Ready(_)
                | State::Broken { .. } => None,
            })
            .collect();
        fetched.sort_by_key(|(used, ..)| *used);
        fetched.dedup_by_key(|(_, image, _)| stem(image));
        fetched
    }

    /// Removes an image with everything that belongs to it, whether it is whole or not.
    ///
    /// # Errors
    /// When a file cannot be removed, or the image came with the program.
    pub fn forget(&self, image: &OsImage) -> io::Result<()> {
        if let Some(shipped) = self.shipped_file(image)
            && !self.own_file(image).exists()
        {
            let message = format!(
                "{} came with the program and goes with it",
                shipped.display()
            );
            return Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, message));
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&stem(image));
        // The record first: an image without one is not served.
        for path in [
            self.own_record_file(image),
            self.own_file(image),
            self.part(image),
            self.part_note(image),
        ] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn remove(&self, image: &OsImage) -> io::Result<()> {
        fs::remove_file(self.own_file(image))?;
        fs::remove_file(self.own_record_file(image))?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&stem(image));
        Ok(())
    }

    /// Reads all of an image and compares its digest with the record's, and looks into it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn verify(&self, image: &OsImage) -> io::Result<Record> {
        let record = self.record(image)?;
        let mut hash = Sha256::new();
        io::copy(&mut File::open(self.file(image))?, &mut hash)?;
        check_digest(&hex(&hash.finalize()), Some(&record.sha256))?;
        inspect_all(&self.file(image), image.cpu_architecture).map_err(io::Error::other)?;
        Ok(record)
    }
}

/// Largest image that is taken: several times the largest live ISO there is.
const LARGEST: u64 = 16 << 30;

/// An image that is being added; nothing of it stays unless it is finished.
#[derive(Debug)]
pub struct Adding {
    copy: tempfile::NamedTempFile,
    hash: Sha256,
    size: u64,
    limit: u64,
}

impl Adding {
    /// Adds what has come.
    ///
    /// # Errors
    /// When it cannot be written, or is more than any live ISO has.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.size + bytes.len() as u64 > self.limit {
            let message = format!(
                "it is larger than {} bytes, the limit for live ISOs",
                self.limit
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        self.copy.write_all(bytes)?;
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Makes what has come the image, after checking what it is.
    ///
    /// # Errors
    /// When it is not an image for this architecture, or has another digest than `sha256` or the
    /// catalogue says.
    pub fn finish(
        self,
        store: &BaseImages,
        image: &OsImage,
        sha256: Option<&str>,
    ) -> io::Result<Record> {
        let record = Record {
            sha256: hex(&self.hash.finalize()),
            size: self.size,
            origin: Origin::Added,
        };
        check_digest(&record.sha256, sha256.or(image.sha256.as_deref()))?;
        inspect(self.copy.path(), image.cpu_architecture).map_err(io::Error::other)?;
        self.copy.as_file().sync_all()?;
        store.take(image, self.copy.path(), &record)?;
        Ok(record)
    }
}

/// Marks a file as being written; [`BaseImages::remove_leftovers`] leaves it alone then. Where
/// the file system has no locks, a service that starts meanwhile may make the writing fail.
fn lock(file: &File) {
    if let Err(cause) = file.try_lock() {
        tracing::debug!(%cause, "a file could not be locked");
    }
}

/// Compares digests in hex; nothing expected is nothing wrong.
pub(crate) fn check_digest(found: &str, expected: Option<&str>) -> io::Result<()> {
    match expected {
        Some(expected) if !expected.eq_ignore_ascii_case(found) => Err(io::Error::other(format!(
            "its SHA-256 is {found}, expected {expected}; the file is damaged or another one"
        ))),
        Some(_) | None => Ok(()),
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(WRITING)
        .tempfile_in(folder)?;
    lock(file.as_file());
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::tests::{an_image, place, store},
        *,
    };

    #[test]
    fn a_file_that_is_no_live_image_is_not_taken() {
        let (folder, store) = store();
        let image = an_image("420.1", "https://images.test/a.iso");
        let file = folder.path().join("page.html");
        fs::write(&file, "<html>not found</html>").unwrap();
        assert!(store.add(&image, &file, None, |_, _| {}).is_err());
        assert_eq!(store.state(&image), State::Missing);
    }

    #[test]
    fn an_image_without_end_is_refused_and_leaves_nothing() {
        let (_folder, store) = store();
        let mut adding = store.begin_adding().unwrap();
        adding.limit = 10;
        adding.push(&[0; 6]).unwrap();
        let refused = adding.push(&[0; 6]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        let path = adding.copy.path().to_owned();
        drop(adding);
        assert!(!path.exists());
    }

    #[test]
    fn what_an_interrupted_process_left_is_removed_and_what_is_in_use_stays() {
        let (_folder, store) = store();
        let image = an_image("420.1", "https://images.test/a.iso");
        place(&store, &image, 10, Origin::Added);
        let other = an_image("420.2", "https://images.test/b.iso");
        let abandoned = store.folder.join(".adding-dead");
        let in_use = store.folder.join(".adding-busy");
        for file in [&abandoned, &in_use, &store.taken_out(&other)] {
            fs::write(file, "part of an image").unwrap();
        }
        fs::write(store.part(&other), "continued later").unwrap();
        let held = File::open(&in_use).unwrap();
        held.try_lock().unwrap();
        store.remove_leftovers();
        assert!(!abandoned.exists() && !store.taken_out(&other).exists());
        assert!(in_use.exists() && store.part(&other).exists());
        assert!(matches!(store.state(&image), State::Ready(_)));
    }

    #[test]
    fn the_fetched_image_unused_longest_makes_way_and_added_ones_stay() {
        let (_folder, store) = store();
        let images: Vec<_> = ["1", "2", "3", "4"]
            .map(|build| an_image(build, "https://images.test/a.iso"))
            .into();
        for (image, origin) in images
            .iter()
            .zip([Origin::Added, Origin::Fetched, Origin::Fetched])
        {
            place(&store, image, 100, origin);
        }
        let record = File::options()
            .append(true)
            .open(store.record_file(&images[1]))
            .unwrap();
        record
            .set_modified(SystemTime::now() - Duration::from_secs(3600))
            .unwrap();
        let known: Vec<_> = images.iter().collect();
        store.make_room(&known, &images[3], 100, 250).unwrap();
        let there = |image| matches!(store.state(image), State::Ready(_));
        assert_eq!(
            known.iter().map(|image| there(image)).collect::<Vec<_>>(),
            [true, false, true, false]
        );
        let refusal = store.make_room(&known, &images[3], 300, 250).unwrap_err();
        assert!(refusal.to_string().contains("images.cache_gib"));
    }
}
