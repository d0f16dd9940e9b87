//! What both files of an image-based installation are asked.

use super::Diagnostics;
use crate::schema::wording::shown;

/// The file says what it is. The reference does not look, so only a mix-up is an error.
pub fn check_kind(
    version: &str,
    kind: &str,
    expected: &str,
    (other, other_file): (&str, &str),
    diagnostics: &mut Diagnostics,
) {
    if kind == other {
        diagnostics.fault(
            "kind",
            format!("this is a file of kind `{other}`"),
            format!("save it as `{other_file}`; here the kind is `{expected}`"),
        );
    } else if !kind.is_empty() && kind != expected {
        diagnostics.warn(
            "kind",
            format!("{} is unknown", shown(kind)),
            format!("write `{expected}`"),
        );
    }
    if !matches!(version, "" | "v1beta1") {
        diagnostics.warn(
            "apiVersion",
            format!("{} is unknown", shown(version)),
            "write `v1beta1`",
        );
    }
}

/// The network can be made into NetworkManager profiles.
pub fn check_network(
    yaml: Option<&str>,
    lookup: &dyn Fn(&str) -> Result<(), String>,
    diagnostics: &mut Diagnostics,
) {
    if let Some(Err(why)) = yaml.map(lookup) {
        diagnostics.fault(
            "networkConfig",
            format!("no NetworkManager profiles can be made of it: {why}"),
            "write an nmstate document: `interfaces:` with name, type and state, and so on",
        );
    }
}

/// The certificate of an authority, inside a quoted text of YAML.
#[cfg(test)]
macro_rules! authority {
    () => {
        "-----BEGIN CERTIFICATE-----\\nMIIBkzCCATmgAwIBAgIUaXhizHKFjTkDLSdAmTm730+5J2owCgYIKoZIzj0EAwIw\\nHjEcMBoGA1UEAwwTYXV0aG9yaXR5IG9mIGEgdGVzdDAgFw0yNjExMTgxNTIzNTRa\\nGA8yMTI2MTAyNTE1MjM1NFowHjEcMBoGA1UEAwwTYXV0aG9yaXR5IG9mIGEgdGVz\\ndDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNxuAqAtrAjb2ylDNzD7dTt3TtSJ\\nklvcUVl5xAsNxxlSTBw7MNy6zKHVXu9nacysjQjZkJtIVUpvLIbdNTpn8hKjUzBR\\nMB0GA1UdDgQWBBRGnfUPTiBfvfKvR351mg/QE1uF4jAfBgNVHSMEGDAWgBRGnfUP\\nTiBfvfKvR351mg/QE1uF4jAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gA\\nMEUCIHWYgrmtSzWC72ChQzwwy0RHQMeWcn79LovgBe9yyBJhAiEA0CC8gA3qrVWO\\nsyjGb3EkPP/T0ltyuBfwVK3bExlU9Fs=\\n-----END CERTIFICATE-----\\n"
    };
}
#[cfg(test)]
pub(crate) use authority;

/// Compares with a recorded text below `src/`, or records it again when BLESS is set.
#[cfg(test)]
pub(crate) fn golden(file: &str, shown: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src")
        .join(file);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, shown).expect("the file can be written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, recorded, "{file}; `make bless` records it");
}
