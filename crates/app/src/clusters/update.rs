//! Changing the settings of a cluster.
//!
//! A fault of the request is reported before the state of the cluster is looked at, so clients
//! can distinguish "wrong" from "not now".

use std::sync::Arc;

use muster_api::wire;
use muster_model::{Cluster, ClusterId, Event, EventScope, Severity, Timestamp};

use super::edit;
use crate::{App, Error, aggregate::Cause};

/// Changes settings of a cluster and evaluates it.
pub async fn update(
    app: &Arc<App>,
    id: ClusterId,
    request: &wire::V2ClusterUpdateParams,
    cause: &Cause,
) -> Result<(), Error> {
    let infra_envs = app.store.infra_envs_of_cluster(id).await?;
    app.change_cluster(id, cause, |all| {
        let before = all.cluster()?.clone();
        let mut changed = before.clone();
        let bound = infra_envs.iter().map(|row| &**row);
        edit::apply(
            &mut changed,
            &mut all.hosts,
            request,
            bound,
            (&**app).into(),
        )?;
        check_state(&before)?;
        if changed.proxy != before.proxy {
            all.events.push(proxy_event(&changed, cause.now));
        }
        all.cluster = Some(changed);
        all.refresh(app, cause.now);
        Ok(())
    })
    .await
    .map(drop)
}

fn check_state(cluster: &Cluster) -> Result<(), Error> {
    if cluster.status.accepts_changes() {
        return Ok(());
    }
    Err(Error::conflict(format!(
        "cluster {} is {} and cannot be changed now; settings can be changed before the installation or after it, while hosts are added",
        cluster.id, cluster.status
    )))
}

fn proxy_event(cluster: &Cluster, now: Timestamp) -> Event {
    let scope = EventScope {
        cluster: Some(cluster.id),
        ..Default::default()
    };
    Event::new(
        "proxy_settings_changed",
        Severity::Info,
        scope,
        now,
        "Proxy settings were changed",
    )
}
