//! Deletes infra-envs that lead nowhere, if that is switched on: untouched for long, and without
//! a live cluster.
//!
//! Their hosts go with them, unless one is in a live cluster, still checks in or is installed:
//! then the place it reports to is needed.

use muster_model::{Host, InfraEnv, InfraEnvId, Severity, Timestamp};
use muster_store::{Changes, Row, StoreError};
use tracing::warn;

use super::{
    announce,
    clock::Moment,
    is_installed,
    notices::{NoticeState, Notices},
};
use crate::{
    Error, Shared,
    aggregate::Cause,
    error_chain,
    hosts::register::{deregistered, left},
    infra_envs::change::event,
};

/// Deletes what leads nowhere; returns how many.
pub async fn sweep(
    app: &Shared,
    moment: Moment,
    notices: &Notices<InfraEnvId>,
) -> Result<usize, Error> {
    let rules = &app.config.housekeeping;
    let mut deleted = 0;
    for infra_env in app.store.infra_envs().await? {
        if deleted == super::most(rules.max_infra_envs_per_round) {
            break;
        }
        if moment.now.since(infra_env.updated_at) <= rules.infra_env_inactive_after {
            continue;
        }
        match delete(app, &infra_env, &moment, notices).await {
            Ok(true) => deleted += 1,
            Ok(false) => {}
            Err(error) => {
                warn!(infra_env = %infra_env.id, error = error_chain(&error), "an orphaned infra-env could not be deleted");
            }
        }
    }
    Ok(deleted)
}

/// Announces the deletion, or carries it out; false if it is still there.
async fn delete(
    app: &Shared,
    infra_env: &Row<InfraEnv>,
    moment: &Moment,
    notices: &Notices<InfraEnvId>,
) -> Result<bool, Error> {
    let (now, rules) = (moment.now, &app.config.housekeeping);
    let live = |id| async move {
        let found = app.store.cluster(id).await?;
        Ok::<_, Error>(found.is_some())
    };
    if let Some(cluster) = infra_env.cluster
        && live(cluster).await?
    {
        return Ok(false);
    }
    let hosts = app.store.hosts_of_infra_env(infra_env.id).await;
    let hosts = hosts?;
    let mut last_active = infra_env.updated_at;
    for host in &hosts {
        let active = app.heartbeats.last_seen(host).max(host.updated_at);
        let bound = match host.cluster {
            Some(cluster) => live(cluster).await?,
            None => false,
        };
        if bound || is_installed(host.status) || now.since(active) <= rules.infra_env_inactive_after
        {
            return Ok(false);
        }
        last_active = last_active.max(active);
    }
    match notices.state(infra_env.id, last_active, moment, rules.notice) {
        NoticeState::Waiting => return Ok(false),
        NoticeState::New => {
            let text = format!(
                "infra-env {} belongs to no cluster, has not been used since {} and will be \
                 deleted in about {} hours; any change to it or its hosts prevents that",
                infra_env.name,
                last_active.millis(),
                rules.notice.as_secs().div_ceil(3600),
            );
            let name = "infra_env_deletion_announced";
            let announcement = event(name, Severity::Warning, infra_env.id, now, text);
            announce(app, announcement, last_active).await?;
            return Ok(false);
        }
        NoticeState::Over => {}
    }
    match app.commit(removal(infra_env, &hosts, now)).await {
        Ok(()) => {
            for host in &hosts {
                left(app, host.key(), None);
            }
            notices.forget(&infra_env.id);
            Ok(true)
        }
        // A host came back or another replica was faster; the next round looks again.
        Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => Ok(false),
        Err(other) => Err(other.into()),
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
        "infra-env {} was deleted: it belongs to no cluster and was not used since {}",
        infra_env.name,
        infra_env.updated_at.millis()
    );
    let deleted = event(
        "infra_env_deregistered",
        Severity::Info,
        infra_env.id,
        now,
        text,
    );
    // Written once more before it goes: then a request that changes it at this moment wins.
    changes
        .update_infra_env(infra_env, infra_env.value.as_ref().clone())
        .delete_infra_env(infra_env.id)
        .event(deleted);
    changes
}
