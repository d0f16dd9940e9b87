//! What the cluster manifests have no field for: laid over the install-config on the rendezvous host.

use muster_documents::{
    agent_config::Host,
    install_config::types::{
        BareMetal, CpuPartitioning, InstallConfig, Nutanix, OsImageStream, TrustBundlePolicy,
        Vsphere,
    },
    yaml,
};
use serde_json::{Map, Value, json};

/// The overrides as a JSON object; nothing if there is nothing to override.
#[must_use]
pub fn overrides(
    config: &InstallConfig,
    hosts: &[Host],
    usual_stream: OsImageStream,
) -> Option<Value> {
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| {
        all.insert(name.to_owned(), value);
    };
    if config.fips {
        put("fips", json!(true));
    }
    if let Some(set) = config.feature_set {
        put("featureSet", json!(set));
    }
    if !config.feature_gates.is_empty() {
        put("featureGates", json!(config.feature_gates));
    }
    if let Some(networking) = config.networking.as_ref().filter(|networking| {
        !networking.is_ovn_kubernetes() && networking.network_type != "OpenShiftSDN"
    }) {
        put("networking", yaml::value(networking));
    }
    if let Some(capabilities) = &config.capabilities {
        put("capabilities", yaml::value(capabilities));
    }
    if let Some(mode) = config.cpu_partitioning_mode
        && mode != CpuPartitioning::None
    {
        put("cpuPartitioningMode", json!(mode));
    }
    if let Some(policy) = config.additional_trust_bundle_policy
        && policy != TrustBundlePolicy::ProxyOnly
    {
        put("additionalTrustBundlePolicy", json!(policy));
    }
    if let Some(stream) = config.os_image_stream
        && stream != usual_stream
    {
        put("osImageStream", json!(stream));
    }
    if let Some(pki) = &config.pki {
        put("pki", yaml::value(pki));
    }
    let is_empty = all.is_empty();
    if let Some(platform) = platform(config, hosts, is_empty) {
        all.insert("platform".to_owned(), platform);
    }
    (!all.is_empty()).then_some(Value::Object(all))
}

fn platform(config: &InstallConfig, hosts: &[Host], nothing_else: bool) -> Option<Value> {
    let platform = &config.platform;
    if let Some(metal) = &platform.baremetal {
        return baremetal(metal, hosts).map(|metal| json!({ "baremetal": metal }));
    }
    if let Some(vsphere) = &platform.vsphere {
        let vsphere = vsphere_part(vsphere);
        let is_empty = vsphere.as_object().is_some_and(Map::is_empty);
        return (!is_empty || !nothing_else).then(|| json!({ "vsphere": vsphere }));
    }
    if let Some(nutanix) = &platform.nutanix {
        return Some(json!({ "nutanix": nutanix_part(nutanix) }));
    }
    if let Some(external) = &platform.external {
        let manager = external
            .cloud_controller_manager
            .map(|word| word.to_string());
        return Some(json!({ "external": {
            "platformName": external.platform_name,
            "cloudControllerManager": manager.unwrap_or_default(),
        }}));
    }
    None
}

/// Only where some host has a management controller: then the cluster manages its machines.
fn baremetal(metal: &BareMetal, hosts: &[Host]) -> Option<Value> {
    let has_bmc = |host: &Host| host.bmc.as_ref().is_some_and(|bmc| !bmc.address.is_empty());
    if !hosts.iter().any(has_bmc) {
        return None;
    }
    let described: Vec<Value> = hosts
        .iter()
        .filter(|host| has_bmc(host))
        .map(|host| {
            let mut value = json!({
                "name": host.hostname,
                "bmc": host.bmc,
                "bootMACAddress": host.interfaces.first().map(|card| &card.mac_address),
                "hardwareProfile": "default",
            });
            if let Some(role) = host.role {
                value["role"] = json!(role);
            }
            value
        })
        .collect();
    let whole = yaml::value(metal);
    let mut part = Map::new();
    part.insert("hosts".to_owned(), Value::Array(described));
    for name in [
        "clusterProvisioningIP",
        "provisioningNetwork",
        "provisioningNetworkInterface",
        "provisioningNetworkCIDR",
        "provisioningDHCPRange",
        "provisioningNetworkGateway",
    ] {
        if let Some(value) = whole.get(name) {
            part.insert(name.to_owned(), value.clone());
        }
    }
    Some(Value::Object(part))
}

