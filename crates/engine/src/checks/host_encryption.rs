//! Whether a host can unlock its encrypted disk at boot.
//!
//! On day 1 the cluster says which roles encrypt and how; on day 2 the Ignition of the running
//! cluster does.

use muster_model::{Cluster, DiskEncryption, HostRole};

use super::{CheckResult, host::HostContext};
use crate::{agent_json::Stored, ignition::Ignition, reports};

/// Old agents know no Tang step and say so with these words.
const UNKNOWN_STEP: &str = "failed to find action for step";
/// The only version of the chip that clevis can seal keys with.
const TPM_VERSION: &str = "2.0";

pub(super) fn can_open_its_disk(on: &HostContext<'_>) -> CheckResult {
    let Some(cluster) = on.cluster else {
        return CheckResult::silent();
    };
    let plan = plan(cluster);
    if !on.host.is_day2() && plan.is_none() {
        return CheckResult::silent();
    }
    if on.inventory.is_none() {
        return on.no_inventory();
    }
    match plan {
        _ if on.host.is_day2() => as_the_cluster_does(on, plan.is_some()),
        Some(plan) => as_planned(on, plan),
        None => CheckResult::silent(),
    }
}

fn plan(cluster: &Cluster) -> Option<&DiskEncryption> {
    let plan = cluster.disk_encryption.as_ref()?;
    (!matches!(plan.enable_on.as_str(), "" | "none")).then_some(plan)
}

fn as_planned(on: &HostContext<'_>, plan: &DiskEncryption) -> CheckResult {
    let group = match on.host.effective_role() {
        HostRole::AutoAssign => {
            return CheckResult::wait(
                "The host has no role yet, so it is not known whether its disk is encrypted; set a role",
            );
        }
        HostRole::Master | HostRole::Bootstrap => "masters",
        HostRole::Arbiter => "arbiters",
        HostRole::Worker => "workers",
    };
    let covered = plan
        .enable_on
        .split(',')
        .any(|item| matches!(item.trim(), "all") || item.trim() == group);
    if !covered {
        return CheckResult::silent();
    }
    if plan.mode == "tang" {
        tang(on)
    } else {
        tpm(on)
    }
}

fn as_the_cluster_does(on: &HostContext<'_>, planned: bool) -> CheckResult {
    let Some(ignition) = Ignition::fetched_by(on.host) else {
        return if planned {
            CheckResult::wait(
                "The disk encryption of the running cluster is not known until the host has fetched its Ignition",
            )
        } else {
            CheckResult::silent()
        };
    };
    match ignition.clevis() {
        None => CheckResult::silent(),
        Some(clevis) if clevis.tpm2 => tpm(on),
        Some(clevis) if !clevis.tang.items().is_empty() => tang(on),
        Some(_) => CheckResult::fail(
            "The cluster encrypts disks with neither a TPM nor Tang, which is not supported for new hosts; correct its machine configuration",
        ),
    }
}

fn tpm(on: &HostContext<'_>) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    match inventory.tpm_version.as_str() {
        TPM_VERSION => CheckResult::pass("The host has a TPM 2.0"),
        "" | "none" => CheckResult::fail(
            "No TPM was found, disk encryption needs version 2.0; enable it in the firmware, or use Tang",
        ),
        other => CheckResult::fail(format!(
            "The TPM has version {other}, disk encryption needs 2.0; change it in the firmware, or use Tang"
        )),
    }
}

fn tang(on: &HostContext<'_>) -> CheckResult {
    let reported_text = on.host.reports.tang_connectivity.as_deref();
    match reports::tang_of(on.host) {
        Stored::Missing => {
            CheckResult::wait("The host has not tried to reach the Tang servers yet")
        }
        _ if reported_text.is_some_and(|text| text.contains(UNKNOWN_STEP)) => CheckResult::silent(),
        Stored::Here(reply) if reply.is_success => {
            CheckResult::pass("The Tang servers return the expected keys")
        }
        Stored::Here(_) => CheckResult::fail(
            "The Tang servers return unexpected answers; check their addresses and thumbprints",
        ),
        Stored::Broken => {
            let fault: String = reported_text
                .unwrap_or_default()
                .chars()
                .take(300)
                .collect();
            CheckResult::fail(format!(
                "The Tang servers cannot be used from the host: {fault}; check their addresses, thumbprints and firewalls"
            ))
        }
    }
}

#[cfg(test)]
#[path = "host_encryption_tests.rs"]
mod tests;
