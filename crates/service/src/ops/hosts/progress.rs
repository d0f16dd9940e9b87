//! How far a host's installation and its log collection have come, as the host reports it.

use http::StatusCode;
use muster_api::{error::Failure, wire};
use muster_engine::progress::{self, StageReport};
use muster_model::{HostStage, LogsState};

use crate::{
    aggregate::Cause,
    app::Shared,
    http::{Call, Reply},
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
    let key = call.host_key();
    let cause = Cause::from(&call);
    app.change_host_in_context(key, &cause, |all| {
        let result = {
            let view = if all.cluster.is_some() {
                Some(all.view(&app.heartbeats)?)
            } else {
                None
            };
            progress::report_host(
                all.host(key)?,
                view.as_ref(),
                &report,
                &app.rules.of(all.cluster.as_ref()),
                cause.now,
            )
        };
        all.settle_with(result)
    })
    .await?;
    Ok(Reply::empty(StatusCode::OK))
}

/// `PUT /v2/infra-envs/{infra_env_id}/hosts/{host_id}/logs-progress`.
pub async fn logs(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::LogsProgressParams = call.body()?;
    let state = logs_state(&body)?;
    let key = call.host_key();
    let cause = Cause::from(&call);
    app.change_host(key, &cause, |all| {
        let host = all.host_mut(key)?;
        host.logs_info = Some(state);
        if state == LogsState::Requested {
            host.logs_started_at = Some(cause.now);
        }
        Ok(())
    })
    .await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// The state a logs-progress body names.
pub fn logs_state(body: &wire::LogsProgressParams) -> Result<LogsState, Failure> {
    let text = body.logs_state.as_deref().unwrap_or_default();
    text.parse()
        .map_err(|unknown: muster_model::names::UnknownName| {
            Failure::bad_request(unknown.to_string())
        })
}
