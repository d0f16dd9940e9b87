//! Reading infra-envs.

use http::StatusCode;
use muster_api::error::Failure;
use muster_model::ClusterId;

use crate::{
    app::{Shared, store_failure},
    http::{Call, Reply},
    views,
};

/// `GET /v2/infra-envs`. An unknown cluster has none; it is not an error.
pub async fn list(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = call.args.uuid("cluster_id").map(ClusterId);
    let owner = call.args.text("owner").filter(|owner| !owner.is_empty());
    let infra_envs = match cluster {
        Some(id) => app.store.infra_envs_of_cluster(id).await,
        None => app.store.infra_envs().await,
    };
    let list: Vec<_> = infra_envs
        .map_err(store_failure)?
        .iter()
        .filter(|infra_env| owner.is_none_or(|owner| infra_env.user_name == owner))
        .map(|infra_env| views::infra_env(infra_env))
        .collect();
    Reply::json(StatusCode::OK, &list)
}

/// `GET /v2/infra-envs/{infra_env_id}`.
pub async fn get(app: Shared, call: Call) -> Result<Reply, Failure> {
    let infra_env = app.infra_env(call.infra_env_id()).await?;
    Reply::json(StatusCode::OK, &views::infra_env(&infra_env))
}
