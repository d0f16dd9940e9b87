//! Takes secrets out of logs: people send these files to others.

use std::borrow::Cow;

use regex::bytes::Regex;

/// What a secret looks like; the first group stays.
const PATTERNS: &[&str] = &[
    // Pull secrets.
    r#"("auth\\?"\s*:\s*\\?")[^"\\]+"#,
    // Environment and signed links.
    r#"((?:PULL_SECRET_TOKEN|(?:USER|AGENT|WATCHER)_AUTH_TOKEN|DB_PASS|POSTGRESQL_PASSWORD|api_key|image_token)=)[^\s&"']+"#,
    // Passwords and their hashes in YAML and JSON, seeds of keys.
    r#"((?i:"?(?:password|passwordHash|seed|psk)"?)\s*[:=] *"?)[^\s",}]+"#,
    r#"((?i:x-secret-key|authorization): *(?:Bearer )?)[^\s"',]+"#,
    // Signed tokens anywhere.
    r"(eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
];

/// Takes secrets out.
pub(crate) struct Redactor {
    patterns: Vec<Regex>,
}

impl Redactor {
    /// Knows what secrets look like, and one of them by heart.
    pub(crate) fn new(secret: Option<String>) -> Self {
        let known = secret
            .filter(|text| text.len() >= 8)
            .map(|text| format!("(){}", regex::escape(&text)));
        let all = PATTERNS
            .iter()
            .map(|pattern| (*pattern).to_owned())
            .chain(known);
        // The table is tested; a pattern that does not compile is left out.
        let patterns = all
            .filter_map(|pattern| Regex::new(&pattern).ok())
            .collect();
        Self { patterns }
    }

    /// The log without them.
    pub(crate) fn clean(&self, mut log: Vec<u8>) -> Vec<u8> {
        for pattern in &self.patterns {
            if let Cow::Owned(cleaned) = pattern.replace_all(&log, &b"${1}[removed]"[..]) {
                log = cleaned;
            }
        }
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_works_and_the_rest_of_the_line_stays() {
        let redactor = Redactor::new(Some("verysecret".into()));
        assert_eq!(redactor.patterns.len(), PATTERNS.len() + 1);
        for (log, cleaned) in [
            (
                r#"{"auth": "aGVsbG8=", "email":"x"}"#,
                r#"{"auth": "[removed]", "email":"x"}"#,
            ),
            (
                "PULL_SECRET_TOKEN=abc next",
                "PULL_SECRET_TOKEN=[removed] next",
            ),
            ("GET /x?api_key=abc&y=1", "GET /x?api_key=[removed]&y=1"),
            ("X-Secret-Key: abc", "X-Secret-Key: [removed]"),
            ("t eyJhbGciOiJ.eyJpc3MiOiJ.sig end", "t eyJ[removed] end"),
            ("  password: abc", "  password: [removed]"),
            (
                r#""passwordHash":"$2a$x","n":1"#,
                r#""passwordHash":"[removed]","n":1"#,
            ),
            ("a verysecret b", "a [removed] b"),
            ("nothing here", "nothing here"),
        ] {
            let text = redactor.clean(log.as_bytes().to_vec());
            assert_eq!(String::from_utf8_lossy(&text), cleaned);
        }
    }
}
