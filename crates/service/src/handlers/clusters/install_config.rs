//! The install-config of a cluster and its overrides.

use http::StatusCode;
use muster_app::{aggregate::Cause, clusters::install_config};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `GET /v2/clusters/{cluster_id}/install-config`: JSON text in a JSON string, with the pull
/// secret, as its readers expect.
pub async fn get(app: Shared, call: Call) -> Result<Reply, Failure> {
    let config = install_config::of_installed_here(&app, call.cluster_id()).await?;
    Reply::json(StatusCode::OK, &config.to_string())
}

/// `PATCH /v2/clusters/{cluster_id}/install-config`: replaces all overrides.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let text = call.body::<Option<String>>()?.unwrap_or_default();
    let (id, cause) = (call.cluster_id(), Cause::from(&call));
    install_config::set_overrides(&app, id, &text, &cause).await?;
    Ok(Reply::empty(StatusCode::CREATED))
}
