//! Roles: suggestions, the bootstrap host, and whether enough hosts are left.
//!
//! Suggestions are computed from scratch each time, in a total order (no GPU first, then the
//! smallest machine that fits, then the id), so they never flicker and the announced roles are
//! the ones used. The bootstrap choice is just as fixed: see [`choose_bootstrap`].

use std::{cmp::Reverse, collections::BTreeSet, sync::Arc};

use muster_model::{Cluster, Host, HostRole, HostStatus};

use crate::{
    checks::{
        host::{excused, fits, needs_of},
        operators::{self, OnHost, Scene},
    },
    inventory::Inventory,
    reports::{self, RemoteHost},
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

/// Suggested role per host index, for hosts whose suggestion changes.
pub(crate) fn suggest(
    cluster: &Cluster,
    hosts: &[Host],
    inventories: &[Option<Arc<Inventory>>],
    settings: &Settings,
) -> Vec<(usize, HostRole)> {
    // With a machine unknown any ranking is premature; what was suggested stays.
    let all_known = inventories.iter().all(Option::is_some);
    let fenced = fencible(hosts) >= 2;
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
    let scene = Scene::of(cluster, hosts.iter());
    let excused = excused(cluster, settings);
    let suits_master = |on: &OnHost<'_>| operators::suits_master(on, &excused);
    let mut changes = Vec::new();
    for (index, inventory) in open {
        let role = if hosts[index].is_day2() {
            HostRole::Worker
        } else if !all_known {
            continue;
        } else {
            // Suggestions of earlier times must not count, only those made just now.
            let scene = scene.with_workers(counts.workers);
            let on = OnHost::new(&scene, &hosts[index], Some(inventory), &settings.operators);
            pick(
                cluster,
                fenced,
                counts,
                inventory,
                settings,
                &on,
                suits_master,
            )
        };
        count(&mut counts, role, false);
        if hosts[index].suggested_role != role {
            changes.push((index, role));
        }
    }
    changes
}

/// The role that is still wanted and that the host is good for, operators included;
/// `suits_master` is asked on top before it becomes one.
fn pick(
    cluster: &Cluster,
    fenced: bool,
    counts: Tally,
    inventory: &Inventory,
    settings: &Settings,
    on: &OnHost<'_>,
    suits_master: impl Fn(&OnHost<'_>) -> bool,
) -> HostRole {
    let wanted = control_planes(cluster);
    let fit = |role, also: &dyn Fn(&OnHost<'_>) -> bool| {
        let alone = needs_of(role, cluster.is_single_node(), settings);
        on.tried_as(role, |on| {
            fits(inventory, &operators::total(alone, on)) && also(on)
        })
    };
    if counts.masters < wanted && fit(HostRole::Master, &suits_master) {
        HostRole::Master
    } else if wanted == 2 && !fenced && counts.arbiters == 0 && fit(HostRole::Arbiter, &|_| true) {
        HostRole::Arbiter
    } else {
        HostRole::Worker
    }
}

/// How many hosts can be switched off from outside; two of them need no arbiter.
fn fencible(hosts: &[Host]) -> usize {
    hosts.iter().filter(|host| can_be_fenced(host)).count()
}

fn can_be_fenced(host: &Host) -> bool {
    let credentials = host.fencing_credentials.as_ref();
    credentials.is_some_and(|secret| !secret.is_empty())
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
    let fenced = fencible(hosts) >= 2;
    let mut counts = Tally::default();
    for host in hosts {
        count(&mut counts, host.effective_role(), true);
    }
    let scene = Scene::of(cluster, hosts.iter());
    for (host, inventory) in hosts.iter().zip(inventories) {
        if host.effective_role() == HostRole::AutoAssign {
            let role = inventory.as_ref().map_or(HostRole::Worker, |inventory| {
                let on = OnHost::new(&scene, host, Some(inventory), &settings.operators);
                pick(cluster, fenced, counts, inventory, settings, &on, |_| true)
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

const fn is_control_plane(host: &Host) -> bool {
    matches!(
        host.effective_role(),
        HostRole::Master | HostRole::Bootstrap
    )
}

/// The host that leads the installation: the one chosen before, else of the control plane hosts that
/// are ready the one that reaches most of the others, and among equals the one with the smallest id.
/// Round-trip times have no say: they differ with every report, and the choice must not.
pub(crate) fn choose_bootstrap(hosts: &[Host]) -> Option<usize> {
    let leads = |host: &Host| host.bootstrap && is_control_plane(host);
    if let Some(chosen) = hosts.iter().position(leads) {
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
        .min_by_key(|&i| (Reverse(reached(&hosts[i], hosts)), hosts[i].key()))
}

/// How many other hosts of the cluster answer this one.
fn reached(host: &Host, hosts: &[Host]) -> usize {
    let Some(reach) = reports::connectivity_of(host).ok() else {
        return 0;
    };
    let answers = |remote: &&RemoteHost| {
        let mut l2 = remote.l2_connectivity.items().iter();
        let mut l3 = remote.l3_connectivity.items().iter();
        l2.any(|l2| l2.successful) || l3.any(|l3| l3.successful)
    };
    let remotes = reach.remote_hosts.items().iter().filter(answers);
    let answering: BTreeSet<&str> = remotes.map(|remote| remote.host_id.as_str()).collect();
    let others = hosts.iter().filter(|peer| peer.key() != host.key());
    others
        .filter(|peer| answering.contains(peer.id.to_string().as_str()))
        .count()
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
        && masters.iter().all(|host| can_be_fenced(host))
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
