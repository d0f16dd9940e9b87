//! A machine, as far as it has reported about itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ClusterId, HostId, HostKey, HostKind, HostRole, HostStage, HostStatus, InfraEnvId, LogsState,
    Report, Secret, Timestamp,
};

/// What the host's agent reported, each a JSON text normalised by the reply handler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostReports {
    /// Hardware and network.
    pub inventory: Option<Report>,
    /// Who it can reach.
    pub connectivity: Option<Report>,
    /// Whether it can fetch Ignition from the API address.
    pub api_vip_connectivity: Option<Report>,
    /// Whether it can reach Tang.
    pub tang_connectivity: Option<Report>,
    /// Addresses that are not in use.
    pub free_addresses: Option<Report>,
    /// Time sources and their state.
    pub ntp_sources: Option<Report>,
    /// Disk speed results by disk.
    pub disks_info: Option<Report>,
    /// Container images it could pull.
    pub images_status: Option<Report>,
    /// Names it could resolve.
    pub domain_name_resolutions: Option<Report>,
    /// Whether it sees the cluster's virtual addresses in use.
    pub vips: Option<Report>,
}

/// How far its installation has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostProgress {
    /// Present stage.
    pub stage: Option<HostStage>,
    /// Detail of the stage.
    pub info: Option<String>,
    /// 0 to 100.
    pub percentage: i64,
    /// When the stage began.
    pub stage_started_at: Option<Timestamp>,
    /// When the stage last moved.
    pub stage_updated_at: Option<Timestamp>,
    /// The stage took longer than it may.
    pub stage_timed_out: bool,
}

/// The last exchange of its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentUpgrade {
    /// Image it was asked to upgrade to.
    pub image: Option<String>,
    /// `success` or `failure`, once it has said.
    pub result: Option<String>,
}

impl AgentUpgrade {
    /// It says that it runs this image now.
    #[must_use]
    pub fn succeeded(&self, image: &str) -> bool {
        self.image.as_deref() == Some(image) && self.result.as_deref() == Some("success")
    }
}

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// The machine.
    pub id: HostId,
    /// The infra-env it booted.
    pub infra_env: InfraEnvId,
    /// The cluster it belongs to, if any.
    pub cluster: Option<ClusterId>,
    /// Day-1 or day-2.
    pub kind: HostKind,
    /// Where it is in its life.
    pub status: HostStatus,
    /// Why, for people.
    pub status_info: String,
    /// Since when.
    pub status_updated_at: Timestamp,
    /// Role the user or the service fixed.
    pub role: HostRole,
    /// Role it would get.
    pub suggested_role: HostRole,
    /// Leads the installation.
    pub bootstrap: bool,
    /// Name the user gave it.
    pub requested_hostname: Option<String>,
    /// What its agent reported.
    pub reports: HostReports,
    /// Result of the validations as JSON text; `None` before the first evaluation.
    pub validations_info: Option<String>,
    /// Installation progress; `None` before the first record after registration.
    pub progress: HostProgress,
    /// Disk to install to.
    pub installation_disk_id: Option<String>,
    /// Its path.
    pub installation_disk_path: Option<String>,
    /// Disks that will be formatted, by id.
    pub disks_to_be_formatted: Vec<String>,
    /// Disks the user wants kept.
    pub skip_formatting_disks: Vec<String>,
    /// Extra arguments for the disk writer.
    pub installer_args: Option<Vec<String>>,
    /// Image of the node installer in use.
    pub installer_version: Option<String>,
    /// Ignition merged over its pointer config.
    pub ignition_config_overrides: Option<String>,
    /// Labels of the node.
    pub node_labels: Option<BTreeMap<String, String>>,
    /// Pool its machine config comes from.
    pub machine_config_pool_name: Option<String>,
    /// Token for the user's own Ignition endpoint.
    pub ignition_endpoint_token: Option<Secret>,
    /// Headers for the same.
    pub ignition_endpoint_http_headers: Option<BTreeMap<String, String>>,
    /// BMC access for fencing, JSON text.
    pub fencing_credentials: Option<Secret>,
    /// Boot media still readable.
    pub media_connected: bool,
    /// It was silent for too long during its installation, and soft timeouts let it go on.
    #[serde(default)]
    pub connection_timed_out: bool,
    /// The medium was lost once and could be read again.
    #[serde(default)]
    pub media_recovered: bool,
    /// How far its log collection has come.
    pub logs_info: Option<LogsState>,
    /// When logs last arrived.
    pub logs_collected_at: Option<Timestamp>,
    /// When collection began.
    pub logs_started_at: Option<Timestamp>,
    /// Version text of its agent.
    pub discovery_agent_version: Option<String>,
    /// What became of the last upgrade of its agent.
    #[serde(default)]
    pub agent_upgrade: AgentUpgrade,
    /// When it was first instructed to install in the current attempt. Stored records have the
    /// older name.
    #[serde(default, rename = "install_told_at")]
    pub install_announced_at: Option<Timestamp>,
    /// The service watches it join its cluster (day 2, where the API of the cluster is reached).
    #[serde(default)]
    pub followed: bool,
    /// When it last registered.
    pub registered_at: Timestamp,
    /// Last heartbeat known to the database; the live one is in memory.
    pub checked_in_at: Timestamp,
    /// The agent's own clock at its last poll, Unix seconds.
    pub agent_clock: Option<i64>,
    /// Who made its infra-env.
    pub user_name: String,
    /// When it was first seen.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
}

