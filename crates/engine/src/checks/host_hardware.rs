//! Host validations about the machine itself and its name.

use muster_model::PlatformType;

use super::{Verdict, host::HostContext};
use crate::{
    inventory::{self, Inventory},
    reports,
    settings::Requirements,
    wire::Stored,
};

const MIB: i64 = 1024 * 1024;
/// Firmware keeps a little memory for itself; nobody should fail for that.
const MEMORY_TOLERANCE_MIB: i64 = 100;

pub(super) fn has_inventory(on: &HostContext<'_>) -> Verdict {
    match on.inventory {
        Some(_) => Verdict::pass("The host has sent its inventory"),
        None if on.inventory_broken => {
            Verdict::fail("The stored inventory cannot be read; restart the agent on the host")
        }
        None => Verdict::fail("The host has not sent its inventory yet"),
    }
}

pub(super) fn inventory_whole(on: &HostContext<'_>) -> Verdict {
    truncated(on, "partial", "some disks are missing from it")
}

pub(super) fn inventory_usable(on: &HostContext<'_>) -> Verdict {
    truncated(on, "full", "nothing useful is left of it")
}

fn truncated(on: &HostContext<'_>, kind: &str, effect: &str) -> Verdict {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    match &inventory.truncation {
        None => Verdict::pass("The inventory is complete"),
        Some(cut) if cut.kind == kind => Verdict::fail(format!(
            "The inventory was too large and had to be cut ({kind}), {effect}: {}",
            cut.reasons.items().join("; ")
        )),
        Some(cut) if matches!(cut.kind.as_str(), "partial" | "full") => Verdict::pass(format!(
            "The inventory is cut, but not so far ({})",
            cut.kind
        )),
        Some(cut) => Verdict::broken(format!("Unknown kind of cut inventory: {:?}", cut.kind)),
    }
}

fn cores(inventory: &Inventory) -> Result<i64, Verdict> {
    let cpu = inventory.cpu.as_ref();
    cpu.map(|cpu| cpu.count).ok_or_else(|| {
        Verdict::broken("The inventory names no CPU; check the agent's log on the host")
    })
}

pub(super) fn has_min_cpu_cores(on: &HostContext<'_>) -> Verdict {
    let table = &on.settings.requirements;
    let least = table.master.cpu_cores.min(table.worker.cpu_cores);
    compare_cores(on, least, "any role")
}

pub(super) fn has_cpu_cores_for_role(on: &HostContext<'_>) -> Verdict {
    let role = on.host.effective_role();
    compare_cores(on, on.needs().cpu_cores, &format!("role {role}"))
}

fn compare_cores(on: &HostContext<'_>, need: i64, whom: &str) -> Verdict {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    match cores(inventory) {
        Err(verdict) => verdict,
        Ok(have) if have >= need => Verdict::pass(format!("{have} CPU cores, {whom} needs {need}")),
        Ok(have) => Verdict::fail(format!(
            "{have} CPU cores, {whom} needs at least {need}; use a larger machine"
        )),
    }
}

pub(super) fn has_min_memory(on: &HostContext<'_>) -> Verdict {
    let table = &on.settings.requirements;
    let least = table.master.ram_mib.min(table.worker.ram_mib);
    // Memory counted from meminfo lacks what the kernel took for itself.
    let counted_by_kernel = on
        .inventory
        .and_then(|inventory| inventory.memory.as_ref())
        .is_some_and(|memory| memory.physical_bytes_method == "meminfo");
    let extra = if counted_by_kernel { least / 50 } else { 0 };
    compare_memory(on, least, MEMORY_TOLERANCE_MIB + extra, "any role")
}

pub(super) fn has_memory_for_role(on: &HostContext<'_>) -> Verdict {
    let role = on.host.effective_role();
    compare_memory(
        on,
        on.needs().ram_mib,
        MEMORY_TOLERANCE_MIB,
        &format!("role {role}"),
    )
}

fn compare_memory(on: &HostContext<'_>, need_mib: i64, tolerance_mib: i64, whom: &str) -> Verdict {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let Some(memory) = &inventory.memory else {
        return Verdict::broken("The inventory names no memory; check the agent's log on the host");
    };
    let have_mib = memory.physical_bytes / MIB;
    let least = need_mib.saturating_sub(tolerance_mib).saturating_mul(MIB);
    if memory.physical_bytes >= least {
        Verdict::pass(format!(
            "{have_mib} MiB of memory, {whom} needs {need_mib} MiB"
        ))
    } else {
        Verdict::fail(format!(
            "{have_mib} MiB of memory, {whom} needs at least {need_mib} MiB; add {} MiB",
            need_mib.saturating_sub(have_mib)
        ))
    }
}

pub(super) fn has_min_valid_disks(on: &HostContext<'_>) -> Verdict {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let disks = inventory.disks.items();
    if disks.is_empty() {
        return Verdict::broken("No disk was found on the host; check its storage controller");
    }
    let fit = disks
        .iter()
        .filter(|disk| disk.installation_eligibility.eligible)
        .count();
    if fit > 0 {
        Verdict::pass(format!(
            "{fit} of {} disks can be installed to",
            disks.len()
        ))
    } else {
        Verdict::fail(format!(
            "None of the {} disks can be installed to; see the reasons with each disk",
            disks.len()
        ))
    }
}

