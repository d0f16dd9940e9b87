//! What hardware to plan for, before any host is known.

use muster_api::wire;
use muster_catalog::{
    HardwareProfile, Operator, Requirement,
    operators::{
        needs::{ClusterShape, PreflightNeeds, preflight},
        odf::RoleCounts,
    },
};
use muster_model::{Cluster, OpenshiftVersion};

use crate::catalog::Catalog;

const TPM: &str = "tpmv2";

/// The answer of `GET /v2/clusters/{cluster_id}/preflight-requirements`: the release itself, and
/// every operator that could be added, sorted by name. Clusters that only take hosts in choose
/// no operators any more.
#[must_use]
pub fn requirements(catalog: &Catalog, cluster: &Cluster) -> wire::PreflightHardwareRequirements {
    let of = |profile, role: &str| {
        let found = catalog
            .hardware
            .lookup(&cluster.openshift_version, profile)
            .ok();
        let mut need = found.cloned().unwrap_or_default();
        need.tpm_enabled_in_bios = opens_disks_by_tpm(cluster, role);
        wire::HostTypeHardwareRequirements {
            qualitative: None,
            quantitative: Some(details(&need)),
        }
    };
    let master = if cluster.is_single_node() {
        HardwareProfile::Sno
    } else {
        HardwareProfile::Master
    };
    let ocp = wire::HostTypeHardwareRequirementsWrapper {
        master: Some(of(master, "masters")),
        worker: Some(of(HardwareProfile::Worker, "workers")),
    };
    wire::PreflightHardwareRequirements {
        ocp: Some(ocp),
        operators: (!cluster.is_day2()).then(|| operators(catalog, cluster)),
    }
}

/// Whether hosts of that role keep the key of their disks in a TPM.
fn opens_disks_by_tpm(cluster: &Cluster, role: &str) -> bool {
    cluster.disk_encryption.as_ref().is_some_and(|encryption| {
        let mut roles = encryption.enable_on.split(',').map(str::trim);
        encryption.mode == TPM && roles.any(|one| one == role || one == "all")
    })
}

fn operators(catalog: &Catalog, cluster: &Cluster) -> Vec<wire::OperatorHardwareRequirements> {
    let version: Option<OpenshiftVersion> = cluster.openshift_version.parse().ok();
    let single_node = cluster.is_single_node();
    let shape = ClusterShape {
        version: version.as_ref(),
        single_node,
        masters_schedulable: single_node
            || cluster.schedulable_masters
            || cluster.schedulable_masters_forced_true,
        roles: RoleCounts::default(),
    };
    let row = |operator: &Operator| {
        let plan = preflight(*operator, shape, &catalog.operators);
        wire::OperatorHardwareRequirements {
            operator_name: Some(plan.operator_name.to_string()),
            dependencies: Some(plan.dependencies.iter().map(ToString::to_string).collect()),
            requirements: Some(wire::HostTypeHardwareRequirementsWrapper {
                master: Some(needs(plan.requirements.master)),
                worker: Some(needs(plan.requirements.worker)),
            }),
        }
    };
    Operator::ALL.iter().map(row).collect()
}

fn needs(needs: PreflightNeeds) -> wire::HostTypeHardwareRequirements {
    wire::HostTypeHardwareRequirements {
        qualitative: needs.qualitative,
        quantitative: Some(details(&needs.quantitative)),
    }
}

/// Sizes of nothing are left out; limits of zero are real.
fn details(need: &Requirement) -> wire::ClusterHostRequirementsDetails {
    let size = |number: u32| (number > 0).then(|| i64::from(number));
    wire::ClusterHostRequirementsDetails {
        cpu_cores: size(need.cpu_cores),
        ram_mib: size(need.ram_mib),
        disk_size_gb: size(need.disk_size_gb),
        installation_disk_speed_threshold_ms: size(need.installation_disk_speed_threshold_ms),
        network_latency_threshold_ms: need.network_latency_threshold_ms,
        packet_loss_percentage: need.packet_loss_percentage,
        tpm_enabled_in_bios: need.tpm_enabled_in_bios.then_some(true),
    }
}

