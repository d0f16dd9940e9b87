//! The constants the rules are evaluated with. `Default` is what the reference ships.
//!
//! Requirements, images and the agent's version depend on the release and the site, so the
//! shell hands in settings that fit the cluster at hand.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use muster_catalog::operators::OperatorSettings;
use muster_model::{FinalizingStage, HostStage, Secret};

use crate::StepType;

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

/// Hardware a host of one role needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirements {
    /// Logical CPUs.
    pub cpu_cores: i64,
    /// Memory in MiB.
    pub ram_mib: i64,
    /// Installation disk in decimal GB.
    pub disk_size_gb: i64,
    /// fdatasync latency above which a disk gets a warning, in ms; 0 means none.
    pub disk_speed_threshold_ms: i64,
    /// Highest mean round trip to a peer of the same role, in ms.
    pub network_latency_ms: Option<f64>,
    /// Highest packet loss to a peer of the same role, in percent.
    pub packet_loss_percent: Option<f64>,
}

/// Requirements of every role, for one release; operators come on top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequirementTable {
    /// Control plane of a cluster of several nodes.
    pub master: Requirements,
    /// Arbiter.
    pub arbiter: Requirements,
    /// Worker.
    pub worker: Requirements,
    /// The node that is the whole cluster.
    pub single_node: Requirements,
    /// A small worker of a listed product, such as a DPU.
    pub edge_worker: Requirements,
}

impl Default for RequirementTable {
    fn default() -> Self {
        let master = Requirements {
            cpu_cores: 4,
            ram_mib: 16384,
            disk_size_gb: 100,
            disk_speed_threshold_ms: 10,
            network_latency_ms: Some(100.0),
            packet_loss_percent: Some(0.0),
        };
        let worker = Requirements {
            cpu_cores: 2,
            ram_mib: 8192,
            network_latency_ms: Some(1000.0),
            packet_loss_percent: Some(10.0),
            ..master
        };
        Self {
            master,
            arbiter: Requirements {
                disk_size_gb: 50,
                packet_loss_percent: Some(0.0),
                ..worker
            },
            worker,
            single_node: Requirements {
                cpu_cores: 8,
                network_latency_ms: None,
                packet_loss_percent: None,
                ..master
            },
            edge_worker: Requirements {
                disk_size_gb: 15,
                network_latency_ms: None,
                packet_loss_percent: None,
                ..worker
            },
        }
    }
}

/// How long things may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Silence after which a host counts as disconnected.
    pub disconnection: Duration,
    /// Added for the bootstrap host, which is busy.
    pub bootstrap_grace: Duration,
    /// A host that prepares; longer than the slowest image pull.
    pub host_preparing: Duration,
    /// A cluster that prepares; longer than its slowest host.
    pub cluster_preparing: Duration,
    /// A host that was instructed to install and reports nothing.
    pub host_installing: Duration,
    /// A host that needs the user while the others are done.
    pub host_pending_user_action: Duration,
    /// A node on its way back to discovery.
    pub reclaim: Duration,
    /// A host that was bound and does not come back with a restarted agent.
    pub binding: Duration,
    /// The reboot of a single node, which does everything by itself afterwards.
    pub single_node_reboot: Duration,
    /// Virtual addresses that hosts are to lease.
    pub vip_lease: Duration,
    /// The whole installation, once the user is needed.
    pub installation: Duration,
    /// The cluster's own roll-out.
    pub finalizing: Duration,
    /// Host logs: never started / started.
    pub host_logs: (Duration, Duration),
    /// Cluster logs: never started / started.
    pub cluster_logs: (Duration, Duration),
    /// Disk check, sent to the agent.
    pub disk_check: Duration,
    /// Image pulls, sent to the agent.
    pub image_availability: Duration,
    /// Stages that differ from the shipped limits.
    pub host_stages: Vec<(HostStage, Duration)>,
    /// The same for finalizing stages.
    pub finalizing_stages: Vec<(FinalizingStage, Duration)>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            disconnection: minutes(3),
            bootstrap_grace: minutes(2),
            host_preparing: minutes(17),
            cluster_preparing: minutes(18),
            host_installing: minutes(20),
            host_pending_user_action: minutes(60),
            reclaim: minutes(60),
            binding: minutes(10),
            single_node_reboot: minutes(80),
            vip_lease: minutes(2),
            installation: minutes(24 * 60),
            finalizing: minutes(5 * 60),
            host_logs: (minutes(2), minutes(10)),
            cluster_logs: (minutes(10), minutes(60)),
            disk_check: minutes(8),
            image_availability: minutes(16),
            host_stages: Vec::new(),
            finalizing_stages: Vec::new(),
        }
    }
}

