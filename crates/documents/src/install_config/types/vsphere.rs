//! `platform.vsphere`.

use std::net::IpAddr;

use muster_model::Secret;
use serde::{Deserialize, Serialize};

use super::{
    DnsRecordsType, FailureDomainType, LoadBalancer, ProvisioningMode, VsphereDiskType,
    VsphereHostRole, empty_is_none, is_zero, null_if_empty,
};

/// VMware vSphere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Vsphere {
    #[serde(rename = "vCenter", skip_serializing_if = "String::is_empty")]
    pub deprecated_vcenter: String,
    #[serde(rename = "username", skip_serializing_if = "String::is_empty")]
    pub deprecated_username: String,
    #[serde(rename = "password", skip_serializing_if = "Secret::is_empty")]
    pub deprecated_password: Secret,
    #[serde(rename = "datacenter", skip_serializing_if = "String::is_empty")]
    pub deprecated_datacenter: String,
    #[serde(rename = "defaultDatastore", skip_serializing_if = "String::is_empty")]
    pub deprecated_default_datastore: String,
    #[serde(rename = "folder", skip_serializing_if = "String::is_empty")]
    pub deprecated_folder: String,
    #[serde(rename = "cluster", skip_serializing_if = "String::is_empty")]
    pub deprecated_cluster: String,
    #[serde(rename = "resourcePool", skip_serializing_if = "String::is_empty")]
    pub deprecated_resource_pool: String,
    #[serde(rename = "clusterOSImage", skip_serializing_if = "String::is_empty")]
    pub cluster_os_image: String,
    #[serde(rename = "apiVIP", skip_serializing_if = "Option::is_none")]
    pub deprecated_api_vip: Option<IpAddr>,
    #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_vips: Vec<IpAddr>,
    #[serde(rename = "ingressVIP", skip_serializing_if = "Option::is_none")]
    pub deprecated_ingress_vip: Option<IpAddr>,
    #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_vips: Vec<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_machine_platform: Option<VspherePool>,
    #[serde(rename = "network", skip_serializing_if = "String::is_empty")]
    pub deprecated_network: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_type: Option<VsphereDiskType>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vcenters: Vec<VCenter>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_networking: Option<NodeNetworking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_records_type: Option<DnsRecordsType>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<VsphereHost>,
}

/// A vCenter and the way into it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VCenter {
    pub server: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub port: i64,
    pub user: String,
    pub password: Secret,
    #[serde(serialize_with = "null_if_empty")]
    pub datacenters: Vec<String>,
}

/// A part of vSphere that fails as one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FailureDomain {
    pub name: String,
    pub region: String,
    pub zone: String,
    pub server: String,
    pub topology: Topology,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region_type: Option<FailureDomainType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_type: Option<FailureDomainType>,
}

/// Where in the inventory of vSphere machines of a failure domain are made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Topology {
    pub datacenter: String,
    pub compute_cluster: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<String>,
    pub datastore: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_pool: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub folder: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub template: String,
    #[serde(rename = "tagIDs", skip_serializing_if = "Vec::is_empty")]
    pub tag_ids: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host_group: String,
}

/// Which networks nodes take their addresses from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeNetworking {
    pub external: NodeNetworkingSpec,
    pub internal: NodeNetworkingSpec,
}

/// One side of node networking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeNetworkingSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network_subnet_cidr: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_network_subnet_cidr: Vec<String>,
}

/// A machine with a static address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct VsphereHost {
    pub failure_domain: String,
    pub network_device: Option<NetworkDevice>,
    #[serde(with = "empty_is_none")]
    pub role: Option<VsphereHostRole>,
}

/// A static address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NetworkDevice {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gateway: String,
    #[serde(serialize_with = "null_if_empty")]
    pub ip_addrs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
}

/// Sizes of the virtual machines of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct VspherePool {
    pub cpus: i64,
    pub cores_per_socket: i64,
    #[serde(rename = "memoryMB")]
    pub memory_mb: i64,
    pub os_disk: OsDisk,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_disks: Vec<DataDisk>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

/// The disk of the system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OsDisk {
    #[serde(rename = "diskSizeGB")]
    pub disk_size_gb: i64,
}

/// Another disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DataDisk {
    pub name: String,
    #[serde(rename = "sizeGiB")]
    pub size_gib: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning_mode: Option<ProvisioningMode>,
}
