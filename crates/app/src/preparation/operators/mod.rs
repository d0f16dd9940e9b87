//! Manifests of the operators that a user chose.
//!
//! The lifecycle manager of the new cluster installs an operator when it finds a subscription in a
//! namespace with an operator group ([`rows`]). What an operator then works on is a resource of its
//! own kind ([`resources`]); that kind is unknown until the operator runs, so the controller
//! inside the cluster applies those later: it fetches `custom_manifests.json`, or finds the same in
//! a ConfigMap.

mod resources;
mod rows;
mod storage;

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_assets::file::File;
use muster_catalog::Operator;
use muster_model::{MonitoredOperator, OpenshiftVersion};
use serde_json::{Value, json};

use self::{
    resources::Scene,
    rows::{Group, ROWS, Row},
};
use super::{fault::Fault, gather::Facts};

const CONFIG_MAP: &str = "openshift/olm_operator_manifests.yaml";

/// What chosen operators add.
#[derive(Debug, Default)]
pub(super) struct OfOperators {
    /// By path.
    pub manifests: Vec<File>,
    /// `custom_manifests.json`.
    pub for_controller: Option<String>,
}

/// Manifests of all chosen operators.
pub(super) fn manifests(from: &Facts<'_>) -> Result<OfOperators, Fault> {
    let cluster = from.cluster;
    let chosen: Vec<(Operator, &MonitoredOperator)> = cluster
        .monitored_operators
        .iter()
        .flatten()
        .filter(|monitored| monitored.operator_type == "olm")
        .filter_map(|monitored| Some((monitored.name.parse().ok()?, monitored)))
        .collect();
    if chosen.is_empty() {
        return Ok(OfOperators::default());
    }
    let version: OpenshiftVersion =
        cluster
            .openshift_version
            .parse()
            .map_err(|fault| Fault::Version {
                version: cluster.openshift_version.to_string(),
                fault,
            })?;
    let scene = Scene {
        operators: chosen.iter().map(|(operator, _)| *operator).collect(),
        version: &version,
        cluster,
        hosts: from.hosts,
        site: from.site,
    };
    let mut made = OfOperators::default();
    let mut seen = BTreeSet::new();
    let mut later: Vec<(&MonitoredOperator, Vec<Value>)> = Vec::new();
    for (operator, monitored) in &chosen {
        let row = ROWS.iter().find(|row| row.operator == *operator);
        let row = row.ok_or(Fault::Bug("a chosen operator has no manifests"))?;
        for (path, object) in first(row, &version) {
            // Operators may share a namespace and its group.
            let id = (
                object["kind"].to_string(),
                object["metadata"]["namespace"].to_string(),
                match object["kind"].as_str() {
                    Some("OperatorGroup") => String::new(),
                    _ => object["metadata"]["name"].to_string(),
                },
            );
            if seen.insert(id) {
                made.manifests.push(yaml(&path, &object)?);
            }
        }
        for (path, object) in resources::at_once(*operator, &scene) {
            made.manifests.push(yaml(&path, &object)?);
        }
        let resources = resources::later(*operator, &scene);
        if !resources.is_empty() {
            later.push((monitored, resources));
        }
    }
    if let Some((storage, resources)) = storage::of_hub(&scene) {
        let owner = chosen.iter().find(|(operator, _)| *operator == storage);
        later.extend(owner.map(|(_, monitored)| (*monitored, resources)));
    }
    if !later.is_empty() {
        made.for_controller = Some(for_controller(&later)?);
        made.manifests.push(config_map(&later)?);
    }
    Ok(made)
}

