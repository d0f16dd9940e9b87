//! Manifests that operators work on: they can be applied only when their operators run.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::Value;

use crate::kube::text;

/// An operator as the ConfigMap of an agent-based installation describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// Where its subscription is.
    pub namespace: String,
    /// Name of its subscription.
    pub subscription: String,
    /// What to apply when it runs.
    pub manifests: Vec<Value>,
}

/// Objects of the file `custom_manifests.json`, each list with the name of its operator: a list of
/// names with YAML in base64.
///
/// # Errors
/// What cannot be read.
pub fn of_service(file: &str) -> Result<Vec<(String, Vec<Value>)>, String> {
    let entries: Vec<Value> =
        serde_json::from_str(file).map_err(|cause| format!("custom manifests: {cause}"))?;
    let mut objects = Vec::new();
    for entry in &entries {
        // Services differ in how they write the keys.
        let of = |key: &str| {
            let fields = entry.as_object().into_iter().flatten();
            let mut found = fields.filter(|(name, _)| name.eq_ignore_ascii_case(key));
            let value = found.next().and_then(|(_, value)| value.as_str());
            value.unwrap_or_default()
        };
        let name = of("name");
        let content = decoded(of("content")).ok_or_else(|| format!("{name} is not base64"))?;
        let found = documents(&content).map_err(|cause| format!("{name}: {cause}"))?;
        objects.push((name.to_owned(), found));
    }
    Ok(objects)
}

/// Operators of the ConfigMap `olm-operator-manifests`.
///
/// # Errors
/// What cannot be read.
pub fn of_config_map(config_map: &Value) -> Result<Vec<Described>, String> {
    const METADATA: &str = ".metadata.yaml";
    let data = config_map.get("data").and_then(Value::as_object);
    let mut described = Vec::new();
    for (key, value) in data.into_iter().flatten() {
        let Some(name) = key.strip_suffix(METADATA) else {
            continue;
        };
        let raw = value.as_str().unwrap_or_default();
        // Written plainly by some services and in base64 by others.
        let plain = decoded(raw).unwrap_or_else(|| raw.to_owned());
        let about: About =
            serde_yaml_ng::from_str(&plain).map_err(|cause| format!("{key}: {cause}"))?;
        let mut manifests = Vec::new();
        for file in &about.manifests {
            let content = text(config_map, &format!("/data/{}", file.replace('/', "~1")));
            let content = decoded(content).ok_or_else(|| format!("{file} is not base64"))?;
            manifests.extend(documents(&content).map_err(|cause| format!("{file}: {cause}"))?);
        }
        described.push(Described {
            name: name.to_owned(),
            namespace: about.namespace,
            subscription: about.subscription_name,
            manifests,
        });
    }
    Ok(described)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    namespace: String,
    subscription_name: String,
    #[serde(default)]
    manifests: Vec<String>,
}

fn decoded(content: &str) -> Option<String> {
    let bytes = STANDARD.decode(content.trim()).ok()?;
    String::from_utf8(bytes).ok()
}

/// The objects of a YAML stream; lists are taken apart.
fn documents(yaml: &str) -> Result<Vec<Value>, serde_yaml_ng::Error> {
    let mut objects = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(yaml) {
        let mut object = Value::deserialize(document)?;
        let is_list = text(&object, "/kind").ends_with("List");
        match object.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) if is_list => objects.extend(items),
            Some(items) => {
                object["items"] = items;
                objects.push(object);
            }
            None if object.is_null() => {}
            None => objects.push(object),
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const YAML: &str = "kind: A\n---\n# nothing\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n";

    #[test]
    fn both_spellings_of_keys_and_several_documents_are_read() {
        let content = STANDARD.encode(YAML);
        for (name, key) in [("Name", "Content"), ("name", "content")] {
            let file = json!([{name: "odf", key: content}]).to_string();
            let read = of_service(&file).unwrap();
            assert_eq!((read.len(), read[0].0.as_str()), (1, "odf"));
            let kinds: Vec<&str> = read[0].1.iter().map(|one| text(one, "/kind")).collect();
            assert_eq!(kinds, ["A", "B", "C"]);
        }
        assert!(of_service("{}").is_err());
        assert!(
            of_service(r#"[{"Name":"x","Content":"%"}]"#)
                .unwrap_err()
                .contains('x')
        );
    }

    #[test]
    fn a_config_map_names_the_files_of_each_operator() {
        let about = "namespace: ns\nsubscriptionName: sub\nmanifests: [odf-01.yaml]\n";
        let described = of_config_map(&json!({"data": {
            "odf.metadata.yaml": about,
            "odf-01.yaml": STANDARD.encode("kind: A\n"),
        }}));
        let described = described.unwrap();
        assert_eq!(described.len(), 1);
        assert_eq!(described[0].subscription, "sub");
        assert_eq!(described[0].manifests, [json!({"kind": "A"})]);
    }
}
