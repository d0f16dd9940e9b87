//! A host's own installer arguments and Ignition.

use http::StatusCode;
use muster_api::wire;
use muster_app::{
    aggregate::Cause,
    hosts::{cluster_of, overrides},
};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
    views::{self, HostDetail},
};

/// `PATCH /v2/infra-envs/{infra_env_id}/hosts/{host_id}/installer-args`.
pub async fn update_installer_args(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let given: wire::InstallerArgsParams = call.body()?;
    let args = given.args.unwrap_or_default();
    let key = call.host_key();
    let all = overrides::set_installer_args(&app, key, &args, &Cause::from(&call)).await?;
    let host = all.host(key)?;
    let cluster = cluster_of(&app, host).await?;
    let detail = HostDetail::WithFreeAddresses;
    let view = views::host(host, cluster.as_deref(), detail, &app.heartbeats);
    Reply::json(StatusCode::CREATED, &view)
}

/// `PATCH /v2/infra-envs/{infra_env_id}/hosts/{host_id}/ignition`. An empty config removes the
/// override.
pub async fn update_ignition(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let given: wire::HostIgnitionParams = call.body()?;
    let config = given.config.filter(|text| !text.is_empty());
    let (key, cause) = (call.host_key(), Cause::from(&call));
    overrides::set_ignition(&app, key, config.as_deref(), &cause).await?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `GET /v2/infra-envs/{infra_env_id}/hosts/{host_id}/ignition`.
pub async fn ignition(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (_, bytes) = overrides::generated(&app, call.host_key()).await?;
    let config = String::from_utf8(bytes.to_vec()).map_err(|_| {
        Failure::internal("the stored Ignition config is not text; reset and install again")
    })?;
    let config = Some(config);
    Reply::json(StatusCode::OK, &wire::HostIgnitionParams { config })
}

/// `GET /v2/infra-env/{infra_env_id}/hosts/{host_id}/downloads/ignition`; "infra-env" is
/// singular in this one path.
pub async fn download_ignition(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (name, bytes) = overrides::generated(&app, call.host_key()).await?;
    Ok(Reply::file(&name, bytes))
}
