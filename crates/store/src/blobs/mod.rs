//! Files by name, in a folder or in an S3 bucket: logs, manifests, generated assets, images.
//!
//! `file:///folder` is durable by our own hand (see [`files`]); `s3://bucket` by the service's
//! promise. Reading, listing and deleting is the same code for both.

mod address;
mod files;
mod path;

use std::{
    error::Error,
    fmt,
    future::Future,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, TryStreamExt as _, pin_mut};
use muster_model::Timestamp;
use object_store::{
    ObjectStore, aws::AmazonS3, buffered::BufWriter, path::Path as StorePath, signer::Signer as _,
};
use tokio::io::AsyncWriteExt as _;
use url::Url;

use files::Folder;
pub use path::BlobPath;

type Cause = Box<dyn Error + Send + Sync + 'static>;

/// Bytes that are collected before a part is sent to S3, which takes no smaller ones.
const PART_BYTES: usize = 5 << 20;
/// Parts on their way at a time; with [`PART_BYTES`] it bounds the memory of an upload.
const PARTS_AT_ONCE: usize = 1;
/// Longest silence in the middle of a download before it counts as broken.
const SILENCE: Duration = Duration::from_secs(60);
/// Longest time one request may take, retries included, unless it is a download.
const HUNG: Duration = Duration::from_secs(120);

/// Why a blob could not be handled.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The name is not allowed.
    #[error("bad blob name {path:?}: {reason}")]
    Path {
        /// The name or its bad part.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The address names no place we know.
    #[error(
        "bad blob address: {reason}; use file:///folder or s3://bucket/prefix?endpoint=…&region=…"
    )]
    Address {
        /// What is wrong with it; never holds credentials.
        reason: String,
    },
    /// The stream that was to be stored ended with an error; nothing was stored.
    #[error("the data for {path} ended early; nothing was stored")]
    Source {
        /// The blob.
        path: String,
        /// The stream's error.
        #[source]
        source: Cause,
    },
    /// The disk has no room for it; nothing was stored.
    #[error("cannot store {path}: the disk of the file store is full or over its quota")]
    DiskFull {
        /// The blob.
        path: String,
        /// What the disk said.
        #[source]
        source: Cause,
    },
    /// The disk or the service does not do its work; a later attempt may succeed.
    #[error("cannot {action} {path}")]
    Unavailable {
        /// What was tried.
        action: &'static str,
        /// The blob.
        path: String,
        /// What went wrong.
        #[source]
        source: Cause,
    },
}

fn failed(action: &'static str, path: &BlobPath, source: impl Into<Cause>) -> BlobError {
    BlobError::Unavailable {
        action,
        path: path.to_string(),
        source: source.into(),
    }
}

/// A blob as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobInfo {
    /// Its name.
    pub path: BlobPath,
    /// Bytes in it.
    pub size: u64,
    /// When it was last written.
    pub modified: Timestamp,
}

/// A place for files. Clones share it.
#[derive(Clone)]
pub struct Blobs {
    objects: Arc<dyn ObjectStore>,
    /// What all our names begin with.
    folder: StorePath,
    place: Place,
    /// Writes that found the disk full.
    refused: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Place {
    Files(Folder),
    S3(Arc<AmazonS3>),
}

impl Blobs {
    /// Opens `file:///absolute/folder` (created if missing) or
    /// `s3://bucket/prefix?endpoint=…&region=…&allow_http=true`. Credentials of S3 come from
    /// the `AWS_*` environment, or from the address (`s3://key:secret@bucket`).
    pub async fn open(url: &str) -> Result<Self, BlobError> {
        address::open(url).await
    }

    /// Stores a blob, in place of an older one; durable when this returns.
    pub async fn put(&self, path: &BlobPath, bytes: Bytes) -> Result<(), BlobError> {
        let location = self.location(path)?;
        match &self.place {
            Place::Files(folder) => folder
                .put(&location, bytes)
                .await
                .map_err(|error| self.unwritten(path, error)),
            Place::S3(_) => match within(self.objects.put(&location, bytes.into())).await {
                Ok(_) => Ok(()),
                Err(error) => Err(failed("store", path, error)),
            },
        }
    }

    /// Stores what a stream brings and returns its size; all of it or nothing, durable when this
    /// returns, with little memory however long it is.
    pub async fn put_stream<S, E>(&self, path: &BlobPath, data: S) -> Result<u64, BlobError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: Into<Cause>,
    {
        let location = self.location(path)?;
        let data = data.map_err(|error| BlobError::Source {
            path: path.to_string(),
            source: error.into(),
        });
        pin_mut!(data);
        match &self.place {
            Place::Files(folder) => {
                let store = |error| self.unwritten(path, error);
                let mut incoming = folder.incoming().await.map_err(store)?;
                while let Some(chunk) = data.try_next().await? {
                    incoming.write(&chunk).await.map_err(store)?;
                }
                incoming.land(&location).await.map_err(store)
            }
            Place::S3(_) => {
                let store = |error: Cause| failed("store", path, error);
                let mut upload =
                    BufWriter::with_capacity(Arc::clone(&self.objects), location, PART_BYTES)
                        .with_max_concurrency(PARTS_AT_ONCE);
                let mut size = 0;
                loop {
                    let put = match data.try_next().await {
                        Ok(None) => break,
                        Ok(Some(chunk)) => {
                            size += chunk.len() as u64;
                            let put = within(upload.put(chunk)).await;
                            put.map_err(|error| store(error.into()))
                        }
                        Err(error) => Err(error),
                    };
                    if let Err(error) = put {
                        // The service forgets parts of an upload that is never completed.
                        let _ = upload.abort().await;
                        return Err(error);
                    }
                }
                let done = within(async { Ok(upload.shutdown().await) }).await;
                let done = match done {
                    Ok(Ok(())) => return Ok(size),
                    Ok(Err(error)) => store(error.into()),
                    Err(error) => store(error.into()),
                };
                let _ = upload.abort().await;
                Err(done)
            }
        }
    }

