//! Nutanix: what the cloud provider is given, and the place of the cluster.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Source, object};
use crate::plan::Plan;
use muster_documents::install_config::types::{Nutanix, NutanixDomain};
use muster_documents::yaml;

/// The cloud provider's file, in the order of its documentation: it is JSON inside a ConfigMap.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CloudConfig<'a> {
    prism_central: CloudEndpoint<'a>,
    topology_discovery: TopologyDiscovery,
    enable_custom_labeling: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CloudEndpoint<'a> {
    address: &'a str,
    port: i64,
    credential_ref: CredentialRef,
}

#[derive(Serialize)]
struct CredentialRef {
    kind: &'static str,
    name: &'static str,
    namespace: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TopologyDiscovery {
    r#type: &'static str,
    topology_categories: Option<()>,
}

/// Secret in which machine API and cloud provider look for the credentials of Prism Central. Its owner
/// makes it: the platform has credentials mode `Manual`.
pub(super) const CREDENTIALS: &str = "nutanix-credentials";

pub(super) fn cloud_provider_config(source: Source<'_>) -> Option<Value> {
    let platform = source.plan.config.platform.nutanix.as_ref()?;
    let endpoint = &platform.prism_central.endpoint;
    let config = CloudConfig {
        prism_central: CloudEndpoint {
            address: &endpoint.address,
            port: endpoint.port,
            credential_ref: CredentialRef {
                kind: "Secret",
                name: CREDENTIALS,
                namespace: "openshift-cloud-controller-manager",
            },
        },
        topology_discovery: TopologyDiscovery {
            r#type: "Prism",
            topology_categories: None,
        },
        enable_custom_labeling: true,
    };
    let mut text = Vec::new();
    let tabs = serde_json::ser::PrettyFormatter::with_indent(b"\t");
    let mut writer = serde_json::Serializer::with_formatter(&mut text, tabs);
    config
        .serialize(&mut writer)
        .expect("texts and numbers are always JSON");
    text.push(b'\n');
    let text = String::from_utf8(text).expect("JSON is text");
    Some(object(
        "v1",
        "ConfigMap",
        "openshift-config",
        "cloud-provider-config",
        json!({ "data": { "config": text } }),
    ))
}

/// A resource of Prism by its UUID.
pub(super) fn by_uuid(uuid: &str) -> Value {
    json!({ "type": "uuid", "uuid": uuid })
}

pub(super) fn platform_spec(platform: &Nutanix) -> Value {
    let endpoint = |endpoint| yaml::value(endpoint);
    let elements: Vec<Value> = platform
        .prism_elements
        .iter()
        .map(|element| {
            // Nothing here asks Prism Central for the name.
            let name = match element.name.as_str() {
                "" => &element.uuid,
                name => name,
            };
            json!({ "endpoint": endpoint(&element.endpoint), "name": name })
        })
        .collect();
    let mut spec = json!({
        "prismCentral": endpoint(&platform.prism_central.endpoint),
        "prismElements": elements,
    });
    if !platform.failure_domains.is_empty() {
        let domains = platform.failure_domains.iter().map(failure_domain);
        spec["failureDomains"] = domains.collect();
    }
    spec
}

fn failure_domain(domain: &NutanixDomain) -> Value {
    let subnets: Vec<Value> = domain.subnet_uuids.iter().map(|id| by_uuid(id)).collect();
    json!({
        "cluster": by_uuid(&domain.prism_element.uuid),
        "name": domain.name,
        "subnets": subnets,
    })
}

/// The virtual addresses, if the cluster has any.
pub(super) fn platform_status(plan: &Plan, platform: &Nutanix) -> Option<Value> {
    let (api, ingress) = (platform.api_vips.first()?, platform.ingress_vips.first()?);
    let mut status = json!({
        "apiServerInternalIP": api,
        "apiServerInternalIPs": platform.api_vips,
        "ingressIP": ingress,
        "ingressIPs": platform.ingress_vips,
    });
    if let Some(balancer) = &platform.load_balancer {
        status["loadBalancer"] = yaml::value(balancer);
    }
    if let (Some(records), true) = (platform.dns_records_type, plan.profile.release >= (4, 21)) {
        status["dnsRecordsType"] = json!(records.word());
    }
    Some(status)
}
