//! Manifests that a user adds: read and checked before a node sees them.
//!
//! A node applies them in the order of their names and gives up at the first that fails, again and
//! again. So what can be seen from here is reported here.

use muster_documents::yaml_bounds::{self, Limits};
use serde::Deserialize;
use serde_yaml_ng::Value;

/// A file of `extra-manifests/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its name, without a folder.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// Largest file; all are copied to the node's memory.
const LARGEST: usize = 4 << 20;
const LIMITS: Limits = Limits {
    depth: 64,
    values: 200_000,
    text: 16 << 20,
};

/// Whether a file of this name is applied.
#[must_use]
pub fn is_manifest(name: &str) -> bool {
    let endings = [".yaml", ".yml", ".json"];
    endings.iter().any(|ending| name.ends_with(ending)) && !name.contains('/')
}

/// What is wrong with the files: errors first, then what only looks wrong.
#[must_use]
pub fn check(files: &[Manifest]) -> (Vec<String>, Vec<String>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    let mut definitions: Vec<(usize, String)> = Vec::new();
    let mut uses: Vec<(usize, String, String)> = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let at = format!("extra-manifests/{}", file.name);
        match objects(&file.content) {
            Err(why) => errors.push(format!("{at}: {why}")),
            Ok(objects) => {
                if objects.is_empty() {
                    warnings.push(format!("{at}: there is no object in it"));
                }
                for object in objects {
                    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
                    let (version, kind) = (text("apiVersion"), text("kind"));
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    if version.is_empty() || kind.is_empty() {
                        errors.push(format!("{at}: an object has no apiVersion or kind"));
                        continue;
                    }
                    if name.is_empty() {
                        errors.push(format!("{at}: a {kind} has no metadata.name"));
                    }
                    if kind == "CustomResourceDefinition" {
                        let group = object["spec"]["group"].as_str().unwrap_or_default();
                        definitions.push((index, group.to_owned()));
                    }
                    let group = version.split_once('/').map_or("", |(group, _)| group);
                    uses.push((index, group.to_owned(), format!("{at}: {kind} {name}")));
                }
            }
        }
    }
    for (defined, group) in &definitions {
        for (used, _, what) in uses.iter().filter(|(_, own, _)| own == group) {
            if used <= defined {
                warnings.push(format!(
                    "{what} is of group {group}, which {} defines no earlier; a node applies files in \
                     the order of their names and may not know the kind yet",
                    files[*defined].name
                ));
            }
        }
    }
    (errors, warnings)
}

/// The objects of a file; lists are taken apart.
fn objects(content: &[u8]) -> Result<Vec<Value>, String> {
    if content.len() > LARGEST {
        return Err(format!("it is larger than {LARGEST} bytes"));
    }
    let text = std::str::from_utf8(content).map_err(|_| "it is not text".to_owned())?;
    yaml_bounds::check(text, LIMITS).map_err(|fault| fault.to_string())?;
    let mut objects = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        let value =
            Value::deserialize(document).map_err(|cause| format!("it is not YAML: {cause}"))?;
        match value {
            Value::Null => {}
            Value::Mapping(_) => match value["items"].as_sequence() {
                Some(items) => objects.extend(items.iter().cloned()),
                None => objects.push(value),
            },
            _ => return Err("it holds something that is not an object".to_owned()),
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, content: &str) -> Manifest {
        Manifest {
            name: name.to_owned(),
            content: content.as_bytes().to_vec(),
        }
    }

    #[test]
    fn names_decide_what_is_applied() {
        assert!(is_manifest("a.yaml") && is_manifest("b.yml") && is_manifest("c.json"));
        assert!(!is_manifest("d.txt") && !is_manifest("sub/e.yaml"));
    }

    #[test]
    fn what_a_node_would_stumble_over_is_reported() {
        let good = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]\n";
        assert_eq!(check(&[manifest("a.yaml", good)]), (vec![], vec![]));
        let (errors, _) = check(&[
            manifest("b.yaml", "kind: Namespace\n"),
            manifest("c.yaml", "apiVersion: v1\nkind: Namespace\n"),
            manifest("d.yaml", "a: [\n"),
            manifest("e.json", "[1]"),
        ]);
        assert_eq!(errors.len(), 4, "{errors:?}");
        let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.example.com}\nspec: {group: example.com}\n";
        let own = "apiVersion: example.com/v1\nkind: X\nmetadata: {name: x}\n";
        let (errors, warnings) = check(&[manifest("1.yaml", own), manifest("2.yaml", crd)]);
        assert!(errors.is_empty() && warnings.len() == 1, "{warnings:?}");
        let (_, warnings) = check(&[manifest("1.yaml", crd), manifest("2.yaml", own)]);
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}
