//! Credentials of image registries, whichever file has them.

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_model::Secret;
use serde_json::Value;

use super::Diagnostics;
use crate::schema::wording::shown;

/// JSON with a non-empty `auths`, and an `auth` or `credsStore` for each registry.
pub fn pull_secret(
    path: &str,
    secret: &Secret,
    missing: &str,
    help: &str,
    diagnostics: &mut Diagnostics,
) {
    if secret.is_empty() {
        diagnostics.fault(path, "this is missing", missing);
        return;
    }
    let Ok(json) = serde_json::from_str::<Value>(secret.reveal()) else {
        diagnostics.fault(path, "this is not JSON", help);
        return;
    };
    let Some(auths) = json.get("auths").and_then(Value::as_object) else {
        diagnostics.fault(path, "there is no `auths` in the JSON", help);
        return;
    };
    if auths.is_empty() {
        diagnostics.fault(path, "`auths` names no registry", help);
    }
    for (registry, entry) in auths {
        if entry.get("auth").is_none() && entry.get("credsStore").is_none() {
            diagnostics.fault(
                path,
                format!(
                    "registry {} has neither `auth` nor `credsStore`",
                    shown(registry)
                ),
                "log in to it again and take the new file, or remove it",
            );
        }
    }
}

/// What the service on a host refuses: `auth` that is not base64 of user:password. Found here, an hour
/// earlier.
pub fn user_and_password(path: &str, secret: &Secret, diagnostics: &mut Diagnostics) {
    let json: Value = serde_json::from_str(secret.reveal()).unwrap_or_default();
    let is_usable = |auth: &str| {
        let text = STANDARD.decode(auth.trim()).ok();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        text.is_some_and(|text| text.contains(':'))
    };
    for (registry, entry) in json["auths"].as_object().into_iter().flatten() {
        if entry["auth"].as_str().is_some_and(|auth| !is_usable(auth)) {
            diagnostics.fault(
                path,
                format!(
                    "`auth` of registry {} is not base64 of user:password",
                    shown(registry)
                ),
                "log in to it again and use the new file",
            );
        }
    }
}
