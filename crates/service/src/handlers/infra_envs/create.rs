//! `POST /v2/infra-envs`.

use http::StatusCode;
use muster_api::wire;
use muster_app::{aggregate::Cause, infra_envs::create};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
    views,
};

/// Registers an infra-env.
pub async fn register(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let given: wire::InfraEnvCreateParams = call.body()?;
    let user = &call.principal.name;
    let infra_env = create::register(&app, given, user, &Cause::from(&call)).await?;
    Reply::json(StatusCode::CREATED, &views::infra_env(&infra_env))
}
