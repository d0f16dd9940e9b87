//! The OS images that are there, as files in the data directory.
//!
//! Each image is `<build>-<architecture>.iso` with a record beside it that says where it came
//! from and what its digest was. A file under its final name is complete and checked: it is
//! written under another name first ([`change`]). Several processes may use the folder (`muster serve` and
//! `muster os-images`); the process that fetches an image holds a lock on its unfinished file.
//!
//! Images may also come with the program, as in a container image made with `--os-image`: files of the same
//! names in `lib/muster/os-images` of its prefix. They are only read, and those of the data directory come
//! first.

pub mod change;

use std::{
    collections::HashMap,
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use muster_catalog::OsImage;
use muster_image::{Iso, Source, View};
use serde::{Deserialize, Serialize};

const FOLDER: &str = "os-images";
/// The folder of images that come with the program, below its prefix.
const SHIPPED: &str = "lib/muster/os-images";
/// Use is noted at most this often: it only decides which image makes way first.
const NOTE_USE_EVERY: Duration = Duration::from_secs(60);
/// For so long an image that was opened is not looked at again: firmware asks for thousands of
/// small ranges, and hosts that boot together ask together.
const LATELY: Duration = Duration::from_secs(1);

/// How an image came to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// By hand; it stays until it is removed by hand.
    Added,
    /// From its URL; it may make way for others and is fetched again when needed.
    Fetched,
}

/// What is known of an image that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Digest of the file, in hex.
    pub sha256: String,
    /// Length of the file.
    pub size: u64,
    /// How it came here.
    pub origin: Origin,
}

/// Whether an image can be used, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum State {
    /// Not there.
    Missing,
    /// On its way, or left half-way by a fetch that was cut short.
    Fetching {
        /// Bytes that are here.
        done: u64,
        /// Bytes in all, once the source has said so.
        total: Option<u64>,
        /// Whether a process is fetching it now.
        active: bool,
    },
    /// Usable.
    Ready(Record),
    /// There or tried, but of no use.
    Broken {
        /// Why.
        reason: String,
    },
}

/// What an unfinished file belongs to, so that a later fetch may go on with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartNote {
    pub url: String,
    pub validator: String,
    pub total: Option<u64>,
}

/// An image in use.
#[derive(Debug)]
pub struct Opened {
    /// Its content.
    pub iso: Iso,
    /// What is known of it.
    pub record: Record,
    /// When the file was written.
    pub modified: SystemTime,
    inode: u64,
}

/// The folder of OS images.
#[derive(Debug)]
pub struct BaseImages {
    folder: PathBuf,
    /// Images that come with the program.
    shipped: Option<PathBuf>,
    open: Mutex<HashMap<String, (Arc<Opened>, Instant)>>,
}

impl BaseImages {
    /// The folder in a data directory; made when the first image comes.
    #[must_use]
    pub fn in_data_dir(data_dir: &Path) -> Self {
        let program = std::env::current_exe().ok();
        let prefix = program.as_deref().and_then(Path::parent);
        let prefix = prefix.and_then(Path::parent);
        Self {
            folder: data_dir.join(FOLDER),
            shipped: prefix.map(|prefix| prefix.join(SHIPPED)),
            open: Mutex::default(),
        }
    }

    /// The folder itself.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the finished file of an image lies, or will.
    #[must_use]
    pub fn file(&self, image: &OsImage) -> PathBuf {
        self.read_from(image, "iso")
    }

    /// Where its file is written.
    fn own_file(&self, image: &OsImage) -> PathBuf {
        self.path(image, "iso")
    }

    pub(crate) fn part(&self, image: &OsImage) -> PathBuf {
        self.path(image, "part")
    }

    pub(crate) fn part_note(&self, image: &OsImage) -> PathBuf {
        self.path(image, "part.json")
    }

    /// Where an image from a release payload is put before it is checked.
    pub(crate) fn taken_out(&self, image: &OsImage) -> PathBuf {
        self.path(image, "taken-out")
    }

    /// Where layers of release payloads are kept until they are whole.
    pub(crate) fn layers(&self) -> PathBuf {
        self.folder.join("layers")
    }

    /// Where its record is written.
    fn own_record_file(&self, image: &OsImage) -> PathBuf {
        self.path(image, "json")
    }

