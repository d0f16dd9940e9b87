//! Rules about public keys that may log in.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{Diagnostics, Facts, Rule};

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "ssh-key", path: "sshKey", reads: &["fips"], text: "Each line is a public key as in authorized_keys.", check: ssh_key },
    Rule { name: "ssh-key-fips", path: "sshKey", reads: &["fips"], text: "With FIPS the key is RSA or ECDSA over a NIST curve.", check: ssh_key_fips },
];

/// Kinds of keys OpenSSH knows.
const KINDS: &[&str] = &[
    "ssh-rsa",
    "ssh-dss",
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

pub(crate) const HELP: &str =
    "paste the content of a `.pub` file, for example `ssh-ed25519 AAAA… name`";

fn ssh_key(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (index, line) in facts.config.ssh_key.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if line.starts_with("-----BEGIN") {
            diagnostics.fault("sshKey", "this looks like a private key", HELP);
            return;
        }
        if kind_of(line).is_none() {
            let message = format!("line {} is not a public key", index + 1);
            diagnostics.fault("sshKey", message, HELP);
        }
    }
}

fn ssh_key_fips(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if !facts.config.fips {
        return;
    }
    // Better than the reference, which looks at the first key only: any other would be dead
    // weight on a FIPS node.
    for kind in facts.config.ssh_key.lines().filter_map(kind_of) {
        if kind != "ssh-rsa" && !kind.starts_with("ecdsa-sha2-nistp") {
            diagnostics.fault(
                "sshKey",
                format!("keys of kind `{kind}` do not work with FIPS"),
                "make one with `ssh-keygen -t ecdsa -b 384` or `-t rsa`",
            );
        }
    }
}

/// The kind of a line of authorized_keys, if it is one: options, kind, key, comment.
pub(crate) fn kind_of(line: &str) -> Option<&'static str> {
    let mut rest = line.trim();
    if !KINDS.iter().any(|kind| starts_with_word(rest, kind)) {
        rest = behind_options(rest)?.trim_start();
    }
    let kind = KINDS.iter().find(|kind| starts_with_word(rest, kind))?;
    let key = rest[kind.len()..].split_whitespace().next()?;
    let bytes = STANDARD.decode(key).ok()?;
    // The key repeats its kind, behind its length.
    let (length, inner) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let named = inner.get(..length)?;
    let holds_more = inner.len() > length;
    (named == kind.as_bytes() && holds_more).then_some(kind)
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word)
        .is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// What follows the first space outside of quotes.
fn behind_options(text: &str) -> Option<&str> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => quoted = !quoted,
            ' ' | '\t' if !quoted => return Some(&text[at..]),
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpKaGdqZ2ZkZ2ZqZ2hqZmdoamZnaGpmZ2hqZmdoag== core";

    #[test]
    fn keys_are_recognised_with_options_and_comments() {
        assert_eq!(kind_of(ED25519), Some("ssh-ed25519"));
        let with_options = format!("from=\"10.0.0.0/8\",command=\"echo \\\"a b\\\"\" {ED25519}");
        assert_eq!(kind_of(&with_options), Some("ssh-ed25519"));
    }

    #[test]
    fn what_only_looks_like_a_key_is_none() {
        for bad in [
            "ssh-ed25519",
            "ssh-ed25519 AAAA",
            "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIGpK core",
            "ssh-ed25519 not-base64!",
            "é",
            "nonsense",
        ] {
            assert_eq!(kind_of(bad), None, "{bad}");
        }
    }
}
