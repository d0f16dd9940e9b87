//! The requests of the REST API that create what an install-config describes.

use muster_api::wire;
use muster_documents::install_config::{InstallConfig, types::LoadBalancerType};

use super::plan::Plan;

/// What is sent to a service of ours.
pub struct Requests {
    /// Creates the cluster.
    pub cluster: wire::ClusterCreateParams,
    /// Creates its infra-env, but for the cluster's id.
    pub infra_env: wire::InfraEnvCreateParams,
}

impl Requests {
    /// For the cluster of a config, on the wire of its plan.
    pub fn of(config: &InstallConfig, version: &str, plan: &Plan) -> Self {
        Self {
            cluster: cluster(config, version, plan),
            infra_env: infra_env(config, version, plan),
        }
    }
}

/// The default time servers cannot be reached from the network of the machines, so this names those
/// that can.
fn cluster(config: &InstallConfig, version: &str, plan: &Plan) -> wire::ClusterCreateParams {
    let [api, ingress] = &plan.vips;
    let machine_networks = &plan.machine_networks;
    let clocks = plan.time_sources.iter().cloned();
    let clocks = clocks.chain([plan.service.to_string()]);
    let control_plane = config.control_plane_replicas();
    let mut body = wire::ClusterCreateParams {
        name: Some(config.metadata.name.clone()),
        base_dns_domain: Some(config.base_domain.clone()),
        openshift_version: Some(version.to_owned()),
        pull_secret: Some(config.pull_secret.reveal().to_owned()),
        control_plane_count: Some(control_plane),
        additional_ntp_source: Some(clocks.collect::<Vec<_>>().join(",")),
        ssh_public_key: not_empty(&config.ssh_key),
        ..wire::ClusterCreateParams::default()
    };
    if let Some(networking) = &config.networking {
        body.network_type = Some(networking.network_type.clone());
        let pods = networking.cluster_network.iter();
        let pods = pods.map(|network| wire::ClusterNetwork {
            cidr: Some(network.cidr.to_string()),
            host_prefix: Some(network.host_prefix),
            ..wire::ClusterNetwork::default()
        });
        body.cluster_networks = Some(pods.collect());
        let services = networking.service_network.iter();
        let services = services.map(|cidr| wire::ServiceNetwork {
            cidr: Some(cidr.to_string()),
            ..wire::ServiceNetwork::default()
        });
        body.service_networks = Some(services.collect());
    }
    let single_node = control_plane == 1;
    if single_node {
        body.high_availability_mode = Some("None".to_owned());
    } else if config.platform.none.is_some() {
        body.user_managed_networking = Some(true);
        body.platform = Some(wire::Platform {
            r#type: Some("none".to_owned()),
            ..wire::Platform::default()
        });
    }
    let balanced_elsewhere = config.load_balancer_type() == Some(LoadBalancerType::UserManaged);
    if balanced_elsewhere {
        body.load_balancer = Some(wire::LoadBalancer {
            r#type: Some("user-managed".to_owned()),
        });
    }
    // Otherwise it follows from the virtual addresses.
    if single_node || balanced_elsewhere || machine_networks.len() > 1 {
        let networks = machine_networks.iter().map(|cidr| wire::MachineNetwork {
            cidr: Some(cidr.to_string()),
            ..wire::MachineNetwork::default()
        });
        body.machine_networks = Some(networks.collect());
    }
    if !api.is_empty() && !single_node {
        let vips = api.iter().map(|address| wire::ApiVip {
            ip: Some(address.to_string()),
            ..wire::ApiVip::default()
        });
        body.api_vips = Some(vips.collect());
    }
    if !ingress.is_empty() && !single_node {
        let vips = ingress.iter().map(|address| wire::IngressVip {
            ip: Some(address.to_string()),
            ..wire::IngressVip::default()
        });
        body.ingress_vips = Some(vips.collect());
    }
    if let Some(proxy) = &config.proxy {
        body.http_proxy = not_empty(&proxy.http_proxy);
        body.https_proxy = not_empty(&proxy.https_proxy);
        body.no_proxy = not_empty(&proxy.no_proxy);
    }
    body
}

fn infra_env(config: &InstallConfig, version: &str, plan: &Plan) -> wire::InfraEnvCreateParams {
    let networks = &plan.static_networks;
    wire::InfraEnvCreateParams {
        name: Some(config.metadata.name.clone()),
        openshift_version: Some(version.to_owned()),
        pull_secret: Some(config.pull_secret.reveal().to_owned()),
        image_type: Some("full-iso".to_owned()),
        // The serial port is where we listen, and CoreOS writes there only with this argument.
        kernel_arguments: Some(vec![wire::KernelArgument {
            operation: Some("append".to_owned()),
            value: Some("console=ttyS0".to_owned()),
        }]),
        ssh_authorized_key: not_empty(&config.ssh_key),
        additional_trust_bundle: not_empty(&config.additional_trust_bundle),
        static_network_config: (!networks.is_empty()).then(|| networks.clone()),
        ..wire::InfraEnvCreateParams::default()
    }
}

fn not_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
