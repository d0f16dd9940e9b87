//! How many hosts of each role a cluster can have, and on which platforms. Fencing is not part of
//! these manifests, so two hosts of the control plane are accepted as they are.

use super::{rules::Facts, types::AgentClusterInstall};
use crate::validation::Diagnostics;

type Cluster<'a> = Facts<'a, AgentClusterInstall>;

/// Largest control plane.
const LARGEST: u32 = 5;

/// Whether the platform is one of these, in either spelling.
fn is_on(facts: &Cluster<'_>, platforms: &[&str]) -> bool {
    let found = &facts.object.spec.platform_type;
    platforms
        .iter()
        .any(|name| found.eq_ignore_ascii_case(name))
}

pub(super) fn control_plane(facts: &Cluster<'_>, diagnostics: &mut Diagnostics) {
    let spec = &facts.object.spec;
    let machines = spec.provision_requirements.control_plane_agents;
    let path = "spec.provisionRequirements.controlPlaneAgents";
    if machines == 0 {
        diagnostics.fault(
            path,
            "no host of the control plane",
            "write 1 for a single node, or 3 to 5",
        );
    } else if machines > LARGEST {
        diagnostics.fault(
            path,
            format!("{machines} hosts of the control plane"),
            "write 3, 4 or 5; 1 for a single node; 2 with an arbiter",
        );
    } else if machines > 3 && is_on(facts, &["VSphere", "Nutanix"]) {
        diagnostics.fault(
            path,
            format!(
                "a control plane of more than three hosts is not possible on {}",
                spec.platform_type
            ),
            "write 3, or use platform BareMetal, None or External",
        );
    }
}

pub(super) fn arbiter(facts: &Cluster<'_>, diagnostics: &mut Diagnostics) {
    let spec = &facts.object.spec;
    let required = spec.provision_requirements;
    if required.arbiter_agents == 0 {
        return;
    }
    let path = "spec.provisionRequirements.arbiterAgents";
    if is_on(facts, &["External", "VSphere", "Nutanix"]) {
        diagnostics.fault(
            path,
            format!("{} has no arbiters", spec.platform_type),
            "remove it, or use platform BareMetal or None",
        );
    }
    match required.control_plane_agents {
        machines @ ..2 => diagnostics.fault(
            path,
            format!("an arbiter needs two hosts of the control plane beside it, not {machines}"),
            "write `controlPlaneAgents: 2`, or remove arbiterAgents",
        ),
        2 if required.arbiter_agents > 1 => diagnostics.fault(
            path,
            format!(
                "{} arbiters for two hosts of the control plane",
                required.arbiter_agents
            ),
            "write 1",
        ),
        2.. => {}
    }
}

pub(super) fn single_node(facts: &Cluster<'_>, diagnostics: &mut Diagnostics) {
    let spec = &facts.object.spec;
    let required = spec.provision_requirements;
    if required.control_plane_agents != 1 {
        return;
    }
    if required.worker_agents > 0 {
        diagnostics.fault(
            "spec.provisionRequirements.workerAgents",
            format!("{} workers beside a single node", required.worker_agents),
            "write 0; workers can be added later",
        );
    }
    if is_on(facts, &["BareMetal", "VSphere", "Nutanix"]) {
        diagnostics.fault(
            "spec.platformType",
            format!("a single node is not possible on {}", spec.platform_type),
            "write `None`, or leave it out",
        );
    }
}
