//! May this caller do this? Who it is, what its role allows, and what its token is for.

use http::{StatusCode, request::Parts};
use muster_api::{
    contract::{Operation, PathParams},
    error::Failure,
};
use muster_auth::{
    Credentials, Denied, Principal, ReadOnly, Scope, check_place, check_role, check_scope,
    check_signing_key,
};
use muster_model::{ClusterId, InfraEnvId, Timestamp};

use super::link_place::place;
use crate::app::{Shared, store_failure};

/// Reads that show secrets; users who may only look may not call them.
const HANDS_OUT_SECRETS: &[&str] = &[
    // Credentials of the cluster.
    "V2GetCredentials",
    "V2DownloadClusterCredentials",
    "V2GetPresignedForClusterCredentials",
    // Pull secrets in install-config and Ignition.
    "v2GetClusterInstallConfig",
    "V2DownloadClusterFiles",
    "V2GetPresignedForClusterFiles",
    "v2GetHostIgnition",
    "v2DownloadHostIgnition",
    // Pull secret and agent token in the discovery files, and links that lead to them.
    "v2DownloadInfraEnvFiles",
    "GetInfraEnvPresignedFileURL",
    "GetInfraEnvDownloadURL",
    "DownloadMinimalInitrd",
];

/// Whose credentials these are, and whether that role may use the operation.
pub fn authenticate(
    app: &Shared,
    operation: &Operation,
    parts: &Parts,
    query: &str,
    now: Timestamp,
) -> Result<Principal, Failure> {
    let header = |name: &str| {
        parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let (mut api_key, mut image_token) = (None, None);
    if query.contains("api_key") || query.contains("image_token") {
        for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match key.as_ref() {
                "api_key" => api_key = Some(value.into_owned()),
                "image_token" => image_token = Some(value.into_owned()),
                _ => {}
            }
        }
    }
    let credentials = Credentials {
        authorization: header("authorization"),
        secret_key: header("x-secret-key"),
        api_key: api_key.as_deref(),
        image_token_header: header("image-token"),
        image_token_query: image_token.as_deref(),
        watcher: header("watcher-authorization"),
    };
    let principal = app
        .auth
        .authenticate(&operation.security, &credentials, now.unix_seconds())
        .map_err(denied)?;
    let read_only = if HANDS_OUT_SECRETS.contains(&operation.id.as_str()) {
        ReadOnly::Refused
    } else {
        ReadOnly::Admitted
    };
    check_role(&principal, operation.method().as_str(), read_only).map_err(denied)?;
    check_place(&principal, || place(&operation.id, query)).map_err(denied)?;
    Ok(principal)
}

/// Keeps scoped tokens inside their infra-env or cluster, and withdrawn links out.
pub async fn authorize(
    app: &Shared,
    principal: &Principal,
    operation: &Operation,
    params: &PathParams,
) -> Result<(), Failure> {
    let infra_env = params
        .get("infra_env_id")
        .and_then(|text| text.parse::<InfraEnvId>().ok());
    let cluster = params
        .get("cluster_id")
        .and_then(|text| text.parse::<ClusterId>().ok());
    authorize_ids(app, principal, operation, infra_env, cluster).await
}

/// The same for ids that do not come from a path.
pub async fn authorize_ids(
    app: &Shared,
    principal: &Principal,
    operation: &Operation,
    infra_env: Option<InfraEnvId>,
    cluster: Option<ClusterId>,
) -> Result<(), Failure> {
    let Some(scope) = principal.scope() else {
        return Ok(());
    };
    let exists = match scope {
        Scope::InfraEnv(id) => {
            let infra_env = app.store.infra_env(id).await.map_err(store_failure)?;
            if let Some(infra_env) = &infra_env {
                check_signing_key(principal, &infra_env.image_token_key).map_err(denied)?;
            }
            infra_env.is_some()
        }
        Scope::Cluster(id) => app
            .store
            .cluster_even_deleted(id)
            .await
            .map_err(store_failure)?
            .is_some(),
    };
    if !exists {
        return Err(denied(Denied::resource_is_gone()));
    }
    let related = match (scope, infra_env, cluster) {
        (Scope::InfraEnv(own), _, Some(cluster)) => belongs(app, own, cluster).await?,
        (Scope::Cluster(own), Some(infra_env), _) => belongs(app, infra_env, own).await?,
        (Scope::InfraEnv(_) | Scope::Cluster(_), _, _) => false,
    };
    check_scope(principal, infra_env, cluster, |_, _| related).map_err(|denial| {
        tracing::debug!(operation = %operation.id, "a token was used outside its scope");
        denied(denial)
    })
}

/// Whether hosts of the infra-env belong to the cluster.
pub(crate) async fn belongs(
    app: &Shared,
    infra_env: InfraEnvId,
    cluster: ClusterId,
) -> Result<bool, Failure> {
    let bound = app
        .store
        .infra_env(infra_env)
        .await
        .map_err(store_failure)?
        .and_then(|row| row.cluster);
    if bound == Some(cluster) {
        return Ok(true);
    }
    let hosts = app
        .store
        .hosts_of_infra_env(infra_env)
        .await
        .map_err(store_failure)?;
    Ok(hosts.iter().any(|host| host.cluster == Some(cluster)))
}

pub(crate) fn denied(denial: Denied) -> Failure {
    let status = StatusCode::from_u16(denial.status).unwrap_or(StatusCode::UNAUTHORIZED);
    Failure::infra(status, denial.message)
}
