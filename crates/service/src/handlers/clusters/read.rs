//! Reading clusters.

use std::sync::Arc;

use http::StatusCode;
use muster_api::wire;
use muster_app::{App, Error, Missing, clusters, driver::Scope};
use muster_model::{Cluster, Host, HostStatus};
use muster_store::{Deleted, Row};

use crate::{
    bodies::{BodyKey, CachedBody},
    http::{Call, Failure, Reply},
    service::{Service, Shared},
    views::{self, HostDetail, HostsShown},
};

/// Header that asks for deleted clusters too; admins only.
const UNREGISTERED: &str = "get_unregistered_clusters";

/// `GET /v2/clusters`.
pub async fn list(app: Shared, call: Call) -> Result<Reply, Failure> {
    let deleted = if call.args.flag(UNREGISTERED) {
        if !call.principal.is_admin() {
            return Err(Failure::api(
                StatusCode::FORBIDDEN,
                "only administrators may list deleted clusters",
            ));
        }
        Deleted::Included
    } else {
        Deleted::Excluded
    };
    let wanted = call.args.text("openshift_cluster_id");
    let shown = if call.args.flag("with_hosts") {
        HostsShown::Records
    } else {
        HostsShown::CountersOnly
    };
    let mut list = Vec::new();
    for cluster in app.store.clusters(deleted).await? {
        let id = cluster.openshift_cluster_id.map(|id| id.to_string());
        // Subscriptions are a matter of the hosted service: no cluster here has one.
        if wanted.is_some_and(|wanted| id.as_deref() != Some(wanted))
            || !call.args.list("ams_subscription_ids").is_empty()
        {
            continue;
        }
        app.driver.settle(&app, Scope::Cluster(cluster.id)).await;
        let cluster = app
            .store
            .cluster_even_deleted(cluster.id)
            .await?
            .unwrap_or(cluster);
        let hosts = hosts_of(&app, &cluster).await?;
        list.push(views::cluster_summary(
            &cluster,
            &hosts,
            shown,
            &app.heartbeats,
        ));
    }
    Reply::json(StatusCode::OK, &list)
}

/// `GET /v2/clusters/{cluster_id}`.
pub async fn get(app: Shared, call: Call) -> Result<Reply, Failure> {
    let id = call.cluster_id();
    if call.args.flag(UNREGISTERED) {
        if !call.principal.is_admin() {
            return Err(Failure::infra(
                StatusCode::FORBIDDEN,
                "only administrators may read deleted clusters",
            ));
        }
        let cluster = app
            .store
            .cluster_even_deleted(id)
            .await?
            .ok_or_else(|| Error::from(Missing::Cluster(id)))?;
        let hosts = hosts_of(&app, &cluster).await?;
        return Reply::json(
            StatusCode::OK,
            &views::cluster(&cluster, &hosts, HostsShown::Full, &app.heartbeats),
        );
    }
    if call.args.flag("exclude-hosts") {
        let cluster = app.cluster(id).await?;
        let none: [Row<Host>; 0] = [];
        return Reply::json(
            StatusCode::OK,
            &views::cluster(&cluster, &none, HostsShown::Excluded, &app.heartbeats),
        );
    }
    let body = full_body(&app, id).await?;
    Ok(Reply::json_bytes(StatusCode::OK, body.plain).gzip_slot(body.gzip))
}

/// The whole cluster as JSON, from the cache if it is still true.
async fn full_body(app: &Service, id: muster_model::ClusterId) -> Result<CachedBody, Failure> {
    let revision = app
        .store
        .cluster_revision(id)
        .await?
        .ok_or_else(|| Error::from(Missing::Cluster(id)))?;
    let key = BodyKey {
        revision,
        epoch: app.heartbeats.epoch(),
    };
    if let Some(body) = app.bodies.get(id, key) {
        return Ok(body);
    }
    let cluster = app.cluster(id).await?;
    let hosts = app.store.hosts_of_cluster(id).await?;
    let view = views::cluster(&cluster, &hosts, HostsShown::Full, &app.heartbeats);
    let mut bytes = serde_json::to_vec(&view)
        .map_err(|cause| Failure::internal(format!("the cluster could not be written: {cause}")))?;
    bytes.push(b'\n');
    Ok(app.bodies.put(id, key, bytes.into()))
}

/// The answer to a changed cluster.
pub async fn changed(app: &Arc<App>, id: muster_model::ClusterId) -> Result<Reply, Failure> {
    Reply::json(StatusCode::CREATED, &whole(app, id).await?)
}

/// The answer to an action, which names no bundles: clients know it so.
pub async fn accepted(app: &Arc<App>, id: muster_model::ClusterId) -> Result<Reply, Failure> {
    let mut view = whole(app, id).await?;
    view.operator_bundles = None;
    Reply::json(StatusCode::ACCEPTED, &view)
}

async fn whole(app: &Arc<App>, id: muster_model::ClusterId) -> Result<wire::Cluster, Failure> {
    let cluster = app.cluster(id).await?;
    let hosts = app.store.hosts_of_cluster(id).await?;
    let shown = HostsShown::Full;
    Ok(views::cluster(&cluster, &hosts, shown, &app.heartbeats))
}

async fn hosts_of(app: &App, cluster: &Cluster) -> Result<Vec<Row<Host>>, Failure> {
    if cluster.deleted_at.is_some() {
        Ok(app.store.hosts_of_cluster_even_deleted(cluster.id).await?)
    } else {
        Ok(app.store.hosts_of_cluster(cluster.id).await?)
    }
}

/// `GET /v2/clusters/{cluster_id}/hosts`. An unknown cluster has no hosts; it is not an error.
pub async fn hosts(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (role, status) = (call.args.text("role"), call.args.text("status"));
    let cluster = app.store.cluster(call.cluster_id()).await?;
    let list: Vec<wire::Host> = app
        .store
        .hosts_of_cluster(call.cluster_id())
        .await?
        .iter()
        .filter(|host| role.is_none_or(|role| host.role.as_str() == role))
        .filter(|host| status.is_none_or(|status| host.status.as_str() == status))
        .map(|host| {
            let mut view = views::host(
                host,
                cluster.as_deref(),
                HostDetail::Record,
                &app.heartbeats,
            );
            if !call.args.flag("with-inventory") {
                view.inventory = None;
            }
            if !call.args.flag("with-connectivity") {
                view.connectivity = None;
            }
            view
        })
        .collect();
    Reply::json(StatusCode::OK, &list)
}

/// `GET /v2/clusters/{cluster_id}/supported-platforms`.
pub async fn supported_platforms(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    let hosts = app.store.hosts_of_cluster(cluster.id).await?;
    let enabled: Vec<&Host> = hosts
        .iter()
        .map(|row| &**row)
        .filter(|host| host.status != HostStatus::Disabled)
        .collect();
    Reply::json(
        StatusCode::OK,
        &clusters::platforms::supported_by(&cluster, &enabled),
    )
}

/// `GET /v2/clusters/default-config`.
pub async fn default_config(app: Shared, _call: Call) -> Result<Reply, Failure> {
    Reply::json(StatusCode::OK, &clusters::defaults::document(&app.config))
}

/// `GET /v2/clusters/{cluster_id}/preflight-requirements`.
pub async fn preflight_requirements(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    Reply::json(
        StatusCode::OK,
        &clusters::preflight::requirements(&app.catalog, &cluster),
    )
}
