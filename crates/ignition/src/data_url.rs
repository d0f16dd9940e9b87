//! Content inside a config: data URLs, plain, base64 or packed.

use std::io::{Read, Write};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// What Ignition's reader of data URLs accepts unescaped.
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

/// Files in a config are some megabytes; more is damage or malice.
const LARGEST_UNPACKED: u64 = 256 * 1024 * 1024;

/// A source in a config that holds no content this crate could give back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnreadableUrl(String);

/// Text, percent-encoded. Packs better than base64, and room is short in a boot image.
pub fn text(text: &str) -> String {
    format!("data:,{}", percent_encode(text.as_bytes(), ESCAPED))
}

/// Any bytes.
pub fn bytes(bytes: &[u8]) -> String {
    format!("data:;base64,{}", STANDARD.encode(bytes))
}

/// Any bytes, gzip'd; the resource must say so. Equal bytes give equal texts.
pub fn packed(bytes: &[u8]) -> String {
    let mut gzip = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    let packed = gzip.write_all(bytes).and_then(|()| gzip.finish());
    self::bytes(&packed.expect("writing to memory does not fail"))
}

/// The content of a data URL, unpacked if `compression` says it is packed.
pub fn read(source: &str, compression: Option<&str>) -> Result<Vec<u8>, UnreadableUrl> {
    let fault = |text: &str| UnreadableUrl(text.to_owned());
    let rest = source
        .get(..5)
        .filter(|scheme| scheme.eq_ignore_ascii_case("data:"))
        .map(|scheme| &source[scheme.len()..])
        .ok_or_else(|| fault("the content is not in the config but behind a URL"))?;
    let (head, data) = rest
        .split_once(',')
        .ok_or_else(|| fault("the data URL has no comma before its content"))?;
    let plain: Vec<u8> = percent_decode_str(data).collect();
    let content = if head.to_ascii_lowercase().ends_with(";base64") {
        STANDARD
            .decode(plain)
            .map_err(|cause| UnreadableUrl(format!("the data URL is not base64: {cause}")))?
    } else {
        plain
    };
    if compression.is_none_or(str::is_empty) {
        return Ok(content);
    }
    let mut unpacked = Vec::new();
    let read = GzDecoder::new(content.as_slice())
        .take(LARGEST_UNPACKED + 1)
        .read_to_end(&mut unpacked);
    match read {
        Ok(_) if unpacked.len() as u64 > LARGEST_UNPACKED => Err(UnreadableUrl(format!(
            "the content unpacks to more than {LARGEST_UNPACKED} bytes"
        ))),
        Ok(_) => Ok(unpacked),
        Err(cause) => Err(UnreadableUrl(format!("the content is not gzip: {cause}"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_written_is_read_back(content: Vec<u8>, words: String) {
            prop_assert_eq!(read(&bytes(&content), None).unwrap(), content.clone());
            prop_assert_eq!(read(&packed(&content), Some("gzip")).unwrap(), content);
            prop_assert_eq!(read(&text(&words), Some("")).unwrap(), words.into_bytes());
        }
    }

    #[test]
    fn text_is_escaped_for_json_and_for_urls() {
        let url = text("a b%c\n{\"ü\": \"#?/\"}");
        assert!(!url.contains([' ', '"', '#', '\n', '?']), "{url}");
    }

    #[test]
    fn what_holds_no_content_is_said_so() {
        for (source, compression, wanted) in [
            ("https://a/b", None, "behind a URL"),
            ("data:text/plain", None, "no comma"),
            ("data:;base64,%%%", None, "not base64"),
            ("data:,abc", Some("gzip"), "not gzip"),
            ("", None, "behind a URL"),
        ] {
            let refusal = read(source, compression).unwrap_err().to_string();
            assert!(refusal.contains(wanted), "{source}: {refusal}");
        }
    }
}
