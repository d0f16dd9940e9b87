//! Networks of the cluster.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{ObservabilityPolicy, is_zero};

/// Networks of machines, pods and services.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Networking {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network_type: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_network: Vec<MachineNetwork>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_network: Vec<ClusterNetwork>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_network: Vec<IpNet>,
    #[serde(rename = "clusterNetworkMTU", skip_serializing_if = "is_zero")]
    pub cluster_network_mtu: i64,
    #[serde(
        rename = "ovnKubernetesConfig",
        skip_serializing_if = "Option::is_none"
    )]
    pub ovn_kubernetes_config: Option<OvnConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_observability: Option<NetworkObservability>,
    #[serde(rename = "machineCIDR", skip_serializing_if = "Option::is_none")]
    pub deprecated_machine_cidr: Option<IpNet>,
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub deprecated_type: String,
    #[serde(rename = "serviceCIDR", skip_serializing_if = "Option::is_none")]
    pub deprecated_service_cidr: Option<IpNet>,
    #[serde(rename = "clusterNetworks", skip_serializing_if = "Vec::is_empty")]
    pub deprecated_cluster_networks: Vec<ClusterNetwork>,
}

/// A network machines have addresses in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineNetwork {
    pub cidr: IpNet,
}

/// A network pods have addresses in, and how it is cut up among nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterNetwork {
    pub cidr: IpNet,
    /// Length of the prefix each node gets; zero when unset.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub host_prefix: i64,
    #[serde(rename = "hostSubnetLength", default, skip_serializing_if = "is_zero")]
    pub deprecated_host_subnet_length: i64,
}

/// Settings of OVN-Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OvnConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4OvnConfig>,
}

/// Settings of OVN-Kubernetes for IPv4.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Ipv4OvnConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_join_subnet: Option<IpNet>,
}

/// Whether network observability comes with the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NetworkObservability {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installation_policy: Option<ObservabilityPolicy>,
}

impl Networking {
    /// The join subnet of OVN-Kubernetes, where the user chose one.
    #[must_use]
    pub fn internal_join_subnet(&self) -> Option<IpNet> {
        self.ovn_kubernetes_config
            .as_ref()?
            .ipv4
            .as_ref()?
            .internal_join_subnet
    }

    /// Machines, pods and services talk over OVN-Kubernetes.
    #[must_use]
    pub fn is_ovn_kubernetes(&self) -> bool {
        self.network_type.eq_ignore_ascii_case("OVNKubernetes")
    }
}
