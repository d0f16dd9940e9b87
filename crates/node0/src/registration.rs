//! From the manifests of the image to requests to the application: decided without input or
//! output. The desk has validated the manifests; what is still wrong with them is refused by
//! the application with the reason.

use muster_api::wire;
use muster_model::Arch;
use serde_json::Value;

use crate::{files::Manifests, gate::Required};

/// Annotation of AgentClusterInstall with changes of the install-config.
const OVERRIDES: &str =
    "/metadata/annotations/agent-install.openshift.io~1install-config-overrides";

/// The cluster to register.
#[must_use]
pub fn cluster(manifests: &Manifests) -> wire::ClusterCreateParams {
    let install = &manifests.install["spec"];
    let deployment = &manifests.deployment["spec"];
    let networking = &install["networking"];
    let required = required(manifests);
    let is_single_node = required.masters == 1 && required.workers == 0;
    let proxy = |name: &str| text(&install["proxy"][name]);
    let vips = |plural: &str, singular: &str| -> Vec<String> {
        let mut found: Vec<String> = list(&install[plural]).filter_map(text).collect();
        if found.is_empty() {
            found.extend(text(&install[singular]));
        }
        found
    };
    let api_vips = vips("apiVIPs", "apiVIP")
        .into_iter()
        .map(|ip| wire::ApiVip {
            ip: Some(ip),
            ..wire::ApiVip::default()
        });
    let ingress_vips = vips("ingressVIPs", "ingressVIP");
    let ingress_vips = ingress_vips.into_iter().map(|ip| wire::IngressVip {
        ip: Some(ip),
        ..wire::IngressVip::default()
    });
    wire::ClusterCreateParams {
        name: text(&deployment["clusterName"]),
        base_dns_domain: text(&deployment["baseDomain"]),
        ocp_release_image: text(&manifests.image_set["spec"]["releaseImage"]),
        cpu_architecture: architecture(manifests),
        pull_secret: Some(manifests.pull_secret.0.clone()),
        ssh_public_key: text(&install["sshPublicKey"]),
        vip_dhcp_allocation: Some(false),
        api_vips: Some(api_vips.collect()).filter(|all: &Vec<_>| !all.is_empty()),
        ingress_vips: Some(ingress_vips.collect()).filter(|all: &Vec<_>| !all.is_empty()),
        user_managed_networking: Some(
            is_single_node || networking["userManagedNetworking"].as_bool() == Some(true),
        ),
        control_plane_count: i64::try_from(required.masters).ok(),
        high_availability_mode: is_single_node.then(|| "None".to_owned()),
        machine_networks: networks(&networking["machineNetwork"], |cidr, _| {
            wire::MachineNetwork {
                cidr: Some(cidr),
                ..wire::MachineNetwork::default()
            }
        }),
        cluster_networks: networks(&networking["clusterNetwork"], |cidr, one| {
            wire::ClusterNetwork {
                cidr: Some(cidr),
                host_prefix: one["hostPrefix"].as_i64(),
                ..wire::ClusterNetwork::default()
            }
        }),
        service_networks: networks(&networking["serviceNetwork"], |cidr, _| {
            wire::ServiceNetwork {
                cidr: Some(cidr),
                ..wire::ServiceNetwork::default()
            }
        }),
        network_type: text(&networking["networkType"]),
        http_proxy: proxy("httpProxy"),
        https_proxy: proxy("httpsProxy"),
        no_proxy: proxy("noProxy"),
        platform: platform(install),
        schedulable_masters: install["mastersSchedulable"].as_bool(),
        hyperthreading: hyperthreading(install),
        disk_encryption: disk_encryption(&install["diskEncryption"]),
        load_balancer: load_balancer(install),
        olm_operators: operators(&manifests.operators),
        additional_ntp_source: ntp(manifests),
        ..wire::ClusterCreateParams::default()
    }
}

/// Changes of the install-config that the user asked for; empty for none.
#[must_use]
pub fn overrides(manifests: &Manifests) -> String {
    let found = manifests.install.pointer(OVERRIDES);
    found.and_then(text).unwrap_or_default()
}