impl Timeouts {
    /// How long a host may stay in a stage without a sign of progress.
    #[must_use]
    pub fn host_stage(&self, stage: HostStage, single_node: bool) -> Duration {
        use HostStage::*;
        if single_node && stage == Rebooting {
            return self.single_node_reboot;
        }
        if let Some((_, limit)) = self.host_stages.iter().find(|(s, _)| *s == stage) {
            return *limit;
        }
        match stage {
            StartingInstallation | WritingImageToDisk => minutes(30),
            CopyingRegistryDataToDisk => minutes(90),
            Rebooting => minutes(40),
            WaitingForIgnition => minutes(24 * 60),
            Installing
            | WaitingForControlPlane
            | WaitingForBootkube
            | WaitingForController
            | Configuring
            | Joined
            | Done
            | Failed => minutes(60),
        }
    }

    /// How long a finalizing stage may take; OLM stages stretch to the slowest operator.
    #[must_use]
    pub fn finalizing_stage(&self, stage: FinalizingStage, slowest_operator: Duration) -> Duration {
        use FinalizingStage::*;
        let set = self.finalizing_stages.iter().find(|(s, _)| *s == stage);
        let limit = |shipped| set.map_or(shipped, |(_, limit)| *limit);
        match stage {
            WaitingForClusterOperators => limit(minutes(600)),
            AddingRouterCa | Done => limit(minutes(70)),
            ApplyingOlmManifests => limit(minutes(10)),
            WaitingForOlmOperatorsCsvInitialization | WaitingForOlmOperatorsCsv => {
                limit(minutes(70)).max(slowest_operator)
            }
            WaitingForOlmOperatorSetupJobs => limit(minutes(10)).max(slowest_operator),
        }
    }
}

/// How often agents ask for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// As a rule.
    pub normal: Duration,
    /// When little can happen soon.
    pub slow: Duration,
    /// When a change is near (preparation); shorten it to start installations sooner.
    pub near_change: Duration,
}

impl Default for Polling {
    fn default() -> Self {
        Self {
            normal: Duration::from_secs(60),
            slow: Duration::from_secs(120),
            near_change: Duration::from_secs(60),
        }
    }
}

/// Container images that steps name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images {
    /// Node installer.
    pub installer: String,
    /// Controller inside the new cluster.
    pub controller: String,
    /// Machine-config operator of the release, if known.
    pub machine_config_operator: Option<String>,
    /// Operating system of the release, for hosts that install to the root they run from.
    pub coreos: Option<String>,
    /// Must-gather images by component, as far as known; `ocp` is the release's own.
    pub must_gather: BTreeMap<String, String>,
}

/// How large an inventory may get, sent to agents; 0 sends none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InventoryLimits {
    /// All of it, in bytes.
    pub max_bytes: u64,
    /// Smaller disks are left out.
    pub min_disk_bytes: u64,
}

/// Where a node that leaves its cluster finds the discovery image of its infra-env.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootArtifacts {
    /// Kernel.
    pub kernel: String,
    /// Initial RAM disk; the address may carry a key.
    pub initrd: Secret,
    /// Root file system.
    pub rootfs: String,
}

/// Everything the rules take from configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Limits.
    pub timeouts: Timeouts,
    /// Hardware.
    pub requirements: RequirementTable,
    /// What operators ask of hosts.
    pub operators: OperatorSettings,
    /// Poll intervals.
    pub polling: Polling,
    /// Images in steps.
    pub images: Images,
    /// What is overdue during an installation is reported, and the installation goes on.
    pub soft_timeouts: bool,
    /// Suggest no roles before an installation starts.
    pub leave_roles_open: bool,
    /// Host validations to disable.
    pub disabled_host_checks: BTreeSet<String>,
    /// Cluster validations to disable.
    pub disabled_cluster_checks: BTreeSet<String>,
    /// Steps that are never handed out.
    pub disabled_steps: BTreeSet<StepType>,
    /// Agents of another version are asked to upgrade to this image; `None` leaves them alone.
    pub upgrade_agent_to: Option<String>,
    /// Hosts that wait for their installation send logs this often; `None`: never.
    pub discovery_logs: Option<Duration>,
    /// Limits of inventories.
    pub inventory_limits: InventoryLimits,
    /// The discovery image for a host that is being reclaimed.
    pub boot_artifacts: Option<BootArtifacts>,
    /// Keep bridges, tunnels and the like in inventories.
    pub keep_virtual_interfaces: bool,
    /// The host with this card leads the installation.
    pub bootstrap_mac: Option<String>,
    /// Reboot for the machine-config operator even where the release can do without.
    pub keep_mco_reboot: bool,
    /// Let the installer wait for the cluster version operator.
    pub check_cluster_version: bool,
    /// Products whose Arm workers count as edge workers, separated by commas.
    pub edge_worker_products: String,
    /// A single node answers for the names of its cluster itself.
    pub single_node_dnsmasq: bool,
}
