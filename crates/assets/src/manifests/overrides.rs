//! While the cluster starts, the version operator must leave our objects alone.
//!
//! Each of them is listed as unmanaged in the ClusterVersion of the bootstrap host; a patch kept
//! beside it restores what the user had there. On the way every file is read, so this is also where
//! broken YAML and doubled objects come to light, all of them at once.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::user_files::is_machine_manifest;
use crate::file::File;
use muster_documents::yaml;

const CLUSTER_VERSION: &str = "manifests/cvo-overrides.yaml";

/// What is wrong with the manifests, file by file.
#[derive(Debug, Error)]
#[error("the manifests cannot be used:\n{}", .0.join("\n"))]
pub struct ManifestError(pub Vec<String>);

/// The files for the bootstrap host, and the patch that ends the exception.
#[derive(Clone, Debug)]
pub struct Overridden {
    /// All manifests, with the ClusterVersion rewritten.
    pub files: Vec<File>,
    /// `original_cvo_overrides.patch`
    pub patch: File,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identifier {
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

/// Reads all manifests, refuses what cannot be applied, and rewrites the ClusterVersion.
pub fn apply(
    mut files: Vec<File>,
    unmanaged_image_policy: bool,
) -> Result<Overridden, ManifestError> {
    let mut faults = Vec::new();
    let mut seen: BTreeMap<Identifier, String> = BTreeMap::new();
    let mut overrides = Vec::new();
    for file in &files {
        let objects = match objects(file) {
            Ok(objects) => objects,
            Err(fault) => {
                faults.push(fault);
                continue;
            }
        };
        for object in objects {
            let id = match identifier(&object) {
                Ok(id) => id,
                Err(fault) => {
                    faults.push(format!("  {}: {fault}", file.path));
                    continue;
                }
            };
            if let Some(first) = seen.insert(id.clone(), file.path.clone()) {
                let place = if id.namespace.is_empty() {
                    String::new()
                } else {
                    format!(" in namespace {}", id.namespace)
                };
                faults.push(format!(
                    "  {}: {} {}{place} is in {first} already; to replace a generated object, keep \
                     its file name",
                    file.path, id.kind, id.name
                ));
            }
            if file.path != CLUSTER_VERSION && !is_machine_manifest(&file.path) {
                overrides.push(json!({
                    "group": id.group,
                    "kind": id.kind,
                    "name": id.name,
                    "namespace": id.namespace,
                    "unmanaged": true,
                }));
            }
        }
    }
    if !faults.is_empty() {
        return Err(ManifestError(faults));
    }
    let missing = || ManifestError(vec![format!("  {CLUSTER_VERSION}: the file is missing")]);
    let place = files
        .iter_mut()
        .find(|file| file.path == CLUSTER_VERSION)
        .ok_or_else(missing)?;
    let mut version = objects(place)
        .map_err(|fault| ManifestError(vec![fault]))?
        .remove(0);
    let mut original = version["spec"]["overrides"].clone();
    if unmanaged_image_policy {
        let entry = json!({
            "group": "config.openshift.io",
            "kind": "ClusterImagePolicy",
            "name": "openshift",
            "namespace": "",
            "unmanaged": true,
        });
        match &mut original {
            Value::Array(list) => list.push(entry),
            other => *other = json!([entry]),
        }
    }
    overrides.extend(original.as_array().into_iter().flatten().cloned());
    version["spec"]["overrides"] = json!(overrides);
    place.content = yaml::text(&version).into_bytes();
    let patch = json!({ "spec": { "overrides": original } }).to_string();
    Ok(Overridden {
        files,
        patch: File::public("original_cvo_overrides.patch", patch),
    })
}

/// The objects of a file: one per document, lists taken apart. At least one.
fn objects(file: &File) -> Result<Vec<Value>, String> {
    let text = std::str::from_utf8(&file.content)
        .map_err(|_| format!("  {}: the file is not text in UTF-8", file.path))?;
    let mut found = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        let value = Value::deserialize(document)
            .map_err(|error| format!("  {}: bad YAML: {error}", file.path))?;
        match value {
            Value::Null => {}
            Value::Object(map) if map.get("kind").is_some_and(|kind| kind == "List") => {
                found.extend(
                    map.get("items")
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten()
                        .cloned(),
                );
            }
            other => found.push(other),
        }
    }
    if found.is_empty() {
        return Err(format!(
            "  {}: there is no object in it; delete the file",
            file.path
        ));
    }
    Ok(found)
}

fn identifier(object: &Value) -> Result<Identifier, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let Value::Object(_) = object else {
        return Err(
            "it is not a Kubernetes object (a mapping with apiVersion, kind and metadata)".into(),
        );
    };
    let api = text(&object["apiVersion"]);
    let kind = text(&object["kind"]);
    let name = text(&object["metadata"]["name"]);
    for (field, value) in [
        ("apiVersion", &api),
        ("kind", &kind),
        ("metadata.name", &name),
    ] {
        if value.is_empty() {
            return Err(format!("{field} is missing or not a text"));
        }
    }
    let group = api
        .split_once('/')
        .map_or("", |(group, _)| group)
        .to_owned();
    Ok(Identifier {
        group,
        kind,
        namespace: text(&object["metadata"]["namespace"]),
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> File {
        File::public(
            CLUSTER_VERSION,
            "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nspec: {channel: x}\n",
        )
    }

    fn map(path: &str, name: &str) -> File {
        let text =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: n}}\n");
        File::public(path, text)
    }

    #[test]
    fn every_object_but_the_version_and_machines_is_unmanaged_until_the_patch() {
        let machine = map(
            "openshift/99_openshift-cluster-api_master-machines-0.yaml",
            "m",
        );
        let made = apply(
            vec![version(), map("manifests/a.yaml", "a"), machine],
            false,
        )
        .unwrap();
        let text = made.files[0].text();
        assert!(
            text.contains("name: a\n") && text.matches("unmanaged: true").count() == 1,
            "{text}"
        );
        assert_eq!(made.patch.text(), r#"{"spec":{"overrides":null}}"#);
        let made = apply(vec![version()], true).unwrap();
        assert!(made.patch.text().contains("ClusterImagePolicy"));
        assert!(made.files[0].text().contains("ClusterImagePolicy"));
    }

    #[test]
    fn all_faults_are_reported_at_once_with_file_and_reason() {
        let files = vec![
            version(),
            map("manifests/a.yaml", "a"),
            map("openshift/b.yaml", "a"),
            File::public("openshift/c.yaml", "a: [\n"),
            File::public("openshift/d.yaml", "kind: X\n"),
            File::public("openshift/e.yaml", "# nothing\n"),
            File::public("openshift/f.yaml", [0xff, 0xfe]),
        ];
        let said = apply(files, false).unwrap_err().to_string();
        for part in [
            "openshift/b.yaml: ConfigMap a in namespace n is in manifests/a.yaml already",
            "openshift/c.yaml: bad YAML",
            "line",
            "openshift/d.yaml: apiVersion is missing",
            "openshift/e.yaml: there is no object",
            "openshift/f.yaml: the file is not text",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }

    #[test]
    fn documents_and_lists_count_one_by_one() {
        let text = "kind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: x}}\n---\napiVersion: g/v1\nkind: A\nmetadata: {name: x}\n---\n";
        let made = apply(
            vec![version(), File::public("openshift/a.yaml", text)],
            false,
        )
        .unwrap();
        assert_eq!(made.files[0].text().matches("unmanaged: true").count(), 2);
    }
}
