//! Schemas of the kinds of OpenShift and Metal3.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

/// Published definitions by version and kind; of several, the one with every feature in it.
///
/// # Panics
/// They were not fetched.
#[must_use]
pub fn published() -> BTreeMap<(String, String), Value> {
    let folder = crate::tools().join("crds");
    let entries = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("no schemas ({error}); `tests/setup-crds` fetches them"));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut found = BTreeMap::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let partial = [
            "-Default.",
            "-DevPreviewNoUpgrade.",
            "-TechPreviewNoUpgrade.",
        ];
        if !name.ends_with(".yaml") || partial.iter().any(|part| name.contains(part)) {
            continue;
        }
        let text = fs::read(&file).unwrap();
        let mut definition: Value = serde_yaml_ng::from_slice(&text).unwrap();
        let spec = &mut definition["spec"];
        for version in spec["versions"].as_array_mut().unwrap() {
            without_newer_rules(&mut version["schema"]);
        }
        let spec = spec.clone();
        for version in spec["versions"].as_array().unwrap() {
            let version = format!(
                "{}/{}",
                spec["group"].as_str().unwrap(),
                version["name"].as_str().unwrap()
            );
            let kind = spec["names"]["kind"].as_str().unwrap().to_owned();
            found.insert((version, kind), definition.clone());
        }
    }
    found
}

/// Leaves out rules in words that this server does not know yet.
fn without_newer_rules(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Array(rules)) = fields.get_mut("x-kubernetes-validations") {
                rules.retain(|rule| !rule["rule"].as_str().unwrap().contains("format."));
            }
            fields.values_mut().for_each(without_newer_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(without_newer_rules),
        _ => {}
    }
}
