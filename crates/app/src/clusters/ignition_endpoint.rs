//! The user's own source of Ignition for day-2 hosts.

use muster_api::wire;
use muster_model::IgnitionEndpoint;
use url::Url;

use crate::{Invalid, fields::pem};

/// Merges a request into what is there, member by member.
pub fn merge(
    present: &IgnitionEndpoint,
    request: &wire::IgnitionEndpoint,
) -> Result<IgnitionEndpoint, Invalid> {
    let mut merged = present.clone();
    let kept = |text: &String| (!text.is_empty()).then(|| text.clone());
    if let Some(url) = &request.url {
        merged.url = kept(url);
    }
    if let Some(certificate) = &request.ca_certificate {
        merged.ca_certificate = kept(certificate);
    }
    let Some(url) = &merged.url else {
        return Ok(merged);
    };
    let is_web =
        Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if !is_web {
        return Err(format!("ignition_endpoint.url {url:?} is not an http or https URL").into());
    }
    if let Some(certificate) = &merged.ca_certificate {
        pem::wrapped_bundle("ignition_endpoint.ca_certificate", certificate)?;
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(url: Option<&str>, certificate: Option<&str>) -> wire::IgnitionEndpoint {
        wire::IgnitionEndpoint {
            url: url.map(str::to_owned),
            ca_certificate: certificate.map(str::to_owned),
        }
    }

    #[test]
    fn the_address_is_a_web_address_and_can_be_cleared() {
        let set = merge(
            &IgnitionEndpoint::default(),
            &request(Some("https://ignition.example.com/x"), None),
        )
        .unwrap();
        assert_eq!(set.url.as_deref(), Some("https://ignition.example.com/x"));
        assert_eq!(merge(&set, &request(None, None)), Ok(set.clone()));
        assert_eq!(
            merge(&set, &request(Some(""), None)),
            Ok(IgnitionEndpoint::default())
        );
        for bad in ["ftp://a.example", "ignition.example.com", "http:"] {
            assert!(merge(&set, &request(Some(bad), None)).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_certificate_is_looked_at_together_with_an_address_only() {
        assert!(merge(&IgnitionEndpoint::default(), &request(None, Some("junk"))).is_ok());
        assert!(
            merge(
                &IgnitionEndpoint::default(),
                &request(Some("https://a.example"), Some("junk"))
            )
            .is_err()
        );
    }
}
