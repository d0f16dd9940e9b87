//! A cluster: what the user asked for and how far it has come.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    Arch, ArchName, ClusterId, ClusterKind, ClusterStatus, FinalizingStage, LogsState, Networks,
    PlatformType, Secret, Timestamp, Vip,
};

/// Where the machines run, and for `external` who provides them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// Kind.
    pub kind: PlatformType,
    /// Name of the external provider.
    pub external_name: Option<String>,
    /// Who runs its cloud controller: empty or `External`.
    pub cloud_controller_manager: Option<String>,
}

/// Proxy settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Proxy {
    /// For plain HTTP.
    pub http: Option<String>,
    /// For HTTPS.
    pub https: Option<String>,
    /// Exceptions.
    pub no_proxy: Option<String>,
}

/// Time sources: added to the network's own (`additional`) or instead of them (`sources`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ntp {
    /// Comma-separated, used beside what DHCP offers.
    pub additional: Option<String>,
    /// Comma-separated, used exclusively.
    pub sources: Option<String>,
}

/// Which disks are encrypted and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskEncryption {
    /// `none`, `all` or roles.
    pub enable_on: String,
    /// `tpmv2` or `tang`.
    pub mode: String,
    /// JSON list of servers for `tang`.
    pub tang_servers: Option<String>,
}

/// The user's own source of Ignition for day-2 hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IgnitionEndpoint {
    /// Address.
    pub url: Option<String>,
    /// Base64 of its PEM certificate.
    pub ca_certificate: Option<String>,
}

/// An operator whose health counts for the installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitoredOperator {
    /// Name such as `console` or `odf`.
    pub name: String,
    /// `builtin` or `olm`.
    pub operator_type: String,
    /// Where it runs (olm).
    pub namespace: Option<String>,
    /// Its subscription (olm).
    pub subscription_name: Option<String>,
    /// Settings the user gave, JSON text.
    pub properties: Option<String>,
    /// How long it may take.
    pub timeout_seconds: i64,
    /// Bundles it came with; `None` if the user asked for it by name.
    pub source_bundles: Option<Vec<String>>,
    /// Pulled in by another operator.
    pub dependency_only: bool,
    /// Version it reported.
    pub version: Option<String>,
    /// `failed`, `progressing` or `available`.
    pub status: Option<String>,
    /// Why.
    pub status_info: Option<String>,
    /// Since when.
    pub status_updated_at: Option<Timestamp>,
}

/// How the last attempt to prepare the installation ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preparation {
    /// `not_started`, `failed` or `success`; `None` if never tried.
    pub status: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// What a release image says about itself, as far as an installation needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Payload {
    /// The image that was read.
    pub image: String,
    /// Its version.
    pub version: String,
    /// Images by component, as far as hosts need them.
    pub components: BTreeMap<String, String>,
}

/// What the files of an installation are made from, kept so that they come out the same when they
/// have to be made again: after a crash, on another replica, or for a host that comes later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recipe {
    /// 32 random bytes in base64 from which every key, password and name of the cluster follows;
    /// empty before the first preparation and after a reset.
    pub seed: Secret,
    /// When the seed was drawn; root certificates begin then.
    pub drawn_at: Option<Timestamp>,
    /// What was found in the release image; empty until it was read.
    pub payload: Payload,
}

/// Virtual addresses taken from a DHCP server (`vip_dhcp_allocation`); empty otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Leases {
    /// The API's lease as the DHCP client wrote it; the next host goes on with it.
    pub api: Option<String>,
    /// The ingress's lease.
    pub ingress: Option<String>,
    /// The machine network in which addresses are leased.
    pub network: Option<String>,
    /// Since when it is known, so that waiting can come to an end.
    pub awaited_since: Option<Timestamp>,
    /// It was reported that the leases are overdue. Stored records have the older name.
    #[serde(rename = "overdue_told")]
    pub overdue_reported: bool,
}

