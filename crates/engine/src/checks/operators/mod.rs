//! Validations of optional operators: one row each in [`OPERATOR_CHECKS`].
//!
//! A row has one id for hosts and for clusters, a plain sentence of what it asks, and the rules
//! that are its own; where an operator exists at all is asked of every one ([`releases`]), and
//! what it takes of a host is counted in [`capacity`]. An operator that is not chosen passes.
//! Every row gates the installation.

mod ai;
mod capacity;
mod explained;
mod gpu;
mod releases;
mod scene;
mod storage;
#[cfg(test)]
mod tests;
mod virtualization;

use std::sync::Arc;

use muster_catalog::{Operator, operators::OperatorSettings};
use muster_model::{Cluster, Host};

use super::{CheckResult, Findings, Outcome, cluster::ClusterContext, host::HostContext};
use crate::inventory::Inventory;

pub(crate) use capacity::total;
pub use explained::{Explained, explained};
pub(crate) use scene::{OnHost, Scene};

const CATEGORY: &str = "operators";

/// Shown beside the row of OpenShift AI; gates nothing.
pub(crate) const AI_GPUS: &str = "openshift-ai-gpu-requirements-satisfied";

type HostRule = fn(Operator, &OnHost<'_>) -> CheckResult;
type ClusterRule = fn(Operator, &OnCluster<'_>) -> CheckResult;

/// One operator.
pub(crate) struct OperatorCheck {
    pub(crate) operator: Operator,
    pub(crate) id: &'static str,
    /// What it asks, in one sentence.
    pub(crate) asks: &'static str,
    host: Option<HostRule>,
    cluster: Option<ClusterRule>,
}

const fn row(operator: Operator, id: &'static str, asks: &'static str) -> OperatorCheck {
    OperatorCheck {
        operator,
        id,
        asks,
        host: None,
        cluster: None,
    }
}

impl OperatorCheck {
    const fn host(self, rule: HostRule) -> Self {
        Self {
            host: Some(rule),
            ..self
        }
    }

    const fn cluster(self, rule: ClusterRule) -> Self {
        Self {
            cluster: Some(rule),
            ..self
        }
    }
}

use Operator as O;

const NOTHING: &str = "No host requirements beyond a supported release and architecture.";

/// Every operator, sorted by id as clients see them.
#[rustfmt::skip] // one row per operator, readable as a table
pub(crate) static OPERATOR_CHECKS: &[OperatorCheck] = &[
    row(O::AmdGpu, "amd-gpu-requirements-satisfied", "A host that runs workload has an AMD GPU, and hosts with one have secure boot switched off.").host(gpu::gpu_host).cluster(gpu::gpu_cluster),
    row(O::Authorino, "authorino-requirements-satisfied", NOTHING),
    row(O::ClusterObservability, "cluster-observability-requirements-satisfied", NOTHING),
    row(O::Cnv, "cnv-requirements-satisfied", "Every host can run guests (vmx or svm, or an Arm processor), has a role, and has CPU cores and memory for virtualization; single nodes of 4.10 and 4.11 have a second disk.").host(virtualization::cnv),
    row(O::FenceAgentsRemediation, "fence-agents-remediation-requirements-satisfied", NOTHING),
    row(O::Kmm, "kmm-requirements-satisfied", "Every host has secure boot switched off.").host(gpu::kmm),
    row(O::KubeDescheduler, "kube-descheduler-requirements-satisfied", NOTHING),
    row(O::Loki, "loki-requirements-satisfied", NOTHING),
    row(O::Lso, "lso-requirements-satisfied", NOTHING),
    row(O::Lvm, "lvm-requirements-satisfied", "Every host that runs workload has a disk besides the installation disk, larger with the multicluster engine.").host(storage::lvm),
    row(O::Mce, "mce-requirements-satisfied", "Every host has CPU cores and memory for the multicluster engine.").host(capacity::share_is_there),
    row(O::Metallb, "metallb-requirements-satisfied", NOTHING),
    row(O::Mtv, "mtv-requirements-satisfied", "Every host has CPU cores and memory for the migration toolkit.").host(capacity::share_is_there),
    row(O::Nmstate, "nmstate-requirements-satisfied", NOTHING),
    row(O::NodeFeatureDiscovery, "node-feature-discovery-requirements-satisfied", NOTHING),
    row(O::NodeHealthcheck, "node-healthcheck-requirements-satisfied", NOTHING),
    row(O::NodeMaintenance, "node-maintenance-requirements-satisfied", NOTHING),
    row(O::Numaresources, "numa-resources-requirements-satisfied", NOTHING),
    row(O::NvidiaGpu, "nvidia-gpu-requirements-satisfied", "A host that runs workload has an NVIDIA GPU, and hosts with one have secure boot switched off.").host(gpu::gpu_host).cluster(gpu::gpu_cluster),
    row(O::Oadp, "oadp-requirements-satisfied", NOTHING),
    row(O::Odf, "odf-requirements-satisfied", "The roles determine which hosts carry storage (the control plane of a small cluster, the workers of a large one), and three of them have data disks of at least 25 GB.").host(storage::odf_host).cluster(storage::odf_cluster),
    row(O::OpenshiftAi, "openshift-ai-requirements-satisfied", "Two workers, unless the cluster is a single node, each with CPU cores and memory for OpenShift AI.").host(capacity::share_is_there).cluster(ai::enough_workers),
    row(O::OpenshiftLogging, "openshift-logging-requirements-satisfied", NOTHING),
    row(O::Osc, "osc-requirements-satisfied", "Every host has CPU cores and memory for sandboxed containers.").host(capacity::share_is_there),
    row(O::Pipelines, "pipelines-requirements-satisfied", NOTHING),
    row(O::SelfNodeRemediation, "self-node-remediation-requirements-satisfied", NOTHING),
    row(O::Serverless, "serverless-requirements-satisfied", NOTHING),
    row(O::Servicemesh, "servicemesh-requirements-satisfied", NOTHING),
];

/// The storage and virtualization rules that a host must pass before it is suggested as master.
const ASKED_OF_MASTERS: &[Operator] = &[O::Lso, O::Odf, O::Cnv, O::Lvm];

/// A cluster and its hosts, as cluster rules see them.
pub(crate) struct OnCluster<'a> {
    scene: &'a Scene,
    cluster: &'a Cluster,
    hosts: &'a [Host],
    inventories: &'a [Option<Arc<Inventory>>],
    settings: &'a OperatorSettings,
}

impl OnCluster<'_> {
    fn cases(&self) -> impl Iterator<Item = OnHost<'_>> {
        let hosts = self.hosts.iter().zip(self.inventories);
        hosts.map(|(host, inventory)| {
            OnHost::new(self.scene, host, inventory.as_deref(), self.settings)
        })
    }
}

