//! `DELETE /v2/infra-envs/{infra_env_id}`.

use http::StatusCode;
use muster_app::{aggregate::Cause, infra_envs::delete};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// Deletes an infra-env.
pub async fn deregister(app: Shared, call: Call) -> Result<Reply, Failure> {
    delete::deregister(&app, call.infra_env_id(), &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
