//! Undoing percent-encoding, strictly: a broken escape or bytes that are not UTF-8 are an error
//! the client hears of, instead of text that means something else.

use percent_encoding::percent_decode_str;

/// The text behind an escaped path segment, or nothing if it is malformed.
pub(crate) fn decode(escaped: &str) -> Option<String> {
    if !escaped.contains('%') {
        return Some(escaped.to_owned());
    }
    let well_formed = escaped.split('%').skip(1).all(|rest| {
        let mut bytes = rest.bytes();
        let mut hex = || bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit());
        hex() && hex()
    });
    if !well_formed {
        return None;
    }
    percent_decode_str(escaped)
        .decode_utf8()
        .ok()
        .map(Into::into)
}

/// The same for a key or value of a query, where `+` is a blank.
pub(crate) fn decode_query(escaped: &str) -> Option<String> {
    match escaped.contains('+') {
        true => decode(&escaped.replace('+', " ")),
        false => decode(escaped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_escapes_of_utf8_text_decode() {
        for (escaped, text) in [
            ("plain", Some("plain")),
            ("a%20b", Some("a b")),
            ("%C3%a9", Some("é")),
            ("a+b", Some("a+b")),
            ("%", None),
            ("%2", None),
            ("%zz", None),
            ("%ff", None),
        ] {
            assert_eq!(decode(escaped).as_deref(), text, "{escaped}");
        }
        assert_eq!(decode_query("a+b%2Bc").as_deref(), Some("a b+c"));
    }
}
