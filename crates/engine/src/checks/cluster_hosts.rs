//! Cluster validations about its hosts, their clocks and its own settings.

use muster_model::HostStatus;

use super::{CheckResult, cluster::ClusterContext, host_network};
use crate::roles;

pub(super) fn pull_secret_set(on: &ClusterContext<'_>) -> CheckResult {
    if on.cluster.openshift_version.contains("okd") {
        // The images of OKD are public.
        CheckResult::pass("OKD needs no pull secret")
    } else if on.cluster.pull_secret.is_empty() {
        CheckResult::fail("The cluster has no pull secret; set one")
    } else {
        CheckResult::pass("The pull secret is set")
    }
}

pub(super) fn all_hosts_ready(on: &ClusterContext<'_>) -> CheckResult {
    let waiting = on.hosts.iter().filter(|host| {
        !matches!(
            host.status,
            HostStatus::Known
                | HostStatus::PreparingForInstallation
                | HostStatus::PreparingSuccessful
        )
    });
    match waiting.count() {
        0 => CheckResult::pass("All hosts are ready to install"),
        count => CheckResult::fail(format!(
            "{count} of {} hosts are not ready to install; see their validations, or remove them",
            on.hosts.len()
        )),
    }
}

pub(super) fn sufficient_masters(on: &ClusterContext<'_>) -> CheckResult {
    let wanted = on.cluster.control_plane_count.unwrap_or(3);
    let counts = roles::tally(on.cluster, on.hosts, on.inventories, on.settings);
    let (masters, workers) = (counts.masters, counts.workers);
    if i64::try_from(masters).unwrap_or(i64::MAX) != wanted {
        return CheckResult::fail(format!(
            "The cluster needs exactly {wanted} control plane hosts, {masters} of {} are suitable; add hosts or change roles",
            on.hosts.len()
        ));
    }
    if wanted == 2 && counts.arbiters == 0 && !roles::is_fenced_pair(on.cluster, on.hosts) {
        return CheckResult::fail(
            "Two control plane hosts need an arbiter, or fencing credentials on both",
        );
    }
    if wanted == 1 && workers != 0 {
        return CheckResult::fail(format!(
            "A single-node cluster has no workers, but {workers} other hosts are bound to it"
        ));
    }
    CheckResult::pass(format!("{masters} control plane hosts, as needed"))
}

pub(super) fn dns_domain_defined(on: &ClusterContext<'_>) -> CheckResult {
    if on
        .cluster
        .base_dns_domain
        .as_deref()
        .unwrap_or_default()
        .is_empty()
    {
        CheckResult::fail("The base domain is not set; set base_dns_domain")
    } else {
        CheckResult::pass("The base domain is set")
    }
}

/// Hosts whose clocks differ by more than this cannot build one cluster.
const MAX_CLOCK_SPREAD_MINUTES: i64 = 4;

pub(super) fn clocks_agree(on: &ClusterContext<'_>) -> CheckResult {
    let skews: Vec<i64> = on
        .hosts
        .iter()
        .filter(|host| {
            !matches!(
                host.status,
                HostStatus::Disconnected
                    | HostStatus::ResettingPendingUserAction
                    | HostStatus::Discovering
            )
        })
        .filter_map(host_network::seconds_behind)
        .collect();
    let spread = match (skews.iter().min(), skews.iter().max()) {
        (Some(least), Some(most)) => most.saturating_sub(*least) / 60,
        _ => 0,
    };
    if spread <= MAX_CLOCK_SPREAD_MINUTES {
        CheckResult::pass("The clocks of the hosts are in sync")
    } else {
        CheckResult::fail(format!(
            "Clocks of the hosts differ by {spread} minutes, {MAX_CLOCK_SPREAD_MINUTES} are allowed; configure an NTP server"
        ))
    }
}
