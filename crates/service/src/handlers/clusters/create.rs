//! Creating clusters.

use http::StatusCode;
use muster_api::wire;
use muster_app::{App, aggregate::Cause, clusters::create};
use muster_model::{Cluster, Host};
use muster_store::Row;

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
    views::{self, HostsShown},
};

/// `POST /v2/clusters`.
pub async fn register(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let params: wire::ClusterCreateParams = call.body()?;
    let user = &call.principal.name;
    let cluster = create::register(&app, params, user, &Cause::from(&call)).await?;
    Reply::json(StatusCode::CREATED, &shown(&app, &cluster))
}

/// `POST /v2/clusters/import`.
pub async fn import(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let params: wire::ImportClusterParams = call.body()?;
    let user = &call.principal.name;
    let cluster = create::import(&app, &params, user, &Cause::from(&call)).await?;
    let mut view = shown(&app, &cluster);
    bare(&mut view);
    if let Some(platform) = &mut view.platform {
        platform.external = None;
    }
    Reply::json(StatusCode::CREATED, &view)
}

/// `POST /v2/clusters/disconnected`.
pub async fn register_disconnected(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let params: wire::DisconnectedClusterCreateParams = call.body()?;
    let user = &call.principal.name;
    let cluster = create::register_disconnected(&app, &params, user, &Cause::from(&call)).await?;
    let mut view = shown(&app, &cluster);
    bare(&mut view);
    view.hosts = None;
    view.host_networks = None;
    Reply::json(StatusCode::CREATED, &view)
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
