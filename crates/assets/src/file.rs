//! A file to be written somewhere: relative path, content, who may read it.

use std::fmt;

/// One generated file.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// Relative path with forward slashes.
    pub path: String,
    /// Content.
    pub content: Vec<u8>,
    /// Permission bits where the file ends up on a host.
    pub mode: u32,
}

impl File {
    /// A file that only its owner reads.
    pub fn secret(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self::with_mode(path, content, 0o600)
    }

    /// A file that every user may read.
    pub fn public(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self::with_mode(path, content, 0o644)
    }

    /// A file with these permission bits.
    pub fn with_mode(path: impl Into<String>, content: impl Into<Vec<u8>>, mode: u32) -> Self {
        Self {
            path: path.into(),
            content: content.into(),
            mode,
        }
    }

    /// The content as text, with replacement characters where it is none.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.content).into_owned()
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "File({}, {} bytes, {:o})",
            self.path,
            self.content.len(),
            self.mode
        )
    }
}
