//! What operators take of a host: the sum that its role checks ask for, and the rule that each
//! operator's own share is there.
//!
//! Shares are compared with the memory the system can use, without tolerance; the sum is
//! compared with what is built in (`has-memory-for-role`).

use muster_catalog::{Operator, Requirement};

use super::scene::OnHost;
use crate::{checks::CheckResult, settings::Requirements};

const MIB: i64 = 1024 * 1024;

/// What a host needs in all: what its role asks for, and the share of every chosen operator.
pub(crate) fn total(role: &Requirements, on: &OnHost<'_>) -> Requirements {
    on.burden()
        .map(|operator| on.share(operator))
        .fold(*role, |sum, share| plus(sum, &share))
}

/// Sizes add up, of limits the strictest counts.
fn plus(sum: Requirements, share: &Requirement) -> Requirements {
    let speeds = [
        sum.disk_speed_threshold_ms,
        share.installation_disk_speed_threshold_ms.into(),
    ];
    Requirements {
        cpu_cores: sum.cpu_cores.saturating_add(share.cpu_cores.into()),
        ram_mib: sum.ram_mib.saturating_add(share.ram_mib.into()),
        disk_size_gb: sum.disk_size_gb.saturating_add(share.disk_size_gb.into()),
        disk_speed_threshold_ms: speeds.into_iter().filter(|ms| *ms > 0).min().unwrap_or(0),
        network_latency_ms: strictest(sum.network_latency_ms, share.network_latency_threshold_ms),
        packet_loss_percent: strictest(sum.packet_loss_percent, share.packet_loss_percentage),
    }
}

/// Negative limits mean "none".
fn strictest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    let limits = [one, other].into_iter().flatten();
    limits.filter(|limit| *limit >= 0.0).reduce(f64::min)
}

/// Host rule of operators that ask for nothing but their share.
pub(super) fn share_is_there(operator: Operator, on: &OnHost<'_>) -> CheckResult {
    if on.inventory.is_none() {
        return on.no_inventory();
    }
    super::result(lacks(operator, on), || {
        let share = on.share(operator);
        format!(
            "{} takes {} CPU cores and {} MiB of memory, and the host has them",
            operator.title(),
            share.cpu_cores,
            share.ram_mib
        )
    })
}

/// What the host has too little of for one operator.
pub(super) fn lacks(operator: Operator, on: &OnHost<'_>) -> Vec<String> {
    let share = on.share(operator);
    let (cpu, memory) = on.inventory.map_or((None, None), |inventory| {
        (inventory.cpu.as_ref(), inventory.memory.as_ref())
    });
    let cores = cpu.map_or(0, |cpu| cpu.count);
    let bytes = memory.map_or(0, |memory| memory.usable_bytes);
    let (title, role) = (operator.title(), on.role);
    let mut lacks = Vec::new();
    if cores < i64::from(share.cpu_cores) {
        lacks.push(format!(
            "{title} takes {} CPU cores of a host with role {role}, this one has {cores}; use a larger machine or drop {operator}",
            share.cpu_cores
        ));
    }
    if bytes < i64::from(share.ram_mib).saturating_mul(MIB) {
        lacks.push(format!(
            "{title} takes {} MiB of memory of a host with role {role}, this one can use {} MiB; add memory or drop {operator}",
            share.ram_mib,
            bytes / MIB
        ));
    }
    lacks
}
