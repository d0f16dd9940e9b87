//! YAML as the cluster's own tools write it: keys in alphabetical order at every level.

use serde::Serialize;
use serde_json::{Map, Value};

/// A value as a YAML document.
#[must_use]
pub(crate) fn text(value: &Value) -> String {
    serde_yaml_ng::to_string(&sorted(value)).expect("JSON values have string keys and no cycles")
}

/// Anything as a JSON value with sorted keys.
pub(crate) fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).expect("our own types have string keys")
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            keys.sort();
            let members = keys.into_iter().map(|key| (key.clone(), sorted(&map[key])));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(entries) => Value::Array(entries.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_level() {
        assert_eq!(
            text(&json!({"b": {"z": 1, "a": [{"y": "", "x": null}]}, "a": "1\n2\n"})),
            "a: |\n  1\n  2\nb:\n  a:\n  - x: null\n    y: ''\n  z: 1\n"
        );
    }
}
