//! The nouns of Muster: ids, statuses, clusters, hosts, infra-envs, events, architectures, versions.
//!
//! No I/O, no decisions, no wire warts. What the database stores is the serde form of these
//! types; what clients see is made from them in `muster-api`'s wire types by the service.
//! Start at [`Cluster`], [`Host`] and [`InfraEnv`].

mod access;
mod arch;
mod cluster;
mod event;
mod host;
mod ids;
mod infra_env;
mod json_bounds;
mod json_text;
pub mod names;
mod network;
mod report;
mod secret;
mod stage;
mod status;
mod time;
mod version;

pub use access::Scheme;
pub use arch::{Arch, ArchName, UnknownArch};
pub use cluster::{
    Cluster, ClusterProgress, DiskEncryption, FeatureUse, IgnitionEndpoint, Leases,
    MonitoredOperator, Ntp, Payload, Platform, Preparation, Proxy, Recipe, UseDetail,
};
pub use event::{Category, Event, EventScope, Severity};
pub use host::{AgentUpgrade, Host, HostProgress, HostReports};
pub use ids::{ClusterId, HostId, HostKey, InfraEnvId};
pub use infra_env::{HostNetwork, InfraEnv, KernelArgument, MacInterface};
pub use json_bounds::{JsonSize, json_size};
pub use json_text::storable_json;
pub use network::{ClusterNetwork, Networks, Vip};
pub use report::Report;
pub use secret::Secret;
pub use stage::{FinalizingStage, HostStage};
pub use status::{
    ClusterKind, ClusterStatus, HostKind, HostRole, HostStatus, ImageType, LogsState, PlatformType,
};
pub use time::Timestamp;
pub use version::{MULTI_SUFFIX, MinorVersion, OpenshiftVersion, Product, VersionError};
