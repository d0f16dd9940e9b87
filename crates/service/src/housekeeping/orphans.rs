//! Deletes infra-envs that lead nowhere: untouched for long, and without a live cluster.
//!
//! Their hosts go with them, unless one is in a live cluster or still checks in: then somebody
//! needs the place it reports to.

use muster_api::error::Failure;
use muster_model::{Host, InfraEnv, Severity, Timestamp};
use muster_store::{Changes, Row, StoreError};
use tracing::warn;

use crate::{
    aggregate::Cause,
    app::{Shared, store_failure},
    ops::{
        hosts::register::{deregistered, left},
        infra_envs::change::event,
    },
};

/// Deletes what leads nowhere; returns how many.
pub async fn sweep(app: &Shared, now: Timestamp) -> Result<usize, Failure> {
    let rules = &app.config.housekeeping;
    let mut deleted = 0;
    for infra_env in app.store.infra_envs().await.map_err(store_failure)? {
        if deleted == super::most(rules.max_infra_envs_per_round) {
            break;
        }
        if now.since(infra_env.updated_at) <= rules.infra_env_inactive_after {
            continue;
        }
        match delete(app, &infra_env, now).await {
            Ok(true) => deleted += 1,
            Ok(false) => {}
            Err(failure) => {
                warn!(infra_env = %infra_env.id, reason = %failure.reason, "an orphaned infra-env could not be deleted");
            }
        }
    }
    Ok(deleted)
}

/// False if it is needed after all.
async fn delete(app: &Shared, infra_env: &Row<InfraEnv>, now: Timestamp) -> Result<bool, Failure> {
    let live = |id| async move {
        let found = app.store.cluster(id).await.map_err(store_failure)?;
        Ok::<_, Failure>(found.is_some())
    };
    if let Some(cluster) = infra_env.cluster
        && live(cluster).await?
    {
        return Ok(false);
    }
    let hosts = app.store.hosts_of_infra_env(infra_env.id).await;
    let hosts = hosts.map_err(store_failure)?;
    let patience = app.config.housekeeping.infra_env_inactive_after;
    for host in &hosts {
        let active = app.heartbeats.last_seen(host).max(host.updated_at);
        let bound = match host.cluster {
            Some(cluster) => live(cluster).await?,
            None => false,
        };
        if bound || now.since(active) <= patience {
            return Ok(false);
        }
    }
    match app.commit(removal(infra_env, &hosts, now)).await {
        Ok(()) => {
            for host in &hosts {
                left(app, host.key(), None);
            }
            Ok(true)
        }
        // Somebody came to life or was faster; the next round looks again.
        Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => Ok(false),
        Err(other) => Err(store_failure(other)),
    }
}

fn removal(infra_env: &Row<InfraEnv>, hosts: &[Row<Host>], now: Timestamp) -> Changes {
    let cause = Cause {
        now,
        request_id: None,
    };
    let mut changes = Changes::new();
    for host in hosts {
        let mut gone = host.value.as_ref().clone();
        gone.deleted_at = Some(now);
        gone.updated_at = now;
        changes.update_host(host, gone);
        changes.event(deregistered(host, &cause));
    }
    let text = format!(
        "infra-env {} was deleted: it belongs to no cluster and nothing has happened to it since {}",
        infra_env.name,
        infra_env.updated_at.millis()
    );
    let told = event(
        "infra_env_deregistered",
        Severity::Info,
        infra_env.id,
        now,
        text,
    );
    // Written once more before it goes: then somebody who changes it at this moment wins.
    changes
        .update_infra_env(infra_env, infra_env.value.as_ref().clone())
        .delete_infra_env(infra_env.id)
        .event(told);
    changes
}
