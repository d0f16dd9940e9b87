//! Cluster validations about what only the user's own manifests can bring.

use muster_model::PlatformType;

use super::{CheckResult, cluster::ClusterContext};
use crate::networks;

/// The feature under which the service notes that the user added manifests.
const CUSTOM_MANIFEST: &str = "CUSTOM_MANIFEST";

/// Network plugins that are not part of the release.
const FOREIGN_PLUGINS: &[&str] = &["Cilium", "Calico", "CiscoACI", "None"];

fn has_manifests(on: &ClusterContext<'_>) -> bool {
    let mut uses = on.cluster.feature_usage.values();
    uses.any(|feature| feature.id == CUSTOM_MANIFEST)
}

pub(super) fn custom_manifests(on: &ClusterContext<'_>) -> CheckResult {
    let kind = networks::network_type(on.cluster);
    if !FOREIGN_PLUGINS.contains(&kind.as_str()) {
        return CheckResult::pass(
            "The network plugin is part of the release, no manifests are needed",
        );
    }
    if has_manifests(on) {
        CheckResult::pass(format!(
            "The cluster brings its own manifests, as network plugin {kind} needs it"
        ))
    } else {
        CheckResult::fail(format!(
            "Network plugin {kind} is not part of the release and the cluster has no manifests of its own; add those of the plugin"
        ))
    }
}

pub(super) fn platform_requirements(on: &ClusterContext<'_>) -> CheckResult {
    let oracle = on.cluster.platform.as_ref().is_some_and(|platform| {
        platform.kind == PlatformType::External && platform.external_name.as_deref() == Some("oci")
    });
    if !oracle {
        return CheckResult::pass("The platform needs nothing beside the release");
    }
    if has_manifests(on) {
        CheckResult::pass("The cluster brings its own manifests, as Oracle's cloud needs it")
    } else {
        CheckResult::fail(
            "Oracle's cloud needs a cloud controller that is not part of the release and the cluster has no manifests of its own; add those of the controller",
        )
    }
}
