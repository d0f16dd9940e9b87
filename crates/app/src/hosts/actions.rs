//! What a user does with a host: bind, unbind, install (day 2), reset, repeat a check.

use std::sync::Arc;

use muster_engine::{binding, install as installation, reset as resetting};
use muster_model::{ClusterId, HostKey};

use super::update::role;
use crate::{
    App, Error,
    aggregate::{Aggregate, Cause},
    driver::Scope,
    files, joining,
};

/// Binds a host to a cluster.
pub async fn bind(
    app: &Arc<App>,
    key: HostKey,
    cluster: ClusterId,
    cause: &Cause,
) -> Result<Aggregate, Error> {
    let (_, all) = app
        .change_host_joining(key, cluster, cause, |all| {
            let (host, found) = (all.host(key)?, all.cluster.as_ref());
            let free = found.filter(|_| host.cluster.is_none());
            let misfit = free.and_then(|found| role::misfit(host, found, &app.config.features));
            let result = match misfit {
                Some(reason) => Err(binding::misfit(host, cluster, reason, cause.now)),
                None => binding::bind(host, cluster, found, cause.now),
            };
            all.settle_with(result)
        })
        .await?;
    app.driver.forget(Scope::Host(key));
    Ok(all)
}

/// Releases a host from its cluster.
pub async fn unbind(app: &Arc<App>, key: HostKey, cause: &Cause) -> Result<Aggregate, Error> {
    let infra_env = app.store.infra_env(key.infra_env).await?;
    let bound = infra_env.is_some_and(|row| row.cluster.is_some());
    let before = app.host(key).await?.cluster;
    let (_, all) = app
        .change_host(key, cause, |all| {
            let result = binding::unbind(all.host(key)?, bound, cause.now);
            all.settle_with(result)
        })
        .await?;
    if let Some(cluster) = before {
        app.driver.touch(Scope::Cluster(cluster));
    }
    app.driver.touch(Scope::Host(key));
    Ok(all)
}

/// Returns a host to the state before its installation.
pub async fn reset(app: &Arc<App>, key: HostKey, cause: &Cause) -> Result<Aggregate, Error> {
    if app.host(key).await?.cluster.is_none() {
        return Err(Error::conflict(
            "the host is bound to no cluster, so there is no installation to reset",
        ));
    }
    let (_, all) = app
        .change_host_in_context(key, cause, |all| {
            let result = resetting::reset_host(&all.view(&app.heartbeats)?, key, cause.now);
            all.settle_with(result)
        })
        .await?;
    Ok(all)
}

/// Installs a day-2 host. Its Ignition is made before the decision is stored, because the host
/// may ask for it with its next poll.
pub async fn install(app: &Arc<App>, key: HostKey, cause: &Cause) -> Result<Aggregate, Error> {
    if app.host(key).await?.cluster.is_none() {
        return Err(Error::not_found("the host is bound to no cluster"));
    }
    let start = |all: &mut Aggregate| {
        let result = installation::start_host(
            &all.view(&app.heartbeats)?,
            key,
            &app.rules.of(all.cluster.as_ref()),
            cause.now,
        );
        all.settle_with(result)?;
        // The files are made right here, not as a job afterwards.
        all.jobs.clear();
        Ok(())
    };
    app.would_change_host(key, start).await?;
    files::generate_for_host(app, key).await?;
    let (_, all) = app.change_host_in_context(key, cause, start).await?;
    joining::touch(app, all.cluster()?.id);
    Ok(all)
}

/// Forgets the result of a check, so that it is asked for again.
pub async fn reset_validation(
    app: &Arc<App>,
    key: HostKey,
    validation: &str,
    cause: &Cause,
) -> Result<(), Error> {
    app.change_host(key, cause, |all| {
        let result = resetting::reset_validation(all.host(key)?, validation, cause.now);
        all.settle_with(result)
    })
    .await
    .map(drop)
}
