//! Rules for hosts that install themselves from one image.

use super::{Diagnostics, Facts, Rule, baremetal::each_host};
use crate::install_config::{
    Method,
    types::{
        Architecture, BareMetal, BootMode, CloudControllerManager, Hyperthreading, InstallConfig,
        MachinePool, Nutanix, PlatformName, PoolPlatform, Publish, Vsphere,
    },
};
use crate::validation::{credentials, machines};

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
    Rule { name: "agent-credentials", path: "pullSecret", reads: &["pullSecret"], text: "When hosts install themselves: `auth` of each registry is base64 of user:password.", check: agent_credentials },
    Rule { name: "agent-ignored", path: "platform", reads: READS, text: "When hosts install themselves: fields that describe machines the installer would make, or its own bootstrap machine, have no effect.", check: agent_ignored },
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

fn agent_credentials(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if is_agent(facts) {
        credentials::user_and_password("pullSecret", &facts.config.pull_secret, diagnostics);
    }
}

fn agent_ignored(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if !is_agent(facts) {
        return;
    }
    for path in ignored(facts.config) {
        diagnostics.warn(
            path,
            "hosts that install themselves do not look at this",
            "leave it out",
        );
    }
}

/// Fields that were set to something else than their defaults, and have no effect.
fn ignored(config: &InstallConfig) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |is_set: bool, path: &str| {
        if is_set {
            found.push(path.to_owned());
        }
    };
    note(
        config.publish.is_some_and(|it| it != Publish::External),
        "publish",
    );
    // Nutanix has no other mode than the default.
    let is_nutanix = config.platform.nutanix.is_some();
    note(
        config.credentials_mode.is_some() && !is_nutanix,
        "credentialsMode",
    );
    let in_place = config.bootstrap_in_place.as_ref();
    note(
        in_place.is_some_and(|it| !it.installation_disk.is_empty()),
        "bootstrapInPlace.installationDisk",
    );
    if let Some(pool) = &config.control_plane {
        of_pool("controlPlane", pool, &mut note);
    }
    for (index, pool) in config.compute.iter().enumerate() {
        of_pool(&format!("compute[{index}]"), pool, &mut note);
    }
    if let Some(metal) = &config.platform.baremetal {
        of_metal(metal, &mut note);
    }
    if let Some(vsphere) = &config.platform.vsphere {
        of_vsphere(vsphere, &mut note);
    }
    if let Some(nutanix) = &config.platform.nutanix {
        of_nutanix(nutanix, &mut note);
    }
    found
}

fn of_pool(path: &str, pool: &MachinePool, note: &mut impl FnMut(bool, &str)) {
    let threads = pool.hyperthreading == Some(Hyperthreading::Disabled);
    note(threads, &format!("{path}.hyperthreading"));
    let platform = pool.platform != PoolPlatform::default();
    note(platform, &format!("{path}.platform"));
}

fn of_metal(metal: &BareMetal, note: &mut impl FnMut(bool, &str)) {
    let at = |field: &str| format!("platform.baremetal.{field}");
    for (value, usual, field) in [
        (&metal.external_bridge, "baremetal", "externalBridge"),
        (
            &metal.provisioning_bridge,
            "provisioning",
            "provisioningBridge",
        ),
    ] {
        note(!value.is_empty() && value != usual, &at(field));
    }
    let pool = metal.default_machine_platform.is_some();
    note(pool, &at("defaultMachinePlatform"));
    for (index, host) in metal.hosts.iter().enumerate() {
        let other = host.boot_mode.is_some_and(|mode| mode != BootMode::Uefi);
        note(other, &at(&format!("hosts[{index}].bootMode")));
    }
}

fn of_vsphere(vsphere: &Vsphere, note: &mut impl FnMut(bool, &str)) {
    for (is_set, field) in [
        (!vsphere.cluster_os_image.is_empty(), "clusterOSImage"),
        (
            vsphere.default_machine_platform.is_some(),
            "defaultMachinePlatform",
        ),
        (vsphere.disk_type.is_some(), "diskType"),
        (vsphere.load_balancer.is_some(), "loadBalancer"),
        (vsphere.hosts.len() > 1, "hosts"),
    ] {
        note(is_set, &format!("platform.vsphere.{field}"));
    }
}

fn of_nutanix(nutanix: &Nutanix, note: &mut impl FnMut(bool, &str)) {
    for (is_set, field) in [
        (!nutanix.cluster_os_image.is_empty(), "clusterOSImage"),
        (
            !nutanix.preloaded_os_image_name.is_empty(),
            "preloadedOSImageName",
        ),
        (
            nutanix.default_machine_platform.is_some(),
            "defaultMachinePlatform",
        ),
        (nutanix.load_balancer.is_some(), "loadBalancer"),
        (
            nutanix.prism_api_call_timeout.is_some(),
            "prismAPICallTimeout",
        ),
        (!nutanix.failure_domains.is_empty(), "failureDomains"),
    ] {
        note(is_set, &format!("platform.nutanix.{field}"));
    }
}
