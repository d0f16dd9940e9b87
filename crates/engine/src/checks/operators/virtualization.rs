//! OpenShift Virtualization (CNV): processors that can run guests, and on old single nodes a
//! disk for their images.

use muster_catalog::{Operator, operators::needs::cnv_needs_pool_disk};
use muster_model::{Arch, HostRole};

use super::{capacity, result, scene::OnHost};
use crate::{checks::CheckResult, inventory::Inventory};

const BYTES_PER_GIB: i64 = 1024 * 1024 * 1024;

pub(super) fn cnv(operator: Operator, on: &OnHost<'_>) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let mut objections = Vec::new();
    if !runs_guests(inventory) {
        objections.push(
            "The CPU has neither vmx nor svm; enable hardware virtualization (Intel VT-x or AMD-V) in the firmware"
                .to_owned(),
        );
    }
    objections.extend(no_pool_disk(on));
    if on.role == HostRole::AutoAssign {
        objections.push(
            "The requirements of virtualization depend on the role, and the host has none yet; set one, or wait for a suggestion"
                .to_owned(),
        );
    }
    objections.extend(capacity::lacks(operator, on));
    result(objections, || {
        let share = on.share(operator);
        format!(
            "The CPU supports virtualization, and the host has the {} CPU cores and {} MiB of memory it needs",
            share.cpu_cores, share.ram_mib
        )
    })
}

/// Arm processors show no flag for it, but all of them can.
fn runs_guests(inventory: &Inventory) -> bool {
    let flags = inventory.cpu.as_ref().map(|cpu| cpu.flags.items());
    let shown = flags
        .unwrap_or_default()
        .iter()
        .any(|flag| flag == "vmx" || flag == "svm");
    shown || inventory.arch() == Some(Arch::Arm64)
}

/// 4.10 and 4.11 make a storage pool on single nodes.
fn no_pool_disk(on: &OnHost<'_>) -> Option<String> {
    if !cnv_needs_pool_disk(on.scene.shape(), on.settings) {
        return None;
    }
    let size = on.settings.cnv_hostpath_pool_gib;
    let least = i64::from(size).saturating_mul(BYTES_PER_GIB);
    let largest = on.spare_disks().map(|disk| disk.size_bytes).max();
    (largest.unwrap_or(0) <= least).then(|| {
        format!(
            "Virtualization creates a storage pool on a single node and needs a second disk (SSD or HDD) larger than {size} GiB, the largest has {} GiB; add one",
            largest.unwrap_or(0) / BYTES_PER_GIB
        )
    })
}