impl Host {
    /// Its place in the store.
    #[must_use]
    pub const fn key(&self) -> HostKey {
        HostKey {
            infra_env: self.infra_env,
            host: self.id,
        }
    }

    /// Whether it joins a cluster that already runs.
    #[must_use]
    pub const fn is_day2(&self) -> bool {
        match self.kind {
            HostKind::Host => false,
            HostKind::AddToExistingClusterHost => true,
        }
    }

    /// The role that counts now: the fixed one, else the suggestion.
    #[must_use]
    pub const fn effective_role(&self) -> HostRole {
        match self.role {
            HostRole::AutoAssign => self.suggested_role,
            HostRole::Master | HostRole::Arbiter | HostRole::Worker | HostRole::Bootstrap => {
                self.role
            }
        }
    }

    /// A host that has just registered.
    #[must_use]
    pub fn registered(
        key: HostKey,
        cluster: Option<ClusterId>,
        user_name: &str,
        now: Timestamp,
    ) -> Self {
        let status = if cluster.is_some() {
            HostStatus::Discovering
        } else {
            HostStatus::DiscoveringUnbound
        };
        Self {
            id: key.host,
            infra_env: key.infra_env,
            cluster,
            kind: HostKind::Host,
            status,
            status_info: String::new(),
            status_updated_at: now,
            role: HostRole::AutoAssign,
            suggested_role: HostRole::AutoAssign,
            bootstrap: false,
            requested_hostname: None,
            reports: HostReports::default(),
            validations_info: None,
            progress: HostProgress::default(),
            installation_disk_id: None,
            installation_disk_path: None,
            disks_to_be_formatted: Vec::new(),
            skip_formatting_disks: Vec::new(),
            installer_args: None,
            installer_version: None,
            ignition_config_overrides: None,
            node_labels: None,
            machine_config_pool_name: None,
            ignition_endpoint_token: None,
            ignition_endpoint_http_headers: None,
            fencing_credentials: None,
            media_connected: true,
            connection_timed_out: false,
            media_recovered: false,
            logs_info: None,
            logs_collected_at: None,
            logs_started_at: None,
            discovery_agent_version: None,
            agent_upgrade: AgentUpgrade::default(),
            install_announced_at: None,
            followed: false,
            registered_at: now,
            checked_in_at: now,
            agent_clock: None,
            user_name: user_name.to_owned(),
            created_at: now,
            updated_at: now,
            deleted_at: None,
        }
    }
}
