//! Registration of a machine.

use http::{HeaderName, StatusCode};
use muster_api::wire;
use muster_app::{App, aggregate::Cause, hosts::register as registration};
use muster_auth::{Denied, Scope as TokenScope};
use muster_engine::registration::Answer;
use muster_model::{Host, HostId, HostKey, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::{
    http::{Call, Failure, Reply, admission::denied},
    service::Shared,
    views::{self, HostDetail},
};

/// Carries the token of a machine to its agent; the reference's agents do not look at it.
const HOST_TOKEN: HeaderName = HeaderName::from_static("x-host-token");

/// `POST /v2/infra-envs/{infra_env_id}/hosts`.
pub async fn register(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::HostCreateParams = call.body()?;
    let id = body.host_id.as_deref().unwrap_or_default();
    let host = Uuid::parse_str(id)
        .map_err(|_| Failure::bad_request(format!("host_id {id:?} is not a UUID")))?;
    let key = HostKey {
        infra_env: call.infra_env_id(),
        host: HostId(host),
    };
    let own = match call.principal.scope() {
        Some(TokenScope::Host { key: own, .. }) => {
            if own != key {
                return Err(denied(Denied::not_found()));
            }
            true
        }
        Some(TokenScope::InfraEnv(_) | TokenScope::Cluster(_)) | None => false,
    };
    let version = body
        .discovery_agent_version
        .or_else(|| call.args.text("discovery_agent_version").map(str::to_owned));
    let cause = Cause::from(&call);
    let (host, answer) =
        registration::register(&app, key, call.peer, version.as_deref(), &cause).await?;
    let view = registration_view(&app, &host, answer)?;
    let reply = Reply::json(StatusCode::CREATED, &view)?;
    Ok(match registration::host_token(&app, &host, own).await? {
        Some(token) => reply.header(HOST_TOKEN, token),
        None => reply,
    })
}

/// The answer: the host, and what its agent needs to start polling. A host seen for the first
/// time shows no creation time yet, one that came back shows no state; clients know both.
fn registration_view(
    app: &App,
    host: &Host,
    answer: Answer,
) -> Result<wire::HostRegistrationResponse, Failure> {
    let mut view = views::host(host, None, HostDetail::Full, &app.heartbeats);
    view.progress = None;
    match answer {
        Answer::New => {
            view.created_at = Some(Timestamp::ZERO_PRECISE.to_owned());
            view.updated_at = Some(Timestamp::ZERO_PRECISE.to_owned());
        }
        Answer::Again => {
            view.status = None;
            view.status_info = None;
            view.status_updated_at = Some(Timestamp::ZERO_MILLIS.to_owned());
        }
    }
    let runner = json!({
        "agent_version": app.config.images.agent,
        "host_id": host.id,
        "infra_env_id": host.infra_env,
    });
    let value = serde_json::to_value(view)
        .and_then(serde_json::from_value::<wire::HostRegistrationResponse>);
    let mut response = value
        .map_err(|cause| Failure::internal(format!("the host could not be written: {cause}")))?;
    response.next_step_runner_command = Some(wire::HostRegistrationResponseNextStepRunnerCommand {
        args: Some(vec![runner.to_string()]),
        ..Default::default()
    });
    Ok(response)
}

/// `DELETE /v2/infra-envs/{infra_env_id}/hosts/{host_id}`.
pub async fn deregister(app: Shared, call: Call) -> Result<Reply, Failure> {
    registration::deregister(&app, call.host_key(), &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