/// The infra-env to register.
#[must_use]
pub fn infra_env(manifests: &Manifests, cluster: &str, image: &str) -> wire::InfraEnvCreateParams {
    let spec = &manifests.infra_env["spec"];
    let proxy = &spec["proxy"];
    let kernel = list(&spec["kernelArguments"]).map(|one| wire::KernelArgument {
        operation: text(&one["operation"]),
        value: text(&one["value"]),
    });
    let networks = manifests.networks.iter().map(network);
    wire::InfraEnvCreateParams {
        name: text(&manifests.infra_env["metadata"]["name"]),
        cluster_id: Some(cluster.to_owned()),
        pull_secret: Some(manifests.pull_secret.0.clone()),
        ssh_authorized_key: text(&spec["sshAuthorizedKey"]),
        cpu_architecture: text(&spec["cpuArchitecture"]),
        image_type: Some(image.to_owned()),
        ignition_config_override: text(&spec["ignitionConfigOverride"]),
        additional_trust_bundle: text(&spec["additionalTrustBundle"]),
        additional_ntp_sources: ntp(manifests),
        proxy: proxy.is_object().then(|| wire::Proxy {
            http_proxy: text(&proxy["httpProxy"]),
            https_proxy: text(&proxy["httpsProxy"]),
            no_proxy: text(&proxy["noProxy"]),
        }),
        kernel_arguments: Some(kernel.collect()).filter(|all: &Vec<_>| !all.is_empty()),
        static_network_config: Some(networks.collect()).filter(|all: &Vec<_>| !all.is_empty()),
        ..wire::InfraEnvCreateParams::default()
    }
}

/// How many hosts the cluster needs.
#[must_use]
pub fn required(manifests: &Manifests) -> Required {
    let of = |name: &str| {
        let number = &manifests.install["spec"]["provisionRequirements"][name];
        usize::try_from(number.as_u64().unwrap_or(0)).unwrap_or(0)
    };
    Required {
        masters: of("controlPlaneAgents"),
        arbiters: of("arbiterAgents"),
        workers: of("workerAgents"),
    }
}

/// The architecture of the hosts, as the API names it; one that we do not know as it is written.
fn architecture(manifests: &Manifests) -> Option<String> {
    let name = text(&manifests.infra_env["spec"]["cpuArchitecture"])?;
    Some(name.parse().map_or(name, |arch: Arch| arch.to_string()))
}

fn network(config: &Value) -> wire::HostStaticNetworkConfig {
    let cards = list(&config["spec"]["interfaces"]).map(|card| wire::MacInterfaceMapItem {
        logical_nic_name: text(&card["name"]),
        mac_address: text(&card["macAddress"]),
    });
    wire::HostStaticNetworkConfig {
        mac_interface_map: Some(cards.collect()),
        network_yaml: serde_yaml_ng::to_string(&config["spec"]["config"]).ok(),
    }
}

fn ntp(manifests: &Manifests) -> Option<String> {
    let of = |value: &Value| list(value).filter_map(text).collect::<Vec<_>>().join(",");
    let both = [
        of(&manifests.infra_env["spec"]["additionalNTPSources"]),
        of(&manifests.install["spec"]["ntpSources"]),
    ];
    both.into_iter().find(|sources| !sources.is_empty())
}

fn platform(install: &Value) -> Option<wire::Platform> {
    let kind = text(&install["platformType"])?.to_lowercase();
    let external = &install["external"];
    Some(wire::Platform {
        external: external.is_object().then(|| wire::PlatformExternal {
            platform_name: text(&external["platformName"]),
            cloud_controller_manager: text(&external["cloudControllerManager"]),
        }),
        r#type: Some(kind),
    })
}

fn hyperthreading(install: &Value) -> Option<String> {
    let masters = text(&install["controlPlane"]["hyperthreading"]);
    let workers = list(&install["compute"]).find_map(|pool| text(&pool["hyperthreading"]));
    let off = |value: &Option<String>| value.as_deref() == Some("Disabled");
    match (&masters, &workers) {
        (None, None) => None,
        _ => Some(
            match (off(&masters), off(&workers)) {
                (true, true) => "none",
                (true, false) => "workers",
                (false, true) => "masters",
                (false, false) => "all",
            }
            .to_owned(),
        ),
    }
}

fn disk_encryption(given: &Value) -> Option<wire::DiskEncryption> {
    given.is_object().then(|| wire::DiskEncryption {
        enable_on: text(&given["enableOn"]),
        mode: text(&given["mode"]),
        tang_servers: text(&given["tangServers"]),
    })
}

