//! Reading hosts.

use http::StatusCode;
use muster_app::{driver::Scope, hosts};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
    views::{self, HostDetail},
};

/// `GET /v2/infra-envs/{infra_env_id}/hosts`.
pub async fn list(app: Shared, call: Call) -> Result<Reply, Failure> {
    let infra_env = app.infra_env(call.infra_env_id()).await?;
    let seen = app.store.hosts_of_infra_env(infra_env.id).await?;
    let mut scopes: Vec<Scope> = Vec::new();
    for host in &seen {
        let scope = host.cluster.map_or(Scope::Host(host.key()), Scope::Cluster);
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    for scope in scopes {
        app.driver.settle(&app, scope).await;
    }
    let found = app.store.hosts_of_infra_env(infra_env.id).await?;
    // Stages are those of a multi-node cluster here, whatever the cluster: no look-up per host.
    let list: Vec<_> = found
        .iter()
        .map(|host| views::host(host, None, HostDetail::Full, &app.heartbeats))
        .collect();
    Reply::json(StatusCode::OK, &list)
}

/// `GET /v2/infra-envs/{infra_env_id}/hosts/{host_id}`.
pub async fn get(app: Shared, call: Call) -> Result<Reply, Failure> {
    let key = call.host_key();
    let seen = app.host(key).await?;
    let scope = seen.cluster.map_or(Scope::Host(key), Scope::Cluster);
    app.driver.settle(&app, scope).await;
    let host = app.host(key).await?;
    let cluster = hosts::cluster_of(&app, &host).await?;
    let view = views::host(&host, cluster.as_deref(), HostDetail::Full, &app.heartbeats);
    Reply::json(StatusCode::OK, &view)
}
