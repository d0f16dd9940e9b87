//! Prepares an installation: generates everything a cluster is installed from.
//!
//! ```text
//! records ─┐                        ┌─ files/…            what hosts and people fetch
//! registry ─ gather ── make (pure) ─┤
//! manifests┤                        └─ manifests/system/… what the service adds
//! handed_in┘
//! ```
//!
//! [`gather`] asks the registry and the stores; [`make`] turns what it found into files, with the
//! same generators as `muster create`, on a thread that may take its time. Everything random
//! follows from the seed in the cluster's record ([`recipe`]) or was handed in with the image of an
//! agent-based installation ([`handed_in`]), so a process that makes the files again,
//! after a crash or on another replica, makes the same ones.

pub(crate) mod bare_metal;
mod fault;
mod gather;
mod handed_in;
mod hosts;
mod join;
mod made;
mod make;
mod node_ips;
mod operators;
mod recipe;
mod registry;
mod site;
mod system;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Instant};

use muster_assets::file::File;
use muster_model::{Cluster, ClusterId, ClusterStatus, Host};
use tracing::info;
use uuid::Uuid;

pub use join::host_config;
pub use made::Made;
pub use node_ips::networks_of_lead;
pub use site::mirrors_of;

use self::{gather::Facts, site::Site};
use crate::{App, Error};

/// How a preparation ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The files are stored; this is the id the cluster will give itself.
    Made(Uuid),
    /// They are not needed any more: the installation was cancelled or reset meanwhile.
    Unwanted,
}

/// Makes and stores all files of a cluster.
///
/// # Errors
/// Why the cluster cannot be installed in its present state; the text is for its user.
pub async fn prepare(app: &Arc<App>, id: ClusterId) -> Result<Outcome, Error> {
    let began = Instant::now();
    let attempt = Attempt::of(&*app.cluster(id).await?);
    recipe::draw(app, id).await?;
    registry::read(app, id).await?;
    let ingredients = gather::gather(app, id).await?;
    let gathered = began.elapsed();
    // Keys are generated on all cores: two clusters at once would both be slower, so they take
    // turns.
    let turn = app.jobs.heavy().await;
    if !attempt.is_current(app, id).await? {
        return Ok(Outcome::Unwanted);
    }
    let making = tokio::task::spawn_blocking(move || make::make(&ingredients));
    let made = making.await.map_err(|_| {
        Error::internal("generating the files was interrupted; the service log says why")
    })??;
    drop(turn);
    if !attempt.is_current(app, id).await? {
        return Ok(Outcome::Unwanted);
    }
    let cluster_id = made.cluster_id;
    let files = made.store(app, id).await?;
    info!(cluster = %id, files, gathered = ?gathered, took = ?began.elapsed(), "install files are stored");
    Ok(Outcome::Made(cluster_id))
}

/// The manifests that the service adds to an installation, by path.
///
/// # Errors
/// A setting of the cluster cannot be used; the text is for its user.
pub fn system_manifests(
    app: &App,
    cluster: &Cluster,
    hosts: &[Arc<Host>],
) -> Result<Vec<File>, Error> {
    let facts = Facts {
        cluster,
        hosts,
        site: &Site::of(app),
    };
    Ok(system::manifests(&facts)?.manifests)
}

/// What was asked for when the work began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    started: Option<muster_model::Timestamp>,
    status: ClusterStatus,
}

impl Attempt {
    fn of(cluster: &Cluster) -> Self {
        Self {
            started: cluster.install_started_at,
            status: cluster.status,
        }
    }

    async fn is_current(self, app: &App, id: ClusterId) -> Result<bool, Error> {
        Ok(Self::of(&*app.cluster(id).await?) == self)
    }
}
