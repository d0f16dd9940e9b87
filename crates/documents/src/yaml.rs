//! YAML as the cluster's own tools write it: keys in alphabetical order at every level, and quotes
//! around every text that a reader of YAML 1.1 would take for something else.

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;
use serde_json::{Map, Value};

/// Stand for quotes until the text is written; no text of a cluster has them.
const OPEN: char = '\u{e000}';
const CLOSE: char = '\u{e001}';

/// A value as a YAML document.
///
/// # Panics
/// Never: JSON values have string keys and no cycles.
#[must_use]
pub fn text(value: &Value) -> String {
    let written = |value: &Value| {
        serde_yaml_ng::to_string(value).expect("JSON values have string keys and no cycles")
    };
    let plain = written(&ordered(value, &str::to_owned));
    if plain.contains([OPEN, CLOSE]) {
        return plain;
    }
    written(&ordered(value, &marked)).replace([OPEN, CLOSE], "'")
}

/// Anything as a JSON value with sorted keys.
pub fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).expect("our own types have string keys")
}

/// The value with sorted keys at every level.
#[must_use]
pub fn sorted(value: &Value) -> Value {
    ordered(value, &str::to_owned)
}

/// The value with sorted keys, and each text in it as the function gives it.
fn ordered(value: &Value, word: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            keys.sort();
            let members = keys.into_iter();
            let members = members.map(|key| (word(key), ordered(&map[key], word)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(entries) => {
            Value::Array(entries.iter().map(|entry| ordered(entry, word)).collect())
        }
        Value::String(text) => Value::String(word(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn marked(text: &str) -> String {
    if OTHER.is_match(text) {
        format!("{OPEN}{text}{CLOSE}")
    } else {
        text.to_owned()
    }
}

/// Texts for which YAML 1.1 has another type: switches, numbers, times and two signs. A hardware
/// address without letters is a number to the base of 60.
static OTHER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?x)^(?:
          (?i: y | n | yes | no | on | off )
        | = | <<
        | [-+]? [0-9][0-9_]* (?: :[0-5]?[0-9] )+ (?: \.[0-9_]* )?
        | [-+]? 0b [01_]+
        | [-+]? 0x [0-9a-fA-F_]+
        | [-+]? (?: [0-9][0-9_]* (?: \.[0-9_]* )? | \.[0-9][0-9_]* ) (?: [eE][-+]?[0-9]+ )?
        | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
          (?: (?: [Tt] | [\x20\t]+ ) [0-9]{1,2}:[0-9]{2}:[0-9]{2} (?: \.[0-9]* )?
              (?: [\x20\t]* (?: Z | [-+][0-9]{1,2} (?: :?[0-9]{2} )? ) )? )?
        )$";
    Regex::new(pattern).expect("the pattern is ours")
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_level() {
        assert_eq!(
            text(&json!({"b": {"z": 1, "a": [{"x": "", "w": null}]}, "a": "1\n2\n"})),
            "a: |\n  1\n  2\nb:\n  a:\n  - w: null\n    x: ''\n  z: 1\n"
        );
    }

    #[test]
    fn what_yaml_1_1_reads_as_something_else_is_quoted() {
        for word in [
            "52:54:00:00:00:10",
            "00:11:22:33:44:55",
            "1:30.5",
            "-1:30",
            "1_000",
            "+12",
            "0x_ff",
            "1_0.5",
            "2026-08-20",
            "2026-08-20T10:00:00Z",
            "2001-12-14 21:59:43.10 -5",
            "y",
            "No",
            "ON",
            "off",
            "=",
            "<<",
            "010",
            "true",
            "1.5",
            "~",
        ] {
            assert_eq!(text(&json!({"a": word})), format!("a: '{word}'\n"));
            assert_eq!(text(&json!({word: 1})), format!("'{word}': 1\n"));
            assert_eq!(text(&json!([word])), format!("- '{word}'\n"));
        }
    }

    #[test]
    fn what_both_read_as_text_is_not_quoted() {
        for word in [
            "52:54:00:aa:00:10",
            "52:54:00:00:00:99",
            "192.168.111.5",
            "4.20.3",
            "10.0.0.0/16",
            "fd00::5",
            "a_b",
            "_1",
            "1_a",
            "one:two",
            "2026-08",
            "2026-08-20-x",
            "yes sir",
            "x=",
        ] {
            assert_eq!(text(&json!({"a": word})), format!("a: {word}\n"));
        }
    }

    #[test]
    fn characters_of_private_use_survive() {
        let value = json!({"a": "\u{e000}x\u{e001}", "b": "52:54:00:00:00:10"});
        let read: Value = serde_yaml_ng::from_str(&text(&value)).unwrap();
        assert_eq!(read, value);
    }
}
