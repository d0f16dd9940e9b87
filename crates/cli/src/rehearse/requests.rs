//! What an install-config asks for, in the words of the REST API.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_assets::install_config::{InstallConfig, types::LoadBalancerType};
use serde_json::{Value, json};

/// The request for the cluster. The usual time servers cannot be reached from the wire, so it is
/// told its own.
pub fn cluster(
    config: &InstallConfig,
    version: &str,
    machine_networks: &[IpNet],
    [api, ingress]: &[Vec<IpAddr>; 2],
    clocks: &str,
) -> Value {
    let control_plane = config.control_plane_replicas();
    let mut body = json!({
        "name": config.metadata.name,
        "base_dns_domain": config.base_domain,
        "openshift_version": version,
        "pull_secret": config.pull_secret.reveal(),
        "control_plane_count": control_plane,
        "additional_ntp_source": clocks,
    });
    if !config.ssh_key.is_empty() {
        body["ssh_public_key"] = json!(config.ssh_key);
    }
    if let Some(networking) = &config.networking {
        body["network_type"] = json!(networking.network_type);
        let pods = networking.cluster_network.iter();
        body["cluster_networks"] = pods
            .map(|network| json!({"cidr": network.cidr, "host_prefix": network.host_prefix}))
            .collect();
        let services = networking.service_network.iter();
        body["service_networks"] = services.map(|cidr| json!({"cidr": cidr})).collect();
    }
    let alone = control_plane == 1;
    if alone {
        body["high_availability_mode"] = json!("None");
    } else if config.platform.none.is_some() {
        body["user_managed_networking"] = json!(true);
        body["platform"] = json!({"type": "none"});
    }
    let balanced_elsewhere = config.load_balancer_type() == Some(LoadBalancerType::UserManaged);
    if balanced_elsewhere {
        body["load_balancer"] = json!({"type": "user-managed"});
    }
    // Otherwise it follows from the virtual addresses.
    if alone || balanced_elsewhere || machine_networks.len() > 1 {
        let networks = machine_networks.iter();
        body["machine_networks"] = networks.map(|cidr| json!({"cidr": cidr})).collect();
    }
    for (key, addresses) in [("api_vips", api), ("ingress_vips", ingress)] {
        if !addresses.is_empty() && !alone {
            body[key] = addresses.iter().map(|ip| json!({"ip": ip})).collect();
        }
    }
    if let Some(proxy) = &config.proxy {
        for (key, value) in [
            ("http_proxy", &proxy.http_proxy),
            ("https_proxy", &proxy.https_proxy),
            ("no_proxy", &proxy.no_proxy),
        ] {
            if !value.is_empty() {
                body[key] = json!(value);
            }
        }
    }
    body
}

/// The request for its infra-env, but for the cluster's id.
pub fn infra_env(config: &InstallConfig, version: &str, networks: Vec<Value>) -> Value {
    let mut body = json!({
        "name": config.metadata.name,
        "openshift_version": version,
        "pull_secret": config.pull_secret.reveal(),
        "image_type": "full-iso",
        // CoreOS says nothing on the serial port unless it is told to, and that is where we listen.
        "kernel_arguments": [{"operation": "append", "value": "console=ttyS0"}],
    });
    if !config.ssh_key.is_empty() {
        body["ssh_authorized_key"] = json!(config.ssh_key);
    }
    if !config.additional_trust_bundle.is_empty() {
        body["additional_trust_bundle"] = json!(config.additional_trust_bundle);
    }
    if !networks.is_empty() {
        body["static_network_config"] = json!(networks);
    }
    body
}
