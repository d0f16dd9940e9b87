//! Reading the release image of a cluster: its version and the images inside it that hosts
//! learn of.

use std::{path::PathBuf, sync::Arc};

use muster_model::{Cluster, ClusterId, Payload};
use muster_release::{Cache, Client, ImageRef, Mirrors, PullSecret, Release, Settings};
use tracing::info;

use crate::{App, Error, aggregate::Cause};

/// What is read of releases is small: a few manifests and one layer of a few megabytes each.
const CACHE_BYTES: u64 = 1 << 30;

/// Components that an installation cannot do without.
const NEEDED: &[&str] = &["machine-config-operator"];
/// Components that hosts learn of where the release has them.
const USEFUL: &[&str] = &["must-gather", "rhel-coreos", "stream-coreos"];

/// Reads the release of a cluster unless that was done before, and keeps in its record what was
/// found.
pub(super) async fn read(app: &Arc<App>, id: ClusterId) -> Result<(), Error> {
    let cluster = app.cluster(id).await?;
    let image = cluster.ocp_release_image.clone().unwrap_or_default();
    if image.is_empty() {
        return Err(Error::conflict(format!(
            "cluster {} names no release image; choose a version that is offered",
            cluster.name
        )));
    }
    if cluster.recipe.payload.image == image {
        return Ok(());
    }
    let payload = look_into(app, &cluster, &image).await.map_err(|error| {
        Error::conflict(format!(
            "release image {image} of version {} cannot be read: {error}",
            cluster.openshift_version
        ))
    })?;
    info!(cluster = %id, image, version = payload.version, "the release was read");
    let cause = Cause::internal();
    app.change_cluster(id, &cause, |all| {
        let cluster = all.cluster_mut()?;
        // Another version may have been chosen meanwhile.
        if cluster.ocp_release_image.as_deref() == Some(payload.image.as_str()) {
            cluster.recipe.payload = payload.clone();
        }
        Ok(())
    })
    .await
    .map(drop)
}

async fn look_into(
    app: &App,
    cluster: &Cluster,
    image: &str,
) -> Result<Payload, muster_release::Error> {
    let client = client(app, cluster)?;
    // The mirror of the settings stands for the release of every cluster.
    let mirror = app.config.catalog.release_image_mirror.as_str();
    let read = if mirror.is_empty() { image } else { mirror };
    let read: ImageRef = read.parse()?;
    let release = Release::open(&client, &read, cluster.arch()).await?;
    let mut payload = Payload {
        image: image.to_owned(),
        version: release.version().to_string(),
        ..Payload::default()
    };
    for name in NEEDED {
        let found = release.image_for(name)?;
        payload
            .components
            .insert((*name).to_owned(), found.to_string());
    }
    for name in USEFUL {
        if let Ok(found) = release.image_for(name) {
            payload
                .components
                .insert((*name).to_owned(), found.to_string());
        }
    }
    Ok(payload)
}

/// A client with the cluster's own credentials and what the settings say about the site.
fn client(app: &App, cluster: &Cluster) -> Result<Client, muster_release::Error> {
    let images = &app.config.images;
    let folder: PathBuf = app.config.data_dir.join("releases");
    let mut reach = Settings {
        cache: Some(Cache::open(folder, Some(CACHE_BYTES))?),
        pull_secret: PullSecret::parse(cluster.pull_secret.reveal())?,
        ..Settings::default()
    };
    if let Some(file) = &images.registry_mirrors_file {
        reach.mirrors = Mirrors::read(file)?;
    }
    if let Some(files) = &app.images.mirrors {
        let files = files.as_mirrors();
        reach.mirrors.extend(Mirrors::parse(files.registries_conf)?);
        if !files.ca_bundle.is_empty() {
            reach.ca_bundles.push(files.ca_bundle.as_bytes().to_vec());
        }
    }
    if let Some(file) = &images.fetch_ca_file {
        reach.trust_file(file)?;
    }
    Client::new(reach)
}
