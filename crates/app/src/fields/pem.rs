//! Bundles of PEM certificates.

use base64::{Engine, engine::general_purpose::STANDARD};
use rustls::{RootCertStore, pki_types::CertificateDer};

use crate::Invalid;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Checks a bundle: one or more certificates and nothing between them. Returns it without
/// surrounding spaces; the empty text means none.
pub fn bundle(member: &str, text: &str) -> Result<String, Invalid> {
    let bundle = text.trim();
    let mut rest = bundle;
    let mut count = 0_usize;
    while !rest.is_empty() {
        count += 1;
        rest = certificate(rest)
            .map_err(|why| format!("{member}, certificate {count}: {why}"))?
            .trim_start();
    }
    Ok(bundle.to_owned())
}

/// Checks a bundle wrapped in base64; it must hold at least one certificate.
pub fn wrapped_bundle(member: &str, base64: &str) -> Result<(), Invalid> {
    let bytes = STANDARD.decode(base64.trim()).map_err(|cause| {
        format!(
            "{member} is not base64 ({cause}); encode the PEM file, for example with base64 -w0"
        )
    })?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{member} does not hold PEM text"))?;
    if bundle(member, &text)?.is_empty() {
        return Err(format!("{member} holds no certificate").into());
    }
    Ok(())
}

/// Reads the certificate at the front; gives back what follows it.
fn certificate(text: &str) -> Result<&str, Invalid> {
    let body = text.strip_prefix(BEGIN).ok_or_else(|| {
        format!("expected {BEGIN} here; a bundle holds certificates and nothing else")
    })?;
    let (body, rest) = body
        .split_once(END)
        .ok_or_else(|| format!("its line {END} is missing"))?;
    let packed: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let der = STANDARD
        .decode(packed)
        .map_err(|cause| format!("its content is not base64 ({cause})"))?;
    RootCertStore::empty()
        .add(CertificateDer::from(der))
        .map_err(|_| "its content is not an X.509 certificate".to_owned())?;
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Self-signed, made for this test; its key is gone.
    const CERTIFICATE: &str = include_str!("testdata/ca.pem");

    #[test]
    fn one_or_more_certificates_are_a_bundle() {
        assert_eq!(bundle("b", ""), Ok(String::new()));
        let two = format!("\n{CERTIFICATE}\n\n{CERTIFICATE}");
        assert_eq!(bundle("b", &two), Ok(two.trim().to_owned()));
        assert_eq!(wrapped_bundle("b", &STANDARD.encode(CERTIFICATE)), Ok(()));
    }

    #[test]
    fn anything_besides_certificates_is_refused_with_its_place() {
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
        let junk = format!("{BEGIN}\nAAAA\n{END}");
        for (text, place) in [
            ("hello".to_owned(), "certificate 1"),
            (format!("{CERTIFICATE}\nhello"), "certificate 2"),
            (format!("{CERTIFICATE}\n{key}"), "certificate 2"),
            (CERTIFICATE.replace(END, ""), "is missing"),
            (CERTIFICATE.replacen('M', "!", 1), "not base64"),
            (junk, "X.509"),
        ] {
            let refusal = bundle("b", &text).unwrap_err();
            assert!(refusal.contains(place), "{refusal}");
        }
        assert!(wrapped_bundle("b", "%%%").unwrap_err().contains("base64"));
        assert!(
            wrapped_bundle("b", "")
                .unwrap_err()
                .contains("no certificate")
        );
    }
}
