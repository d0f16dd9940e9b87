//! Secrets inside texts: by their form, and inside embedded documents.

use std::{borrow::Cow, sync::LazyLock};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_documents::yaml_bounds::{self, Limits};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::{MASK, redact};

/// What a document may grow to when it is read.
const LIMITS: Limits = Limits {
    depth: 100,
    values: 200_000,
    text: 4 << 20,
};

/// A text that is no document, or too large a one.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Forms of secrets, and what is left of each.
static FORMS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        // A login in a URL.
        (r#"([A-Za-z][A-Za-z0-9+.\-]*://)[^\s/?#"'<>]*@"#, "${1}***@"),
        // A JSON web token: of a user, an agent, or a link.
        (
            r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*",
            "***",
        ),
        (
            r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
            "***",
        ),
        // A password hash as in /etc/shadow.
        (
            r"\$(?:1|5|6|7|y|gy|2[abxy]|argon2[a-z]*)\$[A-Za-z0-9./$,=+_-]{8,}",
            "***",
        ),
        // An assignment, as in the environment of a unit or the query of a URL.
        (
            r#"(?i)([\w.-]*(?:password|passwd|passphrase|secret|token|credential|api_key|psk)[\w.-]*\s*=\s*)(?:"[^"\n]*"|'[^'\n]*'|[^\s&"']+)"#,
            "${1}***",
        ),
    ]
    .map(|(form, left)| (Regex::new(form).expect("the pattern is fixed and valid"), left))
    .into()
});

/// The text without its secrets, or `None` if it has none.
pub fn redacted(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix("data:") {
        return data_url_holds_secrets(rest).then(|| MASK.to_owned());
    }
    let is_structured = text.trim_start().starts_with(['{', '[']) || text.contains('\n');
    if is_structured && let Ok(hidden) = document(text) {
        // Comments are no part of a document, so the forms are looked for either way.
        let whole = hidden.as_deref().unwrap_or(text);
        return by_form(whole).or(hidden);
    }
    by_form(text)
}

/// The same for a text that must be JSON or YAML.
pub fn document(text: &str) -> Result<Option<String>, Unreadable> {
    if let Ok(mut value) = serde_json::from_str::<Value>(text) {
        return match value {
            Value::Object(_) | Value::Array(_) => Ok(redact(&mut value).then(|| value.to_string())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(Unreadable),
        };
    }
    let mut documents = yaml(text)?;
    let is_prose = |document: &Value| !document.is_object() && !document.is_array();
    if documents.iter().all(is_prose) {
        return Err(Unreadable);
    }
    let changed = documents
        .iter_mut()
        .fold(false, |changed, document| redact(document) | changed);
    if !changed {
        return Ok(None);
    }
    let pieces: Result<Vec<String>, _> = documents.iter().map(serde_yaml_ng::to_string).collect();
    Ok(Some(pieces.map_err(|_| Unreadable)?.join("---\n")))
}

/// All YAML documents of a text.
pub fn yaml(text: &str) -> Result<Vec<Value>, Unreadable> {
    yaml_bounds::check(text, LIMITS).map_err(|_| Unreadable)?;
    serde_yaml_ng::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).map_err(|_| Unreadable))
        .collect()
}

/// The same by form alone.
pub fn by_form(text: &str) -> Option<String> {
    let mut hidden = Cow::Borrowed(text);
    for (form, left) in FORMS.iter() {
        if let Cow::Owned(replaced) = form.replace_all(&hidden, *left) {
            hidden = Cow::Owned(replaced);
        }
    }
    // A secret that is masked already is no secret.
    (hidden != text).then(|| hidden.into_owned())
}

/// What follows `data:`. Compressed and other binary content counts as secret: it cannot be read.
fn data_url_holds_secrets(rest: &str) -> bool {
    let Some((kind, content)) = rest.split_once(',') else {
        return true;
    };
    let plain = percent_encoding::percent_decode_str(content).collect::<Vec<u8>>();
    let bytes = if kind.ends_with(";base64") {
        match STANDARD.decode(plain) {
            Ok(bytes) => bytes,
            Err(_) => return true,
        }
    } else {
        plain
    };
    match String::from_utf8(bytes) {
        Ok(text) => redacted(&text).is_some(),
        Err(_) => true,
    }
}
