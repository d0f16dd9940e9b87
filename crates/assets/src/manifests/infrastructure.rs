//! The Infrastructure object: where the cluster lives and how many of each node it has.

use serde_json::{Value, json};

use super::{Source, nutanix, vsphere};
use crate::plan::Plan;
use muster_documents::install_config::types::{BareMetal, CpuPartitioning, PlatformName};
use muster_documents::yaml;

pub(super) fn object_of(plan: &Plan) -> Value {
    let platform = plan.platform();
    let kind = match platform {
        PlatformName::None => "None",
        PlatformName::External => "External",
        PlatformName::BareMetal => "BareMetal",
        PlatformName::Vsphere => "VSphere",
        PlatformName::Nutanix => "Nutanix",
    };
    let domain = plan.config.cluster_domain();
    let cloud = match platform {
        PlatformName::Vsphere | PlatformName::Nutanix => {
            json!({ "key": "config", "name": "cloud-provider-config" })
        }
        PlatformName::None | PlatformName::External | PlatformName::BareMetal => {
            json!({ "name": "" })
        }
    };
    let (control_plane, infrastructure) = topologies(plan);
    let partitioning = plan
        .config
        .cpu_partitioning_mode
        .unwrap_or(CpuPartitioning::None);
    let mut spec = json!({ "type": kind });
    let mut status = json!({ "type": kind });
    let config = &plan.config.platform;
    if let Some(external) = &config.external {
        if !external.platform_name.is_empty() {
            spec["external"] = json!({ "platformName": external.platform_name });
        } else {
            spec["external"] = json!({});
        }
        let state = external
            .cloud_controller_manager
            .map_or("None", |manager| manager.word());
        status["external"] = json!({ "cloudControllerManager": { "state": state } });
    }
    if let Some(baremetal) = &config.baremetal {
        spec["baremetal"] = baremetal_spec(plan, baremetal);
        status["baremetal"] = baremetal_status(plan, baremetal);
    }
    if let Some(vsphere) = &config.vsphere {
        spec["vsphere"] = vsphere::platform_spec(plan, vsphere);
        status["vsphere"] = vsphere::platform_status(plan, vsphere);
    }
    if let Some(nutanix) = &config.nutanix {
        spec["nutanix"] = nutanix::platform_spec(nutanix);
        if let Some(vips) = nutanix::platform_status(plan, nutanix) {
            status["nutanix"] = vips;
        }
    }
    super::object(
        "config.openshift.io/v1",
        "Infrastructure",
        "",
        "cluster",
        json!({
            "spec": { "cloudConfig": cloud, "platformSpec": spec },
            "status": {
                "apiServerInternalURI": format!("https://api-int.{domain}:6443"),
                "apiServerURL": format!("https://api.{domain}:6443"),
                "controlPlaneTopology": control_plane,
                "cpuPartitioning": partitioning.word(),
                "etcdDiscoveryDomain": "",
                "infrastructureName": plan.identity.infra_id,
                "infrastructureTopology": infrastructure,
                "platform": kind,
                "platformStatus": status,
            },
        }),
    )
}

pub(super) fn object(source: Source<'_>) -> Option<Value> {
    Some(object_of(source.plan))
}

/// How control plane and infrastructure survive the loss of a node.
pub(super) fn topologies(plan: &Plan) -> (&'static str, &'static str) {
    let config = &plan.config;
    let control_plane = match config.control_plane_replicas() {
        2.. if config.has_arbiter() => "HighlyAvailableArbiter",
        1 => "SingleReplica",
        2 => "DualReplica",
        _ => "HighlyAvailable",
    };
    let infrastructure = match config.compute_replicas() {
        0 if control_plane == "SingleReplica" => "SingleReplica",
        1 => "SingleReplica",
        _ => "HighlyAvailable",
    };
    (control_plane, infrastructure)
}

fn baremetal_spec(plan: &Plan, platform: &BareMetal) -> Value {
    json!({
        "apiServerInternalIPs": platform.api_vips,
        "ingressIPs": platform.ingress_vips,
        "machineNetworks": machine_networks(plan),
    })
}

fn baremetal_status(plan: &Plan, platform: &BareMetal) -> Value {
    let mut status = json!({
        "apiServerInternalIPs": platform.api_vips,
        "ingressIPs": platform.ingress_vips,
        "machineNetworks": machine_networks(plan),
    });
    if let Some(first) = platform.api_vips.first() {
        status["apiServerInternalIP"] = json!(first);
    }
    if let Some(first) = platform.ingress_vips.first() {
        status["ingressIP"] = json!(first);
    }
    if let Some(balancer) = &platform.load_balancer {
        status["loadBalancer"] = yaml::value(balancer);
    }
    if let (Some(records), true) = (platform.dns_records_type, plan.profile.release >= (4, 21)) {
        status["dnsRecordsType"] = json!(records.word());
    }
    if platform.bgp_vip_config.is_some() {
        status["vipManagement"] = json!("BGP");
    }
    status
}

fn machine_networks(plan: &Plan) -> Vec<String> {
    let networks = plan.networking().machine_network.iter();
    networks.map(|network| network.cidr.to_string()).collect()
}
