//! Old spellings become new ones.
//!
//! The old fields stay where they are (the reference writes both back); the new ones are set
//! only where they are empty.

use std::net::IpAddr;

use super::{
    rules::Validator,
    types::{
        BareMetal, ClusterNetwork, FailureDomain, MachineNetwork, Networking, Nutanix,
        ProvisioningNetwork, Topology, VCenter, Vsphere,
    },
};

/// Versions of the format that are read as `v1`.
const OLD_VERSIONS: &[&str] = &["v1beta3", "v1beta4"];

/// Converts all of them.
pub fn convert(validator: &mut Validator) {
    if OLD_VERSIONS.contains(&&*validator.config.api_version) {
        validator.config.api_version = "v1".to_owned();
    }
    if let Some(mut networking) = validator.config.networking.take() {
        convert_networking(&mut networking, validator);
        validator.config.networking = Some(networking);
    }
    if let Some(mut baremetal) = validator.config.platform.baremetal.take() {
        convert_baremetal(&mut baremetal, validator);
        validator.config.platform.baremetal = Some(baremetal);
    }
    if let Some(mut vsphere) = validator.config.platform.vsphere.take() {
        convert_vsphere(&mut vsphere, validator);
        validator.config.platform.vsphere = Some(vsphere);
    }
    if let Some(mut nutanix) = validator.config.platform.nutanix.take() {
        convert_nutanix(&mut nutanix, validator);
        validator.config.platform.nutanix = Some(nutanix);
    }
}

fn convert_networking(networking: &mut Networking, validator: &mut Validator) {
    let at = |name: &str| format!("networking.{name}");
    if networking.cluster_network.is_empty() && !networking.deprecated_cluster_networks.is_empty() {
        networking.cluster_network = networking.deprecated_cluster_networks.clone();
        validator.moved(&at("clusterNetwork"), &at("clusterNetworks"));
    }
    if let (true, Some(cidr)) = (
        networking.machine_network.is_empty(),
        networking.deprecated_machine_cidr,
    ) {
        networking.machine_network = vec![MachineNetwork { cidr }];
        validator.moved(&at("machineNetwork"), &at("machineCIDR"));
    }
    if let (true, Some(cidr)) = (
        networking.service_network.is_empty(),
        networking.deprecated_service_cidr,
    ) {
        networking.service_network = vec![cidr];
        validator.moved(&at("serviceNetwork"), &at("serviceCIDR"));
    }
    if networking.network_type.is_empty() && !networking.deprecated_type.is_empty() {
        networking.network_type = networking.deprecated_type.clone();
        validator.moved(&at("networkType"), &at("type"));
    }
    for known in ["OpenShiftSDN", "OVNKubernetes"] {
        if networking.network_type.eq_ignore_ascii_case(known) {
            networking.network_type = known.to_owned();
        }
    }
    for (index, network) in networking.cluster_network.iter_mut().enumerate() {
        if convert_subnet_length(network) {
            let entry = at(&format!("clusterNetwork[{index}]"));
            validator.moved(
                &format!("{entry}.hostPrefix"),
                &format!("{entry}.hostSubnetLength"),
            );
        }
    }
}

fn convert_subnet_length(network: &mut ClusterNetwork) -> bool {
    let length = network.deprecated_host_subnet_length;
    if network.host_prefix != 0 || length == 0 {
        return false;
    }
    network.host_prefix = i64::from(network.cidr.max_prefix_len()) - length;
    true
}

fn convert_baremetal(platform: &mut BareMetal, validator: &mut Validator) {
    let at = |name: &str| format!("platform.baremetal.{name}");
    if platform.deprecated_provisioning_dhcp_external && platform.provisioning_network.is_none() {
        platform.provisioning_network = Some(ProvisioningNetwork::Unmanaged);
        validator.moved(&at("provisioningNetwork"), &at("provisioningDHCPExternal"));
    }
    match (
        platform.deprecated_provisioning_host_ip,
        platform.cluster_provisioning_ip,
    ) {
        (Some(old), None) => {
            platform.cluster_provisioning_ip = Some(old);
            validator.moved(&at("clusterProvisioningIP"), &at("provisioningHostIP"));
        }
        (Some(old), Some(new)) if old != new => validator.diagnostics.fault(
            at("provisioningHostIP"),
            format!("{old} differs from clusterProvisioningIP, which replaced it: {new}"),
            "remove provisioningHostIP",
        ),
        (Some(_) | None, _) => {}
    }
    let prefix = "platform.baremetal";
    convert_vip(
        &mut platform.api_vips,
        platform.deprecated_api_vip,
        prefix,
        "apiVIP",
        validator,
    );
    convert_vip(
        &mut platform.ingress_vips,
        platform.deprecated_ingress_vip,
        prefix,
        "ingressVIP",
        validator,
    );
}

fn convert_vip(
    list: &mut Vec<IpAddr>,
    old: Option<IpAddr>,
    prefix: &str,
    name: &str,
    validator: &mut Validator,
) {
    let Some(vip) = old else { return };
    if list.is_empty() {
        list.push(vip);
        validator.moved(&format!("{prefix}.{name}s"), &format!("{prefix}.{name}"));
    } else if !list.contains(&vip) {
        validator.diagnostics.fault(
            format!("{prefix}.{name}"),
            format!("{vip} is not among {name}s, which replaced this field"),
            format!("remove {name}"),
        );
    }
}

