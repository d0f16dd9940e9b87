//! What the optional operators ask of hosts.

use std::time::Duration;

use super::section;

section! {
    /// What the optional operators ask of hosts.
    pub struct Operators at operators {
        /// Give single nodes with virtualization a host-path provisioner.
        cnv_sno_install_hpp: bool = true, env ["CNV_SNO_INSTALL_HPP"];
        /// Size of the pool of that provisioner, in GiB.
        cnv_sno_pool_size_gib: u32 = 50, env ["CNV_SNO_POOL_SIZE_REQUEST_HPP_GIB"];
        /// GPUs that virtualization can pass through, as vendor:device.
        cnv_supported_gpus: Vec<String> = list("10de:1db6,10de:1eb8"), env ["CNV_SUPPORTED_GPUS"];
        /// NICs that virtualization can share, as vendor:device.
        cnv_supported_sriov_nics: Vec<String> = list("8086:158b,15b3:1015,15b3:1017,15b3:1013,15b3:101b"), env ["CNV_SUPPORTED_SRIOV_NICS"];
        /// CPU cores of each host for LVM storage.
        lvm_cpu_per_host: u32 = 1, env ["LVM_CPU_PER_HOST"];
        /// Memory of each host for LVM storage, in MiB; unset means by version.
        lvm_memory_per_host_mib: Option<u32> = None, env ["LVM_MEMORY_PER_HOST_MIB"];
        /// Oldest OpenShift version that can run the multicluster engine.
        mce_min_openshift_version: String = "4.10.0".into(), env ["MCE_MIN_OPENSHIFT_VERSION"];
        /// CPU cores of each host for the migration toolkit.
        mtv_cpu_per_host: u32 = 1, env ["MTV_CPU_PER_HOST"];
        /// Memory of each host for the migration toolkit, in MiB.
        mtv_memory_per_host_mib: u32 = 1024, env ["MTV_MEMORY_PER_HOST_MIB"];
        /// CPU cores of each host for sandboxed containers.
        osc_cpu_per_host: u32 = 1, env ["Osc_CPU_PER_HOST"];
        /// Memory of each host for sandboxed containers, in MiB.
        osc_memory_per_host_mib: u32 = 1024, env ["Osc_MEMORY_PER_HOST_MIB"];
        /// Minimum number of disks for data foundation.
        odf_min_disks: u32 = 3, env ["ODF_NUM_MINIMUM_DISK"];
        /// Minimum number of hosts for data foundation.
        odf_min_hosts: u32 = 3, env ["ODF_NUM_MINIMUM_HOST"];
        /// Smallest disk for data foundation, in GB.
        odf_min_disk_size_gb: u32 = 25, env ["ODF_MIN_DISK_SIZE_GB"];
        /// CPU cores per disk of data foundation.
        odf_cpu_per_disk: u32 = 2, env ["ODF_PER_DISK_CPU_COUNT"];
        /// Memory per disk of data foundation, in GiB.
        odf_memory_per_disk_gib: u32 = 5, env ["ODF_PER_DISK_RAM_GIB"];
        /// CPU cores per host of data foundation in compact mode.
        odf_cpu_per_host_compact: u32 = 6, env ["ODF_PER_HOST_CPU_COMPACT_MODE"];
        /// CPU cores per host of data foundation in standard mode.
        odf_cpu_per_host_standard: u32 = 8, env ["ODF_PER_HOST_CPU_STANDARD_MODE"];
        /// Memory per host of data foundation in compact mode, in GiB.
        odf_memory_per_host_compact_gib: u32 = 19, env ["ODF_PER_HOST_MEMORY_GIB_COMPACT_MODE"];
        /// Memory per host of data foundation in standard mode, in GiB.
        odf_memory_per_host_standard_gib: u32 = 19, env ["ODF_PER_HOST_MEMORY_GIB_STANDARD_MODE"];
        /// The NVIDIA operator needs a host with one of its GPUs.
        nvidia_require_gpu: bool = true, env ["NVIDIA_REQUIRE_GPU"];
        /// PCI vendors that count as NVIDIA.
        nvidia_supported_gpus: Vec<String> = list("10de"), env ["NVIDIA_SUPPORTED_GPUS"];
        /// The AMD operator needs a host with one of its GPUs.
        amd_require_gpu: bool = true, env ["AMD_REQUIRE_GPU"];
        /// PCI vendors that count as AMD.
        amd_supported_gpus: Vec<String> = list("1002"), env ["AMD_SUPPORTED_GPUS"];
        /// Minimum number of workers for OpenShift AI.
        ai_min_workers: u32 = 2, env ["OPENSHIFT_AI_MIN_WORKER_NODES"];
        /// CPU cores of each worker for OpenShift AI.
        ai_min_worker_cpu_cores: u32 = 8, env ["OPENSHIFT_AI_MIN_WORKER_CPU_CORES"];
        /// Memory of each worker for OpenShift AI, in GiB.
        ai_min_worker_memory_gib: u32 = 32, env ["OPENSHIFT_AI_MIN_WORKER_MEMORY_GIB"];
        /// A node is unhealthy after it was not ready for this time.
        node_unready_duration: Duration = Duration::from_secs(300), env ["NODE_HEALTHCHECK_UNHEALTHY_CONDITIONS_UNREADY_DURATION"];
        /// A node is unhealthy after its state was unknown for this time.
        node_unknown_duration: Duration = Duration::from_secs(300), env ["NODE_HEALTHCHECK_UNHEALTHY_CONDITIONS_UNKNOWN_DURATION"];
        /// Minimum share of healthy nodes for remediation.
        remediation_min_healthy: String = "51%".into(), env ["MIN_PERCENTAGE_OF_MATCHING_NODES_FOR_REMEDIATION"];
        /// Template for self node remediation.
        self_node_remediation_template: String = "self-node-remediation-automatic-strategy-template".into(), env ["SELF_NODE_REMEDIATION_TEMPLATE_NAME"];
    }
}

/// A default list in the notation of the variable.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(Into::into).collect()
}
