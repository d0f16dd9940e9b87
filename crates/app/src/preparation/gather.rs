//! Everything that files are generated from, read once.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use muster_assets::{file::File, pki::KeyCache, profiles::Release};
use muster_model::{Cluster, ClusterId, Host};

use super::{handed_in::HandedIn, recipe, site::Site};
use crate::{
    App, Error,
    clusters::install_config,
    manifests::{Shelf, Source, missing},
};

/// What [`super::make::make`] works with. Full of secrets, so `Debug` shows next to nothing.
pub struct Ingredients {
    /// The cluster.
    pub cluster: Arc<Cluster>,
    /// Its hosts.
    pub hosts: Vec<Arc<Host>>,
    /// The install-config, as YAML with secrets.
    pub install_config: String,
    /// What is installed.
    pub release: Release,
    /// Manifests of the user, by path.
    pub user_manifests: Vec<File>,
    /// What the service adds.
    pub site: Site,
    /// Where everything random comes from.
    pub seed: [u8; 32],
    /// Private keys made earlier from that seed.
    pub keys: KeyCache,
    /// Signers and password made before the installation.
    pub handed_in: HandedIn,
    /// When the root certificates begin.
    pub created: Timestamp,
    /// When those certificates begin that live for a day.
    pub issued: Timestamp,
}

/// The part of it that manifests of the service follow from.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Its hosts.
    pub hosts: &'a [Arc<Host>],
    /// What the service adds.
    pub site: &'a Site,
}

impl Ingredients {
    /// What manifests of the service follow from.
    pub fn facts(&self) -> Facts<'_> {
        Facts {
            cluster: &self.cluster,
            hosts: &self.hosts,
            site: &self.site,
        }
    }
}

impl fmt::Debug for Ingredients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ingredients")
            .field("cluster", &self.cluster.id)
            .field("release", &self.release)
            .finish_non_exhaustive()
    }
}

/// Reads records, install-config and manifests.
pub(super) async fn gather(app: &Arc<App>, id: ClusterId) -> Result<Ingredients, Error> {
    let cluster = app.cluster(id).await?;
    let hosts = app.store.every_host_of_cluster(id).await?;
    let install_config = install_config::yaml_of_cluster(app, &cluster).await?;
    let payload = &cluster.recipe.payload;
    let drawn = cluster.recipe.drawn_at.unwrap_or(cluster.created_at);
    let started = cluster.install_started_at.unwrap_or(drawn).max(drawn);
    Ok(Ingredients {
        release: Release {
            version: payload.version.clone(),
            image: payload.image.clone(),
        },
        user_manifests: user_manifests(app, id).await?,
        site: Site::of(app),
        seed: recipe::seed_of(&cluster)?,
        keys: KeyCache::default(),
        handed_in: match &app.config.cluster.cluster_tls_override_dir {
            Some(folder) => HandedIn::read(folder)?,
            None => HandedIn::default(),
        },
        created: whole_seconds(drawn),
        issued: whole_seconds(started),
        install_config,
        hosts: hosts.iter().map(|row| Arc::clone(&row.value)).collect(),
        cluster: Arc::clone(&cluster.value),
    })
}

/// Certificates know no fractions of a second.
fn whole_seconds(at: muster_model::Timestamp) -> Timestamp {
    Timestamp::from_second(at.unix_seconds()).unwrap_or(Timestamp::UNIX_EPOCH)
}

async fn user_manifests(app: &App, id: ClusterId) -> Result<Vec<File>, Error> {
    let shelf = Shelf::of(app, id);
    let mut files = Vec::new();
    for place in shelf.list(false).await?.into_keys() {
        let path = shelf.path(Source::User, &place)?;
        let content = app.blobs.get(&path).await?;
        let content = content.ok_or_else(|| missing(&place))?;
        let path = format!("{}/{}", place.folder.as_str(), place.name.as_str());
        files.push(File::public(path, content.to_vec()));
    }
    Ok(files)
}
