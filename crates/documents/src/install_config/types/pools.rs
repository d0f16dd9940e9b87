//! Pools of machines: control plane, compute, arbiter.

use muster_model::Secret;
use serde::{Deserialize, Serialize};

use super::{
    Architecture, DefaultMachinePlatform, DiskPurpose, Hyperthreading, Management, NutanixPool,
    Verification, VspherePool,
};

/// Machines of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MachinePool {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
    pub platform: PoolPlatform,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyperthreading: Option<Hyperthreading>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fencing: Option<Fencing>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disk_setup: Vec<Disk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub management: Option<Management>,
}

/// What a pool says about its platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolPlatform {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baremetal: Option<DefaultMachinePlatform>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vsphere: Option<VspherePool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nutanix: Option<NutanixPool>,
}

/// How two control-plane machines switch each other off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fencing {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<Credential>,
}

/// The way to one machine's management controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Credential {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac_address: String,
    pub username: String,
    pub password: Secret,
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_verification: Option<Verification>,
}

/// An extra disk of each machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Disk {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<DiskPurpose>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_defined: Option<UserDefinedDisk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<PlatformDisk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<PlatformDisk>,
}

/// Which disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlatformDisk {
    #[serde(rename = "platformDiskID", skip_serializing_if = "String::is_empty")]
    pub platform_disk_id: String,
}

/// Which disk, and where it is mounted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct UserDefinedDisk {
    #[serde(rename = "platformDiskID", skip_serializing_if = "String::is_empty")]
    pub platform_disk_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mount_path: String,
}

impl MachinePool {
    /// Machines in the pool; zero where nothing is said.
    #[must_use]
    pub fn replica_count(&self) -> i64 {
        self.replicas.unwrap_or(0)
    }

    /// Credentials for fencing, if there are any.
    #[must_use]
    pub fn fencing_credentials(&self) -> &[Credential] {
        self.fencing.as_ref().map_or(&[], |f| &f.credentials)
    }
}
