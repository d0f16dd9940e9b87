//! The resources operators need on a host, in numbers and in words.
//!
//! Two questions are answered: before any host is known, what to plan for ([`preflight`]); and
//! for a host at hand, what its operators add ([`host_needs`]). The second depends on devices
//! and disks, which the caller counts.

use serde::Serialize;

use super::{
    Operator, OperatorSettings,
    odf::{OdfMode, RoleCounts},
    selection,
};
use crate::{OpenshiftVersion, Requirement};

const MIB_PER_GIB: u32 = 1024;

/// Memory CNV sets aside for each device it hands through to guests.
const CNV_DEVICE_MIB: u32 = 1024;

/// Extra disk that MCE needs when it shares storage with LVM or ODF, in GB.
const MCE_DISK_GB: u32 = 50;
/// The same on a single node, which also holds the databases and images.
const MCE_DISK_SINGLE_NODE_GB: u32 = 70;

/// The role of a host as far as operators care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRole {
    /// Control plane.
    Master,
    /// Workload.
    Worker,
    /// Tie breaker of a two-node control plane.
    Arbiter,
    /// Not chosen yet; counts as worker except for ODF.
    AutoAssign,
}

/// The cluster as far as operators care.
#[derive(Clone, Copy, Debug)]
pub struct ClusterShape<'a> {
    /// Its version; unknown (imported clusters), the newest way of counting applies.
    pub version: Option<&'a OpenshiftVersion>,
    /// Whether it has a single node.
    pub single_node: bool,
    /// Whether masters run workload; for LVM: single node, or fewer than two workers.
    pub masters_schedulable: bool,
    /// Its hosts by given role.
    pub roles: RoleCounts,
}

/// The host as far as operators care.
#[derive(Clone, Copy, Debug)]
pub struct HostShape {
    /// Its role: the given one for ODF, for the others the one in effect.
    pub role: HostRole,
    /// Disks besides the installation disk that are large enough for ODF.
    pub odf_disks: u32,
    /// GPUs and NICs that CNV supports.
    pub cnv_devices: u32,
}

/// What to plan for, by role.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preflight {
    /// The operator this is about.
    pub operator_name: Operator,
    /// What it pulls in.
    pub dependencies: Vec<Operator>,
    /// The needs themselves.
    pub requirements: PreflightRoles,
}

/// Needs on the control plane and on workers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PreflightRoles {
    /// On a master.
    pub master: PreflightNeeds,
    /// On a worker.
    pub worker: PreflightNeeds,
}

/// Needs in numbers and in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PreflightNeeds {
    /// Numbers.
    pub quantitative: Requirement,
    /// Sentences for people; null when there is nothing to say.
    pub qualitative: Option<Vec<String>>,
}

/// What an operator will ask of the hosts of a cluster, before any of them is known.
pub fn preflight(
    operator: Operator,
    cluster: ClusterShape<'_>,
    settings: &OperatorSettings,
) -> Preflight {
    let needs = |role| PreflightNeeds {
        quantitative: planned(operator, role, cluster, settings),
        qualitative: advice(operator, cluster, settings),
    };
    Preflight {
        operator_name: operator,
        dependencies: selection::dependencies(operator, cluster.single_node).to_vec(),
        requirements: PreflightRoles {
            master: needs(HostRole::Master),
            worker: needs(HostRole::Worker),
        },
    }
}

