//! Address ranges and virtual addresses of a cluster.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A range pods get addresses from, and how much of it each node gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterNetwork {
    /// The range in CIDR form.
    pub cidr: String,
    /// Prefix length of a node's share; 0 when the user gave none.
    #[serde(default)]
    pub host_prefix: i64,
}

/// The three kinds of networks. `None` means never set, which clients see as null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Networks {
    /// Pods.
    pub cluster: Option<Vec<ClusterNetwork>>,
    /// Services.
    pub service: Option<Vec<String>>,
    /// Machines.
    pub machine: Option<Vec<String>>,
}

/// A virtual address of the API or the ingress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vip {
    /// The address.
    pub ip: IpAddr,
    /// What hosts found out about it: `unverified`, `failed` or `succeeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<String>,
}
