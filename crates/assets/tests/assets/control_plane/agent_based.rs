//! The cluster manifests of the agent-based installer against the schemas their kinds were published
//! with: the golden ones of every shape, by the server that enforces schemas.

use std::{collections::BTreeSet, fs, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{control_plane, said};

const KINDS: &[(&str, &str)] = &[
    (
        "extensions.hive.openshift.io/v1beta1",
        "AgentClusterInstall",
    ),
    ("hive.openshift.io/v1", "ClusterDeployment"),
    ("hive.openshift.io/v1", "ClusterImageSet"),
    ("agent-install.openshift.io/v1beta1", "InfraEnv"),
    ("agent-install.openshift.io/v1beta1", "NMStateConfig"),
];

/// Fields that are newer than the schemas we have: kind and path.
const NEWER: &[(&str, &str)] = &[
    ("AgentClusterInstall", "/spec/external"),
    (
        "AgentClusterInstall",
        "/spec/provisionRequirements/arbiterAgents",
    ),
];

/// Takes out what these schemas do not know yet; says which fields there were.
fn without_newer_fields(object: &mut Value) -> Vec<(&'static str, &'static str)> {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if object["spec"]["platformType"] == "External" {
        object["spec"]["platformType"] = json!("None");
    }
    let mut found = Vec::new();
    for (of, path) in NEWER.iter().filter(|(of, _)| *of == kind) {
        let (parent, name) = path.rsplit_once('/').unwrap();
        let parent = object.pointer_mut(parent).and_then(Value::as_object_mut);
        if parent.and_then(|parent| parent.remove(name)).is_some() {
            found.push((*of, *path));
        }
    }
    found
}

/// Shape and object of every golden manifest.
fn manifests() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden-agent-based");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let shape = path.file_name().unwrap().to_string_lossy().into_owned();
        if !shape.ends_with(".yaml") {
            continue;
        }
        // Each file begins with its name.
        let text = fs::read_to_string(&path)
            .unwrap()
            .replace("\n# ", "\n---\n# ");
        for document in serde_yaml_ng::Deserializer::from_str(&text) {
            let object = Value::deserialize(document).unwrap();
            if !object.is_null() {
                all.push((shape.clone(), object));
            }
        }
    }
    all
}

#[test]
fn every_cluster_manifest_fits_the_schema_of_its_kind() {
    let plane = control_plane();
    let published = muster_kubetest::published();
    let definitions: Vec<Value> = KINDS
        .iter()
        .map(|(group, kind)| published[&((*group).to_owned(), (*kind).to_owned())].clone())
        .collect();
    let mut manifests = manifests();
    let namespaces: BTreeSet<String> = manifests
        .iter()
        .filter_map(|(_, object)| Some(object["metadata"]["namespace"].as_str()?.to_owned()))
        .collect();
    let namespaces = namespaces
        .into_iter()
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    let setting: Vec<Value> = definitions.into_iter().chain(namespaces).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": setting});
    plane.admin(&["create", "-f", "-"], &list.to_string());
    let wait = [
        "wait",
        "--for=condition=Established",
        "--timeout=120s",
        "crd",
        "--all",
    ];
    plane.admin(&wait, "");

    let folder = tempfile::tempdir().unwrap();
    let mut newer = BTreeSet::new();
    for (index, (shape, object)) in manifests.iter_mut().enumerate() {
        newer.extend(without_newer_fields(object));
        let name = format!("{shape}-{index}.json");
        fs::write(folder.path().join(name), object.to_string()).unwrap();
    }
    assert_eq!(newer.into_iter().collect::<Vec<_>>(), NEWER);
    let words = ["create", "--dry-run=server", "--validate=strict", "-f"];
    let words: Vec<&str> = words.into_iter().chain(folder.path().to_str()).collect();
    let output = plane.kubectl("auth/kubeconfig", &words);
    let lines = said(&output);
    let fitting = lines
        .lines()
        .filter(|line| line.ends_with("(server dry run)"))
        .count();
    assert!(
        output.status.success() && fitting == manifests.len(),
        "{fitting} of {} fit:\n{lines}",
        manifests.len()
    );
}