    fn record_file(&self, image: &OsImage) -> PathBuf {
        self.read_from(image, "json")
    }

    /// The image that came with the program, if it did.
    fn shipped_file(&self, image: &OsImage) -> Option<PathBuf> {
        let file = self.shipped.as_ref()?.join(format!("{}.iso", stem(image)));
        file.exists().then_some(file)
    }

    /// A file of an image where it is read: image and record lie in the same folder.
    fn read_from(&self, image: &OsImage, ending: &str) -> PathBuf {
        match self.shipped_file(image) {
            Some(shipped) if !self.own_file(image).exists() => shipped.with_extension(ending),
            Some(_) | None => self.path(image, ending),
        }
    }

    fn path(&self, image: &OsImage, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", stem(image)))
    }

    /// Looks at the files of an image; does not read it.
    #[must_use]
    pub fn state(&self, image: &OsImage) -> State {
        match (fs::metadata(self.file(image)), self.record(image)) {
            (Ok(file), Ok(record)) if file.len() == record.size => State::Ready(record),
            (Ok(file), Ok(record)) => State::Broken {
                reason: format!(
                    "the file has {} bytes instead of {}; remove {} and add or fetch it again",
                    file.len(),
                    record.size,
                    self.file(image).display()
                ),
            },
            (Ok(_), Err(_)) => State::Broken {
                reason: format!(
                    "{} was put there without a record; move it away and use \
                     `muster os-images add`",
                    self.file(image).display()
                ),
            },
            (Err(_), _) => self.unfinished(image),
        }
    }

    fn unfinished(&self, image: &OsImage) -> State {
        let Ok(part) = File::open(self.part(image)) else {
            return State::Missing;
        };
        let done = part.metadata().map_or(0, |meta| meta.len());
        let note = self.read_part_note(image);
        State::Fetching {
            done,
            total: note.and_then(|note| note.total),
            active: matches!(part.try_lock_shared(), Err(TryLockError::WouldBlock)),
        }
    }

    pub(crate) fn read_part_note(&self, image: &OsImage) -> Option<PartNote> {
        serde_json::from_slice(&fs::read(self.part_note(image)).ok()?).ok()
    }

    fn record(&self, image: &OsImage) -> io::Result<Record> {
        let bytes = fs::read(self.record_file(image))?;
        serde_json::from_slice(&bytes).map_err(io::Error::other)
    }

    /// The image if it was opened a moment ago. Looks at no file.
    #[must_use]
    pub fn lately(&self, image: &OsImage) -> Option<Arc<Opened>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (opened, looked) = open.get(&stem(image))?;
        (looked.elapsed() < LATELY).then(|| Arc::clone(opened))
    }

    /// Opens an image for use. Reads a few sectors, so not for the threads of the runtime.
    ///
    /// # Errors
    /// Its state, when that is not `Ready`.
    pub fn open(&self, image: &OsImage) -> Result<Arc<Opened>, State> {
        let broken = |reason: String| State::Broken { reason };
        let unreadable = |cause: io::Error| broken(format!("the file cannot be read: {cause}"));
        let State::Ready(record) = self.state(image) else {
            return Err(self.state(image));
        };
        let file = File::open(self.file(image)).map_err(unreadable)?;
        let meta = file.metadata().map_err(unreadable)?;
        let modified = meta.modified().map_err(unreadable)?;
        self.note_use(image);
        let stem = stem(image);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, looked)) = open.get_mut(&stem)
            && (known.inode, known.modified, &known.record) == (meta.ino(), modified, &record)
        {
            *looked = Instant::now();
            return Ok(Arc::clone(known));
        }
        let source = Source::file(file).map_err(unreadable)?;
        let digest = unhex(&record.sha256)
            .ok_or_else(|| broken("its record has no digest; add or fetch it again".into()))?;
        let iso = Iso::open(View::of(source.named(digest)))
            .map_err(|cause| broken(format!("it is not a usable ISO: {cause}")))?;
        let opened = Arc::new(Opened {
            iso,
            record,
            modified,
            inode: meta.ino(),
        });
        open.insert(stem, (Arc::clone(&opened), Instant::now()));
        Ok(opened)
    }

    /// The time of the record's file says when the image was last used.
    fn note_use(&self, image: &OsImage) {
        let Ok(file) = File::options().append(true).open(self.record_file(image)) else {
            return;
        };
        let last = file.metadata().and_then(|meta| meta.modified());
        let recent = last.is_ok_and(|last| last.elapsed().is_ok_and(|age| age < NOTE_USE_EVERY));
        if !recent {
            // A file system that cannot keep it makes us forget a use, nothing more.
            let _ = file.set_modified(SystemTime::now());
        }
    }
}

