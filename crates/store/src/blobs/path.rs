//! Names of blobs, safe against path traversal.
//!
//! A path is a list of segments, checked one by one. What an object store or a file system might
//! take for syntax is encoded on the way out and decoded on the way back, so `%2e%2e` in a name
//! is a name and nothing more.

use std::fmt;

use object_store::path::{Path, PathPart};
use percent_encoding::percent_decode_str;

use super::BlobError;

/// Longest segment after encoding: file systems allow no longer names.
const LONGEST_SEGMENT: usize = 255;
/// Longest path after encoding: object stores allow 1024 bytes for the whole key.
const LONGEST_PATH: usize = 900;

/// The name of a blob, or of a folder of blobs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobPath {
    segments: Vec<String>,
}

impl BlobPath {
    /// A path of these segments, each a plain name.
    pub fn new<I>(segments: I) -> Result<Self, BlobError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let segments: Vec<String> = segments
            .into_iter()
            .map(|segment| checked(segment.as_ref()))
            .collect::<Result<_, _>>()?;
        let path = Self { segments };
        if path.segments.is_empty() {
            return Err(path.refused("it has no segments"));
        }
        if path.below(&Path::default()).as_ref().len() > LONGEST_PATH {
            return Err(path.refused("it is longer than 900 bytes"));
        }
        Ok(path)
    }

    /// The folder of everything; lists, but is no blob.
    #[must_use]
    pub const fn root() -> Self {
        Self {
            segments: Vec::new(),
        }
    }

    /// The segments as they were given.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().map(String::as_str)
    }

    /// The last segment; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    /// The encoded form inside a folder of the object store.
    pub(super) fn below(&self, folder: &Path) -> Path {
        let own = self
            .segments
            .iter()
            .map(|name| PathPart::from(name.as_str()));
        folder.parts().chain(own).collect()
    }

    /// Reads back what [`Self::below`] wrote; `None` if we never wrote such a name.
    pub(super) fn read_back(location: &Path, folder: &Path) -> Option<Self> {
        let names = location.prefix_match(folder)?.map(|part| {
            let name = percent_decode_str(part.as_ref()).decode_utf8().ok()?;
            Some(name.into_owned())
        });
        Self::new(names.collect::<Option<Vec<String>>>()?).ok()
    }

    pub(super) fn refused(&self, reason: &str) -> BlobError {
        BlobError::Path {
            path: self.to_string(),
            reason: reason.to_owned(),
        }
    }
}

impl fmt::Display for BlobPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.segments.join("/"))
    }
}

fn checked(segment: &str) -> Result<String, BlobError> {
    let reason = if segment.is_empty() {
        "a segment is empty"
    } else if segment == "." || segment == ".." {
        "a segment is . or .."
    } else if segment.contains(['/', '\\']) {
        "a segment contains a slash"
    } else if segment.contains(char::is_control) {
        "a segment contains a control character"
    } else if PathPart::from(segment).as_ref().len() > LONGEST_SEGMENT {
        "a segment is longer than 255 bytes"
    } else {
        return Ok(segment.to_owned());
    };
    Err(BlobError::Path {
        path: segment.escape_debug().collect(),
        reason: reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_could_lead_elsewhere_are_refused() {
        let long = "x".repeat(256);
        let encoded_long = "%".repeat(100);
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "/",
            "a\\b",
            "\\..",
            "a\0b",
            "a\nb",
            "\u{85}",
            &long,
            &encoded_long,
        ] {
            let error = BlobPath::new(["ok", bad]).expect_err(bad);
            assert!(matches!(error, BlobError::Path { .. }), "{bad:?}");
        }
        assert!(BlobPath::new(Vec::<String>::new()).is_err());
        assert!(BlobPath::new(vec!["segment"; 200]).is_err());
    }

    #[test]
    fn odd_names_stay_below_their_folder_and_come_back_as_they_were() {
        let folder = Path::from("bucket folder/sub");
        for name in [
            "%2e%2e",
            "%2F",
            "..%2f..",
            "...",
            "a b",
            "käse-日本.yaml",
            "~",
            "#1",
            "x#12",
            "{a}*?|<>[]^`\"",
            "%",
            "%zz",
            "-rf",
            "\u{2024}\u{2024}",
        ] {
            let path = BlobPath::new(["logs", name, "end"]).expect(name);
            let encoded = path.below(&folder);
            assert_eq!(encoded.parts().count(), 5, "{encoded}");
            assert!(encoded.prefix_matches(&folder), "{encoded}");
            assert_eq!(BlobPath::read_back(&encoded, &folder), Some(path), "{name}");
        }
    }
}
