//! Accelerators: drivers are built on the spot, which secure boot refuses, and a GPU operator
//! without a GPU has nothing to do.

use muster_catalog::{
    Operator,
    operators::{GpuSettings, OperatorSettings},
};
use muster_model::HostRole;

use super::{
    OnCluster,
    scene::{OnHost, pci_id},
};
use crate::{checks::CheckResult, inventory::Inventory};

/// The settings of a GPU operator; only the two of them come here.
fn settings_of(operator: Operator, settings: &OperatorSettings) -> &GpuSettings {
    if operator == Operator::AmdGpu {
        &settings.amd
    } else {
        &settings.nvidia
    }
}

fn gpus(inventory: &Inventory, settings: &GpuSettings) -> usize {
    let known = |vendor: &str| settings.vendors.contains(&pci_id(vendor));
    let gpus = inventory.gpus.items().iter();
    gpus.filter(|gpu| known(&gpu.vendor_id)).count()
}

fn secure_boot(inventory: &Inventory) -> bool {
    let boot = inventory.boot.as_ref();
    boot.is_some_and(|boot| boot.secure_boot_state == "Enabled")
}

pub(super) fn gpu_host(operator: Operator, on: &OnHost<'_>) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let (title, count) = (
        operator.title(),
        gpus(inventory, settings_of(operator, on.settings)),
    );
    match (count, secure_boot(inventory)) {
        (0, _) => CheckResult::pass(format!("The host has no GPU for the {title} operator")),
        (_, false) => {
            CheckResult::pass(format!("The {title} operator can drive {count} GPUs here"))
        }
        (_, true) => CheckResult::fail(format!(
            "Secure boot is enabled, and the drivers of the {title} operator for {count} GPUs here are not signed; disable it in the firmware or drop {operator}"
        )),
    }
}

pub(super) fn kmm(operator: Operator, on: &OnHost<'_>) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    if secure_boot(inventory) {
        CheckResult::fail(format!(
            "Secure boot is enabled, and kernel modules built in the cluster are not signed; disable it in the firmware or drop {operator}"
        ))
    } else {
        CheckResult::pass("Secure boot is not enabled, so kernel modules can be loaded")
    }
}

pub(super) fn gpu_cluster(operator: Operator, on: &OnCluster<'_>) -> CheckResult {
    let settings = settings_of(operator, on.settings);
    let title = operator.title();
    let found: usize = workload_gpus(on, settings);
    if found > 0 {
        return CheckResult::pass(format!(
            "{found} GPUs for the {title} operator on hosts that run workload"
        ));
    }
    if !settings.required {
        return CheckResult::pass(format!(
            "No GPU for the {title} operator yet; this service does not require one"
        ));
    }
    let unknown = on.cases().filter(|case| case.inventory.is_none()).count();
    let unknown = match unknown {
        0 => String::new(),
        count => format!(" ({count} have not sent their inventory)"),
    };
    CheckResult::fail(format!(
        "None of the hosts that run workload has a GPU of PCI vendor {}{unknown}; add such a host or drop {operator}",
        settings.vendors.join(" or ")
    ))
}

/// GPUs where pods may run.
fn workload_gpus(on: &OnCluster<'_>, settings: &GpuSettings) -> usize {
    let masters = on.cluster.schedulable_masters || on.cluster.schedulable_masters_forced_true;
    on.cases()
        .filter(|case| match case.role {
            HostRole::Arbiter => false,
            HostRole::Master | HostRole::Bootstrap => masters,
            HostRole::Worker | HostRole::AutoAssign => true,
        })
        .filter_map(|case| case.inventory)
        .map(|inventory| gpus(inventory, settings))
        .sum()
}

/// All GPUs an operator of ours can drive.
pub(super) fn usable_gpus(on: &OnCluster<'_>) -> usize {
    let settings = on.settings;
    workload_gpus(on, &settings.nvidia) + workload_gpus(on, &settings.amd)
}
