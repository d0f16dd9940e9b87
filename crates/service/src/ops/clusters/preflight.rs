//! What hardware to plan for, before any host is known.

use muster_api::wire;
use muster_catalog::{
    HardwareProfile, OpenshiftVersion, Operator, Requirement,
    operators::{
        OperatorSettings,
        needs::{ClusterShape, PreflightNeeds, preflight},
        odf::RoleCounts,
    },
};
use muster_model::Cluster;

use crate::catalog::Catalog;

/// The answer of `GET /v2/clusters/{cluster_id}/preflight-requirements`: the release itself, and
/// every operator that could be added, sorted by name.
#[must_use]
pub fn requirements(catalog: &Catalog, cluster: &Cluster) -> wire::PreflightHardwareRequirements {
    let single_node = cluster.is_single_node();
    let of = |profile| {
        catalog
            .hardware
            .lookup(&cluster.openshift_version, profile)
            .ok()
            .map(|found| details(&found.clone()))
            .unwrap_or_default()
    };
    let host_type = |quantitative| wire::HostTypeHardwareRequirements {
        qualitative: None,
        quantitative: Some(quantitative),
    };
    let master = if single_node {
        HardwareProfile::Sno
    } else {
        HardwareProfile::Master
    };
    let ocp = wire::HostTypeHardwareRequirementsWrapper {
        master: Some(host_type(of(master))),
        worker: Some(host_type(of(HardwareProfile::Worker))),
    };
    wire::PreflightHardwareRequirements {
        ocp: Some(ocp),
        operators: Some(operators(cluster, single_node)),
    }
}

/// An imported cluster may be of unknown version; the newest known way of counting applies.
fn operators(cluster: &Cluster, single_node: bool) -> Vec<wire::OperatorHardwareRequirements> {
    let version: Option<OpenshiftVersion> = cluster
        .openshift_version
        .parse()
        .or_else(|_| "4.16".parse())
        .ok();
    let Some(version) = version else {
        return Vec::new();
    };
    let shape = ClusterShape {
        version: &version,
        single_node,
        masters_schedulable: single_node
            || cluster.schedulable_masters
            || cluster.schedulable_masters_forced_true,
        roles: RoleCounts::default(),
    };
    let settings = OperatorSettings::default();
    let row = |operator: &Operator| {
        let plan = preflight(*operator, shape, &settings);
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
    use muster_model::{ClusterId, ClusterKind, ClusterStatus, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn shown(count: Option<i64>, version: &str) -> serde_json::Value {
        let catalog = Catalog::from_config(&Config::default()).unwrap();
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
        serde_json::to_value(requirements(&catalog, &cluster)).unwrap()
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
        let odf = operators
            .iter()
            .find(|one| one["operator_name"] == "odf")
            .unwrap();
        assert_eq!(odf["dependencies"], serde_json::json!(["lso"]));
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
