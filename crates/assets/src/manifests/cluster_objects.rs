//! Objects that configure the whole cluster: names, networks, proxy, scheduler, mirrors.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Source, object};
use crate::plan::Plan;
use crate::profiles::Gate;
use muster_documents::install_config::types::{PlatformName, TrustBundlePolicy};
use muster_documents::yaml;

const CONFIG: &str = "config.openshift.io/v1";

pub(super) fn ingress(source: Source<'_>) -> Option<Value> {
    let plan = source.plan;
    let alone = plan.platform() == PlatformName::None && plan.config.control_plane_replicas() == 1;
    let placement = if alone { "ControlPlane" } else { "Workers" };
    Some(object(
        CONFIG,
        "Ingress",
        "",
        "cluster",
        json!({
            "spec": {
                "domain": format!("apps.{}", plan.config.cluster_domain()),
                "loadBalancer": { "platform": { "type": "" } },
            },
            "status": { "defaultPlacement": placement },
        }),
    ))
}

pub(super) fn dns(source: Source<'_>) -> Option<Value> {
    Some(object(
        CONFIG,
        "DNS",
        "",
        "cluster",
        json!({
            "spec": {
                "baseDomain": source.plan.config.cluster_domain(),
                "platform": { "aws": null, "type": "" },
            },
            "status": {},
        }),
    ))
}

/// Networks of pods as the cluster writes them.
fn cluster_networks(plan: &Plan) -> Vec<Value> {
    let networks = plan.networking().cluster_network.iter();
    networks
        .map(|network| json!({ "cidr": network.cidr.to_string(), "hostPrefix": network.host_prefix }))
        .collect()
}

fn service_networks(plan: &Plan) -> Vec<String> {
    plan.networking()
        .service_network
        .iter()
        .map(ToString::to_string)
        .collect()
}

pub(super) fn network(source: Source<'_>) -> Option<Value> {
    let plan = source.plan;
    let networking = plan.networking();
    let mut spec = json!({
        "clusterNetwork": cluster_networks(plan),
        "externalIP": { "policy": {} },
        "networkType": networking.network_type,
        "serviceNetwork": service_networks(plan),
    });
    if let Some(observability) = &networking.network_observability {
        spec["networkObservability"] = yaml::value(observability);
    }
    Some(object(
        CONFIG,
        "Network",
        "",
        "cluster",
        json!({ "spec": spec, "status": {} }),
    ))
}

pub(super) fn network_operator(source: Source<'_>) -> Option<Value> {
    let plan = source.plan;
    let networking = plan.networking();
    let join = networking.internal_join_subnet();
    let baremetal = plan.config.platform.baremetal.as_ref();
    let bgp =
        baremetal.is_some_and(|b| b.bgp_vip_config.is_some()) && networking.is_ovn_kubernetes();
    if join.is_none() && !bgp {
        return None;
    }
    let mut spec = json!({
        "clusterNetwork": cluster_networks(plan),
        "defaultNetwork": { "type": "OVNKubernetes" },
        "managementState": "Managed",
        "serviceNetwork": service_networks(plan),
    });
    if let Some(join) = join {
        spec["defaultNetwork"]["ovnKubernetesConfig"] =
            json!({ "ipv4": { "internalJoinSubnet": join.to_string() } });
    }
    if bgp {
        spec["additionalRoutingCapabilities"] = json!({ "providers": ["FRR"] });
    }
    Some(object(
        "operator.openshift.io/v1",
        "Network",
        "",
        "cluster",
        json!({ "spec": spec }),
    ))
}

/// What components use as a proxy, once the cluster's own names and networks are exempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EffectiveProxy {
    pub http: String,
    pub https: String,
    pub exempt: String,
}

impl EffectiveProxy {
    /// Nothing where the user set no proxy.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let proxy = plan.config.proxy.as_ref()?;
        if proxy.http_proxy.is_empty() && proxy.https_proxy.is_empty() {
            return None;
        }
        Some(Self {
            http: proxy.http_proxy.clone(),
            https: proxy.https_proxy.clone(),
            exempt: exempt(plan, &proxy.no_proxy),
        })
    }
}

