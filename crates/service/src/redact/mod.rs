//! Removes secrets from what read-only users see, and from log archives.
//!
//! Pure functions on JSON values, texts and manifests. A member is a secret by its name; a text
//! by its form: a login in a URL, a token, a private key, a password hash, or a document (JSON,
//! YAML, a `data:` URL) that holds any of these. What cannot be read is masked as a whole.

mod manifest;
mod text;

use serde_json::{Map, Value};

pub use manifest::manifest;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// Parts of names, in lower case and without separators, that announce a secret.
const SECRET_PARTS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "privatekey",
];

/// Whole names that announce a secret.
const SECRET_NAMES: &[&str] = &[
    "auth",
    "auths",
    "psk",
    "mkacak",
    // Free-form Ignition: any file in it may hold anything.
    "ignitionconfigoverride",
    "ignitionconfigoverrides",
];

/// Ends of names that only point to a secret or describe it.
const POINTERS: &[&str] = &["name", "namespace", "ref", "mode", "path", "file", "type"];

/// Members whose text is a document; one that cannot be read is masked as a whole.
const DOCUMENTS: &[&str] = &["install_config_overrides", "network_yaml"];

/// Masks secrets anywhere inside `value`; returns whether there were any.
pub fn redact(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => redact_members(members),
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |changed, item| redact(item) | changed),
        Value::String(content) => match text::redacted(content) {
            Some(hidden) => {
                *content = hidden;
                true
            }
            None => false,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A response body without its secrets, or `None` if it has none.
pub fn body(bytes: &[u8]) -> Option<Vec<u8>> {
    if let Ok(mut value) = serde_json::from_slice::<Value>(bytes) {
        return redact(&mut value).then(|| format!("{value}\n").into_bytes());
    }
    text::redacted(std::str::from_utf8(bytes).ok()?).map(String::into_bytes)
}

fn redact_members(members: &mut Map<String, Value>) -> bool {
    let is_secret_object = members.get("kind").is_some_and(|kind| kind == "Secret");
    let is_private_file = is_private_file(members);
    let patches_secret = patches_secret(members);
    let mut changed = false;
    for (name, member) in members {
        let all = is_secret_name(name)
            || is_secret_object && matches!(name.as_str(), "data" | "stringData")
            || is_private_file && matches!(name.as_str(), "contents" | "append")
            || patches_secret && name == "value";
        changed |= match member {
            // Flags such as `pull_secret_set` are no secrets.
            Value::Null | Value::Bool(_) => false,
            member if all => mask(member),
            Value::String(content) if DOCUMENTS.contains(&name.as_str()) => {
                match text::document(content) {
                    Ok(None) => false,
                    Ok(Some(hidden)) => {
                        *content = hidden;
                        true
                    }
                    Err(text::Unreadable) => mask(member),
                }
            }
            member => redact(member),
        };
    }
    changed
}

fn mask(member: &mut Value) -> bool {
    let is_empty = match member {
        Value::String(text) => text.is_empty() || text == MASK,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    if !is_empty {
        *member = MASK.into();
    }
    !is_empty
}

fn is_secret_name(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    SECRET_NAMES.contains(&plain.as_str())
        || SECRET_PARTS.iter().any(|part| plain.contains(part))
            && plain != "imagepullsecrets"
            && !POINTERS.iter().any(|end| plain.ends_with(end))
}

/// A file of Ignition that its author keeps from other users of the machine.
fn is_private_file(members: &Map<String, Value>) -> bool {
    const OTHERS_MAY_READ: u64 = 0o004;
    members.contains_key("path")
        && members
            .get("mode")
            .and_then(Value::as_u64)
            .is_some_and(|mode| mode & OTHERS_MAY_READ == 0)
}

/// A JSON patch that puts something into a secret.
fn patches_secret(members: &Map<String, Value>) -> bool {
    members.contains_key("op")
        && members
            .get("path")
            .and_then(Value::as_str)
            .is_some_and(|path| {
                path.split('/')
                    .any(|part| matches!(part, "data" | "stringData") || is_secret_name(part))
            })
}

#[cfg(test)]
mod tests;