/// The manifest spells it as Kubernetes kinds do, the API in lower case.
fn load_balancer(install: &Value) -> Option<wire::LoadBalancer> {
    let kind = text(&install["loadBalancer"]["type"])?;
    let kind = match kind.as_str() {
        "UserManaged" => "user-managed".to_owned(),
        "ClusterManaged" => "cluster-managed".to_owned(),
        _ => kind,
    };
    Some(wire::LoadBalancer { r#type: Some(kind) })
}

fn operators(given: &Value) -> Option<Vec<wire::OperatorCreateParams>> {
    let found: Vec<wire::OperatorCreateParams> = list(given)
        .filter_map(|one| {
            Some(wire::OperatorCreateParams {
                name: Some(text(&one["name"])?),
                properties: text(&one["properties"]),
            })
        })
        .collect();
    Some(found).filter(|found| !found.is_empty())
}

/// Networks are objects with a CIDR, or bare texts.
fn networks<T>(given: &Value, make: impl Fn(String, &Value) -> T) -> Option<Vec<T>> {
    let found: Vec<T> = list(given)
        .filter_map(|one| {
            let cidr = text(&one["cidr"]).or_else(|| text(one))?;
            Some(make(cidr, one))
        })
        .collect();
    Some(found).filter(|found| !found.is_empty())
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str().map(str::to_owned);
    text.filter(|text| !text.is_empty())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::files::Secret;

    fn single_node() -> Manifests {
        Manifests {
            install: json!({
                "metadata": {"annotations": {
                    "agent-install.openshift.io/install-config-overrides": "{\"fips\":true}"}},
                "spec": {
                    "networking": {
                        "machineNetwork": [{"cidr": "192.168.77.0/24"}],
                        "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
                        "serviceNetwork": ["172.30.0.0/16"],
                        "networkType": "OVNKubernetes"},
                    "sshPublicKey": "",
                    "provisionRequirements": {"controlPlaneAgents": 1},
                    "platformType": "None"}}),
            deployment: json!({"spec": {"clusterName": "lab", "baseDomain": "example.com"}}),
            image_set: json!({"metadata": {"name": "openshift-4.20.1"},
                "spec": {"releaseImage": "registry.example.com/release@sha256:1"}}),
            infra_env: json!({"metadata": {"name": "lab"}, "spec": {
                "cpuArchitecture": "x86_64", "additionalNTPSources": ["10.0.0.1", "ntp.example"],
                "proxy": {"httpProxy": "http://proxy:3128"}}}),
            networks: vec![json!({"spec": {
                "interfaces": [{"name": "eth0", "macAddress": "52:54:00:00:00:01"}],
                "config": {"interfaces": [{"name": "eth0", "type": "ethernet"}]}}})],
            pull_secret: Secret("{\"auths\":{}}".to_owned()),
            operators: Value::Null,
        }
    }

    #[test]
    fn a_single_node_manages_its_own_networking_and_names_its_release() {
        let given = cluster(&single_node());
        assert_eq!(given.high_availability_mode.as_deref(), Some("None"));
        assert_eq!(given.user_managed_networking, Some(true));
        assert_eq!(given.control_plane_count, Some(1));
        assert_eq!(given.platform.unwrap().r#type.as_deref(), Some("none"));
        let services = given.service_networks.unwrap();
        assert_eq!(services[0].cidr.as_deref(), Some("172.30.0.0/16"));
        assert_eq!(given.cluster_networks.unwrap()[0].host_prefix, Some(23));
        assert_eq!(
            given.additional_ntp_source.as_deref(),
            Some("10.0.0.1,ntp.example")
        );
        assert_eq!(overrides(&single_node()), "{\"fips\":true}");
    }

    #[test]
    fn a_single_node_without_a_platform_leaves_it_to_the_application() {
        let mut manifests = single_node();
        let spec = manifests.install["spec"].as_object_mut().unwrap();
        spec.remove("platformType");
        spec["networking"]["userManagedNetworking"] = json!(false);
        let given = cluster(&manifests);
        assert_eq!(given.platform, None);
        assert_eq!(given.user_managed_networking, Some(true));
    }

    #[test]
    fn addresses_of_the_api_are_taken_from_either_spelling() {
        let mut manifests = single_node();
        let spec = &mut manifests.install["spec"];
        spec["provisionRequirements"] = json!({"controlPlaneAgents": 3, "workerAgents": 2});
        spec["apiVIP"] = json!("192.168.77.5");
        spec["ingressVIPs"] = json!(["192.168.77.6", "fd00::6"]);
        spec["platformType"] = json!("BareMetal");
        spec["loadBalancer"] = json!({"type": "UserManaged"});
        let given = cluster(&manifests);
        assert_eq!(
            given.api_vips.unwrap()[0].ip.as_deref(),
            Some("192.168.77.5")
        );
        assert_eq!(given.ingress_vips.unwrap().len(), 2);
        assert_eq!(given.user_managed_networking, Some(false));
        assert_eq!(given.high_availability_mode, None);
        let balancer = given.load_balancer.unwrap();
        assert_eq!(balancer.r#type.as_deref(), Some("user-managed"));
        assert_eq!(required(&manifests).sum(), 5);
    }

    #[test]
    fn the_infra_env_has_every_static_network() {
        let given = infra_env(&single_node(), "id", "full-iso");
        let networks = given.static_network_config.unwrap();
        let cards = networks[0].mac_interface_map.as_ref().unwrap();
        assert_eq!(cards[0].logical_nic_name.as_deref(), Some("eth0"));
        let yaml = networks[0].network_yaml.as_deref().unwrap();
        assert!(yaml.contains("type: ethernet"), "{yaml}");
        let proxy = given.proxy.unwrap();
        assert_eq!(proxy.http_proxy.as_deref(), Some("http://proxy:3128"));
    }
}
