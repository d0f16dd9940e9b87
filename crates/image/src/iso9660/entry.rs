//! What an image lists: files, directories, links.

use crate::iso9660::{Extent, directory::Record};

/// What an [`Entry`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes.
    File,
    /// Other entries.
    Directory,
    /// A name for another path.
    Link(String),
}

/// A file or directory of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name in its directory; empty for the root.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// POSIX permission bits, where the image has them.
    pub mode: Option<u32>,
    /// Where its bytes are, in order.
    pub extents: Vec<Extent>,
    /// Its directory records, one per extent; none for the root.
    pub records: Vec<Record>,
}

impl Entry {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.extents
            .iter()
            .map(|extent| u64::from(extent.len))
            .sum()
    }

    /// Holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The directory that has no name.
    pub(super) fn root(extent: Extent) -> Self {
        let (name, mode) = (String::new(), None);
        Self {
            name,
            kind: Kind::Directory,
            mode,
            extents: vec![extent],
            records: Vec::new(),
        }
    }
}
