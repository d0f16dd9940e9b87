//! The rules' constants, from the configuration and the catalogue.
//!
//! Hardware requirements and images differ by release, so there is one set of constants per
//! release in use, made when first asked for.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use muster_catalog::{HardwareCatalog, HardwareProfile, MustGatherImages, Requirement};
use muster_config::Config;
use muster_engine::{
    Settings,
    settings::{Images, InventoryLimits, Polling, RequirementTable, Requirements, Timeouts},
};
use muster_model::{Arch, Cluster, FinalizingStage, HostStage, InfraEnv, Payload};
use muster_release::ImageRef;

use crate::catalog::Catalog;

/// Releases whose constants are kept.
const MOST_RELEASES: usize = 256;

/// Version, architecture and what is known of the release image.
type Release = (String, Option<Arch>, Payload);

/// Whether an image is named by digest. Agents run the image they are upgraded to as root, so
/// anyone who can move a tag in its registry would own every host.
fn is_pinned(image: &str) -> bool {
    let image: Result<ImageRef, _> = image.parse();
    image.is_ok_and(|image| image.digest.is_some())
}

/// The constants, by release.
#[derive(Debug)]
pub struct Rules {
    base: Settings,
    hardware: HardwareCatalog,
    must_gather: MustGatherImages,
    by_release: Mutex<HashMap<Release, Arc<Settings>>>,
}

impl Rules {
    /// Reads everything that does not depend on a version.
    #[must_use]
    pub fn from_config(config: &Config, catalog: &Catalog) -> Self {
        let images = &config.images;
        let base = Settings {
            timeouts: timeouts(config),
            polling: polling(config),
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
            operators: catalog.operators.clone(),
            soft_timeouts: config.features.soft_timeouts,
            leave_roles_open: !config.features.auto_assign,
            keep_virtual_interfaces: config.features.virtual_interfaces,
            bootstrap_mac: Some(config.cluster.bootstrap_host_mac.clone())
                .filter(|mac| !mac.is_empty()),
            check_cluster_version: config.features.check_cluster_version,
            keep_mco_reboot: !config.features.skip_mco_reboot,
            upgrade_agent_to: config
                .features
                .upgrade_agent
                .then(|| images.agent.clone())
                .filter(|image| is_pinned(image)),
            discovery_logs: Some(config.timeouts.discovery_logs)
                .filter(|every| !every.is_zero())
                .map(|every| every.max(Duration::from_secs(60))),
            inventory_limits: InventoryLimits {
                max_bytes: config.cluster.inventory_max_size,
                min_disk_bytes: config.cluster.inventory_disk_min_size,
            },
            edge_worker_products: config.cluster.edge_worker_products.join(","),
            single_node_dnsmasq: config.features.single_node_dnsmasq,
            ..Settings::default()
        };
        Self {
            base,
            hardware: catalog.hardware.clone(),
            must_gather: catalog.must_gather.clone(),
            by_release: Mutex::default(),
        }
    }

    /// How often hosts that wait for their installation send logs, if they do.
    #[must_use]
    pub fn discovery_logs(&self) -> Option<Duration> {
        self.base.discovery_logs
    }

    /// The constants for a cluster, or for hosts that have none.
    #[must_use]
    pub fn of(&self, cluster: Option<&Cluster>) -> Arc<Settings> {
        let arch = cluster.and_then(Cluster::arch);
        let version = cluster.map_or("", |cluster| cluster.openshift_version.as_str());
        let payload = cluster.map(|cluster| &cluster.recipe.payload);
        self.of_release(version, arch, payload)
    }

    /// The constants for hosts of the pool, which follow the release they booted.
    #[must_use]
    pub fn of_pool(&self, infra_env: Option<&InfraEnv>) -> Arc<Settings> {
        let version = infra_env.map_or("", |booted| booted.openshift_version.as_str());
        self.of_release(version, None, None)
    }

    fn of_release(
        &self,
        version: &str,
        arch: Option<Arch>,
        payload: Option<&Payload>,
    ) -> Arc<Settings> {
        let payload = payload.cloned().unwrap_or_default();
        let release = (version.to_owned(), arch, payload);
        let mut known = self
            .by_release
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(settings) = known.get(&release) {
            return Arc::clone(settings);
        }
        let settings = Arc::new(Settings {
            requirements: self.requirements(version),
            images: self.images(&release),
            ..self.base.clone()
        });
        // Imported clusters bring any version text they like.
        if known.len() >= MOST_RELEASES {
            known.clear();
        }
        known.insert(release, Arc::clone(&settings));
        settings
    }

    /// Images by settings, by catalogue and by what the release image itself says.
    fn images(&self, release: &Release) -> Images {
        let (version, arch, payload) = release;
        let component = |name: &str| payload.components.get(name).cloned();
        let mut must_gather = self.must_gather(version, *arch);
        if let Some(image) = component("must-gather") {
            must_gather.entry("ocp".to_owned()).or_insert(image);
        }
        Images {
            machine_config_operator: component("machine-config-operator"),
            coreos: component("rhel-coreos").or_else(|| component("stream-coreos")),
            must_gather,
            ..self.base.images.clone()
        }
    }

    /// Must-gather images that are known for the release; none for a version that cannot be parsed.
    fn must_gather(&self, version: &str, arch: Option<Arch>) -> BTreeMap<String, String> {
        let (Ok(version), Some(arch)) = (version.parse(), arch) else {
            return BTreeMap::new();
        };
        self.must_gather
            .find(&version, arch)
            .into_iter()
            .map(|(component, image)| (component.to_owned(), image.to_owned()))
            .collect()
    }

