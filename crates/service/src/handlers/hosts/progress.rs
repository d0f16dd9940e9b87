//! Progress of a host's installation and of its log collection, as the host reports it.

use http::StatusCode;
use muster_api::wire;
use muster_app::{aggregate::Cause, hosts::progress};
use muster_engine::progress::StageReport;
use muster_model::{HostStage, LogsState, names::UnknownName};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `PUT /v2/infra-envs/{infra_env_id}/hosts/{host_id}/progress`.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::HostProgress = call.body()?;
    let stage = match body.current_stage.as_deref() {
        None | Some("") => None,
        Some(text) => Some(
            text.parse::<HostStage>()
                .map_err(|unknown| Failure::bad_request(unknown.to_string()))?,
        ),
    };
    let report = StageReport {
        stage,
        info: body.progress_info.unwrap_or_default(),
    };
    progress::report_stage(&app, call.host_key(), &report, &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::OK))
}

/// `PUT /v2/infra-envs/{infra_env_id}/hosts/{host_id}/logs-progress`.
pub async fn logs(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::LogsProgressParams = call.body()?;
    let state = logs_state(&body)?;
    progress::report_logs_state(&app, call.host_key(), state, &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// The state a logs-progress body names.
pub fn logs_state(body: &wire::LogsProgressParams) -> Result<LogsState, Failure> {
    let text = body.logs_state.as_deref().unwrap_or_default();
    text.parse()
        .map_err(|unknown: UnknownName| Failure::bad_request(unknown.to_string()))
}
