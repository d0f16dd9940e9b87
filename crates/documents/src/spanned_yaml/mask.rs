//! A copy of a file that can be shown: secrets blotted out, every position kept.
//!
//! Error messages quote the lines around a fault, and the file may be too broken to know its
//! structure. So lines are classified by the look of their key, besides the places the schema knows.

use super::Span;

/// Keys that contain one of these hold secrets.
const SECRET_KEY_PARTS: &[&str] = &["secret", "password", "token", "auth"];

/// Blots out the given places, values of keys that look secret, and logins in URLs. Bytes become
/// `*`, line breaks stay, so positions mean the same in both texts.
#[must_use]
pub fn mask(text: &str, secrets: &[Span]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for span in secrets {
        blot(&mut bytes, span.start, span.end);
    }
    let mut start = 0;
    // Indentation of the secret key whose value may go on in deeper lines.
    let mut inside: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '-', '\t']).len();
        let blank = line.trim().is_empty();
        if inside.is_some_and(|outer| !blank && indent <= outer) {
            inside = None;
        }
        if inside.is_some() {
            blot(&mut bytes, start, start + line.len());
        } else if let Some(value) = secret_value(line) {
            blot(&mut bytes, start + value, start + line.len());
            inside = Some(indent);
        } else if let Some((from, to)) = login(line) {
            blot(&mut bytes, start + from, start + to);
        }
        start += line.len();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where the value of a line begins whose key looks secret.
fn secret_value(line: &str) -> Option<usize> {
    let lower = line.to_ascii_lowercase();
    SECRET_KEY_PARTS
        .iter()
        .filter_map(|word| {
            let found = lower.find(word)?;
            let colon = found + lower[found..].find(':')?;
            // A comment or a sentence is no key.
            let key_goes_on = lower[found..colon].bytes();
            key_goes_on
                .clone()
                .all(|b| b.is_ascii_alphanumeric() || b"\"'-_ ".contains(&b))
                .then_some(colon + 1)
        })
        .min()
}

/// Where a URL of a line holds who logs in.
fn login(line: &str) -> Option<(usize, usize)> {
    let from = line.find("://")? + 3;
    let host = line[from..]
        .find(|c: char| c == '/' || c.is_whitespace())
        .map_or(line.len(), |length| from + length);
    let to = from + line[from..host].rfind('@')?;
    Some((from, to))
}

fn blot(bytes: &mut [u8], start: usize, end: usize) {
    let end = end.min(bytes.len());
    for byte in bytes.get_mut(start..end).unwrap_or_default() {
        if !byte.is_ascii_whitespace() {
            *byte = b'*';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_blotted_out_and_positions_stay() {
        let text = "baseDomain: a.b\npullSecret: >\n  {\"auths\": 1}\n  more\nproxy:\n  httpProxy: http://me:pw@host:1/\nx: {password: hush, y: é}\nend: 1\n";
        let masked = mask(text, &[]);
        assert_eq!(masked.len(), text.len());
        for secret in ["auths", "more", "me:pw", "hush"] {
            assert!(!masked.contains(secret), "{masked}");
        }
        for rest in ["baseDomain: a.b", "pullSecret:", "@host:1/", "end: 1"] {
            assert!(masked.contains(rest), "{masked}");
        }
        assert_eq!(mask("a: bcd", &[Span { start: 3, end: 6 }]), "a: ***");
    }
}
