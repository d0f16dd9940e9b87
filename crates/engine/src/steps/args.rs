//! The arguments of each step, or `None` when there is nothing to ask yet. Dispatch, and the
//! steps whose arguments are simple; the others have files of their own.

use muster_model::{Host, HostRole};
use serde::Serialize;

use super::{StepType, dhcp, ignition, install, json, look_around, preparation};
use crate::{inventory::Inventory, networks, settings::Settings, view::Environment};

pub(super) fn of(
    step: StepType,
    host: &Host,
    around: &Environment<'_>,
    settings: &Settings,
) -> Option<Vec<String>> {
    use StepType::*;
    let one = |text: String| Some(vec![text]);
    match step {
        Inventory => Some(inventory(host, settings)),
        ConnectivityCheck => one(look_around::peers(host, around)?),
        FreeNetworkAddresses => one(look_around::scannable(host)?),
        VerifyVips => one(look_around::vips(host, around.cluster?)?),
        DomainResolution => one(look_around::domains(around.cluster?)?),
        NtpSynchronizer => one(look_around::ntp(around)),
        ApiVipConnectivityCheck => one(ignition::source(host, around.cluster?)?),
        TangConnectivityCheck => one(ignition::tang(host, around.cluster?)?),
        InstallationDiskSpeedCheck => preparation::disk_speed(host, settings),
        ContainerImageAvailability => one(preparation::images(host, around.cluster?, settings)?),
        Install => one(install::request(host, around, settings)?),
        LogsGather if host.logs_collected_at.is_some() => None,
        LogsGather => one(logs(host, around)?),
        StopInstallation => Some(Vec::new()),
        DownloadBootArtifacts => one(boot_artifacts(settings)?),
        RebootForReclaim => one(json(&Reboot {
            host_fs_mount_dir: NODE_ROOT,
        })),
        DhcpLeaseAllocate => dhcp::args(host, around),
        // Upgrade replaces the whole list; the others are never handed out.
        UpgradeAgent | Execute | NextStepRunner => None,
    }
}

/// Limits are sent only where they are set: agents before them take one argument and no more.
fn inventory(host: &Host, settings: &Settings) -> Vec<String> {
    let limit = |flag: &str, bytes: u64| (bytes > 0).then(|| format!("{flag}={bytes}"));
    let limits = &settings.inventory_limits;
    [
        Some(host.id.to_string()),
        limit("--output-max-size", limits.max_bytes),
        limit("--disk-min-size", limits.min_disk_bytes),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Where the runner's container sees the root of a node that leaves its cluster.
const NODE_ROOT: &str = "/host";

#[derive(Serialize)]
struct Reboot {
    host_fs_mount_dir: &'static str,
}

#[derive(Serialize)]
struct Download<'a> {
    host_fs_mount_dir: &'static str,
    initrd_url: &'a str,
    kernel_url: &'a str,
    rootfs_url: &'a str,
}

fn boot_artifacts(settings: &Settings) -> Option<String> {
    let urls = settings.boot_artifacts.as_ref()?;
    Some(json(&Download {
        host_fs_mount_dir: NODE_ROOT,
        initrd_url: urls.initrd.reveal(),
        kernel_url: &urls.kernel,
        rootfs_url: &urls.rootfs,
    }))
}

#[derive(Serialize)]
struct Logs {
    bootstrap: bool,
    cluster_id: String,
    host_id: String,
    infra_env_id: String,
    /// Agents take `false` for a missing field and refuse the step.
    installer_gather: bool,
    master_ips: Option<Vec<String>>,
}

pub(super) fn logs(host: &Host, around: &Environment<'_>) -> Option<String> {
    let masters = host.bootstrap.then(|| other_masters(host, around));
    Some(json(&Logs {
        bootstrap: host.bootstrap,
        cluster_id: host.cluster?.to_string(),
        host_id: host.id.to_string(),
        infra_env_id: host.infra_env.to_string(),
        installer_gather: true,
        master_ips: masters.filter(|list| !list.is_empty()),
    }))
}

/// Where the bootstrap host finds the logs of the others: one address each in the machine
/// network, or all of them where the machine network is not set.
fn other_masters(host: &Host, around: &Environment<'_>) -> Vec<String> {
    let network = around
        .cluster
        .filter(|cluster| !networks::user_managed(cluster))
        .and_then(|cluster| networks::machine(cluster).ok()?.first().copied());
    around
        .peers
        .iter()
        .map(|peer| peer.host)
        .filter(|peer| peer.key() != host.key() && peer.effective_role() != HostRole::Worker)
        .filter_map(|peer| Inventory::of(peer).ok())
        .flat_map(|inventory| match &network {
            Some(network) => inventory.address_in(network).into_iter().collect(),
            None => inventory
                .addresses()
                .map(|(_, address)| address.addr())
                .collect::<Vec<_>>(),
        })
        .map(|address| address.to_string())
        .collect()
}
