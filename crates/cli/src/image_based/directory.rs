//! Files of a directory: read, written in one step, used up.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, bail};
use muster_image::View;
use muster_image_based::manifests::{self, Manifest};
use tempfile::NamedTempFile;

use crate::iso::deliver;

/// Largest file a user writes.
const LARGEST: u64 = 16 << 20;

/// Files in the making, removed when the command is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what is half written.
pub fn discard_unfinished() {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in unfinished.iter() {
        let _ = fs::remove_file(path);
    }
}

/// A file of the user, if it is there.
pub fn read(directory: &Path, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let path = directory.join(name);
    let cannot = || format!("{} cannot be read", path.display());
    match fs::metadata(&path) {
        Ok(meta) if meta.len() > LARGEST => bail!("{} is larger than 16 MiB", path.display()),
        Ok(_) => Ok(Some(fs::read(&path).with_context(cannot)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(cannot),
    }
}

/// The manifests of `extra-manifests/`, by name.
pub fn extra_manifests(directory: &Path) -> anyhow::Result<Vec<Manifest>> {
    let folder = directory.join("extra-manifests");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context(format!("{} cannot be read", folder.display())),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if manifests::is_manifest(&name)
            && entry.path().is_file()
            && let Some(content) = read(&folder, &name)?
        {
            found.push(Manifest { name, content });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Writes a file in one step; one that is there, or a link, is replaced.
pub fn write(path: &Path, content: &[u8], mode: u32) -> anyhow::Result<()> {
    place(path, mode, |file| file.write_all(content))
}

/// Writes an image in one step.
pub fn write_image(path: &Path, image: &View, mode: u32) -> anyhow::Result<()> {
    place(path, mode, |file| deliver::copy(image, file))
}

fn place(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> anyhow::Result<()> {
    let cannot = || format!("{} cannot be written", path.display());
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o750)
        .create(folder)
        .with_context(cannot)?;
    let mut file = NamedTempFile::new_in(folder).with_context(cannot)?;
    let part = file.path().to_owned();
    let unfinished = || UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished().push(part.clone());
    let own = file.as_file_mut();
    fill(own)
        .and_then(|()| own.set_permissions(fs::Permissions::from_mode(mode)))
        .and_then(|()| own.sync_all())
        .with_context(cannot)?;
    file.persist(path).with_context(cannot)?;
    unfinished().retain(|other| *other != part);
    Ok(())
}

/// Removes files that were used up, and the folder of manifests once it is empty.
pub fn use_up(directory: &Path, names: &[&str]) -> anyhow::Result<()> {
    for name in names {
        let path = directory.join(name);
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).context(format!("{} cannot be removed", path.display()));
            }
        }
    }
    // Fails where the user has other files in it, which then stay.
    let _ = fs::remove_dir(directory.join("extra-manifests"));
    Ok(())
}
