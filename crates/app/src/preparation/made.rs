//! The finished files on their way into the file store.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use muster_assets::file::File;
use muster_model::ClusterId;
use muster_store::BlobPath;
use uuid::Uuid;

use crate::{
    App, Error,
    files::places,
    manifests::{Folder, ManifestName, Place, Shelf, Source},
};

/// Files are written this many at once: object stores answer slowly but many.
const AT_ONCE: usize = 8;

/// Everything that was made for a cluster.
#[derive(Debug)]
pub struct Made {
    /// What is handed out, by name.
    pub files: Vec<File>,
    /// Manifests that the service added, by path.
    pub system_manifests: Vec<File>,
    /// The id the cluster will give itself.
    pub cluster_id: Uuid,
}

impl Made {
    /// Stores everything and removes what an earlier attempt left beside it.
    pub async fn store(self, app: &App, id: ClusterId) -> Result<usize, Error> {
        let mut blobs = Vec::new();
        for file in self.files {
            blobs.push((
                places::generated(id, &file.path)?,
                Bytes::from(file.content),
            ));
        }
        let shelf = Shelf::of(app, id);
        for manifest in self.system_manifests {
            let place = place(&manifest.path)?;
            let path = shelf.path(Source::System, &place)?;
            blobs.push((path, Bytes::from(manifest.content)));
        }
        let kept: BTreeSet<String> = blobs.iter().map(|(path, _)| path.to_string()).collect();
        let count = blobs.len();
        stream::iter(blobs)
            .map(|(path, content)| async move { app.blobs.put(&path, content).await })
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await?;
        for folder in [places::all_generated(id)?, places::system_manifests(id)?] {
            remove_others(app, &folder, &kept).await?;
        }
        Ok(count)
    }
}

/// A final kubeconfig and the configs of hosts that are gone belong to an earlier attempt.
async fn remove_others(app: &App, folder: &BlobPath, kept: &BTreeSet<String>) -> Result<(), Error> {
    let there = app.blobs.list(folder).await?;
    for blob in there {
        if !kept.contains(&blob.path.to_string()) {
            app.blobs.delete(&blob.path).await?;
        }
    }
    Ok(())
}

fn place(path: &str) -> Result<Place, Error> {
    let (folder, name) = path.split_once('/').unwrap_or(("openshift", path));
    Ok(Place {
        folder: Folder::from_request(Some(folder))?,
        name: ManifestName::parse(name)?,
    })
}
