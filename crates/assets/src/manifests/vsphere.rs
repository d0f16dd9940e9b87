//! vSphere: settings of the cloud provider and the storage driver.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{Source, data, object};
use crate::plan::Plan;
use muster_documents::install_config::types::{
    FailureDomain, FailureDomainType, NodeNetworking, NodeNetworkingSpec, Vsphere,
};
use muster_documents::yaml;

pub(super) fn boot_images(source: Source<'_>) -> Option<Value> {
    let platform = source.plan.config.platform.vsphere.as_ref()?;
    let own_template = platform
        .failure_domains
        .iter()
        .any(|fd| !fd.topology.template.is_empty());
    if !source.plan.profile.mcs_signer || (platform.cluster_os_image.is_empty() && !own_template) {
        return None;
    }
    Some(object(
        "operator.openshift.io/v1",
        "MachineConfiguration",
        "",
        "cluster",
        json!({
            "spec": {
                "logLevel": "Normal",
                "operatorLogLevel": "Normal",
                "managedBootImages": {
                    "machineManagers": [{
                        "apiGroup": "machine.openshift.io",
                        "resource": "machinesets",
                        "selection": { "mode": "None" },
                    }],
                },
            },
        }),
    ))
}

pub(super) fn cloud_provider_config(source: Source<'_>) -> Option<Value> {
    let platform = source.plan.config.platform.vsphere.as_ref()?;
    let mut config = json!({
        "global": {
            "insecureFlag": true,
            "secretName": "vsphere-creds",
            "secretNamespace": "kube-system",
        },
        "vcenter": {},
    });
    for vcenter in &platform.vcenters {
        let mut entry = json!({ "datacenters": vcenter.datacenters, "server": vcenter.server });
        if vcenter.port != 0 {
            entry["port"] = json!(vcenter.port);
        }
        config["vcenter"][&vcenter.server] = entry;
    }
    if platform.failure_domains.len() > 1 {
        config["labels"] = json!({ "region": "openshift-region", "zone": "openshift-zone" });
    }
    let default = source.plan.profile.vsphere_node_networks;
    let nodes = platform.node_networking.clone();
    if let Some(nodes) = nodes.or_else(|| default.then(|| machine_network_sides(source.plan))) {
        config["nodes"] = json!({});
        for (side, spec) in [("internal", &nodes.internal), ("external", &nodes.external)] {
            node_network(&mut config["nodes"], side, spec);
        }
    }
    let text = yaml::text(&config);
    let name = "cloud-provider-config";
    Some(object(
        "v1",
        "ConfigMap",
        "openshift-config",
        name,
        json!({ "data": { "config": text } }),
    ))
}

/// Addresses of nodes are looked for in the machine networks, where nothing else was said.
fn machine_network_sides(plan: &Plan) -> NodeNetworking {
    let networks = plan.networking().machine_network.iter();
    let side = NodeNetworkingSpec {
        network_subnet_cidr: networks.map(|n| n.cidr.to_string()).collect(),
        ..NodeNetworkingSpec::default()
    };
    NodeNetworking {
        external: side.clone(),
        internal: side,
    }
}

fn node_network(nodes: &mut Value, side: &str, spec: &NodeNetworkingSpec) {
    let title = if side == "internal" {
        "Internal"
    } else {
        "External"
    };
    for (key, value) in [
        (
            format!("{side}NetworkSubnetCidr"),
            spec.network_subnet_cidr.join(","),
        ),
        (format!("{side}VmNetworkName"), spec.network.clone()),
        (
            format!("exclude{title}NetworkSubnetCidr"),
            spec.exclude_network_subnet_cidr.join(","),
        ),
    ] {
        if !value.is_empty() {
            nodes[key] = json!(value);
        }
    }
}

pub(super) fn credentials(source: Source<'_>) -> Option<Value> {
    let platform = source.plan.config.platform.vsphere.as_ref()?;
    let mut entries = json!({});
    for vcenter in &platform.vcenters {
        entries[format!("{}.username", vcenter.server)] = data(&vcenter.user);
        entries[format!("{}.password", vcenter.server)] = data(vcenter.password.reveal());
    }
    Some(object(
        "v1",
        "Secret",
        "kube-system",
        "vsphere-creds",
        json!({ "data": entries }),
    ))
}

pub(super) fn credentials_reader(source: Source<'_>) -> Option<Value> {
    source.plan.config.platform.vsphere.as_ref()?;
    let name = "vsphere-creds-secret-reader";
    Some(object(
        "rbac.authorization.k8s.io/v1",
        "Role",
        "kube-system",
        name,
        json!({
            "rules": [{
                "apiGroups": [""],
                "resourceNames": ["vsphere-creds"],
                "resources": ["secrets"],
                "verbs": ["get"],
            }],
        }),
    ))
}

