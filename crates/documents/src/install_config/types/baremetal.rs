//! `platform.baremetal`.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_model::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    BootMode, DnsRecordsType, HostRole, LoadBalancer, ProvisioningNetwork, TextBool, empty_is_none,
    is_false, is_zero, null_if_empty,
};

/// Bare metal hosts with virtual addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BareMetal {
    #[serde(rename = "libvirtURI", skip_serializing_if = "String::is_empty")]
    pub libvirt_uri: String,
    #[serde(
        rename = "clusterProvisioningIP",
        skip_serializing_if = "Option::is_none"
    )]
    pub cluster_provisioning_ip: Option<IpAddr>,
    #[serde(rename = "provisioningHostIP", skip_serializing_if = "Option::is_none")]
    pub deprecated_provisioning_host_ip: Option<IpAddr>,
    #[serde(
        rename = "bootstrapProvisioningIP",
        skip_serializing_if = "Option::is_none"
    )]
    pub bootstrap_provisioning_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub external_bridge: String,
    #[serde(
        rename = "externalMACAddress",
        skip_serializing_if = "String::is_empty"
    )]
    pub external_mac_address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning_network: Option<ProvisioningNetwork>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provisioning_bridge: String,
    #[serde(
        rename = "provisioningMACAddress",
        skip_serializing_if = "String::is_empty"
    )]
    pub provisioning_mac_address: String,
    pub provisioning_network_interface: String,
    #[serde(
        rename = "provisioningNetworkCIDR",
        skip_serializing_if = "Option::is_none"
    )]
    pub provisioning_network_cidr: Option<IpNet>,
    #[serde(rename = "provisioningDHCPExternal", skip_serializing_if = "is_false")]
    pub deprecated_provisioning_dhcp_external: bool,
    /// `start,end`.
    #[serde(
        rename = "provisioningDHCPRange",
        skip_serializing_if = "String::is_empty"
    )]
    pub provisioning_dhcp_range: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning_network_gateway: Option<IpAddr>,
    #[serde(serialize_with = "null_if_empty")]
    pub hosts: Vec<Host>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_machine_platform: Option<DefaultMachinePlatform>,
    #[serde(rename = "apiVIP", skip_serializing_if = "Option::is_none")]
    pub deprecated_api_vip: Option<IpAddr>,
    #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_vips: Vec<IpAddr>,
    #[serde(rename = "ingressVIP", skip_serializing_if = "Option::is_none")]
    pub deprecated_ingress_vip: Option<IpAddr>,
    #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_vips: Vec<IpAddr>,
    #[serde(rename = "bootstrapOSImage", skip_serializing_if = "String::is_empty")]
    pub bootstrap_os_image: String,
    #[serde(rename = "clusterOSImage", skip_serializing_if = "String::is_empty")]
    pub cluster_os_image: String,
    #[serde(
        rename = "bootstrapExternalStaticIP",
        skip_serializing_if = "Option::is_none"
    )]
    pub bootstrap_external_static_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_external_static_gateway: Option<IpAddr>,
    #[serde(
        rename = "bootstrapExternalStaticDNS",
        skip_serializing_if = "Option::is_none"
    )]
    pub bootstrap_external_static_dns: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_records_type: Option<DnsRecordsType>,
    #[serde(rename = "bgpVIPConfig", skip_serializing_if = "Option::is_none")]
    pub bgp_vip_config: Option<BgpVipConfig>,
    #[serde(rename = "additionalNTPServers", skip_serializing_if = "Vec::is_empty")]
    pub additional_ntp_servers: Vec<String>,
    #[serde(rename = "bmcVerifyCA", skip_serializing_if = "String::is_empty")]
    pub bmc_verify_ca: String,
}

/// Nothing can be said about bare metal machines of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultMachinePlatform {}

/// A bare metal host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Host {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub bmc: Bmc,
    /// Written even when unset, as an empty text.
    #[serde(with = "empty_is_none")]
    pub role: Option<HostRole>,
    #[serde(rename = "bootMACAddress")]
    pub boot_mac_address: String,
    pub hardware_profile: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<BootMode>,
    /// State of the network in the words of nmstate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_config: Option<Value>,
    #[serde(rename = "bgpPeers", skip_serializing_if = "Vec::is_empty")]
    pub bgp_peers: Vec<BgpPeer>,
}

/// A management controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Bmc {
    pub username: String,
    pub password: Secret,
    pub address: String,
    pub disable_certificate_verification: bool,
}

/// How the disk to install on is recognised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RootDeviceHints {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hctl: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vendor: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub serial_number: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub min_size_gigabytes: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn_with_extension: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn_vendor_extension: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
}

/// Virtual addresses announced by BGP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BgpVipConfig {
    #[serde(rename = "localASN")]
    pub local_asn: i64,
    #[serde(serialize_with = "null_if_empty")]
    pub peers: Vec<BgpPeer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub communities: Vec<String>,
}

/// A router to talk BGP to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BgpPeer {
    pub peer_address: String,
    #[serde(rename = "peerASN")]
    pub peer_asn: i64,
    #[serde(skip_serializing_if = "Secret::is_empty")]
    pub password: Secret,
    #[serde(skip_serializing_if = "is_zero")]
    pub port: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bfd_enabled: Option<TextBool>,
    #[serde(rename = "ebgpMultiHop", skip_serializing_if = "Option::is_none")]
    pub ebgp_multi_hop: Option<TextBool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hold_time: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub keepalive_time: String,
}
