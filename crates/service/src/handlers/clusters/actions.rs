//! Actions on a cluster as a whole, and reports of the controller inside it.

use http::StatusCode;
use muster_api::wire;
use muster_app::{aggregate::Cause, clusters::actions};
use muster_model::FinalizingStage;

use super::read;
use crate::{
    handlers::hosts::progress::logs_state,
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `POST …/actions/install`.
pub async fn install(app: Shared, call: Call) -> Result<Reply, Failure> {
    actions::install(&app, call.cluster_id(), &Cause::from(&call)).await?;
    read::accepted(&app, call.cluster_id()).await
}

/// `POST …/actions/cancel`.
pub async fn cancel(app: Shared, call: Call) -> Result<Reply, Failure> {
    actions::cancel(&app, call.cluster_id(), &Cause::from(&call)).await?;
    read::accepted(&app, call.cluster_id()).await
}

/// `POST …/actions/reset`.
pub async fn reset(app: Shared, call: Call) -> Result<Reply, Failure> {
    actions::reset(&app, call.cluster_id(), &Cause::from(&call)).await?;
    read::accepted(&app, call.cluster_id()).await
}

/// `POST …/actions/allow-add-hosts` and its older twin `allow-add-workers`.
pub async fn allow_add_hosts(app: Shared, call: Call) -> Result<Reply, Failure> {
    actions::allow_add_hosts(&app, call.cluster_id(), &Cause::from(&call)).await?;
    read::accepted(&app, call.cluster_id()).await
}

/// `POST …/actions/complete-installation`.
pub async fn complete_installation(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::CompletionParams = call.body()?;
    let (id, cause) = (call.cluster_id(), Cause::from(&call));
    actions::report_failed_operators(&app, id, &failed_operators(&body), &cause).await?;
    read::accepted(&app, id).await
}

/// Names of the operators an unsuccessful completion lists as failed.
fn failed_operators(body: &wire::CompletionParams) -> Vec<String> {
    if body.is_success != Some(false) {
        return Vec::new();
    }
    let data = serde_json::to_value(&body.data).unwrap_or_default();
    let reports = data
        .get("CLUSTER_OPERATORS_REPORT")
        .and_then(serde_json::Value::as_array)
        .cloned()
        .unwrap_or_default();
    reports
        .iter()
        .filter(|report| {
            report.get("status").and_then(serde_json::Value::as_str) != Some("available")
        })
        .filter_map(|report| Some(report.get("name")?.as_str()?.to_owned()))
        .collect()
}

/// `PUT …/progress`.
pub async fn finalizing_progress(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::ClusterFinalizingProgress = call.body()?;
    let text = body.finalizing_stage.as_deref().unwrap_or_default();
    let stage: FinalizingStage = text
        .parse()
        .map_err(|_| Failure::bad_request(format!("finalizing_stage {text:?} is not a stage")))?;
    actions::report_finalizing(&app, call.cluster_id(), stage, &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::OK))
}

/// `PUT …/logs-progress`.
pub async fn logs_progress(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::LogsProgressParams = call.body()?;
    let state = logs_state(&body)?;
    actions::report_logs_state(&app, call.cluster_id(), state, &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `POST …/uploads/ingress-cert`.
pub async fn upload_ingress_cert(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let pem: String = call.body()?;
    actions::add_ingress_certificate(&app, call.cluster_id(), &pem, &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::CREATED))
}
