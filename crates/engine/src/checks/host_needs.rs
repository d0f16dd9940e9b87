//! How much hardware a host must have.

use muster_catalog::is_edge_worker;
use muster_model::{Cluster, Host, HostRole};

use crate::{
    inventory::Inventory,
    settings::{Requirements, Settings},
};

pub(super) const MIB: i64 = 1024 * 1024;
/// Firmware reserves a little memory; no host should fail because of that.
pub(super) const MEMORY_TOLERANCE_MIB: i64 = 100;

/// What a host must have: a pool host need only be good enough for the humblest role.
pub(crate) fn needs_of_host(
    host: &Host,
    cluster: Option<&Cluster>,
    inventory: Option<&Inventory>,
    settings: &Settings,
) -> Requirements {
    let table = &settings.requirements;
    if host.cluster.is_none() {
        let roles = [table.worker, table.master, table.arbiter];
        let humblest = roles.into_iter().min_by_key(|needs| needs.disk_size_gb);
        return humblest.unwrap_or(table.worker);
    }
    let role = host.effective_role();
    let works = matches!(role, HostRole::Worker | HostRole::AutoAssign);
    if works && inventory.is_some_and(|inventory| is_at_the_edge(inventory, settings)) {
        return table.edge_worker;
    }
    *needs_of(role, cluster.is_some_and(Cluster::is_single_node), settings)
}

/// Requirements of a role; an open role asks for what a worker needs.
pub(crate) fn needs_of(role: HostRole, single_node: bool, settings: &Settings) -> &Requirements {
    let table = &settings.requirements;
    match role {
        HostRole::Master | HostRole::Bootstrap if single_node => &table.single_node,
        HostRole::Master | HostRole::Bootstrap => &table.master,
        HostRole::Arbiter => &table.arbiter,
        HostRole::Worker | HostRole::AutoAssign => &table.worker,
    }
}

/// Cores and MiB below which a machine is of no use in any role.
pub(super) fn least(cluster: Option<&Cluster>, settings: &Settings) -> (i64, i64) {
    let single_node = cluster.is_some_and(Cluster::is_single_node);
    let master = needs_of(HostRole::Master, single_node, settings);
    let worker = needs_of(HostRole::Worker, single_node, settings);
    (
        master.cpu_cores.min(worker.cpu_cores),
        master.ram_mib.min(worker.ram_mib),
    )
}

fn is_at_the_edge(inventory: &Inventory, settings: &Settings) -> bool {
    let vendor = inventory.system_vendor.as_ref();
    let product = vendor.map_or("", |vendor| vendor.product_name.as_str());
    is_edge_worker(inventory.arch(), product, &settings.edge_worker_products)
}

/// Whether an inventory satisfies what a role asks for, whatever role the host has now.
pub(crate) fn fits(inventory: &Inventory, needs: &Requirements) -> bool {
    let cores = inventory.cpu.as_ref().map_or(0, |cpu| cpu.count);
    let memory = inventory.memory.as_ref();
    let bytes = memory.map_or(0, |memory| memory.physical_bytes);
    cores >= needs.cpu_cores
        && bytes >= bytes_of(needs.ram_mib.saturating_sub(MEMORY_TOLERANCE_MIB))
}

pub(super) const fn bytes_of(mib: i64) -> i64 {
    mib.saturating_mul(MIB)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::{Cpu, SystemVendor},
        testing::{START, good_cluster, key},
    };

    #[test]
    fn a_role_decides_what_a_host_needs() {
        let settings = Settings::default();
        let of = |role, control_planes| {
            let cluster = good_cluster(control_planes);
            let mut host = Host::registered(key(1), Some(cluster.id), "", START);
            host.role = role;
            let needs = needs_of_host(&host, Some(&cluster), None, &settings);
            (needs.cpu_cores, needs.ram_mib, needs.disk_size_gb)
        };
        assert_eq!(of(HostRole::Master, 3), (4, 16384, 100));
        assert_eq!(of(HostRole::Bootstrap, 3), (4, 16384, 100));
        assert_eq!(of(HostRole::Master, 1), (8, 16384, 100));
        assert_eq!(of(HostRole::Arbiter, 2), (2, 8192, 50));
        assert_eq!(of(HostRole::Worker, 3), (2, 8192, 100));
        assert_eq!(of(HostRole::AutoAssign, 3), (2, 8192, 100));
    }

    #[test]
    fn a_host_of_the_pool_is_measured_by_the_smallest_disk_and_a_worker_wins_a_tie() {
        let mut settings = Settings::default();
        let host = Host::registered(key(1), None, "", START);
        let disk = |settings: &Settings| needs_of_host(&host, None, None, settings).disk_size_gb;
        assert_eq!(disk(&settings), 50);
        settings.requirements.arbiter.disk_size_gb = 100;
        settings.requirements.worker.cpu_cores = 3;
        assert_eq!(needs_of_host(&host, None, None, &settings).cpu_cores, 3);
    }

    #[test]
    fn an_arm_worker_of_a_listed_product_is_an_edge_worker() {
        let settings = Settings {
            edge_worker_products: "Other,BlueField SoC".into(),
            ..Settings::default()
        };
        let cluster = good_cluster(3);
        let disk = |role, architecture: &str, product: &str| {
            let mut host = Host::registered(key(1), Some(cluster.id), "", START);
            host.role = role;
            let inventory = Inventory {
                cpu: Some(Cpu {
                    architecture: architecture.into(),
                    ..Cpu::default()
                }),
                system_vendor: Some(SystemVendor {
                    product_name: product.into(),
                    ..SystemVendor::default()
                }),
                ..Inventory::default()
            };
            needs_of_host(&host, Some(&cluster), Some(&inventory), &settings).disk_size_gb
        };
        assert_eq!(disk(HostRole::Worker, "aarch64", "BlueField SoC"), 15);
        assert_eq!(disk(HostRole::AutoAssign, "aarch64", "bluefieldsoc"), 15);
        assert_eq!(disk(HostRole::Worker, "x86_64", "BlueField SoC"), 100);
        assert_eq!(disk(HostRole::Worker, "", "BlueField SoC"), 100);
        assert_eq!(disk(HostRole::Worker, "aarch64", "Big Server"), 100);
        assert_eq!(disk(HostRole::Master, "aarch64", "BlueField SoC"), 100);
    }
}
