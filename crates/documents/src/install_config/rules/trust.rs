//! Rules about certificates to trust.

use x509_parser::{
    parse_x509_certificate,
    pem::{Pem, parse_x509_pem},
};

use super::{Diagnostics, Facts, Rule};

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "trust-bundle", path: "additionalTrustBundle", reads: &[], text: "Certificates in PEM form, each at the start of a line, and nothing behind the last of them.", check: trust_bundle },
    Rule { name: "trust-bundle-authority", path: "additionalTrustBundle", reads: &[], text: "A warning for certificates that are no authority: they verify nothing but themselves.", check: trust_bundle_authority },
];

const PATH: &str = "additionalTrustBundle";
const BEGIN: &str = "-----BEGIN ";

fn trust_bundle(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    check_bundle(&facts.config.additional_trust_bundle, diagnostics);
}

/// Nothing but certificates, or nothing at all.
pub(crate) fn check_bundle(text: &str, diagnostics: &mut Diagnostics) {
    if text.trim().is_empty() {
        return;
    }
    if !text.contains(BEGIN) {
        diagnostics.fault(
            PATH,
            "there is no certificate in it",
            "paste PEM blocks below `additionalTrustBundle: |`, indented",
        );
        return;
    }
    let mut rest = text;
    let mut number = 0;
    while let Some(start) = rest.find(BEGIN) {
        number += 1;
        // Readers look for a block at the beginning of a line only.
        if start > 0 && rest.as_bytes()[start - 1] != b'\n' {
            diagnostics.fault(
                PATH,
                format!("PEM block {number} does not begin at the start of its line"),
                "remove what stands before `-----BEGIN CERTIFICATE-----`, spaces included",
            );
            return;
        }
        match block(&rest[start..]) {
            Some((block, left)) => {
                if parse_x509_certificate(&block.contents).is_err() {
                    diagnostics.fault(
                        PATH,
                        format!("PEM block {number} ({}) is not a certificate", block.label),
                        "keep CERTIFICATE blocks only; keys do not belong here",
                    );
                }
                rest = left;
            }
            None => {
                diagnostics.fault(
                    PATH,
                    format!("PEM block {number} is damaged"),
                    "paste it again: from `-----BEGIN CERTIFICATE-----` to `-----END CERTIFICATE-----`, every line indented alike",
                );
                return;
            }
        }
    }
    if !rest.trim_matches('\n').is_empty() {
        diagnostics.fault(
            PATH,
            "there is something behind the last certificate",
            "remove what follows the last `-----END CERTIFICATE-----`, spaces included",
        );
    }
}

fn trust_bundle_authority(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    check_authorities(&facts.config.additional_trust_bundle, diagnostics);
}

/// Certificates that are no authority are worth a warning.
pub(crate) fn check_authorities(bundle: &str, diagnostics: &mut Diagnostics) {
    let mut rest = bundle;
    while let Some(start) = rest.find(BEGIN) {
        let Some((block, left)) = block(&rest[start..]) else {
            return;
        };
        rest = left;
        let Ok((_, certificate)) = parse_x509_certificate(&block.contents) else {
            continue;
        };
        let self_signed = certificate.subject() == certificate.issuer();
        if !certificate.is_ca() && !self_signed {
            let subject: String = certificate.subject().to_string().chars().take(80).collect();
            diagnostics.warn(
                PATH,
                format!("`{subject}` is not an authority, so it verifies no other certificate"),
                "add the certificate of the authority that issued it",
            );
        }
    }
}

/// The first block and what follows it.
fn block(text: &str) -> Option<(Pem, &str)> {
    let label = text.strip_prefix(BEGIN)?.split_once("-----")?.0;
    let end = format!("-----END {label}-----");
    let stop = text.find(&end)? + end.len();
    let (_, block) = parse_x509_pem(&text.as_bytes()[..stop]).ok()?;
    Some((block, &text[stop..]))
}