    /// What the version needs; a version the table cannot read gets the default row.
    fn requirements(&self, version: &str) -> RequirementTable {
        let shipped = RequirementTable::default();
        let of = |profile, fallback: Requirements| {
            self.hardware
                .lookup(version, profile)
                .map_or(fallback, requirements)
        };
        RequirementTable {
            master: of(HardwareProfile::Master, shipped.master),
            arbiter: of(HardwareProfile::Arbiter, shipped.arbiter),
            worker: of(HardwareProfile::Worker, shipped.worker),
            single_node: of(HardwareProfile::Sno, shipped.single_node),
            edge_worker: of(HardwareProfile::EdgeWorker, shipped.edge_worker),
        }
    }
}

/// Limits that the table leaves out are no limits.
fn requirements(found: &Requirement) -> Requirements {
    Requirements {
        cpu_cores: found.cpu_cores.into(),
        ram_mib: found.ram_mib.into(),
        disk_size_gb: found.disk_size_gb.into(),
        disk_speed_threshold_ms: found.installation_disk_speed_threshold_ms.into(),
        network_latency_ms: found.network_latency_threshold_ms,
        packet_loss_percent: found.packet_loss_percentage,
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
    }
}

/// Agents take an interval of zero for a mistake and come back after a minute.
fn polling(config: &Config) -> Polling {
    let normal = config.timeouts.poll_interval.max(Duration::from_secs(1));
    Polling {
        normal,
        slow: normal * 2,
        near_change: normal,
    }
}

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

#[cfg(test)]
mod tests {
    use muster_model::{ArchName, ClusterId, ClusterKind, ClusterStatus, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn rules(config: &Config) -> Rules {
        Rules::from_config(config, &Catalog::from_config(config).unwrap())
    }

    fn images_of(rules: &Rules, version: &str, architecture: Option<&str>) -> Vec<String> {
        let id = ClusterId(Uuid::nil());
        let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Ready);
        let mut cluster = Cluster::blank(id, kind, "c", status, "admin", Timestamp(0));
        cluster.openshift_version = version.to_owned();
        cluster.cpu_architecture = architecture.map(ArchName::from);
        let settings = rules.of(Some(&cluster));
        settings.images.must_gather.keys().cloned().collect()
    }

    #[test]
    fn must_gather_images_follow_version_and_architecture() {
        let rules = rules(&Config::default());
        assert_eq!(
            images_of(&rules, "4.10.67", Some("x86_64")),
            ["cnv", "lso", "ocs"]
        );
        assert_eq!(images_of(&rules, "4.10.67", Some("arm64")), ["lso", "ocs"]);
        assert!(images_of(&rules, "4.10.67", None).is_empty());
        assert!(images_of(&rules, "nonsense", Some("x86_64")).is_empty());
    }

    #[test]
    fn images_that_only_the_release_knows_follow_what_was_read_of_it() {
        let rules = rules(&Config::default());
        let id = ClusterId(Uuid::nil());
        let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Ready);
        let mut cluster = Cluster::blank(id, kind, "c", status, "admin", Timestamp(0));
        cluster.openshift_version = "4.20.3".to_owned();
        assert_eq!(
            rules.of(Some(&cluster)).images.machine_config_operator,
            None
        );
        let names = ["machine-config-operator", "must-gather", "stream-coreos"];
        let read = names.map(|name| (name.to_owned(), format!("quay.test/{name}")));
        cluster.recipe.payload.components = read.into();
        let images = rules.of(Some(&cluster)).images.clone();
        let found = images.machine_config_operator.as_deref();
        assert_eq!(found, Some("quay.test/machine-config-operator"));
        assert_eq!(images.coreos.as_deref(), Some("quay.test/stream-coreos"));
        assert_eq!(images.must_gather["ocp"], "quay.test/must-gather");
    }

    #[test]
    fn agents_are_upgraded_to_an_image_named_by_digest_unless_that_is_switched_off() {
        let upgrade = |on: bool, image: &str| {
            let mut config = Config::default();
            config.features.upgrade_agent = on;
            image.clone_into(&mut config.images.agent);
            rules(&config).of(None).upgrade_agent_to.clone()
        };
        let digest = "0a".repeat(32);
        let pinned = format!("quay.test/agent@sha256:{digest}");
        let both = format!("quay.test/agent:2@sha256:{digest}");
        assert_eq!(upgrade(true, &pinned), Some(pinned.clone()));
        assert_eq!(upgrade(true, &both), Some(both));
        assert_eq!(upgrade(false, &pinned), None);
        for unpinned in [
            "",
            "quay.test/agent",
            "quay.test/agent:latest",
            "quay.test/agent@sha256:0a",
            Config::default().images.agent.as_str(),
        ] {
            assert_eq!(upgrade(true, unpinned), None, "{unpinned:?}");
        }
    }

    #[test]
    fn no_setting_makes_agents_poll_without_a_pause() {
        let polling = |interval| {
            let mut config = Config::default();
            config.timeouts.poll_interval = interval;
            rules(&config).of(None).polling
        };
        assert_eq!(polling(minutes(1)), Polling::default());
        let shortest = polling(Duration::from_millis(1));
        assert_eq!((shortest.normal.as_secs(), shortest.slow.as_secs()), (1, 2));
    }
}
