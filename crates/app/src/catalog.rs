//! The catalogue in force: embedded data, replaced or extended by configuration.

use muster_catalog::{
    CatalogError, HardwareCatalog, MustGatherImages, OsImages, ReleaseCatalog,
    operators::{GpuSettings, OdfSettings, OperatorSettings},
};
use muster_config::{Config, sections::Operators};

/// Releases, OS images, hardware requirements, operators' needs and must-gather images.
#[derive(Debug)]
pub struct Catalog {
    /// What can be installed.
    pub releases: ReleaseCatalog,
    /// What boots.
    pub os_images: OsImages,
    /// What hardware each role needs.
    pub hardware: HardwareCatalog,
    /// What operators need on top.
    pub operators: OperatorSettings,
    /// Images for support data.
    pub must_gather: MustGatherImages,
}

impl Catalog {
    /// Builds it; configuration given as JSON replaces the embedded table of that kind.
    pub fn from_config(config: &Config) -> Result<Self, CatalogError> {
        let catalog = &config.catalog;
        let releases = match &catalog.release_images {
            Some(list) => ReleaseCatalog::from_json(&json(&list.0))?,
            None => ReleaseCatalog::embedded(),
        };
        let releases = match &catalog.ignored_openshift_versions {
            Some(list) => releases.ignoring(&json(&list.0))?,
            None => releases,
        };
        let os_images = muster_boot_images::catalogue(config)?;
        let hardware = match &catalog.hardware_requirements {
            Some(list) => HardwareCatalog::from_json(&json(&list.0))?,
            None => HardwareCatalog::embedded(),
        };
        let must_gather = match &catalog.must_gather_images {
            Some(map) => MustGatherImages::from_json(&json(&map.0))?,
            None => MustGatherImages::embedded(),
        };
        Ok(Self {
            releases,
            os_images,
            hardware,
            operators: operators(&config.operators)?,
            must_gather,
        })
    }
}

/// What operators ask of hosts. PCI ids are compared in lower case.
fn operators(set: &Operators) -> Result<OperatorSettings, CatalogError> {
    let ids = |list: &[String]| -> Vec<String> {
        let plain = list.iter().map(|id| id.trim().to_ascii_lowercase());
        plain.filter(|id| !id.is_empty()).collect()
    };
    let gpu = |vendors: &[String], required| GpuSettings {
        vendors: ids(vendors),
        required,
    };
    let mce_min_version =
        set.mce_min_openshift_version
            .parse()
            .map_err(|cause| CatalogError::VersionSetting {
                what: "operators.mce_min_openshift_version",
                cause,
            })?;
    Ok(OperatorSettings {
        lvm_cpu: set.lvm_cpu_per_host,
        lvm_ram_mib: set.lvm_memory_per_host_mib,
        mce_min_version,
        mtv_cpu: set.mtv_cpu_per_host,
        mtv_ram_mib: set.mtv_memory_per_host_mib,
        osc_cpu: set.osc_cpu_per_host,
        osc_ram_mib: set.osc_memory_per_host_mib,
        openshift_ai_min_workers: set.ai_min_workers,
        openshift_ai_cpu: set.ai_min_worker_cpu_cores,
        openshift_ai_ram_gib: set.ai_min_worker_memory_gib,
        cnv_gpus: ids(&set.cnv_supported_gpus),
        cnv_nics: ids(&set.cnv_supported_sriov_nics),
        cnv_hostpath_on_single_node: set.cnv_sno_install_hpp,
        cnv_hostpath_pool_gib: set.cnv_sno_pool_size_gib,
        nvidia: gpu(&set.nvidia_supported_gpus, set.nvidia_require_gpu),
        amd: gpu(&set.amd_supported_gpus, set.amd_require_gpu),
        odf: OdfSettings {
            min_disks: set.odf_min_disks,
            min_hosts: set.odf_min_hosts,
            min_disk_gb: set.odf_min_disk_size_gb,
            disk_cpu: set.odf_cpu_per_disk,
            disk_ram_gib: set.odf_memory_per_disk_gib,
            compact_cpu: set.odf_cpu_per_host_compact,
            compact_ram_gib: set.odf_memory_per_host_compact_gib,
            standard_cpu: set.odf_cpu_per_host_standard,
            standard_ram_gib: set.odf_memory_per_host_standard_gib,
        },
    })
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_settings_are_the_defaults_of_the_catalogue() {
        let read = operators(&Operators::default()).unwrap();
        assert_eq!(read, OperatorSettings::default());
    }

    #[test]
    fn settings_of_operators_reach_the_rules() {
        let set = Operators {
            odf_min_disk_size_gb: 40,
            nvidia_supported_gpus: vec![" 10DE".into(), String::new()],
            nvidia_require_gpu: false,
            osc_cpu_per_host: 3,
            ..Operators::default()
        };
        let read = operators(&set).unwrap();
        assert_eq!(read.odf.min_disk_gb, 40);
        assert_eq!(read.osc_cpu, 3);
        assert_eq!(
            (read.nvidia.vendors, read.nvidia.required),
            (vec!["10de".to_owned()], false)
        );
    }

    #[test]
    fn an_oldest_version_that_is_none_stops_the_start_with_the_name_of_the_setting() {
        let mut config = Config::default();
        config.operators.mce_min_openshift_version = "four".into();
        let refusal = Catalog::from_config(&config).unwrap_err().to_string();
        assert!(
            refusal.starts_with("operators.mce_min_openshift_version: "),
            "{refusal}"
        );
    }
}
