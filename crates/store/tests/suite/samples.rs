//! Small documents with just enough in them.

use muster_model::{
    Cluster, ClusterId, ClusterKind, ClusterStatus, Event, EventScope, Host, HostId, HostKey,
    ImageType, InfraEnv, InfraEnvId, Ntp, Proxy, Secret, Severity, Timestamp,
};
use muster_store::{Changes, Row, Store, StoreError};
use uuid::Uuid;

pub fn cluster_id() -> ClusterId {
    ClusterId(Uuid::new_v4())
}

pub fn infra_env_id() -> InfraEnvId {
    InfraEnvId(Uuid::new_v4())
}

pub fn host_key(infra_env: InfraEnvId) -> HostKey {
    HostKey {
        infra_env,
        host: HostId(Uuid::new_v4()),
    }
}

pub fn cluster(id: ClusterId, created_at: i64) -> Cluster {
    let mut cluster = Cluster::blank(
        id,
        ClusterKind::Cluster,
        "sample",
        ClusterStatus::Insufficient,
        "admin",
        Timestamp(created_at),
    );
    cluster.pull_secret = Secret::new("{\"auths\": \"käse \\u0000\"}");
    cluster
}

pub fn infra_env(id: InfraEnvId, cluster: Option<ClusterId>, created_at: i64) -> InfraEnv {
    InfraEnv {
        id,
        name: "sample".to_owned(),
        cluster,
        cpu_architecture: "x86_64".into(),
        openshift_version: "4.20".to_owned(),
        image_type: ImageType::FullIso,
        download_url: None,
        expires_at: None,
        pull_secret: Secret::new("{}"),
        ssh_authorized_key: None,
        proxy: Proxy::default(),
        ntp: Ntp::default(),
        ignition_config_override: None,
        static_network: Vec::new(),
        kernel_arguments: None,
        additional_trust_bundle: None,
        rendezvous_ip: None,
        network_discovery_delay_seconds: None,
        image_token_key: Secret::new("key"),
        agent_token_generation: 0,
        user_name: "admin".to_owned(),
        created_at: Timestamp(created_at),
        updated_at: Timestamp(created_at),
    }
}

pub fn host(key: HostKey, cluster: Option<ClusterId>, created_at: i64) -> Host {
    Host::registered(key, cluster, "admin", Timestamp(created_at))
}

pub fn event(name: &str, scope: EventScope, at: i64) -> Event {
    Event::new(name, Severity::Info, scope, Timestamp(at), name)
}

pub fn of_cluster(id: ClusterId) -> EventScope {
    EventScope {
        cluster: Some(id),
        ..EventScope::default()
    }
}

/// Builds and commits.
pub async fn commit(store: &Store, build: impl FnOnce(&mut Changes)) -> Result<(), StoreError> {
    let mut changes = Changes::default();
    build(&mut changes);
    store.commit(changes).await
}

/// A changed copy.
pub fn edited<T: Clone>(row: &Row<T>, edit: impl FnOnce(&mut T)) -> T {
    let mut value = T::clone(&row.value);
    edit(&mut value);
    value
}
