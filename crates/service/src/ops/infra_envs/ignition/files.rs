//! The parts of a config that the service writes most: files and units.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// What Ignition's reader of data URLs accepts as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// The text as a data URL. Percent encoding, not base64: it packs better, and room is short.
#[must_use]
fn data_url(text: &str) -> String {
    format!("data:,{}", utf8_percent_encode(text, ESCAPED))
}

/// A file of root's that replaces whatever the image has there.
#[must_use]
pub fn file(path: &str, mode: u32, text: &str) -> Value {
    json!({
        "path": path,
        "overwrite": true,
        "mode": mode,
        "user": {"name": "root"},
        "contents": {"source": data_url(text)},
    })
}

/// A systemd unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name with suffix.
    pub name: &'static str,
    /// Its text; `None` to enable one the image has.
    pub contents: Option<String>,
}

impl Unit {
    /// A unit that starts with the system.
    #[must_use]
    pub fn enabled(&self) -> Value {
        let mut unit = json!({"name": self.name, "enabled": true});
        if let Some(contents) = &self.contents {
            unit["contents"] = json!(contents);
        }
        unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_url_decodes_to_its_text() {
        let text = "a b%c\n{\"ü\": \"#?/\"}";
        let url = data_url(text);
        let packed = url.strip_prefix("data:,").unwrap();
        assert!(!packed.contains([' ', '"', '#', '\n']), "{packed}");
        let back = percent_encoding::percent_decode_str(packed)
            .decode_utf8()
            .unwrap();
        assert_eq!(back, text);
    }
}
