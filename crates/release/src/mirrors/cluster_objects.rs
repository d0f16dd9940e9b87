//! Mirrors as the cluster knows them: `ImageContentSourcePolicy`, `ImageDigestMirrorSet`,
//! `ImageTagMirrorSet`, and the same lists in an install-config.

use serde::Deserialize;
use serde_yaml_ng::{Deserializer, Value};

use super::{Mirror, Rule, Serves, Source};

#[derive(Deserialize)]
struct Entry {
    source: String,
    #[serde(default)]
    mirrors: Vec<String>,
    #[serde(default, alias = "sourcePolicy", rename = "mirrorSourcePolicy")]
    policy: Option<String>,
}

/// A list of mirrors: where it is in which document, and what it is for.
struct Shape {
    kind: Option<&'static str>,
    list: &'static [&'static str],
    serves: Serves,
}

const SHAPES: &[Shape] = &[
    Shape {
        kind: Some("ImageContentSourcePolicy"),
        list: &["spec", "repositoryDigestMirrors"],
        serves: Serves::Digests,
    },
    Shape {
        kind: Some("ImageDigestMirrorSet"),
        list: &["spec", "imageDigestMirrors"],
        serves: Serves::Digests,
    },
    Shape {
        kind: Some("ImageTagMirrorSet"),
        list: &["spec", "imageTagMirrors"],
        serves: Serves::Tags,
    },
    Shape {
        kind: None,
        list: &["imageDigestSources"],
        serves: Serves::Digests,
    },
    Shape {
        kind: None,
        list: &["imageContentSources"],
        serves: Serves::Digests,
    },
];

pub(super) fn parse(text: &str) -> Result<Vec<Rule>, String> {
    let mut rules = Vec::new();
    for document in Deserializer::from_str(text) {
        let document = Value::deserialize(document)
            .map_err(|cause| format!("it is not sound YAML: {cause}"))?;
        // `oc get -o yaml` wraps objects in a list.
        match document.get("items").and_then(Value::as_sequence) {
            Some(items) => {
                for item in items {
                    rules.extend(rules_of(item)?);
                }
            }
            None if document.is_null() => {}
            None => rules.extend(rules_of(&document)?),
        }
    }
    Ok(rules)
}

fn rules_of(document: &Value) -> Result<Vec<Rule>, String> {
    let kind = document.get("kind").and_then(Value::as_str);
    let mut known = false;
    let mut rules = Vec::new();
    for shape in SHAPES.iter().filter(|shape| shape.kind == kind) {
        known |= shape.kind.is_some();
        let list = shape
            .list
            .iter()
            .try_fold(document, |value, key| value.get(*key))
            .filter(|list| !list.is_null());
        if let Some(list) = list {
            known = true;
            let path = shape.list.join(".");
            let entries: Vec<Entry> = serde_yaml_ng::from_value(list.clone())
                .map_err(|cause| format!("{path}: {cause}"))?;
            for (number, entry) in entries.into_iter().enumerate() {
                rules.push(
                    rule(entry, shape.serves).map_err(|why| format!("{path}[{number}]: {why}"))?,
                );
            }
        }
    }
    match known {
        true => Ok(rules),
        false => Err(format!(
            "kind `{}` holds no mirrors; it must be ImageContentSourcePolicy, \
             ImageDigestMirrorSet, ImageTagMirrorSet, an install-config or a registries.conf",
            kind.unwrap_or("(none)")
        )),
    }
}

fn rule(entry: Entry, serves: Serves) -> Result<Rule, String> {
    let source = match entry.policy.as_deref() {
        None | Some("" | "AllowContactingSource") => Source::Allowed,
        Some("NeverContactSource") => Source::Forbidden,
        Some(other) => {
            return Err(format!(
                "mirrorSourcePolicy is `{other}`; it must be AllowContactingSource or \
                 NeverContactSource"
            ));
        }
    };
    Ok(Rule {
        prefix: entry.source.trim_end_matches('/').to_owned(),
        location: None,
        mirrors: entry
            .mirrors
            .into_iter()
            .map(|location| Mirror {
                location: location.trim_end_matches('/').to_owned(),
                insecure: false,
                serves,
            })
            .collect(),
        source,
        insecure: false,
    })
}
