//! Which hosts and infra-envs belong to which cluster.

use muster_model::{ClusterId, HostKey, InfraEnvId};

use super::{App, Error};

/// Whether this one host belongs to the cluster now.
pub async fn is_bound_to(app: &App, key: HostKey, cluster: ClusterId) -> Result<bool, Error> {
    let host = app.store.host(key).await?;
    Ok(host.is_some_and(|host| host.cluster == Some(cluster)))
}

/// Whether hosts of the infra-env belong to the cluster.
pub async fn belongs(app: &App, infra_env: InfraEnvId, cluster: ClusterId) -> Result<bool, Error> {
    let bound = app
        .store
        .infra_env(infra_env)
        .await?
        .and_then(|row| row.cluster);
    if bound == Some(cluster) {
        return Ok(true);
    }
    let hosts = app.store.hosts_of_infra_env(infra_env).await?;
    Ok(hosts.iter().any(|host| host.cluster == Some(cluster)))
}
