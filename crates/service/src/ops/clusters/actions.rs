//! What is done with a cluster as a whole: install, cancel, reset, open for more hosts; and
//! what the controller inside it reports.

use std::sync::Arc;

use http::StatusCode;
use muster_api::{error::Failure, wire};
use muster_engine::{
    ClusterView, Decision, Refused, cancel as cancellation, install as installation, progress,
    reset as resetting,
};
use muster_model::{
    ClusterId, ClusterStatus, Event, EventScope, FinalizingStage, LogsState, Severity,
};

use super::read;
use crate::{
    aggregate::Cause,
    app::{App, Shared},
    http::{Call, Reply},
    ops::{files, hosts::progress::logs_state},
};

/// Runs a rule of the engine on the cluster and stores what it decides.
async fn decide(
    app: &Arc<App>,
    id: ClusterId,
    cause: &Cause,
    rule: impl Fn(&ClusterView<'_>) -> Result<Decision, Refused>,
) -> Result<(), Failure> {
    app.change_cluster(id, cause, |all| {
        let result = rule(&all.view(&app.heartbeats)?);
        all.settle_with(result)
    })
    .await
    .map(|_| ())
}

/// `POST …/actions/install`.
pub async fn install(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (id, cause) = (call.cluster_id(), Cause::from(&call));
    decide(&app, id, &cause, |view| {
        installation::start(view, &app.rules.of(Some(view.cluster)), cause.now)
    })
    .await?;
    app.metrics.installations_started.inc();
    read::accepted(&app, id).await
}

/// `POST …/actions/cancel`.
pub async fn cancel(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (id, cause) = (call.cluster_id(), Cause::from(&call));
    decide(&app, id, &cause, |view| {
        cancellation::cancel(view, cause.now)
    })
    .await?;
    read::accepted(&app, id).await
}

/// `POST …/actions/reset`.
pub async fn reset(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (id, cause) = (call.cluster_id(), Cause::from(&call));
    decide(&app, id, &cause, |view| resetting::reset(view, cause.now)).await?;
    read::accepted(&app, id).await
}

/// `POST …/actions/allow-add-hosts` and its older twin `allow-add-workers`.
pub async fn allow_add_hosts(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (id, cause) = (call.cluster_id(), Cause::from(&call));
    decide(&app, id, &cause, |view| {
        installation::allow_add_hosts(view, cause.now)
    })
    .await?;
    read::accepted(&app, id).await
}

/// `POST …/actions/complete-installation`: completes nothing (the rules decide that), but
/// keeps the report of failed operators an older controller may send with it.
pub async fn complete_installation(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::CompletionParams = call.body()?;
    let (id, cause) = (call.cluster_id(), Cause::from(&call));
    let failed = failed_operators(&body);
    app.change_cluster(id, &cause, |all| {
        if !failed.is_empty() {
            let scope = EventScope {
                cluster: Some(id),
                ..EventScope::default()
            };
            let message = format!("Operators that failed: {}", failed.join(", "));
            all.events.push(Event::new(
                "cluster_operator_report",
                Severity::Info,
                scope,
                cause.now,
                message,
            ));
        }
        Ok(())
    })
    .await?;
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
    let cause = Cause::from(&call);
    decide(&app, call.cluster_id(), &cause, |view| {
        progress::report_finalizing(view, stage, cause.now)
    })
    .await?;
    Ok(Reply::empty(StatusCode::OK))
}

/// `PUT …/logs-progress`.
pub async fn logs_progress(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::LogsProgressParams = call.body()?;
    let state = logs_state(&body)?;
    let cause = Cause::from(&call);
    app.change_cluster(call.cluster_id(), &cause, |all| {
        let cluster = all.cluster_mut()?;
        cluster.logs_info = Some(state);
        if state == LogsState::Requested {
            cluster.controller_logs_started_at = Some(cause.now);
        }
        Ok(())
    })
    .await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `POST …/uploads/ingress-cert`: the kubeconfig is finished before the fact is stored, so a
/// repeated upload after a crash in between simply does it again.
pub async fn upload_ingress_cert(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let pem: String = call.body()?;
    let (id, cause) = (call.cluster_id(), Cause::from(&call));
    let cluster = app.cluster(id).await?;
    if !matches!(
        cluster.status,
        ClusterStatus::Finalizing | ClusterStatus::Installed
    ) {
        return Err(Failure::bad_request(format!(
            "cluster {} is {}; the ingress certificate is taken while it is finalizing",
            cluster.name, cluster.status
        )));
    }
    files::finish_kubeconfig(&app, id, &pem).await?;
    decide(&app, id, &cause, |view| {
        installation::kubeconfig_uploaded(view, cause.now)
    })
    .await?;
    Ok(Reply::empty(StatusCode::CREATED))
}
