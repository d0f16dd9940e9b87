//! Takes secrets out of what goes into a log archive: archives travel, to support and further.

use serde_json::Value;

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Members that are secrets or may hold any.
const SECRET: &[&str] = &[
    "pull_secret",
    "pullSecret",
    "password",
    "fencing_credentials",
    "ignition_endpoint_token",
    "ignition_config_overrides",
    "image_token_key",
];

/// Masks secrets anywhere inside `value`.
pub fn redact(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if member.is_null() {
                    continue;
                }
                match name.as_str() {
                    secret if SECRET.contains(&secret) => *member = MASK.into(),
                    "install_config_overrides" => redact_text(member),
                    _ => redact(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::String(text) => {
            if let Some(hidden) = without_login(text) {
                *text = hidden;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// JSON inside a text; what cannot be read cannot be judged either.
fn redact_text(member: &mut Value) {
    let inner = member
        .as_str()
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    *member = match inner {
        Some(mut inner) => {
            redact(&mut inner);
            inner.to_string().into()
        }
        None => MASK.into(),
    };
}

/// A URL such as a proxy's without its user name and password; `None` if it has none.
fn without_login(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (_, host) = rest[..end].rsplit_once('@')?;
    Some(format!("{scheme}://{MASK}@{host}{}", &rest[end..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_hide() {
        let overrides = json!({"platform": {"vsphere": {"password": "s3cret"}}, "fips": true});
        let mut record = json!({
            "name": "lab",
            "pull_secret": "s3cret",
            "pull_secret_set": true,
            "http_proxy": "http://ann:s3cret@proxy.example.com:3128/",
            "install_config_overrides": overrides.to_string(),
            "ui_settings": null,
            "hosts": [{"fencing_credentials": "s3cret", "ignition_config_overrides": "s3cret"}],
        });
        redact(&mut record);
        let text = record.to_string();
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(record["name"], "lab");
        assert_eq!(record["pull_secret_set"], true);
        assert_eq!(record["http_proxy"], "http://***@proxy.example.com:3128/");
        assert!(
            record["install_config_overrides"]
                .as_str()
                .unwrap()
                .contains("\"fips\":true")
        );
    }

    #[test]
    fn overrides_that_cannot_be_read_are_masked_as_a_whole() {
        let mut record = json!({"install_config_overrides": "{\"password\": s3cret"});
        redact(&mut record);
        assert_eq!(record["install_config_overrides"], MASK);
    }

    #[test]
    fn addresses_without_a_login_stay_as_they_are() {
        assert_eq!(without_login("https://example.com/a@b"), None);
        assert_eq!(without_login("ann@example.com"), None);
    }
}