/// Namespace, group and subscription.
fn first(row: &Row, version: &OpenshiftVersion) -> Vec<(String, Value)> {
    let namespace = row.operator.namespace();
    let mut made = Vec::new();
    let path = |what: &str| format!("openshift/50_{}_{what}.yaml", row.file);
    if row.own_namespace {
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": namespace },
        });
        if row.monitored {
            object["metadata"]["labels"] = json!({ "openshift.io/cluster-monitoring": "true" });
        }
        made.push((path(row.words.0), object));
    }
    let spec = match row.group {
        Group::Shared => None,
        Group::Own(name) => Some((name, json!({ "targetNamespaces": [namespace] }))),
        Group::All(name) => Some((name, json!({}))),
    };
    if let Some((name, spec)) = spec {
        let object = json!({
            "apiVersion": "operators.coreos.com/v1",
            "kind": "OperatorGroup",
            "metadata": { "name": name, "namespace": namespace },
            "spec": spec,
        });
        made.push((path(row.words.1), object));
    }
    let mut spec = json!({
        "installPlanApproval": "Automatic",
        "name": row.package.unwrap_or_else(|| row.operator.subscription(version)),
        "source": row.source,
        "sourceNamespace": "openshift-marketplace",
    });
    if !row.channel.is_empty() {
        spec["channel"] = json!(row.channel);
    }
    let object = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "Subscription",
        "metadata": { "name": row.operator.subscription(version), "namespace": namespace },
        "spec": spec,
    });
    made.push((path(row.words.2), object));
    made
}

fn yaml(path: &str, object: &Value) -> Result<File, Fault> {
    Ok(File::public(path, text(object)?))
}

fn text(object: &Value) -> Result<String, Fault> {
    serde_yaml_ng::to_string(object).map_err(Fault::Unwritable)
}

/// A list of operators, each with its resources as YAML in base64.
fn for_controller(later: &[(&MonitoredOperator, Vec<Value>)]) -> Result<String, Fault> {
    let mut entries = Vec::new();
    for (operator, resources) in later {
        let documents: Vec<String> = resources.iter().map(text).collect::<Result<_, _>>()?;
        let content = STANDARD.encode(documents.join("---\n"));
        entries.push(json!({ "Name": operator.name, "Content": content }));
    }
    Ok(Value::Array(entries).to_string())
}

/// The same for controllers that cannot reach the service: a file per resource, and an entry per
/// operator that says where it lives and which files are its own.
fn config_map(later: &[(&MonitoredOperator, Vec<Value>)]) -> Result<File, Fault> {
    let mut files: BTreeMap<&str, (&MonitoredOperator, Vec<String>)> = BTreeMap::new();
    let mut data = serde_json::Map::new();
    for (operator, resources) in later {
        let (_, names) = files
            .entry(&operator.name)
            .or_insert((operator, Vec::new()));
        for resource in resources {
            let name = format!("{}-{:02}.yaml", operator.name, names.len() + 1);
            data.insert(
                name.clone(),
                json!(STANDARD.encode(text(resource)?.trim_end())),
            );
            names.push(name);
        }
    }
    for (name, (operator, manifests)) in files {
        let entry = text(&json!({
            "manifests": manifests,
            "namespace": operator.namespace,
            "subscriptionName": operator.subscription_name,
        }))?;
        data.insert(format!("{name}.metadata.yaml"), json!(entry));
    }
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "olm-operator-manifests", "namespace": "assisted-installer" },
        "data": data,
    });
    yaml(CONFIG_MAP, &object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_a_row_and_its_files_have_names_of_their_own() {
        let version: OpenshiftVersion = "4.20.3".parse().unwrap();
        let mut paths = BTreeSet::new();
        for operator in Operator::ALL {
            let row = ROWS.iter().find(|row| row.operator == *operator);
            let row = row.unwrap_or_else(|| panic!("no row for {}", operator.as_str()));
            let made = first(row, &version);
            assert_eq!(made.last().unwrap().1["kind"], "Subscription");
            for (path, object) in made {
                assert!(paths.insert(path.clone()), "{path} twice");
                assert!(object["metadata"]["name"].is_string(), "{path}");
            }
        }
    }
}
