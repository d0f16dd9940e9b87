//! ISO 9660 with Rock Ridge and Joliet: reading, patching and writing.
//!
//! Only what boot images use, but that fully: long names from any of the three name spaces,
//! files in several extents, relocated deep directories. Nothing an image says is believed
//! before it was checked: lengths, offsets, and that the directory tree is a tree.
//! Start at [`Iso`].

pub mod cut;
pub mod directory;
pub mod eltorito;
pub mod entry;
pub mod joliet;
pub mod numbers;
pub mod rockridge;
pub mod tree;
pub mod volume;
pub mod writer;

pub use entry::{Entry, Kind};
pub use tree::Iso;
pub use volume::Volume;

/// The only sector size in use.
pub const SECTOR: u64 = 2048;

/// A run of sectors, with the length in bytes of what they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First sector.
    pub sector: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Extent {
    /// First byte.
    pub fn start(self) -> u64 {
        u64::from(self.sector) * SECTOR
    }

    /// How many sectors it occupies.
    pub fn sectors(self) -> u64 {
        u64::from(self.len).div_ceil(SECTOR)
    }
}
