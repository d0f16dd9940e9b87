//! Authorization: the caller, what its role allows, and the scope of its token.

use http::{HeaderMap, StatusCode, request::Parts};
use muster_api::contract::{Operation, PathParams};
use muster_app::{
    link_places::place,
    membership::{belongs, is_bound_to},
};
use muster_auth::{
    Credentials, Denied, Principal, ReadOnly, Scope, check_generation, check_place, check_role,
    check_scope, check_signing_key,
};
use muster_model::{ClusterId, HostId, InfraEnvId, Scheme, Timestamp};

use super::pool;
use crate::{http::Failure, service::Shared};

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
pub async fn authenticate(
    app: &Shared,
    operation: &Operation,
    parts: &Parts,
    query: &str,
    now: Timestamp,
) -> Result<Principal, Failure> {
    let principal = recognise(app, &operation.security, &parts.headers, query, now).await?;
    let read_only = if HANDS_OUT_SECRETS.contains(&operation.id.as_str()) {
        ReadOnly::Refused
    } else {
        ReadOnly::Admitted
    };
    check_role(&principal, operation.method().as_str(), read_only).map_err(denied)?;
    check_place(&principal, || place(&operation.id, query)).map_err(denied)?;
    Ok(principal)
}

/// Whose credentials these are.
pub async fn recognise(
    app: &Shared,
    accepted: &[Scheme],
    headers: &HeaderMap,
    query: &str,
    now: Timestamp,
) -> Result<Principal, Failure> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
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
        .authenticate(accepted, &credentials, now.unix_seconds())
        .map_err(denied)?;
    if let Some(login) = &principal.login
        && app.store.session_has_ended(&login.id).await?
    {
        return Err(denied(Denied::logged_out()));
    }
    Ok(principal)
}

/// Keeps scoped tokens inside their infra-env or cluster, and withdrawn links out.
pub async fn authorize(
    app: &Shared,
    principal: &Principal,
    operation: &Operation,
    params: &PathParams,
    query: &str,
) -> Result<(), Failure> {
    let infra_env = params
        .get("infra_env_id")
        .and_then(|text| text.parse::<InfraEnvId>().ok());
    let cluster = params
        .get("cluster_id")
        .and_then(|text| text.parse::<ClusterId>().ok());
    let host = params
        .get("host_id")
        .and_then(|text| text.parse::<HostId>().ok());
    authorize_path(app, principal, operation, infra_env, host, cluster).await?;
    pool::check(app, principal, operation, cluster, query).await
}

/// The same for ids that do not come from a path.
pub async fn authorize_ids(
    app: &Shared,
    principal: &Principal,
    operation: &Operation,
    infra_env: Option<InfraEnvId>,
    cluster: Option<ClusterId>,
) -> Result<(), Failure> {
    authorize_path(app, principal, operation, infra_env, None, cluster).await
}

async fn authorize_path(
    app: &Shared,
    principal: &Principal,
    operation: &Operation,
    infra_env: Option<InfraEnvId>,
    host: Option<HostId>,
    cluster: Option<ClusterId>,
) -> Result<(), Failure> {
    let Some(scope) = principal.scope() else {
        return Ok(());
    };
    let exists = match scope {
        Scope::InfraEnv(id) => {
            let infra_env = app.store.infra_env(id).await?;
            if let Some(infra_env) = &infra_env {
                check_signing_key(principal, &infra_env.image_token_key).map_err(denied)?;
                check_generation(principal, infra_env.agent_token_generation).map_err(denied)?;
            }
            infra_env.is_some()
        }
        Scope::Cluster(id) => app.store.cluster_even_deleted(id).await?.is_some(),
        Scope::Host { key, registration } => app
            .store
            .host(key)
            .await?
            .is_some_and(|host| host.registered_at.0 == registration),
    };
    if !exists {
        return Err(denied(Denied::resource_is_gone()));
    }
    let related = match (scope, infra_env, cluster) {
        (Scope::InfraEnv(own), _, Some(cluster)) => belongs(app, own, cluster).await?,
        (Scope::Cluster(own), Some(infra_env), _) => belongs(app, infra_env, own).await?,
        (Scope::Host { key, .. }, _, Some(cluster)) => is_bound_to(app, key, cluster).await?,
        (Scope::InfraEnv(_) | Scope::Cluster(_) | Scope::Host { .. }, _, _) => false,
    };
    check_scope(principal, infra_env, host, cluster, |_, _| related).map_err(|denial| {
        tracing::debug!(operation = %operation.id, "a token was used outside its scope");
        denied(denial)
    })
}

pub(crate) fn denied(denial: Denied) -> Failure {
    let status = StatusCode::from_u16(denial.status).unwrap_or(StatusCode::UNAUTHORIZED);
    Failure::infra(status, denial.message)
}
