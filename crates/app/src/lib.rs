//! The application: use cases on clusters, hosts, infra-envs, files and manifests.
//!
//! The only place where the rules (`muster-engine`) meet the records (`muster-store`). A use case
//! takes typed input and an [`aggregate::Cause`], loads records, has the rules decide, stores what
//! differs (`commit`) and returns records or an [`Error`]. The [`driver`] and the [`jobs`] that
//! follow from a change belong here too.
//!
//! Nothing here knows HTTP. REST (`muster-service`) is one shell over this crate; what a request
//! looks like and how an answer is written is the shell's business.

pub mod aggregate;
pub mod catalog;
pub mod clusters;
mod commit;
mod disk;
pub mod driver;
mod error;
pub mod event_limits;
pub mod events;
mod fields;
pub mod files;
pub mod heartbeats;
pub mod hosts;
mod housekeeping;
pub mod images;
pub mod infra_envs;
pub mod jobs;
pub mod joining;
pub mod link_places;
pub mod logs;
pub mod manifests;
pub mod membership;
pub mod metrics;
pub mod one_shot;
pub mod operators;
mod preparation;
pub mod quotas;
pub mod refusals;
mod replicas;
pub mod rules;
pub mod runtime;
pub mod start;
pub mod step_cache;

use std::sync::Arc;

use muster_auth::Authenticator;
use muster_config::Config;
use muster_model::{Cluster, ClusterId, Host, HostKey, InfraEnv, InfraEnvId};
use muster_store::{Blobs, Row, Store};

pub use error::{Error, Invalid, Missing, error_chain};

use self::{
    catalog::Catalog, disk::Disks, driver::Driver, event_limits::EventLimits,
    heartbeats::Heartbeats, images::Images, jobs::RunningJobs, joining::Joining, metrics::Metrics,
    quotas::Quotas, rules::Rules, step_cache::StepCache,
};

/// Everything a use case may use, wired once at start. Cheap to share: shells hold an `Arc`.
#[derive(Debug)]
pub struct App {
    /// The configuration in force.
    pub config: Config,
    /// Records and events.
    pub store: Store,
    /// Files.
    pub blobs: Blobs,
    /// The file systems that hold our data.
    pub disks: Disks,
    /// What can be installed, on what.
    pub catalog: Catalog,
    /// Boot images and what they are made from.
    pub images: Images,
    /// Signs links and tokens, and knows who may call.
    pub auth: Authenticator,
    /// When each host was last heard, in memory.
    pub heartbeats: Heartbeats,
    /// Re-evaluates clusters that changed.
    pub driver: Driver,
    /// Jobs under way.
    pub jobs: RunningJobs,
    /// Clusters whose added hosts are followed.
    pub joining: Joining,
    /// Instructions by host, while nothing changes.
    pub steps: StepCache,
    /// How often events of some names may come.
    pub event_limits: EventLimits,
    /// How much one caller may use of what all share.
    pub quotas: Quotas,
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
    /// The live cluster.
    pub async fn cluster(&self, id: ClusterId) -> Result<Row<Cluster>, Error> {
        let found = self.store.cluster(id).await?;
        Ok(found.ok_or(Missing::Cluster(id))?)
    }

    /// The infra-env.
    pub async fn infra_env(&self, id: InfraEnvId) -> Result<Row<InfraEnv>, Error> {
        let found = self.store.infra_env(id).await?;
        Ok(found.ok_or(Missing::InfraEnv(id))?)
    }

    /// The live host.
    pub async fn host(&self, key: HostKey) -> Result<Row<Host>, Error> {
        let found = self.store.host(key).await?;
        Ok(found.ok_or(Missing::Host(key))?)
    }
}
