//! Volume descriptors: where everything else is.

use crate::{
    error::{Error, Result},
    iso9660::{Extent, SECTOR, directory::Record, joliet, numbers::le32},
    view::View,
};

/// The first descriptor's sector; what lies before is left to boot loaders.
pub const FIRST_DESCRIPTOR: u64 = 16;
/// More descriptors than any image has.
const MOST_DESCRIPTORS: u64 = 64;

/// One directory tree of the image and how it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// First byte of its descriptor in the image.
    pub at: u64,
    /// System the image is meant for.
    pub system_id: String,
    /// Label.
    pub label: String,
    /// Sectors the file system has.
    pub sectors: u32,
    /// Root directory.
    pub root: Extent,
    /// Length of each path table in bytes.
    pub path_table_len: u32,
    /// Byte offset in the descriptor, byte order and sector of each path table there is.
    pub path_tables: Vec<PathTable>,
}

/// A second index of all directories, which some readers prefer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTable {
    /// Offset of its sector number in the descriptor.
    pub field: usize,
    /// Its first sector.
    pub sector: u32,
    /// Numbers in it are big-endian.
    pub big_endian: bool,
}

/// What the descriptors of an image say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptors {
    /// The tree every reader knows.
    pub primary: Volume,
    /// The tree with Unicode names.
    pub joliet: Option<Volume>,
    /// Byte offset of the boot record descriptor and the sector of the El Torito catalog.
    pub boot_catalog: Option<(u64, u32)>,
}

impl Descriptors {
    /// Reads all descriptors.
    ///
    /// # Errors
    ///
    /// When they are damaged, missing or say the image is longer than it is.
    pub fn read(view: &View) -> Result<Self> {
        let (mut primary, mut supplementary, mut boot_catalog) = (None, None, None);
        for sector in FIRST_DESCRIPTOR..FIRST_DESCRIPTOR + MOST_DESCRIPTORS {
            let at = sector * SECTOR;
            let bytes = view.read_exact("an ISO 9660 volume descriptor", at, SECTOR)?;
            if &bytes[1..6] != b"CD001" || bytes[6] != 1 {
                let found = bytes[1..6].escape_ascii().to_string();
                return Err(Error::form(
                    at + 1,
                    "the ISO 9660 signature `CD001` and version 1",
                    format!("`{found}` and version {}", bytes[6]),
                ));
            }
            match bytes[0] {
                0 if bytes[7..].starts_with(b"EL TORITO SPECIFICATION") => {
                    boot_catalog = Some((at, le32(&bytes, 71)));
                }
                1 if primary.is_none() => primary = Some(Volume::parse(&bytes, at, text)?),
                2 if supplementary.is_none() && joliet::is_joliet(&bytes) => {
                    supplementary = Some(Volume::parse(&bytes, at, joliet::decode)?);
                }
                255 => break,
                _ => {}
            }
        }
        let primary = primary.ok_or_else(|| {
            Error::form(
                FIRST_DESCRIPTOR * SECTOR,
                "a primary volume descriptor (type 1) before the terminator",
                "none",
            )
        })?;
        let needs = u64::from(primary.sectors) * SECTOR;
        if needs > view.len() {
            return Err(Error::Truncated {
                what: "the ISO 9660 file system".into(),
                needs,
                has: view.len(),
            });
        }
        Ok(Self {
            primary,
            joliet: supplementary,
            boot_catalog,
        })
    }
}

impl Volume {
    fn parse(bytes: &[u8], at: u64, decode: fn(&[u8]) -> String) -> Result<Self> {
        let block = u16::from_le_bytes([bytes[128], bytes[129]]);
        if u64::from(block) != SECTOR {
            return Err(Error::form(
                at + 128,
                "sectors of 2048 bytes",
                format!("{block}"),
            ));
        }
        let root = Record::parse(&bytes[156..190], at + 156)?;
        if !root.is_directory() {
            return Err(Error::form(
                at + 156,
                "the record of a root directory",
                "a file's record",
            ));
        }
        let tables = [(140, false), (144, false), (148, true), (152, true)];
        let path_tables = tables.into_iter().filter_map(|(field, big_endian)| {
            let raw: [u8; 4] = bytes[field..].first_chunk().copied()?;
            let sector = if big_endian {
                u32::from_be_bytes(raw)
            } else {
                u32::from_le_bytes(raw)
            };
            (sector != 0).then_some(PathTable {
                field,
                sector,
                big_endian,
            })
        });
        Ok(Self {
            at,
            system_id: decode(&bytes[8..40]),
            label: decode(&bytes[40..72]),
            sectors: le32(bytes, 80),
            root: root.extent,
            path_table_len: le32(bytes, 132),
            path_tables: path_tables.collect(),
        })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches([' ', '\0'])
        .to_owned()
}
