//! The manifests of one cluster in the file store.
//!
//! Those of the user and those the service makes lie apart, so that a reset can drop the
//! latter. To the outside they are one shelf: a user's manifest hides a made one of the same
//! place.

use std::collections::BTreeMap;

use bytes::Bytes;
use muster_model::ClusterId;
use muster_store::BlobPath;

use super::name::{Folder, ManifestName};
use crate::{App, Error};

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
    pub async fn read(&self, place: &Place) -> Result<Option<(Source, Bytes)>, Error> {
        for source in [Source::User, Source::System] {
            let path = self.path(source, place)?;
            if let Some(content) = self.app.blobs.get(&path).await? {
                return Ok(Some((source, content)));
            }
        }
        Ok(None)
    }

    /// Where a manifest is kept, if there is such a one.
    pub async fn locate(&self, place: &Place) -> Result<Option<BlobPath>, Error> {
        for source in [Source::User, Source::System] {
            let path = self.path(source, place)?;
            if self.app.blobs.exists(&path).await? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Stores a manifest of the user.
    pub async fn put(&self, place: &Place, content: Bytes) -> Result<(), Error> {
        let path = self.path(Source::User, place)?;
        Ok(self.app.blobs.put(&path, content).await?)
    }

    /// Removes a manifest of the user or of the service. It need not be there.
    pub async fn remove(&self, place: &Place) -> Result<(), Error> {
        for source in [Source::User, Source::System] {
            let path = self.path(source, place)?;
            self.app.blobs.delete(&path).await?;
        }
        Ok(())
    }

    /// The manifests by folder and name; those the service made only if asked for.
    pub async fn list(&self, with_system: bool) -> Result<BTreeMap<Place, Source>, Error> {
        let mut found = BTreeMap::new();
        if with_system {
            found.extend(self.places(Source::System).await?);
        }
        found.extend(self.places(Source::User).await?);
        Ok(found)
    }

    async fn places(&self, source: Source) -> Result<Vec<(Place, Source)>, Error> {
        let cluster = self.cluster.to_string();
        let root = BlobPath::new([cluster.as_str(), "manifests", source.as_str()])?;
        let blobs = self.app.blobs.list(&root).await?;
        let places = blobs.iter().filter_map(|blob| {
            let name = ManifestName::parse(blob.path.name()).ok()?;
            let folder = Folder::from_request(blob.path.segments().nth(3)).ok()?;
            Some((Place { folder, name }, source))
        });
        Ok(places.collect())
    }

    /// Where a manifest of this source would be kept.
    pub fn path(&self, source: Source, place: &Place) -> Result<BlobPath, Error> {
        let cluster = self.cluster.to_string();
        let segments = [
            cluster.as_str(),
            "manifests",
            source.as_str(),
            place.folder.as_str(),
            place.name.as_str(),
        ];
        BlobPath::new(segments).map_err(|cause| {
            Error::unprocessable(format!(
                "manifest name {} cannot be stored: {cause}",
                place.name
            ))
        })
    }
}
