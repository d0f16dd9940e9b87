//! Directory records: what a directory's sectors hold.

use std::collections::HashSet;

use crate::{
    error::{Error, Result},
    iso9660::{Extent, SECTOR, numbers::le32},
    view::View,
};

/// Bytes of a record before its name.
pub const HEAD: usize = 33;
/// No boot image has a directory of this size; a larger one is damage.
const LARGEST: u32 = 16 * 1024 * 1024;

/// One record: a file, a part of a file, or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// First byte of the record in the image.
    pub at: u64,
    /// Length of the record itself.
    pub len: usize,
    /// Where the content is.
    pub extent: Extent,
    /// Flag bits.
    pub flags: u8,
    /// Name as written.
    pub name: Vec<u8>,
    /// What follows the name; Rock Ridge lives here.
    pub system_use: Vec<u8>,
}

impl Record {
    /// Reads the record that starts with the first byte given and must end within them.
    ///
    /// # Errors
    ///
    /// When its lengths contradict each other.
    pub fn parse(bytes: &[u8], at: u64) -> Result<Self> {
        let len = bytes.first().copied().map_or(0, usize::from);
        let name_len = bytes.get(32).copied().map_or(0, usize::from);
        if len > bytes.len() || name_len == 0 || HEAD + name_len > len {
            return Err(Error::form(
                at,
                "a directory record that ends in its sector and holds its name",
                format!(
                    "length {len}, name length {name_len}, {} bytes left",
                    bytes.len()
                ),
            ));
        }
        // A name of even length is followed by a byte that aligns what comes next.
        let system_use = (HEAD + name_len + (name_len + 1) % 2).min(len);
        let attributes = u32::from(bytes[1]);
        let sector = le32(bytes, 2).checked_add(attributes).ok_or_else(|| {
            Error::form(at + 2, "a sector number", "one beyond the largest possible")
        })?;
        Ok(Self {
            at,
            len,
            extent: Extent {
                sector,
                len: le32(bytes, 10),
            },
            flags: bytes[25],
            name: bytes[HEAD..HEAD + name_len].to_vec(),
            system_use: bytes[system_use..len].to_vec(),
        })
    }

    /// It is a directory.
    pub fn is_directory(&self) -> bool {
        self.flags & 2 != 0
    }

    /// The file goes on in the next record.
    pub fn continues(&self) -> bool {
        self.flags & 0x80 != 0
    }

    /// `.` or `..`.
    pub fn is_self_or_parent(&self) -> bool {
        matches!(self.name.as_slice(), [0] | [1])
    }

    /// The name without version and trailing dot, as in the plain name space.
    pub fn plain_name(&self) -> String {
        let name = String::from_utf8_lossy(&self.name);
        let name = name.strip_suffix(";1").unwrap_or(&name);
        name.strip_suffix('.')
            .unwrap_or(name)
            .replace([';', '/'], ".")
    }
}

/// All records of a directory, `.` and `..` included.
///
/// # Errors
///
/// When the directory lies outside the image or a record is damaged.
pub fn records(view: &View, directory: Extent) -> Result<Vec<Record>> {
    if directory.len > LARGEST {
        return Err(Error::form(
            directory.start(),
            format!("a directory of at most {LARGEST} bytes"),
            format!("one of {}", directory.len),
        ));
    }
    let start = directory.start();
    let bytes = view.read_exact("a directory", start, directory.len.into())?;
    let mut records = Vec::new();
    for (index, sector) in bytes.chunks(SECTOR as usize).enumerate() {
        let mut at = 0;
        // A zero length says that the rest of the sector is unused.
        while sector.get(at).is_some_and(|len| *len != 0) {
            let place = start + index as u64 * SECTOR + at as u64;
            let record = Record::parse(&sector[at..], place)?;
            at += record.len;
            records.push(record);
        }
    }
    Ok(records)
}

/// Every directory of a tree with its records, the root first.
///
/// # Errors
///
/// When a record is damaged, lies outside the image, or leads in a circle.
pub fn all(view: &View, root: Extent) -> Result<Vec<(Extent, Vec<Record>)>> {
    let (mut found, mut next) = (Vec::new(), vec![root]);
    let mut visited = HashSet::from([root.sector]);
    while let Some(directory) = next.pop() {
        let records = records(view, directory)?;
        for record in &records {
            if record.is_self_or_parent() || !record.is_directory() {
                continue;
            }
            if !visited.insert(record.extent.sector) {
                let found = "one that is reached on two ways";
                return Err(Error::form(
                    record.at,
                    "directories that form a tree",
                    found,
                ));
            }
            next.push(record.extent);
        }
        found.push((directory, records));
    }
    Ok(found)
}
