//! The directory that assets are made in: what counts of it, and how it is changed so that
//! whatever interrupts a command, it can be run again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::Context;
use muster_assets::file::File;

/// Files of a directory, by their paths below it.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Folders that are used up with their last file.
const USED_UP: &[&str] = &[
    "manifests",
    "openshift",
    "cluster-api",
    "cluster-manifests",
    "mirror",
];

/// What a generator does to a directory.
#[derive(Debug)]
pub struct Made {
    /// Files to write.
    pub write: Vec<File>,
    /// What the next command needs; written after everything else.
    pub state: File,
    /// Files that were used up.
    pub remove: Vec<String>,
}

/// These files, and those directly in these folders, as far as they are there.
pub fn read(directory: &Path, top: &[&str], folders: &[&str]) -> anyhow::Result<Files> {
    let mut files = Files::new();
    for name in top {
        if let Some(content) = read_one(directory, name)? {
            files.insert((*name).to_owned(), content);
        }
    }
    for folder in folders {
        let path = directory.join(folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).context(format!("{} cannot be read", path.display())),
        };
        for entry in entries {
            let entry = entry?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_file()
                && let Some(content) = read_one(directory, &name)?
            {
                files.insert(name, content);
            }
        }
    }
    Ok(files)
}

/// A file, if it is there.
pub fn read_one(directory: &Path, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let path = directory.join(name);
    match fs::read(&path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Writes everything, then the state, and only then takes away what was used up.
pub fn apply(directory: &Path, made: &Made) -> anyhow::Result<()> {
    for file in &made.write {
        write(directory, file, 0o640)?;
    }
    write(directory, &made.state, 0o600)?;
    for path in &made.remove {
        let path = directory.join(path);
        fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    }
    for folder in USED_UP {
        // Fails where the user has files of their own in it, which is as it should be.
        let _ = fs::remove_dir(directory.join(folder));
    }
    Ok(())
}

/// Writes a file in one step, with its folder.
pub fn write(directory: &Path, file: &File, mode: u32) -> anyhow::Result<()> {
    let path = directory.join(&file.path);
    let cannot = || format!("{} cannot be written", path.display());
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(folder)
            .with_context(cannot)?;
    }
    let part = path.with_extension("part");
    let mut options = fs::OpenOptions::new();
    let mut out = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&part)
        .with_context(cannot)?;
    out.write_all(&file.content)
        .and_then(|()| out.sync_all())
        .with_context(cannot)?;
    fs::rename(&part, &path).with_context(cannot)
}