/// What an operator adds to the needs of a host.
pub fn host_needs(
    operator: Operator,
    host: HostShape,
    cluster: ClusterShape<'_>,
    settings: &OperatorSettings,
) -> Requirement {
    let open = host.role == HostRole::AutoAssign;
    if operator == Operator::Odf {
        if open && !cluster.roles.allows_open_roles() {
            return Requirement::default();
        }
        return OdfMode::of(cluster.roles, &settings.odf).host_needs(
            host.role,
            host.odf_disks,
            &settings.odf,
        );
    }
    // Only workers carry models; a host that may become a master is not asked for it yet.
    if operator == Operator::OpenshiftAi && open {
        return Requirement::default();
    }
    if operator == Operator::Lvm && host.role == HostRole::Master && !cluster.masters_schedulable {
        return Requirement::default();
    }
    // The only node of a cluster is its control plane, whatever role it was given.
    let role = match cluster.single_node && matches!(operator, Operator::Mce | Operator::Cnv) {
        true => HostRole::Master,
        false => host.role,
    };
    let mut need = planned(operator, role, cluster, settings);
    let takes_devices =
        cluster.single_node || matches!(role, HostRole::Worker | HostRole::AutoAssign);
    if operator == Operator::Cnv && takes_devices {
        let devices = host.cnv_devices.saturating_mul(CNV_DEVICE_MIB);
        need.ram_mib = need.ram_mib.saturating_add(devices);
    }
    need
}

/// By how much the smallest data disk grows when MCE shares LVM or ODF storage, in GB.
pub fn mce_extra_disk_gb(selected: &[Operator], single_node: bool) -> u32 {
    let has = |operator| selected.contains(&operator);
    match has(Operator::Mce) && (has(Operator::Lvm) || has(Operator::Odf)) {
        false => 0,
        true if single_node => MCE_DISK_SINGLE_NODE_GB,
        true => MCE_DISK_GB,
    }
}

/// Whether CNV will make a storage pool on the single node, and so needs another disk there.
pub fn cnv_needs_pool_disk(cluster: ClusterShape<'_>, settings: &OperatorSettings) -> bool {
    let shipped = cluster
        .version
        .is_some_and(|version| version.at_least(4, 10) && !version.at_least(4, 12));
    cluster.single_node && settings.cnv_hostpath_on_single_node && shipped
}

/// The part that does not depend on a host's disks and devices.
fn planned(
    operator: Operator,
    role: HostRole,
    cluster: ClusterShape<'_>,
    settings: &OperatorSettings,
) -> Requirement {
    let worker = matches!(role, HostRole::Worker | HostRole::AutoAssign);
    let master = role == HostRole::Master;
    let none = Requirement::default();
    match operator {
        _ if !master && !worker => none,
        Operator::Odf if master => {
            let odf = &settings.odf;
            Requirement::cpu_and_ram(odf.compact_cpu, gib(odf.compact_ram_gib))
        }
        Operator::Odf => {
            let odf = &settings.odf;
            Requirement::cpu_and_ram(odf.standard_cpu, gib(odf.standard_ram_gib))
        }
        Operator::Cnv if master && cluster.single_node => Requirement::cpu_and_ram(6, 510),
        Operator::Cnv if master => Requirement::cpu_and_ram(4, 150),
        Operator::Cnv => Requirement::cpu_and_ram(2, 360),
        Operator::Lvm => {
            Requirement::cpu_and_ram(settings.lvm_cpu, lvm_ram_mib(cluster.version, settings))
        }
        Operator::Mce if master && cluster.single_node => Requirement::cpu_and_ram(8, 32768),
        Operator::Mce => Requirement::cpu_and_ram(4, 16384),
        Operator::Mtv => Requirement::cpu_and_ram(settings.mtv_cpu, settings.mtv_ram_mib),
        Operator::Osc => Requirement::cpu_and_ram(settings.osc_cpu, settings.osc_ram_mib),
        Operator::OpenshiftAi if worker => Requirement::cpu_and_ram(
            settings.openshift_ai_cpu,
            gib(settings.openshift_ai_ram_gib),
        ),
        Operator::OpenshiftAi => none,
        Operator::AmdGpu | Operator::Authorino | Operator::ClusterObservability => none,
        Operator::FenceAgentsRemediation | Operator::Kmm | Operator::KubeDescheduler => none,
        Operator::Loki | Operator::Lso | Operator::Metallb | Operator::Nmstate => none,
        Operator::NodeFeatureDiscovery | Operator::NodeHealthcheck => none,
        Operator::NodeMaintenance | Operator::Numaresources | Operator::NvidiaGpu => none,
        Operator::Oadp | Operator::OpenshiftLogging | Operator::Pipelines => none,
        Operator::SelfNodeRemediation | Operator::Serverless | Operator::Servicemesh => none,
    }
}