/// The whole platform, because the service knows only placeholders of it; without what hosts that
/// install themselves do not use.
fn nutanix_part(nutanix: &Nutanix) -> Value {
    yaml::value(&Nutanix {
        cluster_os_image: String::new(),
        preloaded_os_image_name: String::new(),
        default_machine_platform: None,
        load_balancer: None,
        failure_domains: Vec::new(),
        prism_api_call_timeout: None,
        ..nutanix.clone()
    })
}

fn vsphere_part(vsphere: &Vsphere) -> Value {
    let mut part = Map::new();
    if vsphere.api_vips.len() > 1 {
        part.insert("apiVIPs".to_owned(), json!(vsphere.api_vips));
        part.insert("ingressVIPs".to_owned(), json!(vsphere.ingress_vips));
    }
    let given: Vec<Value> = vsphere
        .vcenters
        .iter()
        .filter(|vcenter| !vcenter.user.is_empty() || !vcenter.password.is_empty())
        .map(yaml::value)
        .collect();
    if !given.is_empty() {
        part.insert("vcenters".to_owned(), Value::Array(given));
        let domains = vsphere.failure_domains.iter().map(yaml::value).collect();
        part.insert("failureDomains".to_owned(), Value::Array(domains));
    }
    Value::Object(part)
}

#[cfg(test)]
mod tests {
    use muster_documents::install_config::{Environment, Given, Method, load};

    use super::*;

    #[test]
    fn nutanix_travels_whole_but_for_what_hosts_do_not_use() {
        let file = r#"
apiVersion: v1
baseDomain: example.com
metadata: {name: lab}
controlPlane: {replicas: 3}
compute: [{name: worker, replicas: 0}]
pullSecret: '{"auths":{"quay.io":{"auth":"eDp5"}}}'
platform:
  nutanix:
    apiVIPs: [10.0.0.5]
    ingressVIPs: [10.0.0.6]
    prismCentral: {endpoint: {address: pc.example.com, port: 9440}, username: admin, password: hush}
    prismElements: [{uuid: pe-1, endpoint: {address: 10.9.0.2, port: 9440}}]
    subnetUUIDs: [net-1]
    clusterOSImage: https://example.com/rhcos.qcow2
    preloadedOSImageName: ready-made
    prismAPICallTimeout: 5
    loadBalancer: {type: OpenShiftManagedDefault}
    defaultMachinePlatform: {cpus: 8}
    failureDomains: [{name: a, prismElement: {uuid: pe-2}, subnetUUIDs: [net-2]}]
"#;
        let mut random = |bytes: &mut [u8]| bytes.fill(7);
        let mut around = Environment::new(&mut random);
        around.given = Given {
            method: Method::Agent,
            ..Given::default()
        };
        let loaded = load("install-config.yaml", file.as_bytes(), &mut around)
            .unwrap_or_else(|report| panic!("{report}"));
        let usual = loaded.config.os_image_stream.unwrap();
        let found = overrides(&loaded.config, &[], usual).unwrap();
        let wanted = json!({ "platform": { "nutanix": {
            "apiVIPs": ["10.0.0.5"],
            "ingressVIPs": ["10.0.0.6"],
            "dnsRecordsType": "Internal",
            "prismCentral": {
                "endpoint": { "address": "pc.example.com", "port": 9440 },
                "username": "admin",
                "password": "hush",
            },
            "prismElements": [{ "uuid": "pe-1", "endpoint": { "address": "10.9.0.2", "port": 9440 } }],
            "subnetUUIDs": ["net-1"],
        }}});
        assert_eq!(found, wanted);
    }
}
