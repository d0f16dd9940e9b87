//! `platform.nutanix`.

use std::net::IpAddr;

use muster_model::Secret;
use serde::{Deserialize, Serialize};

use super::{
    DnsRecordsType, LoadBalancer, NutanixAdapterType, NutanixBootType, NutanixDeviceType,
    NutanixDiskMode, NutanixGpuType, NutanixIdentifierType, empty_is_none, is_zero, null_if_empty,
};

/// Nutanix AHV, managed by Prism Central.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Nutanix {
    pub prism_central: PrismCentral,
    #[serde(serialize_with = "null_if_empty")]
    pub prism_elements: Vec<PrismElement>,
    #[serde(rename = "clusterOSImage", skip_serializing_if = "String::is_empty")]
    pub cluster_os_image: String,
    #[serde(
        rename = "preloadedOSImageName",
        skip_serializing_if = "String::is_empty"
    )]
    pub preloaded_os_image_name: String,
    #[serde(rename = "apiVIP", skip_serializing_if = "Option::is_none")]
    pub deprecated_api_vip: Option<IpAddr>,
    #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_vips: Vec<IpAddr>,
    #[serde(rename = "ingressVIP", skip_serializing_if = "Option::is_none")]
    pub deprecated_ingress_vip: Option<IpAddr>,
    #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_vips: Vec<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_machine_platform: Option<NutanixPool>,
    #[serde(rename = "subnetUUIDs", serialize_with = "null_if_empty")]
    pub subnet_uuids: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_records_type: Option<DnsRecordsType>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<NutanixDomain>,
    /// Minutes.
    #[serde(
        rename = "prismAPICallTimeout",
        skip_serializing_if = "Option::is_none"
    )]
    pub prism_api_call_timeout: Option<i64>,
}

/// The management plane and its credentials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PrismCentral {
    pub endpoint: PrismEndpoint,
    pub username: String,
    pub password: Secret,
}

/// A Nutanix cluster that runs virtual machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PrismElement {
    pub uuid: String,
    pub endpoint: PrismEndpoint,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Where one of them answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PrismEndpoint {
    pub address: String,
    pub port: i64,
}

/// A Prism Element and subnets that fail together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NutanixDomain {
    pub name: String,
    pub prism_element: PrismElement,
    #[serde(rename = "subnetUUIDs", serialize_with = "null_if_empty")]
    pub subnet_uuids: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage_containers: Vec<StorageReference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_source_images: Vec<StorageReference>,
}

/// A storage container or an image, by id or by the name it has in failure domains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct StorageReference {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reference_name: String,
    pub uuid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Sizes and devices of the virtual machines of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NutanixPool {
    #[serde(skip_serializing_if = "is_zero")]
    pub cpus: i64,
    #[serde(skip_serializing_if = "is_zero")]
    pub cores_per_socket: i64,
    #[serde(rename = "memoryMiB", skip_serializing_if = "is_zero")]
    pub memory_mib: i64,
    pub os_disk: NutanixOsDisk,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_type: Option<NutanixBootType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<NutanixIdentifier>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<NutanixCategory>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<NutanixGpu>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_disks: Vec<NutanixDataDisk>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<String>,
}

/// The disk of the system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NutanixOsDisk {
    #[serde(rename = "diskSizeGiB", skip_serializing_if = "is_zero")]
    pub disk_size_gib: i64,
}

/// A resource of Prism, by UUID or by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NutanixIdentifier {
    #[serde(with = "empty_is_none")]
    pub r#type: Option<NutanixIdentifierType>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uuid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A category that virtual machines are put into.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NutanixCategory {
    pub key: String,
    pub value: String,
}

/// A GPU attached to virtual machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NutanixGpu {
    #[serde(with = "empty_is_none")]
    pub r#type: Option<NutanixGpuType>,
    #[serde(rename = "deviceID", skip_serializing_if = "Option::is_none")]
    pub device_id: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A disk beside that of the system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NutanixDataDisk {
    /// A Kubernetes quantity such as `10Gi`.
    pub disk_size: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_properties: Option<NutanixDevice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_config: Option<NutanixStorage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_source_image: Option<StorageReference>,
}

/// How a disk is attached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NutanixDevice {
    #[serde(with = "empty_is_none")]
    pub device_type: Option<NutanixDeviceType>,
    #[serde(with = "empty_is_none")]
    pub adapter_type: Option<NutanixAdapterType>,
    #[serde(skip_serializing_if = "is_zero")]
    pub device_index: i64,
}

/// Where a disk is stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NutanixStorage {
    #[serde(with = "empty_is_none")]
    pub disk_mode: Option<NutanixDiskMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_container: Option<StorageReference>,
}

impl Nutanix {
    /// The failure domain of that name.
    #[must_use]
    pub fn failure_domain(&self, name: &str) -> Option<&NutanixDomain> {
        self.failure_domains
            .iter()
            .find(|domain| domain.name == name)
    }
}

impl NutanixPool {
    /// This pool where it sets something, `other` elsewhere.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let number = |own: i64, other: i64| if own == 0 { other } else { own };
        fn list<T: Clone>(own: &[T], other: &[T]) -> Vec<T> {
            if own.is_empty() { other } else { own }.to_vec()
        }
        Self {
            cpus: number(self.cpus, other.cpus),
            cores_per_socket: number(self.cores_per_socket, other.cores_per_socket),
            memory_mib: number(self.memory_mib, other.memory_mib),
            os_disk: NutanixOsDisk {
                disk_size_gib: number(self.os_disk.disk_size_gib, other.os_disk.disk_size_gib),
            },
            boot_type: self.boot_type.or(other.boot_type),
            project: self.project.clone().or_else(|| other.project.clone()),
            categories: list(&self.categories, &other.categories),
            gpus: list(&self.gpus, &other.gpus),
            data_disks: list(&self.data_disks, &other.data_disks),
            failure_domains: list(&self.failure_domains, &other.failure_domains),
        }
    }
}