fn gib(gib: u32) -> u32 {
    gib.saturating_mul(MIB_PER_GIB)
}

/// LVM became leaner twice.
fn lvm_ram_mib(version: Option<&OpenshiftVersion>, settings: &OperatorSettings) -> u32 {
    let since = |minor| version.is_none_or(|version| version.at_least(4, minor));
    let by_version = || match () {
        () if since(16) => 100,
        () if since(13) => 400,
        () => 1200,
    };
    settings.lvm_ram_mib.unwrap_or_else(by_version)
}

/// What numbers cannot say.
fn advice(
    operator: Operator,
    cluster: ClusterShape<'_>,
    settings: &OperatorSettings,
) -> Option<Vec<String>> {
    let odf = &settings.odf;
    let lines = match operator {
        Operator::Odf => vec![
            format!("{} or more hosts that carry storage", odf.min_hosts),
            format!(
                "{} or more data disks in the cluster, each of at least {} GB and none of them \
                 an installation disk",
                odf.min_disks, odf.min_disk_gb
            ),
            format!(
                "for each data disk {} more CPU cores and {} GiB more memory on its host",
                odf.disk_cpu, odf.disk_ram_gib
            ),
        ],
        Operator::Cnv => {
            let mut lines = vec![
                "hardware virtualization switched on in the firmware (Intel VT-x or AMD-V)"
                    .to_owned(),
                format!("{CNV_DEVICE_MIB} MiB more memory for each GPU or SR-IOV NIC in use"),
            ];
            if cnv_needs_pool_disk(cluster, settings) {
                let size = settings.cnv_hostpath_pool_gib;
                lines.push(format!(
                    "a second disk larger than {size} GiB for virtual machines"
                ));
            }
            lines
        }
        Operator::Lvm => vec!["on each host a disk besides the installation disk".to_owned()],
        Operator::Mce => {
            let size = mce_extra_disk_gb(&[Operator::Mce, Operator::Lvm], cluster.single_node);
            vec![format!(
                "together with LVM or ODF, {size} GB more on each data disk"
            )]
        }
        Operator::NvidiaGpu => gpu_advice("NVIDIA", settings.nvidia.required),
        Operator::AmdGpu => gpu_advice("AMD", settings.amd.required),
        Operator::Kmm => vec!["secure boot switched off on every host".to_owned()],
        Operator::OpenshiftAi if !cluster.single_node => {
            vec![format!(
                "{} or more workers",
                settings.openshift_ai_min_workers
            )]
        }
        Operator::OpenshiftAi
        | Operator::Authorino
        | Operator::ClusterObservability
        | Operator::FenceAgentsRemediation
        | Operator::KubeDescheduler
        | Operator::Loki
        | Operator::Lso
        | Operator::Metallb
        | Operator::Mtv
        | Operator::Nmstate
        | Operator::NodeFeatureDiscovery
        | Operator::NodeHealthcheck
        | Operator::NodeMaintenance
        | Operator::Numaresources
        | Operator::Oadp
        | Operator::OpenshiftLogging
        | Operator::Osc
        | Operator::Pipelines
        | Operator::SelfNodeRemediation
        | Operator::Serverless
        | Operator::Servicemesh => return None,
    };
    Some(lines)
}

fn gpu_advice(vendor: &str, required: bool) -> Vec<String> {
    let mut lines = vec![format!(
        "secure boot switched off on hosts with an {vendor} GPU"
    )];
    if required {
        lines.insert(
            0,
            format!("a host that runs workload and has a supported {vendor} GPU"),
        );
    }
    lines
}

#[cfg(test)]
#[path = "needs_tests.rs"]
mod tests;
