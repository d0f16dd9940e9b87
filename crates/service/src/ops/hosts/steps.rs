//! The agent's conversation: what shall I do, and what came of it.

use std::sync::Arc;

use http::StatusCode;
use muster_api::{error::Failure, wire};
use muster_engine::{
    HostView, Settings, StepType, Surroundings, heartbeat, replies,
    settings::BootArtifacts,
    steps::{self, Steps},
};
use muster_model::{Host, HostStatus, InfraEnv, Secret, Timestamp};
use muster_store::Row;

use crate::{
    aggregate::Cause,
    app::{App, Shared, store_failure},
    driver::Scope,
    http::{Call, Reply},
    ops::infra_envs::ipxe,
    steps::{Instructions, StepsKey},
};

/// `GET …/instructions`: a heartbeat, answered with work.
pub async fn next(app: Shared, call: Call) -> Result<Reply, Failure> {
    let key = call.host_key();
    let host = app.host(key).await?;
    let clock = call.args.int("timestamp");
    app.heartbeats.heard(key, call.now, clock);
    note_news(&app, &host, clock, &call).await?;
    let scope = host.cluster.map_or(Scope::Host(key), Scope::Cluster);
    app.driver.settle_unless_resting(&app, scope).await;
    let host = app.host(key).await?;
    Ok(Reply::json_bytes(
        StatusCode::OK,
        instructions_for(&app, &host, &call).await?.with_new_ids(),
    ))
}

/// Most polls say nothing new and cost no write. A host that is back, a clock that moved or
/// another version of the agent is a fact for the rules.
async fn note_news(
    app: &Arc<App>,
    host: &Host,
    clock: Option<i64>,
    call: &Call,
) -> Result<(), Failure> {
    let version = call
        .args
        .text("discovery_agent_version")
        .filter(|text| !text.is_empty());
    let other_version =
        version.is_some_and(|version| host.discovery_agent_version.as_deref() != Some(version));
    if !other_version && !heartbeat::is_news(host, clock, call.now) {
        return Ok(());
    }
    let (app, key, cause) = (Arc::clone(app), host.key(), Cause::from(call));
    let version = version.map(str::to_owned);
    // On a task of its own: reads end with their client, and this is a write.
    let stored = tokio::spawn(async move {
        app.change_host(key, &cause, |all| {
            let host = all.host_mut(key)?;
            host.checked_in_at = cause.now;
            host.agent_clock = clock.or(host.agent_clock);
            if let Some(version) = &version {
                host.discovery_agent_version = Some(version.clone());
            }
            Ok(())
        })
        .await
        .map(|_| ())
    });
    stored
        .await
        .map_err(|_| Failure::internal("the poll could not be recorded"))?
}

async fn instructions_for(
    app: &Arc<App>,
    host: &Row<Host>,
    call: &Call,
) -> Result<Arc<Instructions>, Failure> {
    let infra_env = app
        .store
        .infra_env(host.infra_env)
        .await
        .map_err(store_failure)?;
    let surroundings = match host.cluster {
        Some(id) => app
            .store
            .cluster_revision(id)
            .await
            .map_err(store_failure)?
            .unwrap_or(0),
        None => host.version.unsigned_abs(),
    };
    let key = StepsKey {
        surroundings,
        infra_env: infra_env.as_ref().map_or(0, |row| row.version),
    };
    if let Some(steps) = app.steps.get(host.key(), key) {
        return Ok(steps);
    }
    // The revision may tell of a change that came after the host was read; steps for the host as
    // it was must not be kept under it.
    let host = &app.host(host.key()).await?;
    let (cluster, peers) = match host.cluster {
        Some(id) => (
            app.store.cluster(id).await.map_err(store_failure)?,
            app.store
                .hosts_of_cluster(id)
                .await
                .map_err(store_failure)?,
        ),
        None => (None, Vec::new()),
    };
    let peers: Vec<HostView<'_>> = peers
        .iter()
        .map(|peer| HostView {
            host: peer,
            last_seen: app.heartbeats.last_seen(peer),
        })
        .collect();
    let around = Surroundings {
        cluster: cluster.as_deref(),
        peers: &peers,
        infra_env: infra_env.as_deref(),
    };
    let mut settings = app.rules.of(cluster.as_deref());
    if host.status == HostStatus::Reclaiming {
        let image = infra_env
            .as_deref()
            .and_then(|infra_env| boot_artifacts(app, infra_env, call.now));
        Arc::make_mut(&mut settings).boot_artifacts = image;
    }
    let steps = steps::next(host, &around, &settings);
    announce(app, host, &steps, settings, call).await?;
    let written = Instructions::new(&steps)
        .map_err(|cause| Failure::internal(format!("the steps could not be written: {cause}")))?;
    if host.status == HostStatus::Reclaiming {
        // The links in it are good for a while only.
        return Ok(Arc::new(written));
    }
    Ok(app.steps.put(host.key(), key, written))
}