/// Template that virtual machines of a failure domain are cloned from.
pub(super) fn template(infra_id: &str, domain: &FailureDomain) -> String {
    match domain.topology.template.as_str() {
        "" => format!("{infra_id}-rhcos-{}", domain.name),
        named => named.to_owned(),
    }
}

pub(super) fn platform_spec(plan: &Plan, platform: &Vsphere) -> Value {
    let vcenters: Vec<Value> = platform
        .vcenters
        .iter()
        .map(|vcenter| {
            let mut entry = json!({ "datacenters": vcenter.datacenters, "server": vcenter.server });
            if vcenter.port != 0 {
                entry["port"] = json!(vcenter.port);
            }
            entry
        })
        .collect();
    let domains: Vec<Value> = platform
        .failure_domains
        .iter()
        .filter(|fd| !fd.topology.compute_cluster.is_empty())
        .filter(|fd| {
            fd.topology
                .networks
                .first()
                .is_some_and(|network| !network.is_empty())
        })
        .map(|fd| failure_domain(&plan.identity.infra_id, fd))
        .collect();
    let nodes = platform.node_networking.clone();
    let node_networking = yaml::value(&nodes.unwrap_or_else(|| machine_network_sides(plan)));
    let mut spec = json!({
        "machineNetworks": machine_networks(plan, platform),
        "nodeNetworking": node_networking,
        "vcenters": vcenters,
    });
    if !domains.is_empty() {
        spec["failureDomains"] = json!(domains);
    }
    if !platform.api_vips.is_empty() {
        spec["apiServerInternalIPs"] = json!(platform.api_vips);
        spec["ingressIPs"] = json!(platform.ingress_vips);
    }
    spec
}

fn failure_domain(infra_id: &str, fd: &FailureDomain) -> Value {
    let topology = &fd.topology;
    let path = match topology.template.as_str() {
        "" => format!("/{}/vm/{}", topology.datacenter, template(infra_id, fd)),
        named => named.to_owned(),
    };
    let mut inner = json!({
        "computeCluster": topology.compute_cluster,
        "datacenter": topology.datacenter,
        "datastore": topology.datastore,
        "networks": topology.networks,
        "template": path,
    });
    for (key, value) in [
        ("resourcePool", &topology.resource_pool),
        ("folder", &topology.folder),
    ] {
        if !value.is_empty() {
            inner[key] = json!(value);
        }
    }
    let mut out = json!({
        "name": fd.name,
        "region": fd.region,
        "server": fd.server,
        "topology": inner,
        "zone": fd.zone,
    });
    if fd.zone_type == Some(FailureDomainType::HostGroup) {
        let group = format!("{infra_id}-{}", fd.name);
        let region = fd.region_type.unwrap_or(FailureDomainType::Datacenter);
        out["regionAffinity"] = json!({ "type": region.word() });
        out["zoneAffinity"] = json!({
            "type": "HostGroup",
            "hostGroup": {
                "hostGroup": topology.host_group,
                "vmGroup": group,
                "vmHostRule": group,
            },
        });
    }
    out
}

/// Networks of machines, and each virtual address that lies in none of them by itself.
fn machine_networks(plan: &Plan, platform: &Vsphere) -> Vec<String> {
    let mut all: Vec<String> = plan
        .networking()
        .machine_network
        .iter()
        .map(|n| n.cidr.to_string())
        .collect();
    for vip in platform.api_vips.iter().chain(&platform.ingress_vips) {
        let alone = match vip {
            IpAddr::V4(_) => format!("{vip}/32"),
            IpAddr::V6(_) => format!("{vip}/128"),
        };
        if !all.contains(&alone) {
            all.push(alone);
        }
    }
    all
}

pub(super) fn platform_status(plan: &Plan, platform: &Vsphere) -> Value {
    let mut status = json!({ "machineNetworks": machine_networks(plan, platform) });
    if !platform.api_vips.is_empty() {
        status["apiServerInternalIPs"] = json!(platform.api_vips);
        status["ingressIPs"] = json!(platform.ingress_vips);
        if let Some(balancer) = &platform.load_balancer {
            status["loadBalancer"] = yaml::value(balancer);
        }
        if let (Some(records), true) = (platform.dns_records_type, plan.profile.release >= (4, 21))
        {
            status["dnsRecordsType"] = json!(records.word());
        }
    }
    status
}
