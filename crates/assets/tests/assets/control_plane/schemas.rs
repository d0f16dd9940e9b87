//! Every generated manifest against the schema its kind was published with, by the server that
//! enforces schemas: nothing unknown, nothing missing, nothing of another type.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use muster_assets::workdir::Target;
use serde_json::{Value, json};

use super::{control_plane, said};
use crate::cases::{CASES, Directory};

/// Kinds whose schema was not published with the others.
const UNPUBLISHED: &[&str] = &["OSImageStream"];

/// Fields that are newer than the schemas we have: kind and path.
const NEWER: &[(&str, &str)] = &[
    (
        "Infrastructure",
        "/status/platformStatus/baremetal/dnsRecordsType",
    ),
    (
        "Infrastructure",
        "/status/platformStatus/nutanix/dnsRecordsType",
    ),
    ("Provisioning", "/spec/provisioningNetworkGateway"),
];

/// Takes newer fields out; says which there were.
fn without_newer_fields(object: &mut Value) -> Vec<(&'static str, &'static str)> {
    let (_, kind) = kind(object);
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

/// Groups that kube-apiserver knows by itself.
const BUILT_IN: &[&str] = &["v1", "rbac.authorization.k8s.io/v1"];

/// Case, file and object of every manifest of every case.
fn manifests() -> Vec<(&'static str, String, Value)> {
    let mut all = Vec::new();
    for (case, version) in CASES {
        let mut directory = Directory::with(case);
        directory.create(Target::Manifests, version);
        for (path, content) in &directory.files {
            if path.starts_with("manifests/") || path.starts_with("openshift/") {
                for document in serde_yaml_ng::Deserializer::from_slice(content) {
                    use serde::Deserialize;
                    let object = Value::deserialize(document)
                        .unwrap_or_else(|error| panic!("{case} {path}: {error}"));
                    if !object.is_null() {
                        all.push((*case, path.clone(), object));
                    }
                }
            }
        }
    }
    all
}

/// Definitions under which objects are validated as a whole, including status.
fn published() -> BTreeMap<(String, String), Value> {
    let mut published = muster_kubetest::published();
    for definition in published.values_mut() {
        for version in definition["spec"]["versions"].as_array_mut().unwrap() {
            version.as_object_mut().unwrap().remove("subresources");
        }
    }
    published
}

fn kind(object: &Value) -> (String, String) {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    (text("apiVersion"), text("kind"))
}

#[test]
fn every_manifest_fits_the_schema_of_its_kind() {
    let plane = control_plane();
    let mut manifests = manifests();
    let mut newer: Vec<(&str, &str)> = manifests
        .iter_mut()
        .flat_map(|(_, _, object)| without_newer_fields(object))
        .collect();
    newer.sort_unstable();
    newer.dedup();
    assert_eq!(newer, NEWER);
    let published = published();

    let mut needed = BTreeMap::new();
    let mut without = BTreeSet::new();
    let mut namespaces = BTreeSet::new();
    for (_, _, object) in &manifests {
        let (version, kind) = kind(object);
        if let Some(namespace) = object["metadata"]["namespace"].as_str() {
            namespaces.insert(namespace.to_owned());
        }
        if !BUILT_IN.contains(&version.as_str()) {
            match published.get(&(version, kind.clone())) {
                Some(definition) => _ = needed.insert(kind, definition.clone()),
                None => _ = without.insert(kind),
            }
        }
    }
    assert_eq!(
        without.iter().map(String::as_str).collect::<Vec<_>>(),
        UNPUBLISHED
    );

    let mut setting: Vec<Value> = needed.into_values().collect();
    setting.extend(
        namespaces
            .iter()
            .filter(|name| !name.starts_with("kube-"))
            .map(
                |name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
            ),
    );
    let list = json!({"apiVersion": "v1", "kind": "List", "items": setting});
    plane.admin(&["create", "-f", "-"], &list.to_string());
    plane.admin(
        &[
            "wait",
            "--for=condition=Established",
            "--timeout=120s",
            "crd",
            "--all",
        ],
        "",
    );

    // Many cases share a manifest: each different one is validated once, all of them in one call.
    let mut different: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (case, path, object) in &manifests {
        if !UNPUBLISHED.contains(&kind(object).1.as_str()) {
            let place = format!("{case}: {path}");
            different.entry(object.to_string()).or_default().push(place);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |index: usize| folder.path().join(format!("{index}.json"));
    for (index, object) in different.keys().enumerate() {
        fs::write(file(index), object).unwrap();
    }
    let validate = |path: &Path| {
        let words = ["create", "--dry-run=server", "--validate=strict", "-f"];
        let words: Vec<&str> = words.into_iter().chain(path.to_str()).collect();
        plane.kubectl("auth/kubeconfig", &words)
    };
    let output = validate(folder.path());
    let printed = said(&output);
    let fitting = printed
        .lines()
        .filter(|line| line.ends_with("(server dry run)"))
        .count();
    if output.status.success() && fitting == different.len() {
        return;
    }
    // kubectl does not name the file of every error, so each is validated again by itself.
    let faults = different
        .values()
        .enumerate()
        .filter_map(|(index, places)| {
            let output = validate(&file(index));
            (!output.status.success()).then(|| format!("{}: {}", places.join(", "), said(&output)))
        });
    panic!(
        "{fitting} of {} fit\n{}",
        different.len(),
        faults.collect::<String>()
    );
}
