//! Reading infra-envs.

use http::StatusCode;
use muster_api::wire;
use muster_auth::Role;
use muster_model::{ClusterId, InfraEnv};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
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
    let list: Vec<_> = infra_envs?
        .iter()
        .filter(|infra_env| owner.is_none_or(|owner| infra_env.user_name == owner))
        .map(|infra_env| shown(&call, infra_env))
        .collect();
    Reply::json(StatusCode::OK, &list)
}

/// `GET /v2/infra-envs/{infra_env_id}`.
pub async fn get(app: Shared, call: Call) -> Result<Reply, Failure> {
    let infra_env = app.infra_env(call.infra_env_id()).await?;
    Reply::json(StatusCode::OK, &shown(&call, &infra_env))
}

/// Users who may only look do not see the link to the image: it carries secrets.
fn shown(call: &Call, infra_env: &InfraEnv) -> wire::InfraEnv {
    let mut view = views::infra_env(infra_env);
    if call.principal.role == Role::ReadOnly {
        view.download_url = None;
    }
    view
}
