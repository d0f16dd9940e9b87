//! Credentials of image registries, whichever file has them.

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
