//! Small facts kept beside a cluster: which validations it ignores, and what its web page
//! remembers.

use http::StatusCode;
use muster_api::wire;
use muster_app::{aggregate::Cause, clusters::settings};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `GET /v2/clusters/{cluster_id}/ignored-validations`.
pub async fn ignored_validations(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    Reply::json(StatusCode::OK, &settings::ignored(&cluster))
}

/// `PUT /v2/clusters/{cluster_id}/ignored-validations`.
pub async fn set_ignored_validations(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let wanted: wire::IgnoredValidations = call.body()?;
    let (id, cause) = (call.cluster_id(), Cause::from(&call));
    let shown = settings::ignore_validations(&app, id, wanted, &cause).await?;
    Reply::json(StatusCode::CREATED, &shown)
}

/// `GET /v2/clusters/{cluster_id}/ui-settings`.
pub async fn ui_settings(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    Reply::json(StatusCode::OK, &cluster.ui_settings)
}

/// `PUT /v2/clusters/{cluster_id}/ui-settings`.
pub async fn set_ui_settings(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let text = call.body::<Option<String>>()?.unwrap_or_default();
    settings::set_ui_settings(&app, call.cluster_id(), &text, &Cause::from(&call)).await?;
    Reply::json(StatusCode::OK, &text)
}
