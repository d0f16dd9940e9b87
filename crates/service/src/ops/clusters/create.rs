//! Making clusters: to be installed, imported, or only registered.

use http::StatusCode;
use muster_api::{error::Failure, wire};
use muster_model::{Cluster, ClusterId, Event, EventScope, Host, Severity};
use muster_store::{Changes, Row};
use uuid::Uuid;

use super::new_cluster::{self, Birth};
use crate::{
    app::{App, Shared, store_failure},
    driver::Scope,
    http::{Call, Reply},
    views::{self, HostsShown},
};

/// `POST /v2/clusters`.
pub async fn register(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let params: wire::ClusterCreateParams = call.body()?;
    let cluster =
        new_cluster::day1(params, birth(&call), (&*app).into()).map_err(Failure::bad_request)?;
    store(&app, &call, &cluster).await?;
    Reply::json(StatusCode::CREATED, &shown(&app, &cluster))
}

/// `POST /v2/clusters/import`.
pub async fn import(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let params: wire::ImportClusterParams = call.body()?;
    let cluster = new_cluster::imported(&params, birth(&call)).map_err(Failure::bad_request)?;
    store(&app, &call, &cluster).await?;
    let mut view = shown(&app, &cluster);
    bare(&mut view);
    if let Some(platform) = &mut view.platform {
        platform.external = None;
    }
    Reply::json(StatusCode::CREATED, &view)
}

/// `POST /v2/clusters/disconnected`. Leaves no event: nothing begins with it.
pub async fn register_disconnected(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let params: wire::DisconnectedClusterCreateParams = call.body()?;
    let cluster = new_cluster::disconnected(&params, birth(&call)).map_err(Failure::bad_request)?;
    let mut changes = Changes::default();
    changes.insert_cluster(cluster.clone());
    app.commit(changes).await.map_err(store_failure)?;
    let mut view = shown(&app, &cluster);
    bare(&mut view);
    view.hosts = None;
    view.host_networks = None;
    Reply::json(StatusCode::CREATED, &view)
}

fn birth(call: &Call) -> Birth<'_> {
    Birth {
        id: ClusterId(Uuid::new_v4()),
        user: &call.principal.name,
        now: call.now,
    }
}

async fn store(app: &App, call: &Call, cluster: &Cluster) -> Result<(), Failure> {
    let scope = EventScope {
        cluster: Some(cluster.id),
        ..Default::default()
    };
    let message = format!("Registered cluster {} ({})", cluster.name, cluster.kind);
    let mut event = Event::new(
        "cluster_registration_succeeded",
        Severity::Info,
        scope,
        call.now,
        message,
    );
    event.request_id = Some(call.request_id.clone());
    let mut changes = Changes::default();
    changes.insert_cluster(cluster.clone()).event(event);
    app.commit(changes).await.map_err(store_failure)?;
    app.metrics.cluster_creations.inc();
    app.driver.touch(Scope::Cluster(cluster.id));
    tracing::info!(cluster = %cluster.id, name = %cluster.name, version = %cluster.openshift_version, "cluster registered");
    Ok(())
}

/// The record as it was stored, before any rule has looked at it.
fn shown(app: &App, cluster: &Cluster) -> wire::Cluster {
    let no_hosts: [Row<Host>; 0] = [];
    views::cluster(cluster, &no_hosts, HostsShown::Full, &app.heartbeats)
}

/// Answers about clusters that are not installed by us show less than a later read does.
fn bare(view: &mut wire::Cluster) {
    view.operator_bundles = None;
    view.disk_encryption = None;
    view.ignition_endpoint = None;
    view.progress = None;
}
