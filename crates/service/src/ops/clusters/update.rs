//! `PATCH /v2/clusters/{cluster_id}`.
//!
//! A fault of the request is told before the state of the cluster is looked at, so clients can
//! tell "wrong" from "not now". The answer shows the validations of the changed settings.

use muster_api::{error::Failure, wire};
use muster_model::{Cluster, Event, EventScope, Severity, Timestamp};

use super::edit;
use crate::{
    aggregate::Cause,
    app::{Shared, store_failure},
    http::{Call, Reply},
};

/// Changes settings of a cluster.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let id = call.cluster_id();
    let request: wire::V2ClusterUpdateParams = call.body()?;
    let infra_envs = app
        .store
        .infra_envs_of_cluster(id)
        .await
        .map_err(store_failure)?;
    app.change_cluster(id, &Cause::from(&call), |all| {
        let before = all.cluster()?.clone();
        let mut changed = before.clone();
        let bound = infra_envs.iter().map(|row| &**row);
        edit::apply(
            &mut changed,
            &mut all.hosts,
            &request,
            bound,
            (&*app).into(),
        )
        .map_err(Failure::bad_request)?;
        check_state(&before)?;
        if changed.proxy != before.proxy {
            all.events.push(proxy_event(&changed, call.now));
        }
        all.cluster = Some(changed);
        all.refresh(&app, call.now);
        Ok(())
    })
    .await?;
    super::read::changed(&app, id).await
}

fn check_state(cluster: &Cluster) -> Result<(), Failure> {
    if cluster.status.accepts_changes() {
        return Ok(());
    }
    Err(Failure::conflict(format!(
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
