//! Part of a document as JSON: overrides that are laid over a whole file later.
//!
//! Only names and JSON types are checked; what the values mean is up to the rules for the whole file.
//! A key that is not in the schema is refused: a misspelt one would be ignored hours later.

use serde_json::{Map, Value};

use super::{Document, Field, Kind};

/// The value with its members spelled as in the schema. The reference reads member names without
/// regard to case, and what it was sent must mean the same here.
#[must_use]
pub fn spelled(document: &Document, value: Value) -> Value {
    spelled_as(&Kind::Object(document.fields), value)
}

fn spelled_as(kind: &Kind, value: Value) -> Value {
    match (kind, value) {
        (Kind::List(item), Value::Array(items)) => {
            items.into_iter().map(|one| spelled_as(item, one)).collect()
        }
        (Kind::Object(fields), Value::Object(members)) => {
            let mut out = Map::new();
            for (name, one) in members {
                let same = fields
                    .iter()
                    .find(|field| field.name.eq_ignore_ascii_case(&name));
                match same {
                    // The exact name wins over another spelling of it.
                    Some(field) if field.name == name || !out.contains_key(field.name) => {
                        out.insert(field.name.to_owned(), spelled_as(&field.kind, one));
                    }
                    Some(_) => {}
                    None => drop(out.insert(name, one)),
                }
            }
            Value::Object(out)
        }
        (
            Kind::Text
            | Kind::OnlyText
            | Kind::Secret
            | Kind::Flag
            | Kind::Number(..)
            | Kind::Cidr
            | Kind::Ip
            | Kind::Word(_)
            | Kind::List(_)
            | Kind::Object(_)
            | Kind::Labels
            | Kind::Anything
            | Kind::Foreign,
            value,
        ) => value,
    }
}

/// Refuses members that the document does not have and values of another JSON type, with their place.
/// `null` fits everywhere: it removes a member.
///
/// # Errors
/// What does not fit, in one sentence.
pub fn check(document: &Document, value: &Value) -> Result<(), String> {
    check_kind(document, &Kind::Object(document.fields), value, "")
}

fn check_kind(document: &Document, kind: &Kind, value: &Value, place: &str) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    let fits = match kind {
        // Other installers know the inside of their platforms.
        Kind::Anything | Kind::Foreign => true,
        Kind::Text | Kind::OnlyText | Kind::Secret | Kind::Cidr | Kind::Ip | Kind::Word(_) => {
            value.is_string()
        }
        Kind::Flag => value.is_boolean(),
        Kind::Number(..) => value.is_i64() || value.is_u64(),
        Kind::Labels => value
            .as_object()
            .is_some_and(|members| members.values().all(Value::is_string)),
        Kind::List(item) => {
            if let Some(items) = value.as_array() {
                for (index, one) in items.iter().enumerate() {
                    check_kind(document, item, one, &format!("{place}[{index}]"))?;
                }
            }
            value.is_array()
        }
        Kind::Object(fields) => {
            for (name, one) in value.as_object().into_iter().flatten() {
                let below = match place {
                    "" => name.clone(),
                    place => format!("{place}.{name}"),
                };
                match fields.iter().find(|field| field.name == name) {
                    Some(field) => check_kind(document, &field.kind, one, &below)?,
                    None => return Err(unknown(document, &below, fields)),
                }
            }
            value.is_object()
        }
    };
    if fits {
        return Ok(());
    }
    let place = match place {
        "" => "the whole text",
        place => place,
    };
    Err(format!("{place} must be {}", wanted(kind)))
}

fn wanted(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::OnlyText | Kind::Secret | Kind::Cidr | Kind::Ip | Kind::Word(_) => {
            "a text"
        }
        Kind::Flag => "true or false",
        Kind::Number(..) => "a whole number",
        Kind::Labels => "an object of texts",
        Kind::List(_) => "a list",
        Kind::Object(_) | Kind::Anything | Kind::Foreign => "an object",
    }
}

fn unknown(document: &Document, place: &str, fields: &[Field]) -> String {
    if fields.is_empty() {
        return format!("{place} is no member: nothing can be set there");
    }
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    format!(
        "{place} is no member of an {}; known there: {}",
        document.name,
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::install_config::DOCUMENT;

    #[test]
    fn unknown_members_and_wrong_types_are_named_with_their_place() {
        for (value, place) in [
            (json!({"nonsense": 1}), "nonsense is no member"),
            (json!({"fips": "yes"}), "fips must be true or false"),
            (
                json!({"compute": [{"name": "worker"}, {"size": 3}]}),
                "compute[1].size",
            ),
            (
                json!({"platform": {"none": {"x": 1}}}),
                "nothing can be set there",
            ),
            (
                json!({"controlPlane": {"replicas": 1.5}}),
                "controlPlane.replicas must be a whole",
            ),
            (json!({"metadata": {"labels": {"a": 1}}}), "metadata.labels"),
            (json!([]), "the whole text must be an object"),
        ] {
            let refusal = check(&DOCUMENT, &value).unwrap_err();
            assert!(refusal.contains(place), "{refusal}");
        }
    }

    #[test]
    fn what_people_override_in_practice_passes() {
        for value in [
            json!({}),
            json!({"networking": {"networkType": "OVNKubernetes"}, "fips": true}),
            json!({"capabilities": {"baselineCapabilitySet": "None"}, "proxy": null}),
            json!({"platform": {"vsphere": {"vcenters": [{"server": "v", "datacenters": ["d"]}]}}}),
            json!({"platform": {"nutanix": {"subnetUUIDs": ["a"], "prismCentral": {"endpoint": {"port": 9440}}}}}),
            json!({"platform": {"aws": {"region": "x"}}}),
            json!({"imageDigestSources": [{"source": "quay.io", "mirrors": ["m"]}]}),
        ] {
            assert_eq!(check(&DOCUMENT, &value), Ok(()), "{value}");
        }
    }
}