/// The discovery image for a node that leaves its cluster; without one the step has to wait.
fn boot_artifacts(app: &App, infra_env: &InfraEnv, now: Timestamp) -> Option<BootArtifacts> {
    match ipxe::artifacts(app, infra_env, now) {
        Ok(found) => Some(BootArtifacts {
            kernel: found.kernel,
            initrd: Secret::new(found.initrd),
            rootfs: found.rootfs,
        }),
        Err(failure) => {
            tracing::warn!(infra_env = %infra_env.id, reason = %failure.reason, "no image to reclaim a node with");
            None
        }
    }
}

/// Some steps are news when they are handed out for the first time.
async fn announce(
    app: &Arc<App>,
    host: &Row<Host>,
    steps: &Steps,
    settings: Arc<Settings>,
    call: &Call,
) -> Result<(), Failure> {
    if steps::handed_out(host, steps, &settings, call.now).changes_nothing() {
        return Ok(());
    }
    let (app, key, cause) = (Arc::clone(app), host.key(), Cause::from(call));
    let steps = steps.clone();
    // On a task of its own: reads end with their client, and this is a write.
    let stored = tokio::spawn(async move {
        app.change_host(key, &cause, |all| {
            let decision = steps::handed_out(all.host(key)?, &steps, &settings, cause.now);
            all.take(decision);
            Ok(())
        })
        .await
        .map(|_| ())
    });
    stored
        .await
        .map_err(|_| Failure::internal("the steps could not be recorded"))?
}

/// `POST …/instructions`: the result of a step. A step that failed is told with 204 too: the
/// agent did its duty.
pub async fn reply(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::StepReply = call.body()?;
    let key = call.host_key();
    let host = app.host(key).await?;
    let step_type = match body.step_type.as_deref() {
        // Old agents leave it out of what nobody reads.
        None | Some("") => return Ok(Reply::empty(StatusCode::NO_CONTENT)),
        Some(text) => text
            .parse::<StepType>()
            .map_err(|unknown| Failure::bad_request(unknown.to_string()))?,
    };
    let reply = replies::StepReply {
        step_type,
        exit_code: body.exit_code.unwrap_or(0),
        output: body.output.unwrap_or_default(),
        error: body.error.unwrap_or_default(),
    };
    let limit = app.config.cluster.inventory_max_size;
    if step_type == StepType::Inventory && limit > 0 && reply.output.len() as u64 > limit {
        return Err(Failure::bad_request(format!(
            "the inventory has {} bytes, {limit} are allowed",
            reply.output.len()
        )));
    }
    let infra_env = app
        .store
        .infra_env(key.infra_env)
        .await
        .map_err(store_failure)?;
    drop(host);
    let cause = Cause::from(&call);
    let change = app.change_host(key, &cause, |all| {
        let settings = match &all.cluster {
            Some(cluster) => app.rules.of(Some(cluster)),
            None => app.rules.of_pool(infra_env.as_deref()),
        };
        let decision = {
            let around = Surroundings {
                cluster: all.cluster.as_ref(),
                peers: &[],
                infra_env: infra_env.as_deref(),
            };
            replies::apply(all.host(key)?, &around, &reply, &settings, cause.now)
        };
        match decision {
            Ok(decision) => {
                all.needs_no_refresh = decision.needs_no_refresh;
                let measured = decision.measured.clone();
                all.take(decision);
                Ok(measured)
            }
            Err(bad) => {
                let status =
                    StatusCode::from_u16(bad.http_status()).unwrap_or(StatusCode::BAD_REQUEST);
                Err(Failure::api(status, bad.to_string()))
            }
        }
    });
    let (measured, _) = change.await?;
    for figure in &measured {
        app.metrics.measured(figure);
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
