//! A checksum of each document, so that damage is detected even if it still parses as JSON.
//!
//! It names the version of the row it was made for. A program that knows no checksums raises the
//! version and leaves the text alone; then there is nothing to compare with, and the row is read
//! as one without a checksum. It guards against accidents, not against someone who can write to
//! the database.

use ring::digest::{SHA256, digest};

/// Bytes of the digest that are kept: enough for any accident.
const BYTES: usize = 8;

/// The text for a document of these key columns at this version.
pub(crate) fn of(key: &[String], version: i64, doc: &str) -> String {
    format!("{version}:{}", of_parts(key, doc))
}

/// Whether a stored text, if there is one, fits the row.
pub(crate) fn fits(stored: Option<&str>, key: &[String], version: i64, doc: &str) -> bool {
    let Some(stored) = stored else {
        return true;
    };
    match stored.split_once(':') {
        Some((made_for, _)) if made_for != version.to_string() => true,
        Some((_, sum)) => sum == of_parts(key, doc),
        None => false,
    }
}

/// The text for something that is written once.
pub(crate) fn of_text(doc: &str) -> String {
    of_parts(&[], doc)
}

fn of_parts(key: &[String], doc: &str) -> String {
    // The lengths keep parts apart, and a document in the wrong row is damage too.
    let mut bytes = Vec::with_capacity(doc.len() + 100);
    for part in key.iter().map(String::as_str).chain([doc]) {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    let digest = digest(&SHA256, &bytes);
    let kept = digest.as_ref().iter().take(BYTES);
    kept.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_document_or_key_does_not_fit_and_an_unknown_one_is_believed() {
        let key = ["a".to_owned(), "b".to_owned()];
        let sum = of(&key, 7, "{}");
        assert!(fits(Some(&sum), &key, 7, "{}"));
        assert!(!fits(Some(&sum), &key, 7, "{ }"));
        assert!(!fits(Some(&sum), &["ab".to_owned()], 7, "{}"));
        assert!(!fits(Some("nonsense"), &key, 7, "{}"));
        assert!(fits(None, &key, 7, "{}"), "from before there were any");
        assert!(
            fits(Some(&sum), &key, 8, "{ }"),
            "written by a program that knows none"
        );
    }
}
