//! `PATCH /v2/infra-envs/{infra_env_id}`.

use http::StatusCode;
use muster_api::wire;
use muster_app::{aggregate::Cause, infra_envs::update::update as update_infra_env};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
    views,
};

/// Changes the settings of an infra-env.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let given: wire::InfraEnvUpdateParams = call.body()?;
    let (id, cause) = (call.infra_env_id(), Cause::from(&call));
    let infra_env = update_infra_env(&app, id, &given, &cause).await?;
    Reply::json(StatusCode::CREATED, &views::infra_env(&infra_env))
}
