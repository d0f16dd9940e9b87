//! Everything a handler may use, wired once at start.

use std::sync::Arc;

use http::StatusCode;
use muster_api::error::Failure;
use muster_auth::Authenticator;

use muster_config::Config;
use muster_model::{Cluster, ClusterId, Host, HostKey, InfraEnv, InfraEnvId};
use muster_store::{BlobError, Blobs, Row, Store, StoreError};

use crate::{
    bodies::ClusterBodies, catalog::Catalog, driver::Driver, event_limits::EventLimits,
    heartbeats::Heartbeats, images::Images, jobs::UnderWay, metrics::Metrics, rules::Rules,
    steps::StepCache, watch::Bell,
};

/// The running service. Cheap to share: handlers get an `Arc` of it.
#[derive(Debug)]
pub struct App {
    /// What is in force.
    pub config: Config,
    /// Records and events.
    pub store: Store,
    /// Files.
    pub blobs: Blobs,
    /// What can be installed, on what.
    pub catalog: Catalog,
    /// Boot images and what they are made from.
    pub images: Images,
    /// Who may call.
    pub auth: Authenticator,
    /// When each host was last heard, in memory.
    pub heartbeats: Heartbeats,
    /// Re-evaluates clusters that changed.
    pub driver: Driver,
    /// Jobs under way.
    pub jobs: UnderWay,
    /// Finished cluster answers by revision.
    pub bodies: ClusterBodies,
    /// Instructions by host, while nothing changes.
    pub steps: StepCache,
    /// How often events of some names may come.
    pub event_limits: EventLimits,
    /// Tells watchers that something changed.
    pub bell: Bell,
    /// Figures for `/metrics`.
    pub metrics: Metrics,
    /// Rules' constants, from the configuration.
    pub rules: Rules,
    /// PEM of the CA that signed our certificate, handed to agents.
    pub ca_certificate: Option<String>,
}

/// A shared [`App`].
pub type Shared = Arc<App>;

impl App {
    /// The live cluster, or 404 in the API's words.
    pub async fn cluster(&self, id: ClusterId) -> Result<Row<Cluster>, Failure> {
        self.store
            .cluster(id)
            .await
            .map_err(store_failure)?
            .ok_or_else(|| missing_cluster(id))
    }

    /// The infra-env, or 404.
    pub async fn infra_env(&self, id: InfraEnvId) -> Result<Row<InfraEnv>, Failure> {
        self.store
            .infra_env(id)
            .await
            .map_err(store_failure)?
            .ok_or_else(|| missing_infra_env(id))
    }

    /// The live host, or 404.
    pub async fn host(&self, key: HostKey) -> Result<Row<Host>, Failure> {
        self.store
            .host(key)
            .await
            .map_err(store_failure)?
            .ok_or_else(|| missing_host(key))
    }
}

/// 404 for a cluster.
#[must_use]
pub fn missing_cluster(id: ClusterId) -> Failure {
    Failure::not_found(format!("cluster {id} was not found"))
}

/// 404 for an infra-env.
#[must_use]
pub fn missing_infra_env(id: InfraEnvId) -> Failure {
    Failure::not_found(format!("infra-env {id} was not found"))
}

/// 404 for a host.
#[must_use]
pub fn missing_host(key: HostKey) -> Failure {
    Failure::not_found(format!(
        "host {} was not found in infra-env {}",
        key.host, key.infra_env
    ))
}

/// How a store error looks to a client: a lost race is 409, a database that is away is 503
/// (agents retry that, and freeze for good on some 4xx), the rest is our fault.
#[must_use]
pub fn store_failure(error: StoreError) -> Failure {
    match error {
        StoreError::Conflict { .. } => Failure::conflict(
            "the record was changed by somebody else at the same time; read it again and retry",
        ),
        StoreError::Unavailable { .. } => {
            tracing::error!(error = ?error, "the database does not answer");
            Failure::api(
                StatusCode::SERVICE_UNAVAILABLE,
                "the database does not answer; retry in a moment",
            )
        }
        other => {
            tracing::error!(error = ?other, "store failed");
            Failure::api(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the record could not be read or written; the service log says why",
            )
        }
    }
}

/// The same for the file store.
#[must_use]
pub fn blob_failure(error: BlobError) -> Failure {
    tracing::error!(error = ?error, "file store failed");
    Failure::api(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the file store does not answer; the service log says why",
    )
}
