//! Who becomes what: suggested roles, the bootstrap host, and whether enough hosts are left.
//!
//! Suggestions are computed from scratch each time, in a total order (no GPU first, then the
//! smallest machine that fits, then the id), so they never flicker and the announced roles are
//! the ones used. The bootstrap choice is just as fixed: see [`choose_bootstrap`].

use std::sync::Arc;

use muster_model::{Cluster, Host, HostRole, HostStatus};

use crate::{
    checks::host::{fits, needs_of},
    inventory::Inventory,
    settings::Settings,
};

/// Hosts by role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) masters: usize,
    pub(crate) arbiters: usize,
    pub(crate) workers: usize,
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// How large a machine is compared with the smallest control plane host.
fn weight(inventory: &Inventory) -> f64 {
    let cores = inventory.cpu.as_ref().map_or(0, |cpu| cpu.count) as f64;
    let memory = inventory.memory.as_ref().map_or(0, |m| m.usable_bytes) as f64 / GIB;
    let disks: f64 = inventory
        .disks
        .items()
        .iter()
        .filter(|disk| disk.installation_eligibility.eligible)
        .map(|disk| disk.size_bytes as f64 / GIB)
        .sum();
    (cores - 4.0) + 0.1 * (memory - 16.0) + 0.004 * (disks - 100.0)
}

const fn is_open_to_suggestions(host: &Host) -> bool {
    use HostStatus::*;
    matches!(host.role, HostRole::AutoAssign)
        && matches!(
            host.status,
            Discovering | Known | Disconnected | Insufficient | PendingForInput
        )
}

/// Suggested role per host index, for hosts whose suggestion shall change.
pub(crate) fn suggest(
    cluster: &Cluster,
    hosts: &[Host],
    inventories: &[Option<Arc<Inventory>>],
    settings: &Settings,
) -> Vec<(usize, HostRole)> {
    // With a machine unknown any ranking is premature; what was suggested stays.
    let all_known = inventories.iter().all(Option::is_some);
    let mut counts = Tally::default();
    for host in hosts.iter().filter(|host| !is_open_to_suggestions(host)) {
        count(&mut counts, host.effective_role(), false);
    }
    let mut open: Vec<(usize, &Inventory)> = hosts
        .iter()
        .zip(inventories)
        .enumerate()
        .filter(|(_, (host, _))| is_open_to_suggestions(host))
        .filter_map(|(i, (_, inventory))| Some((i, inventory.as_deref()?)))
        .collect();
    open.sort_by(|(a, x), (b, y)| {
        let gpu = |inventory: &Inventory| !inventory.gpus.items().is_empty();
        gpu(x)
            .cmp(&gpu(y))
            .then_with(|| weight(x).total_cmp(&weight(y)))
            .then_with(|| hosts[*a].key().cmp(&hosts[*b].key()))
    });
    let mut changes = Vec::new();
    for (index, inventory) in open {
        let role = if hosts[index].is_day2() {
            HostRole::Worker
        } else if !all_known {
            continue;
        } else {
            pick(cluster, counts, inventory, settings)
        };
        count(&mut counts, role, false);
        if hosts[index].suggested_role != role {
            changes.push((index, role));
        }
    }
    changes
}

fn pick(cluster: &Cluster, counts: Tally, inventory: &Inventory, settings: &Settings) -> HostRole {
    let wanted = control_planes(cluster);
    let fit = |role| {
        fits(
            inventory,
            needs_of(role, cluster.is_single_node(), settings),
        )
    };
    if counts.masters < wanted && fit(HostRole::Master) {
        HostRole::Master
    } else if wanted == 2 && counts.arbiters == 0 && fit(HostRole::Arbiter) {
        HostRole::Arbiter
    } else {
        HostRole::Worker
    }
}

fn control_planes(cluster: &Cluster) -> usize {
    usize::try_from(cluster.control_plane_count.unwrap_or(3)).unwrap_or(0)
}

fn count(counts: &mut Tally, role: HostRole, bootstrap_counts: bool) {
    match role {
        HostRole::Master => counts.masters += 1,
        HostRole::Bootstrap if bootstrap_counts => counts.masters += 1,
        HostRole::Arbiter => counts.arbiters += 1,
        HostRole::Worker => counts.workers += 1,
        HostRole::Bootstrap | HostRole::AutoAssign => {}
    }
}

/// Roles the cluster would install with: open ones are tried as suggestions would be.
pub(crate) fn tally(
    cluster: &Cluster,
    hosts: &[Host],
    inventories: &[Option<Arc<Inventory>>],
    settings: &Settings,
) -> Tally {
    let mut counts = Tally::default();
    for host in hosts {
        count(&mut counts, host.effective_role(), true);
    }
    for (host, inventory) in hosts.iter().zip(inventories) {
        if host.effective_role() == HostRole::AutoAssign {
            let role = inventory.as_ref().map_or(HostRole::Worker, |inventory| {
                pick(cluster, counts, inventory, settings)
            });
            count(&mut counts, role, true);
        }
    }
    counts
}

/// Too few workers to run workloads on, so the control plane must.
pub(crate) fn masters_must_work(cluster: &Cluster, hosts: &[Host]) -> bool {
    let workers = hosts
        .iter()
        .filter(|host| host.effective_role() == HostRole::Worker)
        .count();
    cluster.is_single_node() || workers < 2
}

/// The host that leads the installation: who was chosen before, else the control plane host
/// with the smallest id that is ready.
pub(crate) fn choose_bootstrap(hosts: &[Host]) -> Option<usize> {
    if let Some(chosen) = hosts.iter().position(|host| host.bootstrap) {
        return Some(chosen);
    }
    let ready = |host: &Host| {
        host.effective_role() == HostRole::Master
            && matches!(
                host.status,
                HostStatus::Known | HostStatus::PreparingForInstallation
            )
    };
    (0..hosts.len())
        .filter(|&i| ready(&hosts[i]))
        .min_by_key(|&i| hosts[i].key())
}

/// Two control plane hosts that can switch each other off.
pub(crate) fn is_fenced_pair(cluster: &Cluster, hosts: &[Host]) -> bool {
    let masters: Vec<&Host> = hosts
        .iter()
        .filter(|host| host.effective_role() == HostRole::Master)
        .collect();
    cluster.control_plane_count == Some(2)
        && masters.len() == 2
        && !hosts
            .iter()
            .any(|host| host.effective_role() == HostRole::Arbiter)
        && masters.iter().all(|host| {
            host.fencing_credentials
                .as_ref()
                .is_some_and(|s| !s.is_empty())
        })
}

/// Enough hosts are in one of `statuses` for the cluster to work.
///
/// Expected numbers come from fixed roles, because installation fixes them; a cluster whose
/// roles are still open has not enough of anything.
pub(crate) fn enough(cluster: &Cluster, hosts: &[Host], statuses: &[HostStatus]) -> bool {
    let mut expected = Tally::default();
    let mut there = Tally::default();
    for host in hosts.iter().filter(|host| !host.is_day2()) {
        count(&mut expected, host.role, true);
        if statuses.contains(&host.status) {
            count(&mut there, host.effective_role(), true);
        }
    }
    if cluster.is_single_node() {
        return there.masters == 1 && there.workers == 0;
    }
    let least_masters = if expected.arbiters > 0 || is_fenced_pair(cluster, hosts) {
        2
    } else {
        3
    };
    expected.masters >= least_masters
        && there.masters == expected.masters
        && (expected.arbiters == 0 || there.arbiters >= 1)
        && (expected.workers < 2 || there.workers >= 2)
}
