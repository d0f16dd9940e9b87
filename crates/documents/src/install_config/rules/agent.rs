//! Rules for hosts that install themselves from one image.

use super::{Diagnostics, Facts, Rule, baremetal::each_host};
use crate::install_config::{
    Method,
    types::{Architecture, CloudControllerManager, PlatformName},
};
use crate::validation::machines;

const READS: &[&str] = &[
    "platform",
    "controlPlane",
    "compute",
    "arbiter",
    "networking",
];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "agent-architecture", path: "platform", reads: READS, text: "When hosts install themselves: ppc64le and s390x need platform none.", check: agent_architecture },
    Rule { name: "agent-replicas", path: "controlPlane.replicas", reads: READS, text: "When hosts install themselves: one to five control-plane machines; two with one arbiter or fencing.", check: agent_replicas },
    Rule { name: "agent-single-node", path: "platform", reads: READS, text: "When hosts install themselves: a single node has platform none or external, OVNKubernetes, no workers and no arbiter.", check: agent_single_node },
    Rule { name: "agent-wwn", path: "platform.baremetal.hosts.rootDeviceHints.wwnWithExtension", reads: READS, text: "When hosts install themselves: world wide names without the vendor's extension.", check: agent_wwn },
    Rule { name: "agent-oci", path: "platform.external.cloudControllerManager", reads: READS, text: "When hosts install themselves: platform name `oci` needs `External`.", check: agent_oci },
    Rule { name: "agent-vsphere-folder", path: "platform.vsphere.failureDomains.topology.folder", reads: READS, text: "When hosts install themselves: needed as soon as a vCenter has credentials.", check: agent_vsphere_folder },
];

fn is_agent(facts: &Facts<'_>) -> bool {
    facts.around.method == Method::Agent
}

fn agent_architecture(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let platform = facts.config.platform.name();
    if let (true, Some(own @ (Architecture::Ppc64le | Architecture::S390x)), Some(name)) =
        (is_agent(facts), facts.config.architecture(), platform)
        && name != PlatformName::None
    {
        diagnostics.fault(
            "platform",
            format!("{own} is not possible on {name}"),
            "use `platform: {none: {}}`",
        );
    }
}

fn agent_replicas(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if !is_agent(facts) {
        return;
    }
    let config = facts.config;
    let machines = config.control_plane_replicas();
    if !(1..=5).contains(&machines) {
        diagnostics.fault(
            "controlPlane.replicas",
            format!("{machines} control-plane machines"),
            "write 3, 4 or 5; 1 for a single node; 2 with an arbiter or fencing",
        );
    }
    if machines == 2 && config.arbiter.is_some() && config.arbiter_replicas() != 1 {
        diagnostics.fault(
            "arbiter.replicas",
            format!(
                "{} arbiters for two control-plane machines",
                config.arbiter_replicas()
            ),
            "write 1",
        );
    }
}

fn agent_single_node(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    if !is_agent(facts) || config.control_plane_replicas() != 1 {
        return;
    }
    let workers = config.compute_replicas();
    if workers > 0 {
        let index = config
            .compute
            .iter()
            .position(|pool| pool.replica_count() > 0)
            .unwrap_or(0);
        diagnostics.fault(
            format!("compute[{index}].replicas"),
            format!("{workers} workers beside a single node"),
            "write 0; workers can be added later",
        );
    }
    if config.arbiter_replicas() > 0 {
        diagnostics.fault(
            "arbiter.replicas",
            "an arbiter beside a single node",
            "remove `arbiter`",
        );
    }
    let platform = config.platform.name();
    if let Some(name @ (PlatformName::BareMetal | PlatformName::Vsphere | PlatformName::Nutanix)) =
        platform
    {
        diagnostics.fault(
            "platform",
            format!("a single node is not possible on {name}"),
            "use `platform: {none: {}}`",
        );
    } else if config
        .networking
        .as_ref()
        .is_some_and(|networking| !networking.is_ovn_kubernetes())
    {
        diagnostics.fault(
            "networking.networkType",
            "a single node runs OVNKubernetes",
            "write `OVNKubernetes`, or leave it out",
        );
    }
}

fn agent_wwn(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if !is_agent(facts) {
        return;
    }
    for (path, host) in each_host(facts) {
        machines::wwn_extension(&path, host.root_device_hints.as_ref(), diagnostics);
    }
}

fn agent_oci(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(external) = &facts.config.platform.external else {
        return;
    };
    let brought = external.cloud_controller_manager == Some(CloudControllerManager::External);
    if is_agent(facts) && external.platform_name == "oci" && !brought {
        diagnostics.fault(
            "platform.external.cloudControllerManager",
            "platform name `oci` comes with its own cloud controller manager",
            "write `cloudControllerManager: External`",
        );
    }
}

fn agent_vsphere_folder(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = &facts.config.platform.vsphere else {
        return;
    };
    let credentials = platform
        .vcenters
        .iter()
        .any(|vcenter| !vcenter.user.is_empty() && !vcenter.password.is_empty());
    if !is_agent(facts) || !credentials {
        return;
    }
    for (index, domain) in platform.failure_domains.iter().enumerate() {
        if domain.topology.folder.is_empty() {
            diagnostics.fault(
                format!("platform.vsphere.failureDomains[{index}].topology.folder"),
                "this is missing",
                "add `folder: /<datacenter>/vm/<folder>` where the virtual machines are",
            );
        }
    }
}
