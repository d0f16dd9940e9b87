//! Secrets in manifests: those of kind Secret, and whatever else holds one.

use serde_json::Value;

use super::{MASK, redact, text};

/// The manifest without its secrets, or `None` if it has none.
pub fn manifest(content: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(content) else {
        return Some(format!("{MASK}\n"));
    };
    let Ok(mut documents) = text::yaml(text) else {
        return Some(format!("{MASK}\n"));
    };
    let changed = documents
        .iter_mut()
        .fold(false, |changed, document| redact(document) | changed);
    if !changed {
        // Comments are no part of the documents.
        return text::by_form(text);
    }
    let pieces: Vec<String> = documents.iter().map(printed).collect();
    Some(pieces.join("---\n"))
}

fn printed(document: &Value) -> String {
    serde_yaml_ng::to_string(document).unwrap_or_else(|_| format!("{MASK}\n"))
}
