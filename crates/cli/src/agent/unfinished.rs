//! Files in the making. Each is removed when it is given up, and all of them when a signal ends the process,
//! which gives up nothing in order: a copy of a base ISO has more than a gigabyte.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tempfile::NamedTempFile;

/// Those of this process.
static OURS: Registry = Registry::new();

/// Paths of files in the making.
struct Registry(Mutex<BTreeSet<PathBuf>>);

impl Registry {
    const fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }

    fn paths(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&'static self, folder: &Path) -> io::Result<Unfinished> {
        // No file is made while they are removed.
        let mut paths = self.paths();
        let file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o644))
            .tempfile_in(folder)?;
        paths.insert(file.path().to_owned());
        let entry = Entry {
            registry: self,
            path: file.path().to_owned(),
        };
        Ok(Unfinished {
            file,
            _entry: entry,
        })
    }

    /// Removes them; none is begun while the result is held.
    fn remove(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        let paths = self.paths();
        for path in &*paths {
            // What is finished by now has another name.
            let _ = fs::remove_file(path);
        }
        paths
    }
}

/// A file in the making, beside its final place.
pub struct Unfinished {
    file: NamedTempFile,
    _entry: Entry,
}

struct Entry {
    registry: &'static Registry,
    path: PathBuf,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.paths().remove(&self.path);
    }
}

impl Unfinished {
    /// Begins one in a folder.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        OURS.begin(folder)
    }

    /// To write to.
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives it its name; it replaces what is there.
    pub fn finish(self, to: &Path) -> io::Result<()> {
        self.file.persist(to)?;
        Ok(())
    }
}

/// Removes all of them and ends the process.
pub fn exit(code: i32) -> ! {
    let _none_is_begun = OURS.remove();
    std::process::exit(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finished_is_removed() {
        static REGISTRY: Registry = Registry::new();
        let folder = tempfile::tempdir().unwrap();
        let begin = || REGISTRY.begin(folder.path()).unwrap();
        let names = || {
            let entries = fs::read_dir(folder.path()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect::<Vec<_>>()
        };
        begin().finish(&folder.path().join("image")).unwrap();
        drop(begin());
        assert_eq!(names(), ["image"]);
        // What a signal does.
        let two = [begin(), begin()];
        assert_eq!(names().len(), 3);
        drop(REGISTRY.remove());
        assert_eq!(names(), ["image"]);
        drop(two);
        assert!(REGISTRY.paths().is_empty());
    }
}