/// How far the installation has come, in percent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterProgress {
    /// All of it.
    pub total: i64,
    /// Preparation.
    pub preparing: i64,
    /// Hosts.
    pub installing: i64,
    /// Operators.
    pub finalizing: i64,
    /// Present finalizing stage.
    pub finalizing_stage: Option<FinalizingStage>,
    /// When it began.
    pub finalizing_stage_started_at: Option<Timestamp>,
    /// It took longer than it may.
    pub finalizing_stage_timed_out: bool,
}

/// One cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// Its id.
    pub id: ClusterId,
    /// Day-1, day-2 or only registered.
    pub kind: ClusterKind,
    /// Name; first label of its domain.
    pub name: String,
    /// Domain it lives under.
    pub base_dns_domain: Option<String>,
    /// Full version of the release.
    pub openshift_version: String,
    /// Pull spec of the release.
    pub ocp_release_image: Option<String>,
    /// Architecture; `multi` for mixed releases, `None` for imported clusters.
    pub cpu_architecture: Option<ArchName>,
    /// Number of control plane hosts; 1 means single node.
    pub control_plane_count: Option<i64>,
    /// `Full` or `None` (single node).
    pub high_availability_mode: Option<String>,
    /// Id the installed cluster gives itself.
    pub openshift_cluster_id: Option<Uuid>,
    /// Registry credentials.
    pub pull_secret: Secret,
    /// Keys that may log in to its hosts.
    pub ssh_public_key: Option<String>,

    /// Where its machines run; `None` only for disconnected clusters.
    pub platform: Option<Platform>,
    /// The user brings DNS and load balancers.
    pub user_managed_networking: Option<bool>,
    /// VIPs come from DHCP.
    pub vip_dhcp_allocation: Option<bool>,
    /// Ranges.
    pub networks: Networks,
    /// Virtual addresses of the API; `None` if never set.
    pub api_vips: Option<Vec<Vip>>,
    /// Virtual addresses of the ingress; `None` if never set.
    pub ingress_vips: Option<Vec<Vip>>,
    /// Leases behind them, if DHCP hands them out.
    #[serde(default)]
    pub leases: Leases,
    /// Name of the API for day-2 hosts.
    pub api_vip_dns_name: Option<String>,
    /// `cluster-managed` or `user-managed`; `None` if never set.
    pub load_balancer: Option<String>,
    /// Network plugin.
    pub network_type: Option<String>,
    /// Proxy.
    pub proxy: Proxy,
    /// Time sources.
    pub ntp: Ntp,

    /// Which hosts use hyperthreading.
    pub hyperthreading: Option<String>,
    /// Workloads may run on the control plane.
    pub schedulable_masters: bool,
    /// … because there are too few workers.
    pub schedulable_masters_forced_true: bool,
    /// Disk encryption; `None` for imported clusters.
    pub disk_encryption: Option<DiskEncryption>,
    /// Ignition endpoint of the user.
    pub ignition_endpoint: IgnitionEndpoint,
    /// Comma-separated tags.
    pub tags: Option<String>,
    /// JSON merged over the install-config.
    pub install_config_overrides: Option<String>,
    /// Operators whose health counts; `None` shows as null (imported clusters).
    pub monitored_operators: Option<Vec<MonitoredOperator>>,
    /// Features in use by display name, each a JSON object.
    pub feature_usage: BTreeMap<String, FeatureUse>,
    /// JSON list of validation ids to ignore.
    pub ignored_cluster_validations: Option<String>,
    /// The same for its hosts.
    pub ignored_host_validations: Option<String>,
    /// Opaque text of the web page.
    pub ui_settings: String,
    /// It was not installed by us.
    pub imported: bool,

    /// Where it is in its life.
    pub status: ClusterStatus,
    /// Why, for people.
    pub status_info: String,
    /// Since when.
    pub status_updated_at: Timestamp,
    /// Result of the validations as JSON text; `None` before the first evaluation.
    pub validations_info: Option<String>,
    /// Groups of hosts that reach each other, JSON text.
    pub connectivity_majority_groups: Option<String>,
    /// Addresses seen twice, JSON text.
    pub ip_collisions: Option<String>,
    /// Digest of what the two texts above were worked out from; while it stays, so do they.
    #[serde(default)]
    pub connectivity_basis: u64,
    /// Progress.
    pub progress: ClusterProgress,
    /// Last preparation.
    pub preparation: Preparation,
    /// What the files of the installation are made from.
    #[serde(default)]
    pub recipe: Recipe,
    /// When the installation began.
    pub install_started_at: Option<Timestamp>,
    /// When it ended.
    pub install_completed_at: Option<Timestamp>,
    /// The ingress CA arrived and the final kubeconfig is stored; completion waits for it.
    #[serde(default)]
    pub kubeconfig_uploaded: bool,
    /// How far log collection has come.
    pub logs_info: Option<LogsState>,
    /// When the controller's logs last arrived.
    pub controller_logs_collected_at: Option<Timestamp>,
    /// When their collection began.
    pub controller_logs_started_at: Option<Timestamp>,

    /// Who made it.
    pub user_name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
}