pub(super) fn hostname_unique(on: &HostContext<'_>) -> Verdict {
    if on.cluster.is_none() {
        return Verdict::silent();
    }
    if on.inventory.is_none() {
        return on.no_inventory();
    }
    let name = inventory::hostname_with(on.host, on.inventory);
    if on.around.names.get(&name).copied().unwrap_or(0) > 1 {
        Verdict::fail(format!(
            "Another host of the cluster is called {name} too; rename one of them"
        ))
    } else {
        Verdict::pass(format!("No other host of the cluster is called {name}"))
    }
}

pub(super) fn hostname_valid(on: &HostContext<'_>) -> Verdict {
    if on.inventory.is_none() {
        return Verdict::fail("The name of the host is not known yet");
    }
    let name = inventory::hostname_with(on.host, on.inventory);
    match name_fault(&name) {
        None => Verdict::pass(format!("{name} is a valid host name")),
        Some(fault) => Verdict::fail(format!(
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

pub(super) fn sufficient_disk_speed(on: &HostContext<'_>) -> Verdict {
    let Some(device) = reports::boot_device(on.host) else {
        return Verdict::broken("No installation disk is chosen yet");
    };
    if matches!(reports::disks_of(on.host), Stored::Broken) {
        return Verdict::broken("The stored disk speed results cannot be read");
    }
    match reports::boot_disk_speed(on.host) {
        None => Verdict::pass(format!("The speed of {device} has not been measured yet")),
        Some(speed) if speed.exit_code == 0 => {
            Verdict::pass(format!("{device} syncs in {} ms", speed.speed_ms))
        }
        Some(speed) => Verdict::fail(format!(
            "Measuring the speed of {device} failed with code {}; choose another disk or reset this validation",
            speed.exit_code
        )),
    }
}

pub(super) fn compatible_with_platform(on: &HostContext<'_>) -> Verdict {
    let Some(cluster) = on.cluster else {
        return Verdict::silent();
    };
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let Some(platform) = &cluster.platform else {
        return Verdict::wait("The cluster has no platform yet");
    };
    let wanted = match platform.kind {
        PlatformType::Vsphere => "VMware, Inc.",
        PlatformType::Nutanix => "Nutanix",
        PlatformType::External if platform.external_name.as_deref() == Some("oci") => {
            "OracleCloud.com"
        }
        PlatformType::Baremetal | PlatformType::None | PlatformType::External => {
            return Verdict::pass(format!("Any machine fits platform {}", platform.kind));
        }
    };
    let maker = inventory
        .system_vendor
        .as_ref()
        .map_or("", |v| v.manufacturer.as_str());
    if maker == wanted {
        Verdict::pass(format!(
            "A machine of {maker} fits platform {}",
            platform.kind
        ))
    } else {
        Verdict::fail(format!(
            "Platform {} needs machines of {wanted:?}, this one is of {maker:?}; change the platform or take the host out",
            platform.kind
        ))
    }
}

pub(super) fn compatible_agent(on: &HostContext<'_>) -> Verdict {
    let running = on
        .host
        .discovery_agent_version
        .as_deref()
        .unwrap_or_default();
    match on.settings.upgrade_agent_to.as_deref() {
        None => Verdict::pass("Any version of the agent will do"),
        Some(wanted) if wanted == running => {
            Verdict::pass("The agent has the version of the service")
        }
        Some(wanted) => Verdict::fail(format!(
            "The agent is {running:?}, the service needs {wanted:?}; it is told to upgrade itself"
        )),
    }
}

pub(super) fn no_skip_installation_disk(on: &HostContext<'_>) -> Verdict {
    match on
        .host
        .installation_disk_id
        .as_deref()
        .filter(|id| !id.is_empty())
    {
        Some(id) if on.host.skip_formatting_disks.iter().any(|skip| skip == id) => {
            Verdict::fail(format!(
                "{id} is the installation disk and cannot be kept; choose another disk or allow formatting it"
            ))
        }
        _ => Verdict::pass("The installation disk may be formatted"),
    }
}

pub(super) fn no_skip_missing_disk(on: &HostContext<'_>) -> Verdict {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let known = |id: &String| inventory.disks.items().iter().any(|disk| disk.id == *id);
    let mut missing = on
        .host
        .skip_formatting_disks
        .iter()
        .filter(|id| !known(id))
        .peekable();
    if missing.peek().is_none() {
        return Verdict::pass("All disks that shall be kept are there");
    }
    let names: Vec<&str> = missing.map(String::as_str).collect();
    Verdict::fail(format!(
        "Disks that shall be kept are not on the host: {}; correct the list",
        names.join(", ")
    ))
}

/// Whether an inventory satisfies what a role asks for, whatever role the host has now.
pub(crate) fn fits(inventory: &Inventory, needs: &Requirements) -> bool {
    let cores = inventory.cpu.as_ref().map_or(0, |cpu| cpu.count);
    let bytes = inventory
        .memory
        .as_ref()
        .map_or(0, |memory| memory.physical_bytes);
    let least = needs
        .ram_mib
        .saturating_sub(MEMORY_TOLERANCE_MIB)
        .saturating_mul(MIB);
    cores >= needs.cpu_cores && bytes >= least
}

#[cfg(test)]
mod tests {
    use super::name_fault;

    #[test]
    fn host_names_follow_the_contract() {
        let long = "a".repeat(63);
        for good in ["a", "1abc", "a.b", "a.-b", "localhost.foo", long.as_str()] {
            assert_eq!(name_fault(good), None, "{good}");
        }
        let longer = "a".repeat(64);
        for bad in [
            "a_b",
            "Abc",
            "-a",
            "a..b",
            "a.",
            "",
            "localhost",
            longer.as_str(),
        ] {
            assert!(name_fault(bad).is_some(), "{bad}");
        }
    }
}
