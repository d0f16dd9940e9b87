//! Versions and architectures that an operator supports. The limits are the catalogue's.

use muster_catalog::{Operator, operators::OperatorSettings};
use muster_model::Cluster;

use super::scene::Scene;

/// Why the cluster's release cannot run the operator.
pub(super) fn objections(
    operator: Operator,
    cluster: &Cluster,
    scene: &Scene,
    settings: &OperatorSettings,
) -> Vec<String> {
    [
        architecture(operator, cluster),
        version(operator, cluster, scene, settings),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn architecture(operator: Operator, cluster: &Cluster) -> Option<String> {
    let arch = cluster.arch()?;
    let version = &cluster.openshift_version;
    (!operator.exists_on(arch, version)).then(|| {
        format!(
            "{} does not exist for OpenShift {version} on {arch}; drop {operator} or use another architecture",
            operator.title()
        )
    })
}

fn version(
    operator: Operator,
    cluster: &Cluster,
    scene: &Scene,
    settings: &OperatorSettings,
) -> Option<String> {
    let first = if operator == Operator::Mce {
        settings.mce_min_version.to_string()
    } else {
        let (major, minor) = operator.first_version(scene.is_single_node())?;
        format!("{major}.{minor}")
    };
    let title = operator.title();
    let Some(version) = scene.version() else {
        return Some(format!(
            "{title} needs OpenShift {first} or later, but the version {:?} of the cluster cannot be read",
            cluster.openshift_version
        ));
    };
    let new_enough = if operator == Operator::Mce {
        *version >= settings.mce_min_version
    } else {
        operator
            .first_version(scene.is_single_node())
            .is_none_or(|(major, minor)| version.at_least(major, minor))
    };
    let many = if operator == Operator::Lvm && !scene.is_single_node() {
        " on several nodes"
    } else {
        ""
    };
    (!new_enough).then(|| {
        format!(
            "{title} needs OpenShift {first} or later{many}, the cluster is to run {version}; choose a later version or drop {operator}"
        )
    })
}
