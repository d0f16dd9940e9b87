//! Settings of operator requirements, with their defaults.

use crate::OpenshiftVersion;

/// Numbers and device lists that the service's configuration may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorSettings {
    /// `LVM_CPU_PER_HOST`.
    pub lvm_cpu: u32,
    /// `LVM_MEMORY_PER_HOST_MIB`; unset, it depends on the version.
    pub lvm_ram_mib: Option<u32>,
    /// `MCE_MIN_OPENSHIFT_VERSION`, compared in full: a pre-release is older than its release.
    pub mce_min_version: OpenshiftVersion,
    /// `MTV_CPU_PER_HOST`.
    pub mtv_cpu: u32,
    /// `MTV_MEMORY_PER_HOST_MIB`.
    pub mtv_ram_mib: u32,
    /// `Osc_CPU_PER_HOST`, spelled like that.
    pub osc_cpu: u32,
    /// `Osc_MEMORY_PER_HOST_MIB`.
    pub osc_ram_mib: u32,
    /// `OPENSHIFT_AI_MIN_WORKER_NODES`.
    pub openshift_ai_min_workers: u32,
    /// `OPENSHIFT_AI_MIN_WORKER_CPU_CORES`, per worker.
    pub openshift_ai_cpu: u32,
    /// `OPENSHIFT_AI_MIN_WORKER_MEMORY_GIB`, per worker.
    pub openshift_ai_ram_gib: u32,
    /// `CNV_SUPPORTED_GPUS`: `vendor:device` in lower case.
    pub cnv_gpus: Vec<String>,
    /// `CNV_SUPPORTED_SRIOV_NICS`: `vendor:device` in lower case.
    pub cnv_nics: Vec<String>,
    /// `CNV_SNO_INSTALL_HPP`.
    pub cnv_hostpath_on_single_node: bool,
    /// `CNV_SNO_POOL_SIZE_REQUEST_HPP_GIB`.
    pub cnv_hostpath_pool_gib: u32,
    /// Settings of the NVIDIA GPU operator.
    pub nvidia: GpuSettings,
    /// Settings of the AMD GPU operator.
    pub amd: GpuSettings,
    /// Settings of ODF.
    pub odf: OdfSettings,
}

/// What a GPU operator looks for on hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuSettings {
    /// PCI vendor ids in lower case (`NVIDIA_SUPPORTED_GPUS`, `AMD_SUPPORTED_GPUS`).
    pub vendors: Vec<String>,
    /// Whether some host must have such a GPU (`NVIDIA_REQUIRE_GPU`, `AMD_REQUIRE_GPU`).
    pub required: bool,
}

/// What ODF asks of hosts and disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OdfSettings {
    /// `ODF_NUM_MINIMUM_DISK`, over the whole cluster.
    pub min_disks: u32,
    /// `ODF_NUM_MINIMUM_HOST`, with at least one disk each.
    pub min_hosts: u32,
    /// `ODF_MIN_DISK_SIZE_GB`.
    pub min_disk_gb: u32,
    /// `ODF_PER_DISK_CPU_COUNT`.
    pub disk_cpu: u32,
    /// `ODF_PER_DISK_RAM_GIB`.
    pub disk_ram_gib: u32,
    /// `ODF_PER_HOST_CPU_COMPACT_MODE`.
    pub compact_cpu: u32,
    /// `ODF_PER_HOST_MEMORY_GIB_COMPACT_MODE`.
    pub compact_ram_gib: u32,
    /// `ODF_PER_HOST_CPU_STANDARD_MODE`.
    pub standard_cpu: u32,
    /// `ODF_PER_HOST_MEMORY_GIB_STANDARD_MODE`.
    pub standard_ram_gib: u32,
}

impl Default for OperatorSettings {
    fn default() -> Self {
        let texts = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        let gpu = |vendor| GpuSettings {
            vendors: texts(&[vendor]),
            required: true,
        };
        Self {
            lvm_cpu: 1,
            lvm_ram_mib: None,
            mce_min_version: "4.10.0".parse().expect("4.10.0 is a version"),
            mtv_cpu: 1,
            mtv_ram_mib: 1024,
            osc_cpu: 1,
            osc_ram_mib: 1024,
            openshift_ai_min_workers: 2,
            openshift_ai_cpu: 8,
            openshift_ai_ram_gib: 32,
            cnv_gpus: texts(&["10de:1db6", "10de:1eb8"]),
            cnv_nics: texts(&[
                "8086:158b",
                "15b3:1015",
                "15b3:1017",
                "15b3:1013",
                "15b3:101b",
            ]),
            cnv_hostpath_on_single_node: true,
            cnv_hostpath_pool_gib: 50,
            nvidia: gpu("10de"),
            amd: gpu("1002"),
            odf: OdfSettings::default(),
        }
    }
}

impl Default for OdfSettings {
    fn default() -> Self {
        Self {
            min_disks: 3,
            min_hosts: 3,
            min_disk_gb: 25,
            disk_cpu: 2,
            disk_ram_gib: 5,
            compact_cpu: 6,
            compact_ram_gib: 19,
            standard_cpu: 8,
            standard_ram_gib: 19,
        }
    }
}
