//! JSON as the reference writes it: compact, and safe inside HTML.

use serde::Serialize;

/// The text of a value.
///
/// # Panics
/// Never: our own types have string keys.
pub fn text(value: &impl Serialize) -> String {
    let plain = serde_json::to_string(value).expect("our own types have string keys");
    // These characters occur in strings only, so an escape is always possible.
    let mut text = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn signs_of_html_are_escaped_and_mean_the_same() {
        let value = serde_json::json!({ "a<b": "c>d&e\u{2028}" });
        let text = super::text(&value);
        assert_eq!(text, r#"{"a\u003cb":"c\u003ed\u0026e\u2028"}"#);
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back, value);
    }
}
