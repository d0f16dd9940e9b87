//! Fixtures for queries of the history.

use muster_model::{
    Category, ClusterId, Event, EventScope, HostKey, InfraEnvId, Severity, Timestamp,
};
use muster_store::{EventQuery, Store};

use crate::{
    places::Place,
    samples::{
        cluster, cluster_id, commit, event, host, host_key, infra_env, infra_env_id, of_cluster,
    },
};

pub struct Scene {
    pub store: Store,
    pub cluster: ClusterId,
    pub infra_env: InfraEnvId,
    pub live: HostKey,
    pub deleted: HostKey,
}

/// One cluster with a live and a deleted host, and events named a to h at times 1 to 8.
pub async fn scene(place: &Place) -> Scene {
    let store = place.open().await;
    let (cluster_id, i) = (cluster_id(), infra_env_id());
    let (live, deleted) = (host_key(i), host_key(i));
    let of_host = |key: HostKey| EventScope {
        cluster: Some(cluster_id),
        host: Some(key.host),
        infra_env: Some(i),
    };
    let of_infra_env = EventScope {
        infra_env: Some(i),
        ..EventScope::default()
    };
    let entry = |name: &str, severity, scope, at, message: &str| {
        Event::new(name, severity, scope, Timestamp(at), message)
    };
    let mut metrics = event("g", of_cluster(cluster_id), 7);
    metrics.category = Category::Metrics;
    metrics.props = Some("{\"a\": 1}".into());
    metrics.request_id = Some("r-1".into());
    let mut gone = host(deleted, Some(cluster_id), 1);
    gone.deleted_at = Some(Timestamp(2));
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(cluster_id, 1))
            .insert_infra_env(infra_env(i, Some(cluster_id), 1))
            .insert_host(host(live, Some(cluster_id), 1))
            .insert_host(gone)
            .event(entry(
                "a",
                Severity::Info,
                of_cluster(cluster_id),
                1,
                "Registered CLUSTER",
            ))
            .event(entry(
                "b",
                Severity::Warning,
                of_host(live),
                2,
                "100% of disk_a\\b",
            ))
            .event(entry(
                "c",
                Severity::Error,
                of_host(deleted),
                3,
                "Ärger mit 100x of diskXa",
            ))
            .event(entry(
                "d",
                Severity::Critical,
                of_host(live),
                4,
                "nul\0byte!",
            ))
            .event(entry("e", Severity::Info, of_infra_env, 5, "image"))
            .event(entry(
                "f",
                Severity::Info,
                EventScope::default(),
                6,
                "service",
            ))
            .event(metrics)
            .event(event("h", of_cluster(super::samples::cluster_id()), 8));
    })
    .await
    .unwrap();
    Scene {
        store,
        cluster: cluster_id,
        infra_env: i,
        live,
        deleted,
    }
}

impl Scene {
    pub fn of_cluster(&self) -> EventQuery {
        EventQuery {
            cluster: Some(self.cluster),
            ..EventQuery::default()
        }
    }

    pub async fn names(&self, query: EventQuery) -> String {
        let page = self.store.events(&query).await.unwrap();
        page.events
            .iter()
            .map(|event| event.name.as_str())
            .collect()
    }
}