/// Every id that operators are evaluated under.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    let gates = OPERATOR_CHECKS.iter().map(|check| check.id);
    gates.chain([AI_GPUS])
}

/// Whether nothing about operators stands in the way of an installation.
pub(crate) fn open(findings: &Findings) -> bool {
    OPERATOR_CHECKS
        .iter()
        .all(|check| findings.passes(check.id))
}

/// Validates a host; one without a cluster has no operators, and shows none.
pub(crate) fn evaluate_host(
    context: &HostContext<'_>,
    disabled: impl Fn(&str) -> bool,
    findings: &mut Findings,
) {
    let scene = &context.around.operators;
    let settings = &context.settings.operators;
    let on = OnHost::new(scene, context.host, context.inventory, settings);
    for check in OPERATOR_CHECKS {
        let result = match context.cluster {
            None => CheckResult::silent(),
            Some(_) if disabled(check.id) => switched_off(),
            Some(_) => of_host(check, &on),
        };
        findings.note(check.id, CATEGORY, result, true);
    }
}

/// Validates a cluster.
pub(crate) fn evaluate_cluster(
    context: &ClusterContext<'_>,
    disabled: impl Fn(&str) -> bool,
    findings: &mut Findings,
) {
    let scene = Scene::of(context.cluster, context.hosts.iter());
    let on = OnCluster {
        scene: &scene,
        cluster: context.cluster,
        hosts: context.hosts,
        inventories: context.inventories,
        settings: &context.settings.operators,
    };
    for check in OPERATOR_CHECKS {
        // Sorted by id, the GPUs of OpenShift AI come just before the rest of it.
        if check.operator == O::OpenshiftAi && scene.has(O::OpenshiftAi) && !scene.is_day2() {
            findings.note(AI_GPUS, CATEGORY, ai::gpus(&on), true);
        }
        let result = if disabled(check.id) {
            switched_off()
        } else {
            of_cluster(check, &on)
        };
        findings.note(check.id, CATEGORY, result, true);
    }
}

/// Whether the storage and virtualization rules pass, as suggesting a master asks; `excused`
/// reports ids that do not count.
pub(crate) fn suits_master(on: &OnHost<'_>, excused: impl Fn(&str) -> bool) -> bool {
    OPERATOR_CHECKS
        .iter()
        .filter(|check| ASKED_OF_MASTERS.contains(&check.operator) && !excused(check.id))
        .all(|check| of_host(check, on).outcome.is_true())
}

fn of_host(check: &OperatorCheck, on: &OnHost<'_>) -> CheckResult {
    let operator = check.operator;
    if let Some(result) = out_of_question(operator, on.scene) {
        return result;
    }
    match check.host {
        Some(rule) => rule(operator, on),
        None => CheckResult::pass(format!("{} asks nothing of hosts", operator.title())),
    }
}

fn of_cluster(check: &OperatorCheck, on: &OnCluster<'_>) -> CheckResult {
    let operator = check.operator;
    if let Some(result) = out_of_question(operator, on.scene) {
        return result;
    }
    let own = match check.cluster {
        Some(rule) => rule(operator, on),
        None => CheckResult::pass(format!("{} can be installed", operator.title())),
    };
    let mut objections = releases::objections(operator, on.cluster, on.scene, on.settings);
    if objections.is_empty() {
        return own;
    }
    if own.outcome == Outcome::Failure {
        objections.push(own.message);
    }
    CheckResult::fail(objections.join("\n"))
}

/// Nothing to evaluate: not chosen, or none of our business any more.
fn out_of_question(operator: Operator, scene: &Scene) -> Option<CheckResult> {
    let title = operator.title();
    if !scene.has(operator) {
        Some(CheckResult::pass(format!("{title} is not selected")))
    } else if scene.is_day2() {
        Some(CheckResult::pass(format!(
            "{title} is not checked for hosts that join a running cluster"
        )))
    } else {
        None
    }
}

fn switched_off() -> CheckResult {
    CheckResult::new(
        Outcome::Disabled,
        "Disabled by the configuration of the service",
    )
}

/// A failure that names all objections, or success.
fn result(objections: Vec<String>, fine: impl FnOnce() -> String) -> CheckResult {
    if objections.is_empty() {
        CheckResult::pass(fine())
    } else {
        CheckResult::fail(objections.join("\n"))
    }
}
