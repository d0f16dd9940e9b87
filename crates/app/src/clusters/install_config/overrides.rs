//! The user's own words in the install-config, laid over what the service renders.

use muster_documents::{install_config::DOCUMENT, schema::json};
use serde_json::{Map, Value};

use crate::Invalid;

/// Reads overrides as the user sent them. Nothing at all is no override.
pub fn parse(text: &str) -> Result<Value, Invalid> {
    if text.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let value: Value = serde_json::from_str(text)
        .map_err(|cause| format!("install-config overrides are not JSON: {cause}"))?;
    if !value.is_object() {
        return Err("install-config overrides must be a JSON object such as \
                    {\"fips\": true}"
            .into());
    }
    let value = json::spelled(&DOCUMENT, value);
    json::check(&DOCUMENT, &value).map_err(|why| format!("install-config overrides: {why}"))?;
    Ok(value)
}

/// Lays `over` onto `base`: objects member by member, lists element by element (the length is
/// that of `over`), `null` takes away, all else replaces.
///
/// Elements keep what they had because the reference decodes overrides onto its own structure;
/// people rely on `{"compute": [{"hyperthreading": "Disabled"}]}` leaving name and replicas.
pub fn lay(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (name, value) in over {
                if value.is_null() {
                    base.remove(name);
                } else {
                    lay(base.entry(name.clone()).or_insert(Value::Null), value);
                }
            }
        }
        (Value::Array(base), Value::Array(over)) => {
            base.truncate(over.len());
            for (index, value) in over.iter().enumerate() {
                match base.get_mut(index) {
                    Some(known) => lay(known, value),
                    None => base.push(without_nulls(value)),
                }
            }
        }
        (base, over) => *base = without_nulls(over),
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept = Value::Object(Map::new());
            lay(&mut kept, &Value::Object(members.clone()));
            kept
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whether the overrides leave the web console out of the cluster.
pub fn leave_out_console(overrides: &Value) -> bool {
    let capabilities = &overrides["capabilities"];
    let added = capabilities["additionalEnabledCapabilities"].as_array();
    capabilities["baselineCapabilitySet"] == "None"
        && !added.is_some_and(|added| added.iter().any(|one| one == "Console"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn overrides_keep_what_they_do_not_name() {
        let mut config = json!({
            "compute": [{"name": "worker", "replicas": 2, "hyperthreading": "Enabled"}],
            "networking": {"networkType": "OVNKubernetes", "serviceNetwork": ["a", "b"]},
            "proxy": {"httpProxy": "x"},
            "fips": false,
        });
        lay(
            &mut config,
            &json!({
                "compute": [{"hyperthreading": "Disabled"}, {"name": "edge", "platform": null}],
                "networking": {"serviceNetwork": ["c"], "clusterNetworkMTU": 9000},
                "proxy": null,
                "fips": true,
                "capabilities": {"baselineCapabilitySet": "None", "additionalEnabledCapabilities": null},
            }),
        );
        assert_eq!(
            config,
            json!({
                "compute": [
                    {"name": "worker", "replicas": 2, "hyperthreading": "Disabled"},
                    {"name": "edge"},
                ],
                "networking": {
                    "networkType": "OVNKubernetes", "serviceNetwork": ["c"], "clusterNetworkMTU": 9000,
                },
                "fips": true,
                "capabilities": {"baselineCapabilitySet": "None"},
            })
        );
    }

    #[test]
    fn only_json_objects_with_known_members_are_overrides() {
        for bad in [
            "[]",
            "null",
            "fips: true",
            "{\"fips\":",
            "{\"color\": \"red\"}",
            "7",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert_eq!(parse("").unwrap(), json!({}));
        assert_eq!(parse(" {\"fips\": true} ").unwrap(), json!({"fips": true}));
    }

    #[test]
    fn the_case_of_member_names_makes_no_difference() {
        let text = r#"{"FIPS": true, "Compute": [{"Hyperthreading": "Disabled"}],
                       "metadata": {"Labels": {"App": "x"}}, "BaseDomain": null}"#;
        assert_eq!(
            parse(text).unwrap(),
            json!({
                "fips": true, "compute": [{"hyperthreading": "Disabled"}],
                "metadata": {"labels": {"App": "x"}}, "baseDomain": null,
            })
        );
        let both = r#"{"FIPS": false, "fips": true}"#;
        assert_eq!(parse(both).unwrap(), json!({"fips": true}));
        assert!(parse(r#"{"FIPZ": true}"#).unwrap_err().contains("FIPZ"));
    }

    #[test]
    fn the_console_is_left_out_only_by_an_empty_baseline_that_does_not_name_it() {
        let set = |text: &str| leave_out_console(&parse(text).unwrap());
        assert!(set(
            r#"{"capabilities": {"baselineCapabilitySet": "None"}}"#
        ));
        assert!(!set(
            r#"{"capabilities": {"baselineCapabilitySet": "v4.14"}}"#
        ));
        let named = r#"{"capabilities": {"baselineCapabilitySet": "None",
                        "additionalEnabledCapabilities": ["Ingress", "Console"]}}"#;
        assert!(!set(named));
        assert!(!set(""));
    }
}
