//! A machine says hello, or is sent away.
//!
//! Agents of the reference freeze for good on 401, 403, 404 and 409, so these are only
//! answered when they are true for good; a database that is away is 503.

use std::sync::Arc;

use http::StatusCode;
use muster_api::{error::Failure, wire};
use muster_engine::registration::{self, Answer, NewHost};
use muster_model::{
    ClusterId, Event, EventScope, Host, HostId, HostKey, ImageType, Severity, Timestamp,
};
use muster_store::{Changes, StoreError};
use serde_json::json;
use uuid::Uuid;

use crate::{
    aggregate::Cause,
    app::{App, Shared, missing_cluster, missing_host, store_failure},
    driver::Scope,
    http::{Call, Reply},
    views::{self, HostDetail},
};

/// How often a registration is decided again when others keep winning the race.
const MAX_ATTEMPTS: usize = 20;

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
    let version = body
        .discovery_agent_version
        .or_else(|| call.args.text("discovery_agent_version").map(str::to_owned));
    let (host, answer) = admit(&app, key, version.as_deref(), &Cause::from(&call)).await?;
    app.heartbeats.heard(key, call.now, None);
    app.driver
        .touch(host.cluster.map_or(Scope::Host(key), Scope::Cluster));
    Reply::json(
        StatusCode::CREATED,
        &registration_view(&app, &host, answer)?,
    )
}

/// Decides and stores; again if another replica or request was faster. That infra-env and
/// cluster were there when we looked is not enough: they must be when the host is stored, or
/// it would live on in something deleted.
async fn admit(
    app: &Arc<App>,
    key: HostKey,
    agent_version: Option<&str>,
    cause: &Cause,
) -> Result<(Host, Answer), Failure> {
    for _ in 0..MAX_ATTEMPTS {
        let infra_env = app.infra_env(key.infra_env).await?;
        if infra_env.image_type == ImageType::DisconnectedIso {
            return Err(Failure::bad_request(
                "hosts of a disconnected image register with their own service, not with this one",
            ));
        }
        let existing = app.store.host(key).await.map_err(store_failure)?;
        let cluster_id = infra_env
            .cluster
            .or_else(|| existing.as_ref().and_then(|host| host.cluster));
        let cluster = match cluster_id {
            Some(id) => Some(
                app.store
                    .cluster(id)
                    .await
                    .map_err(store_failure)?
                    .ok_or_else(|| missing_cluster(id))?,
            ),
            None => None,
        };
        let new = NewHost {
            key,
            cluster: cluster.as_deref(),
            agent_version,
            user_name: &infra_env.user_name,
        };
        let mut changes = Changes::default();
        let decided = registration::register(existing.as_deref(), &new, cause.now);
        let (events, outcome) = match decided {
            Ok(registered) => {
                let mut host = registered.host;
                host.updated_at = cause.now;
                match &existing {
                    Some(seen) => changes.update_host(seen, host.clone()),
                    None => changes.insert_host(host.clone()),
                };
                changes.require_infra_env(key.infra_env);
                if let Some(id) = host.cluster {
                    changes.require_live_cluster(id);
                }
                (registered.events, Ok((host, registered.answer)))
            }
            Err(refused) => {
                let status = StatusCode::from_u16(refused.code.http_status())
                    .unwrap_or(StatusCode::CONFLICT);
                (refused.events, Err(Failure::api(status, refused.reason)))
            }
        };
        for mut event in events {
            event.request_id.clone_from(&cause.request_id);
            changes.event(event);
        }
        match app.commit(changes).await {
            Ok(()) => return outcome,
            // What is gone is not found on the next round, which answers for it.
            Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => {}
            Err(other) => return Err(store_failure(other)),
        }
    }
    // 503, not 409: an agent would never come back from a 409.
    Err(Failure::api(
        StatusCode::SERVICE_UNAVAILABLE,
        "too many others are registering this host; retry in a moment",
    ))
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
    let key = call.host_key();
    let cause = Cause::from(&call);
    for _ in 0..MAX_ATTEMPTS {
        let host = app.host(key).await?;
        let mut changes = Changes::default();
        let mut gone = host.value.as_ref().clone();
        gone.deleted_at = Some(cause.now);
        gone.updated_at = cause.now;
        changes.update_host(&host, gone);
        changes.event(deregistered(&host, &cause));
        match app.commit(changes).await {
            Ok(()) => {
                left(&app, key, host.cluster);
                return Ok(Reply::empty(StatusCode::NO_CONTENT));
            }
            Err(StoreError::Conflict { .. }) => {}
            Err(StoreError::Missing { .. }) => return Err(missing_host(key)),
            Err(other) => return Err(store_failure(other)),
        }
    }
    Err(Failure::conflict(
        "the host keeps changing; retry in a moment",
    ))
}

/// The event of a deleted host.
pub fn deregistered(host: &Host, cause: &Cause) -> Event {
    let scope = EventScope {
        cluster: host.cluster,
        host: Some(host.id),
        infra_env: Some(host.infra_env),
    };
    let name = muster_engine::inventory::hostname(host);
    let mut event = Event::new(
        "host_deregistered",
        Severity::Info,
        scope,
        cause.now,
        format!("Host {name}: deregistered"),
    );
    event.request_id.clone_from(&cause.request_id);
    event
}

/// A host is gone: forget its heartbeat, look at its cluster again.
pub fn left(app: &App, key: HostKey, cluster: Option<ClusterId>) {
    app.heartbeats.forget(key);
    app.steps.forget(key);
    app.driver.forget(Scope::Host(key));
    if let Some(cluster) = cluster {
        app.driver.touch(Scope::Cluster(cluster));
    }
}
