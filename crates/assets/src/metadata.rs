//! `metadata.json`: what later commands need to know about the cluster.

use serde_json::{Map, Value, json};

use crate::manifests::custom_gates;
use crate::plan::Plan;
use muster_documents::install_config::types::FeatureSet;

/// The file's text, keys in the order others expect.
#[must_use]
pub fn json(plan: &Plan) -> String {
    let config = &plan.config;
    let mut out = Map::new();
    out.insert("clusterName".into(), json!(config.metadata.name));
    out.insert("clusterID".into(), json!(plan.identity.uuid));
    out.insert("infraID".into(), json!(plan.identity.infra_id));
    if let Some(baremetal) = &config.platform.baremetal {
        out.insert(
            "baremetal".into(),
            json!({
                "libvirtURI": baremetal.libvirt_uri,
                "bootstrapProvisioningIP": "",
                "provisioningHostIP": "",
            }),
        );
    }
    if let Some(vsphere) = &config.platform.vsphere {
        let centers: Vec<Value> = vsphere
            .vcenters
            .iter()
            .map(|center| {
                json!({
                    "vCenter": center.server,
                    "username": center.user,
                    "password": center.password.reveal(),
                })
            })
            .collect();
        let object = json!({ "terraform_platform": "vsphere", "VCenters": centers });
        out.insert("vsphere".into(), object);
    }
    if let Some(nutanix) = &config.platform.nutanix {
        let central = &nutanix.prism_central;
        let object = json!({
            "prismCentral": central.endpoint.address,
            "username": central.username,
            "password": central.password.reveal(),
            "port": central.endpoint.port.to_string(),
        });
        out.insert("nutanix".into(), object);
    }
    out.insert(
        "featureSet".into(),
        json!(config.feature_set.map_or("", FeatureSet::word)),
    );
    let custom = match config.feature_set {
        Some(FeatureSet::CustomNoUpgrade) => custom_gates(&config.feature_gates),
        Some(
            FeatureSet::TechPreviewNoUpgrade | FeatureSet::DevPreviewNoUpgrade | FeatureSet::Okd,
        )
        | None => Value::Null,
    };
    out.insert("customFeatureSet".into(), custom);
    Value::Object(out).to_string()
}
