//! Making clusters: to be installed, imported, or only registered.

use muster_api::wire;
use muster_model::{Cluster, ClusterId, Event, EventScope, Severity};
use muster_store::Changes;
use uuid::Uuid;

use super::new_cluster::{self, Birth};
use crate::{App, Error, aggregate::Cause, driver::Scope};

/// Registers a cluster that is to be installed.
pub async fn register(
    app: &App,
    params: wire::ClusterCreateParams,
    user: &str,
    cause: &Cause,
) -> Result<Cluster, Error> {
    register_as(app, ClusterId(Uuid::new_v4()), params, user, cause).await
}

/// The same under an id that was chosen before (agent-based installation).
pub async fn register_as(
    app: &App,
    id: ClusterId,
    params: wire::ClusterCreateParams,
    user: &str,
    cause: &Cause,
) -> Result<Cluster, Error> {
    let birth = Birth {
        id,
        user,
        now: cause.now,
    };
    let cluster = new_cluster::day1(params, birth, app.into())?;
    store(app, cause, &cluster).await?;
    Ok(cluster)
}

/// Registers a cluster that was installed elsewhere, so that hosts can join it.
pub async fn import(
    app: &App,
    params: &wire::ImportClusterParams,
    user: &str,
    cause: &Cause,
) -> Result<Cluster, Error> {
    import_as(app, ClusterId(Uuid::new_v4()), params, user, cause).await
}

/// The same under an id that was chosen before (hosts that join by an image).
pub async fn import_as(
    app: &App,
    id: ClusterId,
    params: &wire::ImportClusterParams,
    user: &str,
    cause: &Cause,
) -> Result<Cluster, Error> {
    let birth = Birth {
        id,
        user,
        now: cause.now,
    };
    let cluster = new_cluster::imported(params, birth)?;
    store(app, cause, &cluster).await?;
    Ok(cluster)
}

/// Registers a cluster that installs itself. Leaves no event: nothing begins with it.
pub async fn register_disconnected(
    app: &App,
    params: &wire::DisconnectedClusterCreateParams,
    user: &str,
    cause: &Cause,
) -> Result<Cluster, Error> {
    let cluster = new_cluster::disconnected(params, birth(user, cause))?;
    let mut changes = Changes::default();
    changes.insert_cluster(cluster.clone());
    app.commit(changes).await?;
    Ok(cluster)
}

fn birth<'a>(user: &'a str, cause: &Cause) -> Birth<'a> {
    Birth {
        id: ClusterId(Uuid::new_v4()),
        user,
        now: cause.now,
    }
}

async fn store(app: &App, cause: &Cause, cluster: &Cluster) -> Result<(), Error> {
    let scope = EventScope {
        cluster: Some(cluster.id),
        ..Default::default()
    };
    let message = format!("Registered cluster {} ({})", cluster.name, cluster.kind);
    let mut event = Event::new(
        "cluster_registration_succeeded",
        Severity::Info,
        scope,
        cause.now,
        message,
    );
    event.request_id.clone_from(&cause.request_id);
    let mut changes = Changes::default();
    changes.insert_cluster(cluster.clone()).event(event);
    app.commit(changes).await?;
    app.metrics.cluster_creations.inc();
    app.driver.touch(Scope::Cluster(cluster.id));
    tracing::info!(cluster = %cluster.id, name = %cluster.name, version = %cluster.openshift_version, "cluster registered");
    Ok(())
}
