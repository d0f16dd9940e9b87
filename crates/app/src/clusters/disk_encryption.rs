//! Encryption of installation disks: where, and with whose help they are opened at boot.

use muster_api::wire;
use muster_engine::tang;
use muster_model::DiskEncryption;
use url::Url;

use crate::Invalid;

const NONE: &str = "none";
const TPM: &str = "tpmv2";
const TANG: &str = "tang";

/// What a new cluster gets when nothing is said.
#[must_use]
pub fn unset() -> DiskEncryption {
    DiskEncryption {
        enable_on: NONE.to_owned(),
        mode: TPM.to_owned(),
        tang_servers: None,
    }
}

/// Merges a request into what is there; members left out stay as they are. `allowed` is false
/// where the service is configured without disk encryption.
pub fn merge(
    present: Option<&DiskEncryption>,
    request: &wire::DiskEncryption,
    allowed: bool,
) -> Result<DiskEncryption, Invalid> {
    let mut merged = present.cloned().unwrap_or_else(unset);
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if let Some(enable_on) = given(&request.enable_on) {
        merged.enable_on = enable_on;
    }
    if let Some(mode) = given(&request.mode) {
        merged.mode = mode;
    }
    if let Some(servers) = given(&request.tang_servers) {
        merged.tang_servers = Some(servers);
    }
    if merged.enable_on != NONE && !allowed {
        return Err("disk encryption is disabled in this service (features.disk_encryption); leave disk_encryption out".into());
    }
    if merged.mode == TANG {
        let servers = merged.tang_servers.as_deref().unwrap_or_default();
        check_servers(servers).map_err(|why| format!("disk_encryption.tang_servers {why}"))?;
    }
    Ok(merged)
}

fn check_servers(text: &str) -> Result<(), Invalid> {
    let form = r#"a JSON text like [{"url": "http://tang.example.com:7500", "thumbprint": "…"}]"#;
    if text.is_empty() {
        return Err(format!("is missing; mode {TANG} needs {form}").into());
    }
    let servers = tang::read(text).map_err(|cause| format!("is not {form}: {cause}"))?;
    if servers.is_empty() {
        return Err(format!("lists no server; mode {TANG} needs {form}").into());
    }
    for (index, server) in servers.iter().enumerate() {
        let has_host = Url::parse(&server.url).is_ok_and(|url| url.has_host());
        if !has_host {
            return Err(format!("[{index}]: {:?} is not a complete URL", server.url).into());
        }
        if server.thumbprint.is_empty() {
            return Err(format!(
                "[{index}] has no thumbprint; the Tang server prints it with tang-show-keys"
            )
            .into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(
        enable_on: Option<&str>,
        mode: Option<&str>,
        servers: Option<&str>,
    ) -> wire::DiskEncryption {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        wire::DiskEncryption {
            enable_on: owned(enable_on),
            mode: owned(mode),
            tang_servers: owned(servers),
        }
    }

    const SERVERS: &str = r#"[{"url":"http://tang.example.com:7500","thumbprint":"abc"}]"#;

    #[test]
    fn members_left_out_or_empty_keep_their_value() {
        let first = merge(None, &request(Some("all"), None, Some("")), true).unwrap();
        assert_eq!(
            (first.enable_on.as_str(), first.mode.as_str()),
            ("all", "tpmv2")
        );
        let second = merge(
            Some(&first),
            &request(None, Some("tang"), Some(SERVERS)),
            true,
        )
        .unwrap();
        assert_eq!(
            (second.enable_on.as_str(), second.tang_servers.as_deref()),
            ("all", Some(SERVERS))
        );
        assert_eq!(
            merge(Some(&second), &request(None, None, Some("")), true).unwrap(),
            second
        );
    }

    #[test]
    fn tang_needs_servers_that_can_be_reached_and_trusted() {
        for bad in [
            "",
            "nonsense",
            "[]",
            r#"[{"url":"tang","thumbprint":"a"}]"#,
            r#"[{"url":"http://t","thumbprint":""}]"#,
            "{}",
        ] {
            assert!(
                merge(None, &request(Some("all"), Some("tang"), Some(bad)), true).is_err(),
                "{bad}"
            );
        }
        let go = r#"[{"URL":"http://tang.example.com:7500","Thumbprint":"abc"}]"#;
        for good in [SERVERS, go] {
            let asked = request(Some("all"), Some("tang"), Some(good));
            let merged = merge(None, &asked, true).unwrap();
            assert_eq!(merged.tang_servers.as_deref(), Some(good), "kept as sent");
        }
    }

    #[test]
    fn a_service_without_the_feature_refuses_it_but_not_the_word_none() {
        assert!(merge(None, &request(Some("masters"), None, None), false).is_err());
        assert_eq!(
            merge(None, &request(Some("none"), None, None), false),
            Ok(unset())
        );
    }
}
