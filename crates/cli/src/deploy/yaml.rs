//! Texts inside YAML.

/// A text as a quoted scalar. JSON's way of quoting is also YAML's.
pub fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// Pairs as entries of a mapping, each on a line of its own.
pub fn entries(pairs: &[(&str, String)], indent: usize) -> String {
    let margin = " ".repeat(indent);
    let lines = pairs
        .iter()
        .map(|(key, value)| format!("{margin}{key}: {}\n", quoted(value)));
    lines.collect()
}
