//! File contents inside a config.

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_ignition::spec;

use crate::file::File;

/// Contents as a data URL with the media type that a browser would guess.
pub(super) fn data_url(content: &[u8]) -> String {
    let kind = if content.trim_ascii_start().starts_with(b"<?xml") {
        "text/xml;charset=utf-8"
    } else if content.iter().take(512).any(is_binary) {
        "application/octet-stream"
    } else {
        "text/plain;charset=utf-8"
    };
    format!("data:{kind};base64,{}", STANDARD.encode(content))
}

/// Control characters that no text has.
fn is_binary(byte: &u8) -> bool {
    matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// A file that replaces whatever the image has at this place below `root`.
pub(super) fn file(root: &str, file: &File) -> spec::File {
    let mut made = owned(&format!("{root}/{}", file.path), file.mode);
    made.overwrite = Some(true);
    made.contents = Some(resource(&file.content));
    made
}

/// Text after what the image has in this file.
pub(super) fn addition(path: &str, mode: u32, text: &str) -> spec::File {
    let mut made = owned(path, mode);
    made.overwrite = Some(false);
    made.append = Some(vec![resource(text.as_bytes())]);
    made
}

fn owned(path: &str, mode: u32) -> spec::File {
    let mut made = spec::File::new(path.to_owned());
    made.mode = Some(mode.into());
    made.user = Some(spec::NodeUser {
        id: None,
        name: Some("root".to_owned()),
    });
    made
}

fn resource(content: &[u8]) -> spec::Resource {
    spec::Resource {
        source: Some(data_url(content)),
        ..spec::Resource::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_guessed_from_the_content() {
        assert_eq!(data_url(b""), "data:text/plain;charset=utf-8;base64,");
        assert_eq!(
            data_url(b"a\n"),
            "data:text/plain;charset=utf-8;base64,YQo="
        );
        assert!(data_url(b"<?xml ?>").starts_with("data:text/xml;"));
        assert!(data_url(&[0, 1]).starts_with("data:application/octet-stream;"));
    }
}