/// A feature in use, kept for support.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureUse {
    /// Machine name.
    pub id: String,
    /// Detail, free form.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, UseDetail>,
}

/// A detail of a feature in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UseDetail {
    /// A word, such as a mode.
    Text(String),
    /// It is so.
    Flag(bool),
    /// How many.
    Count(u64),
    /// Which ones.
    List(Vec<String>),
}

impl FeatureUse {
    /// The use of the feature that users know by this name; the machine name follows from it.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self {
            id: name.to_uppercase().replace(' ', "_").replace('.', ""),
            data: BTreeMap::new(),
        }
    }

    /// The same with a detail.
    #[must_use]
    pub fn with(mut self, key: &str, detail: UseDetail) -> Self {
        self.data.insert(key.to_owned(), detail);
        self
    }
}

impl Cluster {
    /// Its architecture; none if it is unknown.
    #[must_use]
    pub fn arch(&self) -> Option<Arch> {
        self.cpu_architecture.as_ref()?.arch()
    }

    /// One host is the whole cluster.
    #[must_use]
    pub fn is_single_node(&self) -> bool {
        self.control_plane_count == Some(1)
    }

    /// Hosts join it after its own installation.
    #[must_use]
    pub const fn is_day2(&self) -> bool {
        match self.kind {
            ClusterKind::AddHostsCluster => true,
            ClusterKind::Cluster | ClusterKind::DisconnectedCluster => false,
        }
    }

    /// A record with nothing but identity; creation fills in the rest.
    #[must_use]
    pub fn blank(
        id: ClusterId,
        kind: ClusterKind,
        name: &str,
        status: ClusterStatus,
        user_name: &str,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            kind,
            name: name.to_owned(),
            base_dns_domain: None,
            openshift_version: String::new(),
            ocp_release_image: None,
            cpu_architecture: None,
            control_plane_count: None,
            high_availability_mode: None,
            openshift_cluster_id: None,
            pull_secret: Secret::default(),
            ssh_public_key: None,
            platform: None,
            user_managed_networking: None,
            vip_dhcp_allocation: None,
            networks: Networks::default(),
            api_vips: None,
            ingress_vips: None,
            leases: Leases::default(),
            api_vip_dns_name: None,
            load_balancer: None,
            network_type: None,
            proxy: Proxy::default(),
            ntp: Ntp::default(),
            hyperthreading: None,
            schedulable_masters: false,
            schedulable_masters_forced_true: false,
            disk_encryption: None,
            ignition_endpoint: IgnitionEndpoint::default(),
            tags: None,
            install_config_overrides: None,
            monitored_operators: None,
            feature_usage: BTreeMap::new(),
            ignored_cluster_validations: None,
            ignored_host_validations: None,
            ui_settings: String::new(),
            imported: false,
            status,
            status_info: String::new(),
            status_updated_at: now,
            validations_info: None,
            connectivity_majority_groups: None,
            ip_collisions: None,
            connectivity_basis: 0,
            progress: ClusterProgress::default(),
            preparation: Preparation::default(),
            recipe: Recipe::default(),
            install_started_at: None,
            install_completed_at: None,
            kubeconfig_uploaded: false,
            logs_info: None,
            controller_logs_collected_at: None,
            controller_logs_started_at: None,
            user_name: user_name.to_owned(),
            created_at: now,
            updated_at: now,
            deleted_at: None,
        }
    }
}
