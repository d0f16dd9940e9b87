//! The recipe that newer images carry for their own minimal form.
//!
//! `coreos/miniso.dat` lists which parts of the minimal image are parts of the full one, and has
//! the rest (directories, tables, padding) packed in itself. Cooking it is another list of
//! ranges; the digest in the recipe says whether the result is what the publisher tested.

use std::io::Read;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::{
    error::{Error, Result},
    initrd::unxz,
    iso9660::{Iso, SECTOR},
    view::{Range, View},
};

const FILE: &str = "coreos/miniso.dat";
const MAGIC: &[u8; 8] = b"MINISO\0\0";
const LARGEST: u64 = 1024 * 1024;
/// Directories, tables and padding of a minimal image.
const LARGEST_REST: u64 = 256 * 1024 * 1024;

/// A recipe, understood but not yet cooked.
#[derive(Debug)]
pub struct Recipe {
    table: Vec<Copy>,
    digest: [u8; 32],
    rest: Bytes,
}

#[derive(Clone, Copy, Debug)]
struct Copy {
    minimal: u32,
    full: u32,
    len: u32,
}

impl Recipe {
    /// Reads the recipe of an image; `None` when it has none.
    ///
    /// # Errors
    ///
    /// When it is damaged or of a version that is not known.
    pub fn read(iso: &Iso) -> Result<Option<Self>> {
        let Some(bytes) = iso.small_file(FILE, LARGEST)? else {
            return Ok(None);
        };
        // Images are built with an empty file first; some mirrors have published those.
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        Self::parse(&bytes).map(Some)
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut input = Input { bytes, at: 0 };
        if input.take(MAGIC.len())? != MAGIC {
            return Err(Error::form(
                0,
                format!("{FILE} to begin with `MINISO`"),
                "something else",
            ));
        }
        let version = input.number()?;
        if version != 1 {
            return Err(Error::form(
                8,
                format!("version 1 of {FILE}"),
                version.to_string(),
            ));
        }
        let maker = input.number()?;
        input.take(usize::try_from(maker).unwrap_or(usize::MAX))?;
        let count = input.number()?;
        let mut table: Vec<Copy> = Vec::new();
        for _ in 0..count {
            let copy = Copy {
                minimal: input.small()?,
                full: input.small()?,
                len: input.small()?,
            };
            table.push(copy);
        }
        let digest = input.take(32)?.first_chunk().copied().unwrap_or_default();
        let packed = input.number()?;
        let mut packed = input.take(usize::try_from(packed).unwrap_or(usize::MAX))?;
        let rest = unxz(&mut packed, 0, LARGEST_REST)?.into();
        Ok(Self {
            table,
            digest,
            rest,
        })
    }

    /// The minimal image, from a full image that is as published.
    ///
    /// # Errors
    ///
    /// When the recipe does not fit the image.
    pub fn cook(&self, full: &View) -> Result<View> {
        let mut minimal = View::default();
        let mut used = 0;
        for copy in &self.table {
            let start = u64::from(copy.minimal) * SECTOR;
            let gap = start.checked_sub(minimal.len()).ok_or_else(|| {
                Error::form(
                    0,
                    format!("a table in {FILE} that is in order"),
                    "an overlap",
                )
            })?;
            minimal.push(Range::Bytes(self.rest_part(&mut used, gap)?));
            minimal.append(&full.slice(u64::from(copy.full) * SECTOR, copy.len.into())?);
        }
        let left = self.rest.len() as u64 - used;
        minimal.push(Range::Bytes(self.rest_part(&mut used, left)?));
        Ok(minimal)
    }

    /// Compares a cooked image with the digest in the recipe. Reads all of it.
    ///
    /// # Errors
    ///
    /// When they differ, or the image cannot be read.
    pub fn verify(&self, minimal: &View) -> Result<()> {
        let mut hash = Sha256::new();
        let mut reader = minimal.reader();
        let mut buffer = vec![0; 1024 * 1024];
        let mut offset = 0;
        loop {
            let count = reader.read(&mut buffer).map_err(|cause| Error::Read {
                what: "the minimal image".into(),
                offset,
                cause,
            })?;
            if count == 0 {
                break;
            }
            offset += count as u64;
            hash.update(&buffer[..count]);
        }
        if hash.finalize().as_slice() != self.digest {
            return Err(Error::form(
                0,
                "a minimal image with the digest its recipe names",
                "another digest",
            ));
        }
        Ok(())
    }

    fn rest_part(&self, used: &mut u64, len: u64) -> Result<Bytes> {
        let end = used
            .checked_add(len)
            .filter(|end| *end <= self.rest.len() as u64);
        let end = end.ok_or_else(|| {
            let expected = format!("{} more bytes of packed data in {FILE}", len);
            Error::form(
                *used,
                expected,
                format!("{}", self.rest.len() as u64 - *used),
            )
        })?;
        let part = self.rest.slice(*used as usize..end as usize);
        *used = end;
        Ok(part)
    }
}

/// Bytes with numbers of varying length in them.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len);
        let taken = end
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or_else(|| {
                Error::form(self.at as u64, format!("{len} bytes of {FILE}"), "its end")
            })?;
        self.at += len;
        Ok(taken)
    }

    /// Up to 250 in one byte, else a byte that says how many follow.
    fn number(&mut self) -> Result<u64> {
        let width = match self.take(1)?[0] {
            small @ 0..=250 => return Ok(small.into()),
            251 => 2,
            252 => 4,
            253 => 8,
            other => {
                let at = self.at as u64 - 1;
                return Err(Error::form(at, "the width of a number", other.to_string()));
            }
        };
        let mut raw = [0; 8];
        raw[..width].copy_from_slice(self.take(width)?);
        Ok(u64::from_le_bytes(raw))
    }

    fn small(&mut self) -> Result<u32> {
        let number = self.number()?;
        u32::try_from(number)
            .map_err(|_| Error::form(self.at as u64, "a number of 32 bits", number.to_string()))
    }
}
