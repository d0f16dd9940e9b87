//! El Torito: which file the firmware starts from a CD.

use crate::{
    error::{Error, Result},
    iso9660::{
        Iso, SECTOR,
        numbers::{le16, le32},
    },
};

/// Firmware that a boot image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// PC BIOS (also what s390x and older ppc64le images write).
    Bios,
    /// UEFI.
    Uefi,
    /// Another number.
    Other(u8),
}

/// One boot image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootImage {
    /// First byte of the catalog entry in the image.
    pub at: u64,
    /// Firmware it is for.
    pub platform: Platform,
    /// First sector of the boot image.
    pub sector: u32,
    /// How many 512-byte blocks the firmware loads.
    pub blocks: u16,
}

/// Reads the boot catalog; empty when the image has none.
///
/// # Errors
///
/// When the catalog is damaged or lies outside the image.
pub fn boot_images(iso: &Iso) -> Result<Vec<BootImage>> {
    let Some((_, sector)) = iso.boot_catalog() else {
        return Ok(Vec::new());
    };
    let start = u64::from(sector) * SECTOR;
    let bytes = iso
        .view()
        .read_exact("the El Torito boot catalog", start, SECTOR)?;
    let sum = bytes[..32]
        .chunks_exact(2)
        .fold(0u16, |sum, pair| sum.wrapping_add(le16(pair, 0)));
    if bytes[0] != 1 || sum != 0 || bytes[30..32] != [0x55, 0xaa] {
        return Err(Error::form(
            start,
            "an El Torito validation entry with a checksum of zero",
            format!("type {}, checksum {sum}", bytes[0]),
        ));
    }
    let mut platform = platform(bytes[1]);
    let mut images = Vec::new();
    for (index, entry) in bytes.chunks_exact(32).enumerate().skip(1) {
        match entry[0] {
            0x90 | 0x91 => platform = self::platform(entry[1]),
            0x88 => images.push(BootImage {
                at: start + index as u64 * 32,
                platform,
                sector: le32(entry, 8),
                blocks: le16(entry, 6),
            }),
            0x44 => {}
            _ if index > 1 => break,
            _ => {}
        }
    }
    Ok(images)
}

fn platform(id: u8) -> Platform {
    match id {
        0 => Platform::Bios,
        0xef => Platform::Uefi,
        other => Platform::Other(other),
    }
}
