//! Cluster validations that depend on the user's custom manifests.

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
            "The cluster has custom manifests, as network plugin {kind} requires"
        ))
    } else {
        CheckResult::fail(format!(
            "Network plugin {kind} is not part of the release and the cluster has no custom manifests; add those of the plugin"
        ))
    }
}

pub(super) fn platform_requirements(on: &ClusterContext<'_>) -> CheckResult {
    let oracle = on.cluster.platform.as_ref().is_some_and(|platform| {
        platform.kind == PlatformType::External && platform.external_name.as_deref() == Some("oci")
    });
    if !oracle {
        return CheckResult::pass("The platform needs no additional manifests");
    }
    if has_manifests(on) {
        CheckResult::pass("The cluster has custom manifests, as Oracle Cloud requires")
    } else {
        CheckResult::fail(
            "Oracle Cloud needs a cloud controller that is not part of the release and the cluster has no custom manifests; add those of the controller",
        )
    }
}
