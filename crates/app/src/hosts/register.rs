//! Registration of a machine.
//!
//! Agents of the reference freeze for good when something is not found or in conflict, so these
//! errors are only returned when they are true for good; a database that is away is
//! [`Error::Unavailable`].

use std::{net::IpAddr, sync::Arc};

use muster_auth::Scope as TokenScope;
use muster_engine::registration::{self, Answer, NewHost};
use muster_model::{ClusterId, Event, EventScope, Host, HostKey, ImageType, Severity};
use muster_store::{Changes, StoreError};

use crate::{App, Error, Missing, aggregate::Cause, driver::Scope, infra_envs::links};

/// How often a registration is decided again when others keep winning the race.
const MAX_ATTEMPTS: usize = 20;

/// Registers a host, new or known; it counts as heard.
pub async fn register(
    app: &Arc<App>,
    key: HostKey,
    peer: IpAddr,
    agent_version: Option<&str>,
    cause: &Cause,
) -> Result<(Host, Answer), Error> {
    let (host, answer) = admit(app, key, peer, agent_version, cause).await?;
    app.heartbeats.heard(key, cause.now, None);
    app.driver
        .touch(host.cluster.map_or(Scope::Host(key), Scope::Cluster));
    Ok((host, answer))
}

/// A token for this machine alone, where callers need tokens. Who has nothing but the token of the
/// image gets none for a host that was bound to a cluster one by one: all machines of the pool have
/// that token, and any of them could give itself out for this one.
pub async fn host_token(app: &App, host: &Host, own: bool) -> Result<Option<String>, Error> {
    let infra_env = app.infra_env(host.infra_env).await?;
    if host.cluster.is_some() && infra_env.cluster.is_none() && !own {
        return Ok(None);
    }
    let scope = TokenScope::Host {
        key: host.key(),
        registration: host.registered_at.0,
    };
    app.auth.agent_token(scope).map_err(links::unsigned)
}

/// Decides and stores; again if another replica or request was faster. That infra-env and
/// cluster were there when we looked is not enough: they must be when the host is stored, or
/// it would live on in something deleted.
async fn admit(
    app: &Arc<App>,
    key: HostKey,
    peer: IpAddr,
    agent_version: Option<&str>,
    cause: &Cause,
) -> Result<(Host, Answer), Error> {
    let mut is_admitted = false;
    for _ in 0..MAX_ATTEMPTS {
        let infra_env = app.infra_env(key.infra_env).await?;
        if infra_env.image_type == ImageType::DisconnectedIso {
            return Err(Error::invalid(
                "hosts of a disconnected image register with their own service, not with this one",
            ));
        }
        let existing = app.store.host(key).await?;
        if existing.is_none() && !is_admitted {
            app.admit_new_host(key.infra_env, peer).await?;
            is_admitted = true;
        }
        let cluster_id = infra_env
            .cluster
            .or_else(|| existing.as_ref().and_then(|host| host.cluster));
        let cluster = match cluster_id {
            Some(id) => Some(app.cluster(id).await?),
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
            Err(mut refused) => (std::mem::take(&mut refused.events), Err(refused.into())),
        };
        for mut event in events {
            event.request_id.clone_from(&cause.request_id);
            changes.event(event);
        }
        match app.commit(changes).await {
            Ok(()) => return outcome,
            // What is gone is not found on the next round, which answers for it.
            Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => {}
            Err(other) => return Err(other.into()),
        }
    }
    // No conflict: an agent would never come back from that.
    Err(Error::Unavailable(
        "too many concurrent registrations of this host; retry in a moment".to_owned(),
    ))
}

/// Deletes a host.
pub async fn deregister(app: &App, key: HostKey, cause: &Cause) -> Result<(), Error> {
    for _ in 0..MAX_ATTEMPTS {
        let host = app.host(key).await?;
        let mut changes = Changes::default();
        let mut gone = host.value.as_ref().clone();
        gone.deleted_at = Some(cause.now);
        gone.updated_at = cause.now;
        changes.update_host(&host, gone);
        changes.event(deregistered(&host, cause));
        if let Some(cluster) = host.cluster {
            forget_networks(app, key, cluster, &mut changes).await?;
        }
        match app.commit(changes).await {
            Ok(()) => {
                left(app, key, host.cluster);
                return Ok(());
            }
            Err(StoreError::Conflict { .. }) => {}
            Err(StoreError::Missing { .. }) => return Err(Missing::Host(key).into()),
            Err(other) => return Err(other.into()),
        }
    }
    Err(Error::conflict(
        "the host keeps changing; retry in a moment",
    ))
}

/// Machine networks that were found from hosts go with the last of them.
async fn forget_networks(
    app: &App,
    leaving: HostKey,
    id: ClusterId,
    changes: &mut Changes,
) -> Result<(), Error> {
    let hosts = app.store.hosts_of_cluster(id).await?;
    if hosts.iter().any(|host| host.key() != leaving) {
        return Ok(());
    }
    let Some(seen) = app.store.cluster(id).await? else {
        return Ok(());
    };
    let mut cluster = seen.value.as_ref().clone();
    if muster_engine::forget_derived_machine_networks(&mut cluster) {
        changes.update_cluster(&seen, cluster);
    }
    Ok(())
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
