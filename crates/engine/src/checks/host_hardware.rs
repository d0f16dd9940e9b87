//! Host validations about the machine itself and its name.

use muster_model::PlatformType;

use super::{
    CheckResult,
    host::HostContext,
    host_needs::{MEMORY_TOLERANCE_MIB, MIB, bytes_of, least},
};
use crate::{
    inventory::{self, Inventory},
    steps,
};

/// How VMware machines name their maker.
pub(super) const VMWARE: &str = "VMware, Inc.";

pub(super) fn has_inventory(on: &HostContext<'_>) -> CheckResult {
    match on.inventory {
        Some(_) => CheckResult::pass("The host has sent its inventory"),
        None if on.inventory_broken => {
            CheckResult::fail("The stored inventory cannot be read; restart the agent on the host")
        }
        None => CheckResult::fail(
            "The host has not sent its inventory yet; if this takes long, check its agent's log",
        ),
    }
}

pub(super) fn inventory_whole(on: &HostContext<'_>) -> CheckResult {
    truncated(on, "partial", "some disks are missing from it")
}

pub(super) fn inventory_usable(on: &HostContext<'_>) -> CheckResult {
    truncated(on, "full", "nothing useful is left of it")
}

fn truncated(on: &HostContext<'_>, kind: &str, effect: &str) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    match &inventory.truncation {
        None => CheckResult::pass("The inventory is complete"),
        Some(cut) if cut.kind == kind => CheckResult::fail(format!(
            "The inventory was too large and was truncated ({kind}), {effect}: {}; remove unneeded devices from the host or raise the limit",
            cut.reasons.items().join("; ")
        )),
        Some(cut) if matches!(cut.kind.as_str(), "partial" | "full") => CheckResult::pass(format!(
            "The inventory is truncated, but usable ({})",
            cut.kind
        )),
        Some(cut) => CheckResult::broken(format!(
            "The inventory is truncated in an unknown way ({:?}); use an agent of the same version as the service",
            cut.kind
        )),
    }
}

fn cores(inventory: &Inventory) -> Result<i64, CheckResult> {
    let cpu = inventory.cpu.as_ref();
    cpu.map(|cpu| cpu.count).ok_or_else(|| {
        CheckResult::broken("The inventory has no CPU; check the agent's log on the host")
    })
}

pub(super) fn has_min_cpu_cores(on: &HostContext<'_>) -> CheckResult {
    let (cores, _) = least(on.cluster, on.settings);
    compare_cores(on, cores, "any role")
}

pub(super) fn has_cpu_cores_for_role(on: &HostContext<'_>) -> CheckResult {
    let role = on.host.effective_role();
    compare_cores(on, on.needs().cpu_cores, &format!("role {role}"))
}

fn compare_cores(on: &HostContext<'_>, need: i64, consumer: &str) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    match cores(inventory) {
        Err(result) => result,
        Ok(have) if have >= need => {
            CheckResult::pass(format!("{have} CPU cores, {consumer} needs {need}"))
        }
        Ok(have) => CheckResult::fail(format!(
            "{have} CPU cores, {consumer} needs at least {need}; use a larger machine"
        )),
    }
}

pub(super) fn has_min_memory(on: &HostContext<'_>) -> CheckResult {
    let (_, least) = least(on.cluster, on.settings);
    // Memory counted from meminfo lacks what the kernel took for itself.
    let counted_by_kernel = on
        .inventory
        .and_then(|inventory| inventory.memory.as_ref())
        .is_some_and(|memory| memory.physical_bytes_method == "meminfo");
    let extra = if counted_by_kernel { least / 50 } else { 0 };
    compare_memory(on, least, MEMORY_TOLERANCE_MIB + extra, "any role")
}

pub(super) fn has_memory_for_role(on: &HostContext<'_>) -> CheckResult {
    let role = on.host.effective_role();
    compare_memory(
        on,
        on.needs().ram_mib,
        MEMORY_TOLERANCE_MIB,
        &format!("role {role}"),
    )
}

