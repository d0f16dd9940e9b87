//! What a user does with a host: bind, unbind, install (day 2), reset, repeat a check.

use std::sync::Arc;

use http::{StatusCode, header};
use muster_api::{error::Failure, wire};
use muster_engine::{binding, install as installation, reset as resetting};
use muster_model::{ClusterId, HostKey};

use crate::{
    aggregate::{Aggregate, Cause},
    app::{App, Shared, store_failure},
    driver::Scope,
    http::{Call, Reply},
    ops::{files, hosts::update::role},
    views::{self, HostDetail},
};

/// `POST …/actions/bind`.
pub async fn bind(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::BindHostParams = call.body()?;
    let text = body.cluster_id.as_deref().unwrap_or_default();
    let asked: ClusterId = text
        .parse()
        .map_err(|_| Failure::bad_request(format!("cluster_id {text:?} is not a UUID")))?;
    let key = call.host_key();
    let cause = Cause::from(&call);
    let (_, all) = app
        .change_host_joining(key, asked, &cause, |all| {
            let (host, cluster) = (all.host(key)?, all.cluster.as_ref());
            let free = cluster.filter(|_| host.cluster.is_none());
            let misfit = free.and_then(|cluster| role::misfit(host, cluster, &app.config.features));
            let result = match misfit {
                Some(reason) => Err(binding::misfit(host, asked, reason, cause.now)),
                None => binding::bind(host, asked, cluster, cause.now),
            };
            all.settle_with(result)
        })
        .await?;
    app.driver.forget(Scope::Host(key));
    shown(&app, &all, key, StatusCode::OK)
}

/// `POST …/actions/unbind`.
pub async fn unbind(app: Shared, call: Call) -> Result<Reply, Failure> {
    let key = call.host_key();
    let infra_env = app
        .store
        .infra_env(key.infra_env)
        .await
        .map_err(store_failure)?;
    let bound = infra_env.is_some_and(|row| row.cluster.is_some());
    let before = app.host(key).await?.cluster;
    let cause = Cause::from(&call);
    let (_, all) = app
        .change_host(key, &cause, |all| {
            let result = binding::unbind(all.host(key)?, bound, cause.now);
            all.settle_with(result)
        })
        .await?;
    if let Some(cluster) = before {
        app.driver.touch(Scope::Cluster(cluster));
    }
    app.driver.touch(Scope::Host(key));
    shown(&app, &all, key, StatusCode::OK)
}

/// `POST …/actions/reset`.
pub async fn reset(app: Shared, call: Call) -> Result<Reply, Failure> {
    let key = call.host_key();
    if app.host(key).await?.cluster.is_none() {
        return Err(Failure::conflict(
            "the host is bound to no cluster, so there is no installation to reset",
        ));
    }
    let cause = Cause::from(&call);
    let (_, all) = app
        .change_host_in_context(key, &cause, |all| {
            let result = resetting::reset_host(&all.view(&app.heartbeats)?, key, cause.now);
            all.settle_with(result)
        })
        .await?;
    shown(&app, &all, key, StatusCode::OK)
}

/// `POST …/actions/install`: a day-2 host. Its Ignition is made before the decision is stored,
/// because the host may ask for it with its next poll.
pub async fn install(app: Shared, call: Call) -> Result<Reply, Failure> {
    let key = call.host_key();
    if app.host(key).await?.cluster.is_none() {
        return Err(Failure::not_found("the host is bound to no cluster"));
    }
    let cause = Cause::from(&call);
    let rehearsal = |all: &mut Aggregate| {
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
    app.would_change_host(key, rehearsal).await?;
    files::generate_for_host(&app, key).await?;
    let (_, all) = app.change_host_in_context(key, &cause, rehearsal).await?;
    shown(&app, &all, key, StatusCode::ACCEPTED)
}

/// `PATCH …/actions/reset-validation/{validation_id}`: forget a result, so that the check is
/// asked for again.
pub async fn reset_validation(app: Shared, call: Call) -> Result<Reply, Failure> {
    let key = call.host_key();
    let validation = call
        .args
        .text("validation_id")
        .unwrap_or_default()
        .to_owned();
    let cause = Cause::from(&call);
    app.change_host(key, &cause, |all| {
        let result = resetting::reset_validation(all.host(key)?, &validation, cause.now);
        all.settle_with(result)
    })
    .await?;
    // Empty, yet announced as JSON: clients of this operation expect the header.
    Ok(Reply::empty(StatusCode::OK).header(header::CONTENT_TYPE, "application/json"))
}

/// The host as the change left it.
fn shown(
    app: &Arc<App>,
    all: &Aggregate,
    key: HostKey,
    status: StatusCode,
) -> Result<Reply, Failure> {
    Reply::json(
        status,
        &views::host(
            all.host(key)?,
            all.cluster.as_ref(),
            HostDetail::WithFreeAddresses,
            &app.heartbeats,
        ),
    )
}