fn convert_vsphere(platform: &mut Vsphere, validator: &mut Validator) {
    let prefix = "platform.vsphere";
    convert_vip(
        &mut platform.api_vips,
        platform.deprecated_api_vip,
        prefix,
        "apiVIP",
        validator,
    );
    convert_vip(
        &mut platform.ingress_vips,
        platform.deprecated_ingress_vip,
        prefix,
        "ingressVIP",
        validator,
    );
    convert_vcenters(platform, validator);
    convert_topology(platform, validator);
    for domain in &mut platform.failure_domains {
        make_absolute(&mut domain.topology);
    }
}

fn convert_nutanix(platform: &mut Nutanix, validator: &mut Validator) {
    let prefix = "platform.nutanix";
    let (api, ingress) = (platform.deprecated_api_vip, platform.deprecated_ingress_vip);
    convert_vip(&mut platform.api_vips, api, prefix, "apiVIP", validator);
    let vips = &mut platform.ingress_vips;
    convert_vip(vips, ingress, prefix, "ingressVIP", validator);
}

/// Login data at the top become a vCenter, and failure domains without one get it.
fn convert_vcenters(platform: &mut Vsphere, validator: &mut Validator) {
    let path = "platform.vsphere.vcenters";
    if !platform.vcenters.is_empty() {
        if !platform.deprecated_vcenter.is_empty() {
            validator.diagnostics.warn(
                "platform.vsphere.vCenter",
                "vcenters is set too and wins",
                "remove vCenter, username, password and datacenter",
            );
        }
        return;
    }
    let mut datacenters: Vec<String> = Vec::new();
    let named = std::iter::once(&platform.deprecated_datacenter).chain(
        platform
            .failure_domains
            .iter()
            .map(|domain| &domain.topology.datacenter),
    );
    for datacenter in named {
        if !datacenter.is_empty() && !datacenters.contains(datacenter) {
            datacenters.push(datacenter.clone());
        }
    }
    for domain in &mut platform.failure_domains {
        if domain.server.is_empty() {
            domain.server.clone_from(&platform.deprecated_vcenter);
        }
        if domain.topology.datacenter.is_empty() {
            domain
                .topology
                .datacenter
                .clone_from(&platform.deprecated_datacenter);
        }
    }
    platform.vcenters = vec![VCenter {
        server: platform.deprecated_vcenter.clone(),
        port: 443,
        user: platform.deprecated_username.clone(),
        password: platform.deprecated_password.clone(),
        datacenters,
    }];
    for (new, old) in [
        ("[0].server", "vCenter"),
        ("[0].user", "username"),
        ("[0].password", "password"),
        ("[0].datacenters", "datacenter"),
    ] {
        validator.moved(&format!("{path}{new}"), &format!("platform.vsphere.{old}"));
    }
}

/// A flat topology becomes the one failure domain there is.
fn convert_topology(platform: &mut Vsphere, validator: &mut Validator) {
    let flat = [
        ("defaultDatastore", &platform.deprecated_default_datastore),
        ("folder", &platform.deprecated_folder),
        ("cluster", &platform.deprecated_cluster),
        ("resourcePool", &platform.deprecated_resource_pool),
        ("network", &platform.deprecated_network),
    ];
    if !platform.failure_domains.is_empty() {
        if let Some((name, _)) = flat.iter().find(|(_, value)| !value.is_empty()) {
            validator.diagnostics.warn(
                format!("platform.vsphere.{name}"),
                "failureDomains is set too and wins",
                "remove datacenter, defaultDatastore, folder, cluster, resourcePool and network",
            );
        }
        return;
    }
    let server = platform
        .vcenters
        .first()
        .map(|vcenter| vcenter.server.clone());
    platform.failure_domains = vec![FailureDomain {
        name: GENERATED_DOMAIN.to_owned(),
        region: "generated-region".to_owned(),
        zone: "generated-zone".to_owned(),
        server: server.unwrap_or_default(),
        topology: Topology {
            datacenter: platform.deprecated_datacenter.clone(),
            compute_cluster: platform.deprecated_cluster.clone(),
            networks: vec![platform.deprecated_network.clone()],
            datastore: platform.deprecated_default_datastore.clone(),
            resource_pool: platform.deprecated_resource_pool.clone(),
            folder: platform.deprecated_folder.clone(),
            ..Topology::default()
        },
        region_type: None,
        zone_type: None,
    }];
    for (new, old) in [
        ("datacenter", "datacenter"),
        ("computeCluster", "cluster"),
        ("networks", "network"),
        ("datastore", "defaultDatastore"),
        ("resourcePool", "resourcePool"),
        ("folder", "folder"),
    ] {
        validator.moved(
            &format!("platform.vsphere.failureDomains[0].topology.{new}"),
            &format!("platform.vsphere.{old}"),
        );
    }
}

/// The name of the failure domain that stands for a flat topology.
pub(super) const GENERATED_DOMAIN: &str = "generated-failure-domain";

/// Bare names become paths in the inventory. The vCenter is not asked: nothing here talks.
fn make_absolute(topology: &mut Topology) {
    let datacenter = topology.datacenter.clone();
    for (field, folder) in [
        (&mut topology.compute_cluster, "host"),
        (&mut topology.datastore, "datastore"),
        (&mut topology.folder, "vm"),
    ] {
        if !field.is_empty() && !field.starts_with('/') {
            *field = format!("/{datacenter}/{folder}/{field}");
        }
    }
}
