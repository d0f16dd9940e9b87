//! OpenShift AI: enough workers with enough resources. GPUs are optional.

use muster_catalog::Operator;

use super::{OnCluster, gpu};
use crate::checks::CheckResult;

pub(super) fn enough_workers(operator: Operator, on: &OnCluster<'_>) -> CheckResult {
    if on.scene.is_single_node() {
        return CheckResult::pass("OpenShift AI runs on the single node itself");
    }
    let least = on.settings.openshift_ai_min_workers;
    let workers = on.scene.workers();
    if u32::try_from(workers).unwrap_or(u32::MAX) >= least {
        CheckResult::pass(format!("{workers} workers, OpenShift AI needs {least}"))
    } else {
        CheckResult::fail(format!(
            "{workers} workers, OpenShift AI needs at least {least}; add workers or drop {operator}"
        ))
    }
}

/// Good to know, never in the way.
pub(super) fn gpus(on: &OnCluster<'_>) -> CheckResult {
    match gpu::usable_gpus(on) {
        0 => CheckResult::pass(
            "No GPU was found on hosts that run workload; models will run on CPUs. Add a GPU and its operator to speed them up",
        ),
        count => CheckResult::pass(format!("{count} GPUs on hosts that run workload")),
    }
}