    /// The whole blob, if there is one.
    pub async fn get(&self, path: &BlobPath) -> Result<Option<Bytes>, BlobError> {
        let location = self.location(path)?;
        let found = within(async { self.objects.get(&location).await?.bytes().await });
        present(found.await).map_err(|error| failed("read", path, error))
    }

    /// The size of a blob and its bytes, piece by piece.
    pub async fn stream(
        &self,
        path: &BlobPath,
    ) -> Result<
        Option<(
            u64,
            impl Stream<Item = Result<Bytes, BlobError>> + Send + 'static + use<>,
        )>,
        BlobError,
    > {
        let location = self.location(path)?;
        let found = present(within(self.objects.get(&location)).await)
            .map_err(|error| failed("read", path, error))?;
        let path = path.clone();
        Ok(found.map(|found| {
            let size = found.meta.size;
            let pieces = tokio_stream::StreamExt::timeout(found.into_stream(), SILENCE);
            let pieces = pieces.map(move |piece| match piece {
                Ok(Ok(bytes)) => Ok(bytes),
                Ok(Err(error)) => Err(failed("read", &path, error)),
                Err(silence) => Err(failed("read", &path, silence)),
            });
            (size, pieces)
        }))
    }

    /// The blobs in a folder and its subfolders, by name.
    pub async fn list(&self, folder: &BlobPath) -> Result<Vec<BlobInfo>, BlobError> {
        let location = folder.below(&self.folder);
        let found = self.objects.list(Some(&location)).try_collect::<Vec<_>>();
        let found = within(found)
            .await
            .map_err(|error| failed("list", folder, error))?;
        let known = found.into_iter().filter_map(|meta| {
            Some(BlobInfo {
                path: BlobPath::read_back(&meta.location, &self.folder)?,
                size: meta.size,
                modified: Timestamp(meta.last_modified.timestamp_micros()),
            })
        });
        let mut blobs: Vec<BlobInfo> = known.collect();
        blobs.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(blobs)
    }

    /// Removes a blob; no error if there is none.
    pub async fn delete(&self, path: &BlobPath) -> Result<(), BlobError> {
        let location = self.location(path)?;
        present(within(self.objects.delete(&location)).await)
            .map(drop)
            .map_err(|error| failed("delete", path, error))
    }

    /// Removes all blobs in a folder and its subfolders.
    pub async fn delete_prefix(&self, folder: &BlobPath) -> Result<(), BlobError> {
        // Not a way to empty the whole place by a forgotten argument.
        let location = self.location(folder)?;
        let found = self
            .objects
            .list(Some(&location))
            .map_ok(|meta| meta.location);
        let mut gone = self.objects.delete_stream(found.boxed());
        while let Some(deleted) = within(async { Ok(gone.next().await) })
            .await
            .map_err(|error| failed("delete", folder, error))?
        {
            present(deleted).map_err(|error| failed("delete", folder, error))?;
        }
        if let Place::Files(files) = &self.place {
            files.remove_empty_folders(&location).await;
        }
        Ok(())
    }

    /// Whether there is such a blob.
    pub async fn exists(&self, path: &BlobPath) -> Result<bool, BlobError> {
        let location = self.location(path)?;
        let found = present(within(self.objects.head(&location)).await);
        found
            .map(|found| found.is_some())
            .map_err(|error| failed("look for", path, error))
    }

    /// A link that grants access to the blob until it expires; `None` where there is no such thing
    /// (files). Does not look whether the blob exists.
    pub async fn presign(
        &self,
        path: &BlobPath,
        lifetime: Duration,
    ) -> Result<Option<Url>, BlobError> {
        let location = self.location(path)?;
        match &self.place {
            Place::Files(_) => Ok(None),
            Place::S3(bucket) => {
                let link = bucket.signed_url(http::Method::GET, &location, lifetime);
                let link = link.await.map_err(|error| failed("sign", path, error))?;
                Ok(Some(link))
            }
        }
    }

    /// How many blobs were refused because the disk was full.
    #[must_use]
    pub fn refused_by_full_disk(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The folder the files are in, if they are in one.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        match &self.place {
            Place::Files(folder) => Some(folder.root()),
            Place::S3(_) => None,
        }
    }

    fn unwritten(&self, path: &BlobPath, error: io::Error) -> BlobError {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        if !matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge) {
            return failed("store", path, error);
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        BlobError::DiskFull {
            path: path.to_string(),
            source: error.into(),
        }
    }

    fn location(&self, path: &BlobPath) -> Result<StorePath, BlobError> {
        if path.segments().next().is_none() {
            return Err(path.refused("the root is no blob"));
        }
        Ok(path.below(&self.folder))
    }
}

/// Waits for a request, but not for ever.
async fn within<T>(
    request: impl Future<Output = object_store::Result<T>>,
) -> object_store::Result<T> {
    tokio::time::timeout(HUNG, request)
        .await
        .unwrap_or_else(|silence| {
            Err(object_store::Error::Generic {
                store: "blobs",
                source: silence.into(),
            })
        })
}

/// "Not found" is an answer, not an error.
fn present<T>(found: object_store::Result<T>) -> object_store::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Shows where, not with which credentials.
impl fmt::Debug for Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.place {
            Place::Files(_) => "file",
            Place::S3(_) => "s3",
        };
        f.debug_struct("Blobs")
            .field("kind", &kind)
            .field("folder", &self.folder.as_ref())
            .finish_non_exhaustive()
    }
}
