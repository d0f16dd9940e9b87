//! Restoring an archive into an empty installation.
//!
//! Everything is unpacked beside its final place and compared with the list first; only then is
//! it moved, the database last, because its presence is what makes an installation.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Component, Path, PathBuf},
};

use muster_store::{BlobPath, Blobs};
use sha2::{Digest as _, Sha256};
use tokio_util::io::ReaderStream;

use crate::{
    BackupError, Contents, DATABASE, FILES, Installation, KEPT, Member, OS_IMAGES, contents,
    write::{Hashed, hex},
};

/// Largest list that is read: about a million members.
const LARGEST_LIST: u64 = 256 << 20;

/// Restores an archive; the data directory must not hold an installation, and the database and the
/// file store must be empty.
///
/// # Errors
/// Something is there already, the archive is damaged, or a part cannot be written.
pub async fn restore(
    installation: &Installation,
    archive: impl Read,
) -> Result<Contents, BackupError> {
    let data_dir = &installation.data_dir;
    let database = Database::of(installation)?;
    for name in KEPT {
        refuse_existing(&data_dir.join(name))?;
    }
    let blobs = Blobs::open(&installation.storage).await?;
    if let Some(blob) = blobs.list(&BlobPath::root()).await?.first() {
        return Err(BackupError::Occupied(
            format!("the stored file {}", blob.path).into(),
        ));
    }
    make_folder(data_dir)?;
    let staging = tempfile::Builder::new()
        .prefix(".restore-")
        .tempdir_in(data_dir)
        .map_err(BackupError::io(format!(
            "{}: cannot be written",
            data_dir.display()
        )))?;
    let contents = unpack(archive, staging.path())?;

    for name in contents.members.keys() {
        let path = staging.path().join(name);
        if let Some(blob) = blob_path(name)? {
            let file = tokio::fs::File::open(&path)
                .await
                .map_err(BackupError::io(format!("{name}: cannot be read again")))?;
            blobs.put_stream(&blob, ReaderStream::new(file)).await?;
        } else if name != DATABASE {
            place(&path, &data_dir.join(name))?;
        }
    }
    database.fill(&staging.path().join(DATABASE)).await?;
    Ok(contents)
}

/// Where the database goes.
enum Database {
    File(PathBuf),
    Server(String),
}

impl Database {
    fn of(installation: &Installation) -> Result<Self, BackupError> {
        match installation.database.strip_prefix("sqlite://") {
            Some(path) => {
                let path = PathBuf::from(path);
                refuse_existing(&path)?;
                Ok(Self::File(path))
            }
            None => Ok(Self::Server(installation.database.clone())),
        }
    }

    async fn fill(self, copy: &Path) -> Result<(), BackupError> {
        match self {
            Self::File(path) => place(copy, &path),
            Self::Server(url) => {
                let from = format!("sqlite://{}", copy.display());
                muster_store::copy(&from, &url).await?;
                Ok(())
            }
        }
    }
}

fn refuse_existing(path: &Path) -> Result<(), BackupError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(BackupError::Occupied(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(BackupError::io(format!(
            "{}: cannot be looked at",
            path.display()
        ))(error)),
    }
}

/// Unpacks all members and compares them with the list.
fn unpack(archive: impl Read, folder: &Path) -> Result<Contents, BackupError> {
    let damaged = |error: io::Error| BackupError::Archive(format!("it cannot be read: {error}"));
    let mut found = BTreeMap::new();
    let mut list = None;
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = entry
            .path()
            .map_err(damaged)?
            .to_string_lossy()
            .into_owned();
        if name == contents::NAME {
            let mut text = Vec::new();
            let mut limited = (&mut entry).take(LARGEST_LIST);
            limited.read_to_end(&mut text).map_err(damaged)?;
            list = Some(text);
            continue;
        }
        if !expected(&name) || !entry.header().entry_type().is_file() {
            return Err(BackupError::Archive(format!(
                "{name:?} is no part of a backup"
            )));
        }
        let member = unpack_one(&mut entry, &folder.join(&name))?;
        found.insert(name, member);
    }
    let list = list.ok_or_else(|| {
        BackupError::Archive(format!(
            "it has no {} at its end and was cut short",
            contents::NAME
        ))
    })?;
    let contents: Contents = serde_json::from_slice(&list)
        .map_err(|error| BackupError::Archive(format!("{}: {error}", contents::NAME)))?;
    contents.check(&found)?;
    Ok(contents)
}

/// Whether a name is one that backups have, and leads nowhere else.
fn expected(name: &str) -> bool {
    let path = Path::new(name);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let top = path.components().next();
    let tops = KEPT.iter().copied().chain([OS_IMAGES, FILES, "database"]);
    plain && top.is_some_and(|top| tops.into_iter().any(|name| top.as_os_str() == name))
}

fn unpack_one(content: &mut impl Read, path: &Path) -> Result<Member, BackupError> {
    let failed = || BackupError::io(format!("{}: cannot be written", path.display()));
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(failed())?;
    let mut hashed = Hashed {
        content,
        digest: Sha256::new(),
        read: 0,
    };
    io::copy(&mut hashed, &mut file).map_err(failed())?;
    file.flush()
        .and_then(|()| file.sync_all())
        .map_err(failed())?;
    Ok(Member {
        size: hashed.read,
        sha256: hex(&hashed.digest.finalize()),
    })
}

fn blob_path(name: &str) -> Result<Option<BlobPath>, BackupError> {
    match name
        .strip_prefix(FILES)
        .and_then(|name| name.strip_prefix('/'))
    {
        Some(blob) => Ok(Some(BlobPath::new(blob.split('/'))?)),
        None => Ok(None),
    }
}

/// Moves a file to its final place, on disk for good.
fn place(from: &Path, to: &Path) -> Result<(), BackupError> {
    let failed = || BackupError::io(format!("{}: cannot be put in place", to.display()));
    let folder = to.parent().unwrap_or(Path::new("/"));
    make_folder(folder)?;
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            fs::copy(from, to).map_err(failed())?;
            File::open(to)
                .and_then(|file| file.sync_all())
                .map_err(failed())?;
        }
        moved => moved.map_err(failed())?,
    }
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(failed())
}

fn make_folder(folder: &Path) -> Result<(), BackupError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(BackupError::io(format!(
            "{}: cannot be made",
            folder.display()
        )))
}
