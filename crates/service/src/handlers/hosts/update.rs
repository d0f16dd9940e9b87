//! `PATCH /v2/infra-envs/{infra_env_id}/hosts/{host_id}`.

use http::StatusCode;
use muster_api::wire;
use muster_app::{aggregate::Cause, hosts::update::update as update_host};

use super::actions::shown;
use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// Changes a host.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let given: wire::HostUpdateParams = call.body()?;
    let key = call.host_key();
    let all = update_host(&app, key, &given, &Cause::from(&call)).await?;
    shown(&app, &all, key, StatusCode::CREATED)
}