fn exempt(plan: &Plan, wanted: &str) -> String {
    if wanted == "*" {
        return wanted.to_owned();
    }
    let networking = plan.networking();
    let mut all: BTreeSet<String> = ["127.0.0.1", "localhost", ".svc", ".cluster.local"]
        .map(str::to_owned)
        .into();
    all.insert(format!("api-int.{}", plan.config.cluster_domain()));
    all.extend(service_networks(plan));
    all.extend(
        networking
            .machine_network
            .iter()
            .map(|n| n.cidr.to_string()),
    );
    all.extend(
        networking
            .cluster_network
            .iter()
            .map(|n| n.cidr.to_string()),
    );
    let wanted = wanted
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    all.extend(wanted.map(str::to_owned));
    all.into_iter().collect::<Vec<_>>().join(",")
}

pub(super) fn proxy(source: Source<'_>) -> Option<Value> {
    let plan = source.plan;
    let config = &plan.config;
    let always = config.additional_trust_bundle_policy == Some(TrustBundlePolicy::Always);
    let trusts = !config.additional_trust_bundle.is_empty() && (always || config.proxy.is_some());
    let mut spec = json!({ "trustedCA": { "name": if trusts { "user-ca-bundle" } else { "" } } });
    if let Some(proxy) = &config.proxy {
        for (key, value) in [
            ("httpProxy", &proxy.http_proxy),
            ("httpsProxy", &proxy.https_proxy),
            ("noProxy", &proxy.no_proxy),
        ] {
            if !value.is_empty() {
                spec[key] = json!(value);
            }
        }
    }
    let mut status = json!({});
    if let Some(proxy) = EffectiveProxy::of(plan) {
        for (key, value) in [
            ("httpProxy", proxy.http),
            ("httpsProxy", proxy.https),
            ("noProxy", proxy.exempt),
        ] {
            if !value.is_empty() {
                status[key] = json!(value);
            }
        }
    }
    Some(object(
        CONFIG,
        "Proxy",
        "",
        "cluster",
        json!({ "spec": spec, "status": status }),
    ))
}

pub(super) fn scheduler(source: Source<'_>) -> Option<Value> {
    Some(object(
        CONFIG,
        "Scheduler",
        "",
        "cluster",
        json!({
            "spec": {
                "mastersSchedulable": source.plan.config.compute_replicas() == 0,
                "policy": { "name": "" },
                "profileCustomizations": { "dynamicResourceAllocation": "" },
            },
            "status": {},
        }),
    ))
}

pub(super) fn content_source_policy(source: Source<'_>) -> Option<Value> {
    let sources = &source.plan.config.image_content_sources;
    (!sources.is_empty()).then(|| {
        let api = "operator.openshift.io/v1alpha1";
        object(
            api,
            "ImageContentSourcePolicy",
            "",
            "image-policy",
            json!({
                "spec": { "repositoryDigestMirrors": yaml::value(sources) },
            }),
        )
    })
}

pub(super) fn digest_mirror_set(source: Source<'_>) -> Option<Value> {
    let sources = &source.plan.config.image_digest_sources;
    let mirrors: Vec<Value> = sources
        .iter()
        .map(|source| {
            let mut entry = json!({ "mirrors": source.mirrors, "source": source.source });
            if let Some(policy) = source.source_policy {
                entry["mirrorSourcePolicy"] = json!(policy.word());
            }
            entry
        })
        .collect();
    (!sources.is_empty()).then(|| {
        object(
            CONFIG,
            "ImageDigestMirrorSet",
            "",
            "image-digest-mirror",
            json!({
                "spec": { "imageDigestMirrors": mirrors },
                "status": {},
            }),
        )
    })
}

pub(super) fn pki(source: Source<'_>) -> Option<Value> {
    let plan = source.plan;
    if plan.profile.configurable_pki == Gate::Unknown
        || !plan.gate("ConfigurablePKI", plan.profile.configurable_pki)
    {
        return None;
    }
    let key = plan
        .config
        .pki
        .as_ref()
        .and_then(|pki| pki.signer_certificates.key.as_ref());
    let management = match key {
        None => json!({ "mode": "Default" }),
        Some(key) => json!({
            "mode": "Custom",
            "custom": {
                "profile": {
                    "defaults": { "key": { "algorithm": "RSA", "rsa": { "keySize": 4096 } } },
                    "signerCertificates": { "key": yaml::value(key) },
                },
            },
        }),
    };
    Some(object(
        "config.openshift.io/v1alpha1",
        "PKI",
        "",
        "cluster",
        json!({
            "spec": { "certificateManagement": management },
        }),
    ))
}
