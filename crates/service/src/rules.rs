//! The rules' constants, from the configuration and the catalogue.
//!
//! Hardware requirements differ by version, so there is one set of constants per version in
//! use, made when first asked for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use muster_catalog::{HardwareCatalog, HardwareProfile, Requirement};
use muster_config::Config;
use muster_engine::{
    Settings,
    settings::{Images, RequirementTable, Requirements, Timeouts},
};
use muster_model::{Cluster, FinalizingStage, HostStage};

/// Versions whose constants are kept.
const MOST_VERSIONS: usize = 256;

/// The constants, by version.
#[derive(Debug)]
pub struct Rules {
    base: Settings,
    hardware: HardwareCatalog,
    by_version: Mutex<HashMap<String, Arc<Settings>>>,
}

impl Rules {
    /// Reads everything that does not depend on a version.
    #[must_use]
    pub fn from_config(config: &Config, hardware: HardwareCatalog) -> Self {
        let images = &config.images;
        let base = Settings {
            timeouts: timeouts(config),
            images: Images {
                installer: images.installer.clone(),
                controller: images.controller.clone(),
                ..Images::default()
            },
            disabled_host_checks: config
                .cluster
                .disabled_host_validations
                .0
                .iter()
                .cloned()
                .collect(),
            disabled_cluster_checks: config
                .cluster
                .disabled_cluster_validations
                .0
                .iter()
                .cloned()
                .collect(),
            disabled_steps: config
                .cluster
                .disabled_steps
                .0
                .iter()
                .filter_map(|name| name.parse().ok())
                .collect(),
            soft_timeouts: config.features.soft_timeouts,
            leave_roles_open: !config.features.auto_assign,
            keep_virtual_interfaces: config.features.virtual_interfaces,
            bootstrap_mac: Some(config.cluster.bootstrap_host_mac.clone())
                .filter(|mac| !mac.is_empty()),
            check_cluster_version: config.features.check_cluster_version,
            ..Settings::default()
        };
        Self {
            base,
            hardware,
            by_version: Mutex::default(),
        }
    }

    /// The constants for a cluster, or for hosts that have none.
    #[must_use]
    pub fn of(&self, cluster: Option<&Cluster>) -> Arc<Settings> {
        let version = cluster.map_or("", |cluster| cluster.openshift_version.as_str());
        let mut known = self
            .by_version
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(settings) = known.get(version) {
            return Arc::clone(settings);
        }
        let settings = Arc::new(Settings {
            requirements: self.requirements(version),
            ..self.base.clone()
        });
        // Imported clusters bring any version text they like.
        if known.len() >= MOST_VERSIONS {
            known.clear();
        }
        known.insert(version.to_owned(), Arc::clone(&settings));
        settings
    }

    /// What the version needs; a version the table cannot read gets the default row.
    fn requirements(&self, version: &str) -> RequirementTable {
        let shipped = RequirementTable::default();
        let of = |profile, fallback: Requirements| {
            self.hardware
                .lookup(version, profile)
                .map_or(fallback, |found| requirements(found, fallback))
        };
        RequirementTable {
            master: of(HardwareProfile::Master, shipped.master),
            arbiter: of(HardwareProfile::Arbiter, shipped.arbiter),
            worker: of(HardwareProfile::Worker, shipped.worker),
            single_node: of(HardwareProfile::Sno, shipped.single_node),
        }
    }
}

fn requirements(found: &Requirement, fallback: Requirements) -> Requirements {
    Requirements {
        cpu_cores: found.cpu_cores.into(),
        ram_mib: found.ram_mib.into(),
        disk_size_gb: found.disk_size_gb.into(),
        disk_speed_threshold_ms: found.installation_disk_speed_threshold_ms.into(),
        network_latency_ms: found
            .network_latency_threshold_ms
            .or(fallback.network_latency_ms),
        packet_loss_percent: found
            .packet_loss_percentage
            .or(fallback.packet_loss_percent),
    }
}

fn timeouts(config: &Config) -> Timeouts {
    let limits = &config.timeouts;
    let slowest_check = limits.disk_check.max(limits.image_availability);
    Timeouts {
        disconnection: limits.host_disconnection,
        bootstrap_grace: limits.bootstrap_grace,
        host_preparing: limits.prepare_host.max(slowest_check + minutes(1)),
        cluster_preparing: limits.prepare_cluster.max(slowest_check + minutes(2)),
        host_installing: limits.host_without_progress,
        host_pending_user_action: limits.host_pending_user_action,
        reclaim: limits.host_reclaim,
        binding: limits.host_binding,
        vip_lease: limits.vip_lease,
        single_node_reboot: limits.single_node_reboot,
        installation: limits.installation,
        finalizing: limits.finalizing,
        host_logs: (limits.host_log_pending, limits.host_log_collection),
        cluster_logs: (limits.log_pending, limits.log_collection),
        disk_check: limits.disk_check,
        image_availability: limits.image_availability,
        host_stages: HostStage::ALL
            .iter()
            .map(|stage| (*stage, config.host_stages.limit(stage.as_str())))
            .collect(),
        finalizing_stages: FinalizingStage::ALL
            .iter()
            .filter_map(|stage| Some((*stage, config.finalizing_stages.limit(stage.as_str())?)))
            .collect(),
        ..Timeouts::default()
    }
}

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}
