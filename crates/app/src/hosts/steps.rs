//! Polls of agents: the steps they get, and the replies they send.

use std::sync::Arc;

use bytes::Bytes;
use muster_engine::{
    Environment, HostView, Settings, StepType, heartbeat,
    replies::{self, BadReply},
    settings::BootArtifacts,
    steps::{self, Steps},
};
use muster_model::{Host, HostKey, HostStatus, InfraEnv, Secret, Timestamp};
use muster_store::Row;

use crate::{
    App, Error,
    aggregate::Cause,
    driver::Scope,
    error_chain,
    infra_envs::ipxe,
    refusals::Refusal,
    runtime::{LARGE, off_the_runtime},
    step_cache::{Instructions, StepsKey},
};

/// What an agent says when it asks for work.
#[derive(Clone, Copy, Debug)]
pub struct Poll<'a> {
    /// The clock of its machine.
    pub clock: Option<i64>,
    /// Its version.
    pub agent_version: Option<&'a str>,
}

/// A heartbeat, answered with work: the instructions as JSON, ids included.
pub async fn next(
    app: &Arc<App>,
    key: HostKey,
    poll: &Poll<'_>,
    cause: &Cause,
) -> Result<Bytes, Error> {
    let host = app.host(key).await?;
    app.heartbeats.heard(key, cause.now, poll.clock);
    note_news(app, &host, poll, cause).await?;
    let scope = host.cluster.map_or(Scope::Host(key), Scope::Cluster);
    app.driver.settle_unless_resting(app, scope).await;
    let host = app.host(key).await?;
    Ok(instructions_for(app, &host, cause).await?.with_new_ids())
}

/// Most polls say nothing new and cost no write. A host that is back, a clock that moved or
/// another version of the agent is a fact for the rules.
async fn note_news(
    app: &Arc<App>,
    host: &Host,
    poll: &Poll<'_>,
    cause: &Cause,
) -> Result<(), Error> {
    let (clock, version) = (poll.clock, poll.agent_version);
    let other_version =
        version.is_some_and(|version| host.discovery_agent_version.as_deref() != Some(version));
    if !other_version && !heartbeat::is_news(host, clock, cause.now) {
        return Ok(());
    }
    let (app, key, cause) = (Arc::clone(app), host.key(), cause.clone());
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
        .map_err(|_| Error::internal("the poll could not be recorded"))?
}

async fn instructions_for(
    app: &Arc<App>,
    host: &Row<Host>,
    cause: &Cause,
) -> Result<Arc<Instructions>, Error> {
    let infra_env = app.store.infra_env(host.infra_env).await?;
    let environment = match host.cluster {
        Some(id) => app.store.cluster_revision(id).await?.unwrap_or(0),
        None => host.version.unsigned_abs(),
    };
    let logs_due = steps::discovery_logs_due(host, app.rules.discovery_logs(), cause.now);
    let key = StepsKey {
        environment,
        infra_env: infra_env.as_ref().map_or(0, |row| row.version),
        logs_due,
    };
    if let Some(steps) = app.steps.get(host.key(), key) {
        return Ok(steps);
    }
    // The revision may stand for a change that came after the host was read; steps for the host as
    // it was must not be kept under it.
    let host = &app.host(host.key()).await?;
    let (cluster, peers) = match host.cluster {
        Some(id) => (
            app.store.cluster(id).await?,
            app.store.hosts_of_cluster(id).await?,
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
    let around = Environment {
        cluster: cluster.as_deref(),
        peers: &peers,
        infra_env: infra_env.as_deref(),
    };
    let mut settings = app.rules.of(cluster.as_deref());
    if host.status == HostStatus::Reclaiming {
        let image = infra_env
            .as_deref()
            .and_then(|infra_env| boot_artifacts(app, infra_env, cause.now));
        Arc::make_mut(&mut settings).boot_artifacts = image;
    }
    let mut steps = steps::next(host, &around, &settings);
    if logs_due {
        let logs = steps::discovery_logs(host, &around, &settings);
        steps.steps.extend(logs);
    }
    announce(app, host, &steps, settings, cause).await?;
    let written = Instructions::new(&steps)
        .map_err(|cause| Error::internal(format!("the steps could not be written: {cause}")))?;
    if host.status == HostStatus::Reclaiming {
        // The links in it expire.
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
        Err(error) => {
            tracing::warn!(infra_env = %infra_env.id, error = error_chain(&error), "no image to reclaim a node with");
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
    cause: &Cause,
) -> Result<(), Error> {
    if steps::handed_out(host, steps, &settings, cause.now).changes_nothing() {
        return Ok(());
    }
    let (app, key, cause) = (Arc::clone(app), host.key(), cause.clone());
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
        .map_err(|_| Error::internal("the steps could not be recorded"))?
}

/// Refuses an inventory that is larger than the settings allow.
pub fn check_size(app: &App, reply: &replies::StepReply) -> Result<(), Error> {
    let limit = app.config.cluster.inventory_max_size;
    if reply.step_type == StepType::Inventory && limit > 0 && reply.output.len() as u64 > limit {
        return Err(Error::invalid(format!(
            "the inventory has {} bytes, {limit} are allowed",
            reply.output.len()
        )));
    }
    Ok(())
}

/// Takes the result of a step.
pub async fn reply(
    app: &Arc<App>,
    key: HostKey,
    reply: &replies::StepReply,
    cause: &Cause,
) -> Result<(), Error> {
    let infra_env = app.store.infra_env(key.infra_env).await?;
    let change = app.change_host(key, cause, |all| {
        let settings = match &all.cluster {
            Some(cluster) => app.rules.of(Some(cluster)),
            None => app.rules.of_pool(infra_env.as_deref()),
        };
        let decision = {
            let around = Environment {
                cluster: all.cluster.as_ref(),
                peers: &[],
                infra_env: infra_env.as_deref(),
            };
            let host = all.host(key)?;
            let apply = || replies::apply(host, &around, reply, &settings, cause.now);
            match reply.output.len() > LARGE {
                true => off_the_runtime(apply),
                false => apply(),
            }
        };
        let decision = decision.map_err(|bad| {
            if matches!(bad, BadReply::TooLarge { .. }) {
                app.metrics.refused(Refusal::TooManyValues);
            }
            Error::from(bad)
        })?;
        all.needs_no_refresh = decision.needs_no_refresh;
        all.take(decision);
        Ok(())
    });
    change.await.map(drop)
}