fn compare_memory(
    on: &HostContext<'_>,
    need_mib: i64,
    tolerance_mib: i64,
    consumer: &str,
) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let Some(memory) = &inventory.memory else {
        return CheckResult::broken(
            "The inventory has no memory; check the agent's log on the host",
        );
    };
    let have_mib = memory.physical_bytes / MIB;
    let least = bytes_of(need_mib.saturating_sub(tolerance_mib));
    if memory.physical_bytes >= least {
        CheckResult::pass(format!(
            "{have_mib} MiB of memory, {consumer} needs {need_mib} MiB"
        ))
    } else {
        CheckResult::fail(format!(
            "{have_mib} MiB of memory, {consumer} needs at least {need_mib} MiB; add {} MiB",
            need_mib.saturating_sub(have_mib)
        ))
    }
}

pub(super) fn hostname_unique(on: &HostContext<'_>) -> CheckResult {
    if on.cluster.is_none() {
        return CheckResult::silent();
    }
    if on.inventory.is_none() {
        return on.no_inventory();
    }
    let name = inventory::hostname_with(on.host, on.inventory);
    if on.around.names.get(&name).copied().unwrap_or(0) > 1 {
        CheckResult::fail(format!(
            "Another host of the cluster is also named {name}; rename one of them"
        ))
    } else {
        CheckResult::pass(format!("No other host of the cluster is named {name}"))
    }
}

pub(super) fn hostname_valid(on: &HostContext<'_>) -> CheckResult {
    if on.inventory.is_none() {
        return CheckResult::fail(
            "The name of the host is not known yet; it is part of its inventory, or set one",
        );
    }
    let name = inventory::hostname_with(on.host, on.inventory);
    match name_fault(&name) {
        None => CheckResult::pass(format!("{name} is a valid host name")),
        Some(fault) => CheckResult::fail(format!(
            "Host name {name:?} {fault}; give the host another name"
        )),
    }
}

/// What is wrong with a host name, if anything.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    const LOCAL: &[&str] = &[
        "localhost",
        "localhost.localdomain",
        "localhost4",
        "localhost4.localdomain4",
        "localhost6",
        "localhost6.localdomain6",
    ];
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if LOCAL.contains(&name) {
        return Some("means every machine");
    }
    if name.len() > 63 {
        return Some("is longer than 63 characters");
    }
    if name.starts_with('-') {
        return Some("begins with a hyphen");
    }
    if !name
        .split('.')
        .all(|label| !label.is_empty() && label.chars().all(allowed))
    {
        return Some("may have only lower-case letters, digits and hyphens between its dots");
    }
    None
}

pub(super) fn compatible_with_platform(on: &HostContext<'_>) -> CheckResult {
    let Some(cluster) = on.cluster else {
        return CheckResult::silent();
    };
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let Some(platform) = &cluster.platform else {
        return CheckResult::wait("The cluster has no platform yet; choose one");
    };
    let wanted = match platform.kind {
        PlatformType::Vsphere => VMWARE,
        PlatformType::Nutanix => "Nutanix",
        PlatformType::External if platform.external_name.as_deref() == Some("oci") => {
            "OracleCloud.com"
        }
        PlatformType::Baremetal | PlatformType::None | PlatformType::External => {
            return CheckResult::pass(format!("Any machine matches platform {}", platform.kind));
        }
    };
    if inventory.is_made_by(wanted) {
        CheckResult::pass(format!(
            "A {wanted} machine matches platform {}",
            platform.kind
        ))
    } else {
        let vendor = inventory.system_vendor.as_ref();
        let maker = vendor.map_or("", |vendor| vendor.manufacturer.as_str());
        CheckResult::fail(format!(
            "Platform {} needs machines of vendor {wanted:?}, this one is of vendor {maker:?}; change the platform or remove the host",
            platform.kind
        ))
    }
}

/// Fails exactly as long as the agent is asked to exchange itself, so that no host waits for an
/// upgrade that never comes.
pub(super) fn compatible_agent(on: &HostContext<'_>) -> CheckResult {
    let running = on
        .host
        .discovery_agent_version
        .as_deref()
        .unwrap_or_default();
    match steps::newer_agent(on.host, on.settings) {
        None if on.settings.upgrade_agent_to.as_deref() == Some(running) => {
            CheckResult::pass("The agent has the version of the service")
        }
        None => CheckResult::pass("The agent need not be upgraded"),
        Some(wanted) => CheckResult::fail(format!(
            "The agent is {running:?}, the service needs {wanted:?}; it is asked to upgrade itself"
        )),
    }
}

#[cfg(test)]
#[path = "host_hardware_tests.rs"]
mod tests;