#[cfg(test)]
mod tests {
    use muster_config::Config;
    use muster_model::{ClusterId, ClusterKind, ClusterStatus, DiskEncryption, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn cluster(count: Option<i64>, version: &str) -> Cluster {
        let id = ClusterId(Uuid::nil());
        let mut cluster = Cluster::blank(
            id,
            ClusterKind::Cluster,
            "c",
            ClusterStatus::Insufficient,
            "admin",
            Timestamp(0),
        );
        cluster.control_plane_count = count;
        cluster.openshift_version = version.into();
        cluster
    }

    fn shown_with(config: &Config, cluster: &Cluster) -> serde_json::Value {
        let catalog = Catalog::from_config(config).unwrap();
        serde_json::to_value(requirements(&catalog, cluster)).unwrap()
    }

    fn shown(count: Option<i64>, version: &str) -> serde_json::Value {
        shown_with(&Config::default(), &cluster(count, version))
    }

    fn operator<'a>(shown: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
        let mut operators = shown["operators"].as_array().unwrap().iter();
        operators.find(|one| one["operator_name"] == name).unwrap()
    }

    #[test]
    fn the_release_and_all_operators_are_listed() {
        let shown = shown(Some(3), "4.16.68");
        assert_eq!(shown["ocp"]["master"]["quantitative"]["cpu_cores"], 4);
        assert_eq!(shown["ocp"]["worker"]["quantitative"]["ram_mib"], 8192);
        assert_eq!(
            shown["ocp"]["worker"]["qualitative"],
            serde_json::Value::Null
        );
        let operators = shown["operators"].as_array().unwrap();
        assert_eq!(operators.len(), 28);
        let odf = operator(&shown, "odf");
        assert_eq!(odf["dependencies"], serde_json::json!(["lso"]));
    }

    #[test]
    fn the_settings_that_rules_use_are_the_ones_shown() {
        let mut config = Config::default();
        config.operators.odf_cpu_per_host_compact = 11;
        config.operators.osc_memory_per_host_mib = 2048;
        let shown = shown_with(&config, &cluster(Some(3), "4.16.68"));
        let master = |name| &operator(&shown, name)["requirements"]["master"]["quantitative"];
        assert_eq!(master("odf")["cpu_cores"], 11);
        assert_eq!(master("osc")["ram_mib"], 2048);
        assert_eq!(master("lso"), &serde_json::json!({}));
    }

    #[test]
    fn a_cluster_that_takes_hosts_in_chooses_no_operators() {
        let mut cluster = cluster(Some(3), "4.16.68");
        cluster.kind = ClusterKind::AddHostsCluster;
        let shown = shown_with(&Config::default(), &cluster);
        assert_eq!(shown.get("operators"), Some(&serde_json::Value::Null));
    }

    #[test]
    fn roles_whose_disks_a_tpm_opens_need_one() {
        let flags = |enable_on: &str, mode: &str| {
            let mut cluster = cluster(Some(3), "4.16.68");
            cluster.disk_encryption = Some(DiskEncryption {
                enable_on: enable_on.into(),
                mode: mode.into(),
                tang_servers: None,
            });
            let shown = shown_with(&Config::default(), &cluster);
            ["master", "worker"]
                .map(|role| shown["ocp"][role]["quantitative"]["tpm_enabled_in_bios"] == true)
        };
        assert_eq!(flags("all", "tpmv2"), [true, true]);
        assert_eq!(flags("masters,arbiters", "tpmv2"), [true, false]);
        assert_eq!(flags("workers", "tpmv2"), [false, true]);
        assert_eq!(flags("arbiters", "tpmv2"), [false, false]);
        assert_eq!(flags("none", "tpmv2"), [false, false]);
        assert_eq!(flags("all", "tang"), [false, false]);
    }

    #[test]
    fn single_nodes_and_clusters_of_unknown_version_get_an_answer_too() {
        assert_eq!(
            shown(Some(1), "4.16.68")["ocp"]["master"]["quantitative"]["cpu_cores"],
            8
        );
        assert_eq!(shown(None, "")["operators"].as_array().unwrap().len(), 28);
    }
}