/// The name of an image's files, and of the image in logs.
#[must_use]
pub fn stem(image: &OsImage) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "._+-".contains(c) {
            c
        } else {
            '_'
        }
    };
    let build: String = image.version.chars().map(safe).collect();
    format!(
        "{}-{}",
        build.trim_start_matches('.'),
        image.cpu_architecture
    )
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use muster_catalog::OsImages;

    use super::*;

    /// An image of the catalogue's form, with this build.
    pub fn an_image(build: &str, url: &str) -> OsImage {
        let list = format!(
            r#"[{{"openshift_version": "4.20", "cpu_architecture": "x86_64", "url": "{url}",
                "version": "{build}"}}]"#
        );
        let images = OsImages::from_json(&list).unwrap();
        images.iter().next().unwrap().clone()
    }

    pub fn store() -> (tempfile::TempDir, BaseImages) {
        let folder = tempfile::tempdir().unwrap();
        let store = BaseImages::in_data_dir(folder.path());
        store.make_folder().unwrap();
        (folder, store)
    }

    pub fn place(store: &BaseImages, image: &OsImage, size: usize, origin: Origin) {
        let from = store.path(image, "tmp");
        fs::write(&from, vec![1; size]).unwrap();
        let record = Record {
            sha256: "00".repeat(32),
            size: size as u64,
            origin,
        };
        store.take(image, &from, &record).unwrap();
    }

    #[test]
    fn the_state_follows_the_files() {
        let (_folder, store) = store();
        let image = an_image("420.1", "https://images.test/a.iso");
        assert_eq!(store.state(&image), State::Missing);
        fs::write(store.part(&image), [0; 10]).unwrap();
        let note = PartNote {
            total: Some(40),
            ..PartNote::default()
        };
        store.write_part_note(&image, &note).unwrap();
        let expected = |active| State::Fetching {
            done: 10,
            total: Some(40),
            active,
        };
        assert_eq!(store.state(&image), expected(false));
        let held = File::open(store.part(&image)).unwrap();
        held.try_lock().unwrap();
        assert_eq!(store.state(&image), expected(true));
        place(&store, &image, 40, Origin::Added);
        assert!(matches!(store.state(&image), State::Ready(_)));
        fs::write(store.file(&image), [0; 3]).unwrap();
        assert!(matches!(store.state(&image), State::Broken { .. }));
    }

    #[test]
    fn an_image_that_came_with_the_program_is_used_until_there_is_an_own_one_and_is_never_changed()
    {
        let (_folder, mut store) = store();
        let (_elsewhere, shipped) = self::store();
        // A build may contain dots: `with_extension` must not cut it.
        let image = an_image("420.1.2026", "https://images.test/a.iso");
        place(&shipped, &image, 40, Origin::Added);
        assert_eq!(store.state(&image), State::Missing);
        store.shipped = Some(shipped.folder.clone());
        assert!(matches!(store.state(&image), State::Ready(record) if record.size == 40));
        assert_eq!(store.file(&image), shipped.file(&image));
        let refused = store.forget(&image).unwrap_err().to_string();
        assert!(refused.contains("came with the program"), "{refused}");

        place(&store, &image, 50, Origin::Added);
        assert!(matches!(store.state(&image), State::Ready(record) if record.size == 50));
        store.forget(&image).unwrap();
        assert!(matches!(store.state(&image), State::Ready(record) if record.size == 40));
        assert!(matches!(shipped.state(&image), State::Ready(_)));
    }

    #[test]
    fn a_build_cannot_name_a_file_elsewhere() {
        let image = an_image("../../etc/passwd", "https://images.test/a.iso");
        assert_eq!(stem(&image), "_.._etc_passwd-x86_64");
    }
}
