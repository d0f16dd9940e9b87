//! JSON texts from machines, made fit for every database, log and terminal.

use std::borrow::Cow;

/// What stands for a character that is none.
const REPLACEMENT: &str = "\\ufffd";

/// Takes escaped NUL characters out of a JSON text, and replaces escaped halves of surrogate pairs by
/// U+FFFD.
///
/// Firmware pads serial numbers with NUL, which no database text keeps; half a pair is no character,
/// and parsers refuse the whole text for it. The result is never longer than the text. A text with a
/// malformed escape is returned unchanged: no parser reads it.
#[must_use]
pub fn storable_json(json: &str) -> Cow<'_, str> {
    // Most large texts have no such escape, but many of quotes.
    if !json.contains("\\u") {
        return Cow::Borrowed(json);
    }
    let mut clean = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        let start = at + found;
        let escape = &json[start..];
        if !escape.starts_with("\\u") {
            // The escaped character may be a backslash, which starts nothing.
            let escaped = escape.chars().nth(1).map_or(0, char::len_utf8);
            at = start + 1 + escaped;
            continue;
        }
        let Some(unit) = utf16_unit(escape) else {
            return Cow::Borrowed(json);
        };
        at = start + REPLACEMENT.len();
        let instead = match unit {
            0 => "",
            0xd800..=0xdbff if is_low_half(&json[at..]) => {
                at += REPLACEMENT.len();
                continue;
            }
            0xd800..=0xdfff => REPLACEMENT,
            _ => continue,
        };
        clean.push_str(&json[copied..start]);
        clean.push_str(instead);
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    clean.push_str(&json[copied..]);
    Cow::Owned(clean)
}

/// The number in `\uXXXX` at the beginning of a text.
fn utf16_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let all_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    all_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

fn is_low_half(text: &str) -> bool {
    matches!(utf16_unit(text), Some(0xdc00..=0xdfff))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<String> {
        serde_json::from_str(&storable_json(json)).ok()
    }

    #[test]
    fn nul_is_taken_out_and_texts_that_only_look_like_it_stay() {
        for (json, text) in [
            (r#""a\u0000b\u0000""#, "ab"),
            (r#""a\\u0000b""#, r"a\u0000b"),
            (r#""\\\u0000""#, r"\"),
            (r#""\"\u0000\u00000""#, "\"0"),
            (r#""\ü""#, ""),
        ] {
            assert_eq!(read(json).unwrap_or_default(), text, "{json}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_is_replaced_and_pairs_stay() {
        for (json, text) in [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\uD83E\uDD80""#, "🦀"),
            (r#""\uDD80\uD83E""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83e\ud83e\udd80""#, "\u{fffd}🦀"),
            (r#""\ud83e\u0000\udd80""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83e\n""#, "\u{fffd}\n"),
            (r#""\\ud83e""#, r"\ud83e"),
        ] {
            assert_eq!(read(json).as_deref(), Some(text), "{json}");
        }
    }

    #[test]
    fn what_needs_no_change_is_not_copied_and_malformed_escapes_stay_malformed() {
        for json in [
            r#"{"a":"\u003cb\u003e\n"}"#,
            "",
            "\\",
            r"\u",
            r#""\u00\u000000""#,
            r#""\u+000""#,
        ] {
            assert!(
                matches!(storable_json(json), Cow::Borrowed(same) if same == json),
                "{json}"
            );
        }
        assert_eq!(read(r#""\u00\u000000""#), None);
        assert_eq!(read(r#""\u12é""#), None);
    }
}
