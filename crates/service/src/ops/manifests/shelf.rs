//! The manifests of one cluster in the file store.
//!
//! Those of the user and those the service makes lie apart, so that a reset can drop the
//! latter. To the outside they are one shelf: a user's manifest hides a made one of the same
//! place.

use std::collections::BTreeMap;

use bytes::Bytes;
use muster_api::{error::Failure, wire};
use muster_model::ClusterId;
use muster_store::BlobPath;

use super::name::{Folder, ManifestName};
use crate::app::{App, blob_failure};

/// Who a manifest comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user.
    User,
    /// The service.
    System,
}

impl Source {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::System => "system",
        }
    }
}

/// Where a manifest lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Folder.
    pub folder: Folder,
    /// File.
    pub name: ManifestName,
}

impl Place {
    /// The manifest on the wire.
    pub fn shown(&self, source: Source) -> wire::Manifest {
        wire::Manifest {
            folder: Some(self.folder.as_str().to_owned()),
            file_name: Some(self.name.as_str().to_owned()),
            manifest_source: Some(source.as_str().to_owned()),
        }
    }

    /// The same name in the other folder.
    pub fn twin(&self) -> Self {
        Self {
            folder: self.folder.other(),
            name: self.name.clone(),
        }
    }
}

/// The shelf of one cluster.
#[derive(Clone, Copy, Debug)]
pub struct Shelf<'a> {
    app: &'a App,
    cluster: ClusterId,
}

impl<'a> Shelf<'a> {
    /// The shelf of this cluster.
    pub const fn of(app: &'a App, cluster: ClusterId) -> Self {
        Self { app, cluster }
    }

    /// The content of a manifest and whose it is.
    pub async fn read(&self, place: &Place) -> Result<Option<(Source, Bytes)>, Failure> {
        for source in [Source::User, Source::System] {
            let path = self.path(source, place)?;
            if let Some(content) = self.app.blobs.get(&path).await.map_err(blob_failure)? {
                return Ok(Some((source, content)));
            }
        }
        Ok(None)
    }

    /// Where a manifest is kept, if there is such a one.
    pub async fn locate(&self, place: &Place) -> Result<Option<BlobPath>, Failure> {
        for source in [Source::User, Source::System] {
            let path = self.path(source, place)?;
            if self.app.blobs.exists(&path).await.map_err(blob_failure)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Stores a manifest of the user.
    pub async fn put(&self, place: &Place, content: Bytes) -> Result<(), Failure> {
        let path = self.path(Source::User, place)?;
        self.app
            .blobs
            .put(&path, content)
            .await
            .map_err(blob_failure)
    }

    /// Removes a manifest, whoever it comes from. It need not be there.
    pub async fn remove(&self, place: &Place) -> Result<(), Failure> {
        for source in [Source::User, Source::System] {
            let path = self.path(source, place)?;
            self.app.blobs.delete(&path).await.map_err(blob_failure)?;
        }
        Ok(())
    }

    /// The manifests by folder and name; those the service made only if asked for.
    pub async fn list(&self, with_system: bool) -> Result<BTreeMap<Place, Source>, Failure> {
        let mut found = BTreeMap::new();
        if with_system {
            found.extend(self.places(Source::System).await?);
        }
        found.extend(self.places(Source::User).await?);
        Ok(found)
    }

    async fn places(&self, source: Source) -> Result<Vec<(Place, Source)>, Failure> {
        let cluster = self.cluster.to_string();
        let root = BlobPath::new([cluster.as_str(), "manifests", source.as_str()])
            .map_err(blob_failure)?;
        let blobs = self.app.blobs.list(&root).await.map_err(blob_failure)?;
        let places = blobs.iter().filter_map(|blob| {
            let name = ManifestName::parse(blob.path.name()).ok()?;
            let folder = Folder::from_request(blob.path.segments().nth(3)).ok()?;
            Some((Place { folder, name }, source))
        });
        Ok(places.collect())
    }

    /// Where a manifest of this source would be kept.
    pub fn path(&self, source: Source, place: &Place) -> Result<BlobPath, Failure> {
        let cluster = self.cluster.to_string();
        let segments = [
            cluster.as_str(),
            "manifests",
            source.as_str(),
            place.folder.as_str(),
            place.name.as_str(),
        ];
        BlobPath::new(segments).map_err(|cause| {
            Failure::unprocessable(format!(
                "manifest name {} cannot be stored: {cause}",
                place.name
            ))
        })
    }
}
