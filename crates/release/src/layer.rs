//! The entries of a layer: a tar archive, compressed with gzip, zstd or not at all.
//!
//! Read in one pass with little memory, whatever the archive claims about itself: names, headers
//! and the unpacked size have limits, and names that lead upwards do not exist for us.

use std::io::{self, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use tar::{EntryType, Header};

use crate::blob::LayerFault;

/// Extended headers hold names and times; a megabyte of them is an attack.
const MAX_EXTENSION: u64 = 1 << 20;
const MAX_NAME: u64 = 64 << 10;
const BLOCK: usize = 512;
const BUFFER: usize = 256 << 10;
/// 128 MiB of window, the most that zstd uses without being asked.
const ZSTD_WINDOW_LOG: u32 = 27;

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    /// Target as written.
    Symlink(String),
    /// Target as a path from the root.
    Hardlink(String),
    /// Devices, pipes, sparse files.
    Other,
}

/// One entry, with a path from the root without `.` and `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub path: String,
    pub kind: Kind,
    pub size: u64,
    pub mode: u32,
}

pub(crate) type Visit<'a> = dyn FnMut(&Entry, &mut dyn Read) -> Result<(), LayerFault> + 'a;

fn malformed(why: impl Into<String>) -> LayerFault {
    LayerFault::Malformed(why.into())
}

fn unreadable(cause: io::Error) -> LayerFault {
    match cause.kind() {
        io::ErrorKind::UnexpectedEof => malformed("it ends too early"),
        _ => malformed(format!("it cannot be unpacked: {cause}")),
    }
}

/// Visits every entry; `limit` bounds the unpacked size.
pub(crate) fn read_layer(
    input: &mut dyn Read,
    limit: u64,
    visit: &mut Visit<'_>,
) -> Result<(), LayerFault> {
    let mut magic = [0; 4];
    let known = fill(input, &mut magic).map_err(unreadable)?;
    let whole =
        io::BufReader::with_capacity(BUFFER, Cursor::new(magic).take(known as u64).chain(input));
    match magic {
        [0x1f, 0x8b, ..] => read_tar(&mut Bounded(MultiGzDecoder::new(whole), limit), visit),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let mut decoder =
                zstd::stream::read::Decoder::with_buffer(whole).map_err(unreadable)?;
            decoder
                .window_log_max(ZSTD_WINDOW_LOG)
                .map_err(unreadable)?;
            read_tar(&mut Bounded(decoder, limit), visit)
        }
        _ => read_tar(&mut Bounded(whole, limit), visit),
    }
}

/// Fails once more than this many bytes have come out.
struct Bounded<R>(R, u64);

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1 = self.1.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other("it unpacks to far more than any layer of its size should")
        })?;
        Ok(count)
    }
}

/// As much as there is, up to the length of the buffer.
fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut have = 0;
    while have < buffer.len() {
        match input.read(&mut buffer[have..]) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(have)
}

/// What extended headers say about the next entry.
#[derive(Default)]
struct Extension {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    sparse: bool,
}

fn read_tar(input: &mut dyn Read, visit: &mut Visit<'_>) -> Result<(), LayerFault> {
    let mut block = [0; BLOCK];
    let mut extension = Extension::default();
    let mut scratch = vec![0; BUFFER];
    loop {
        match fill(input, &mut block).map_err(unreadable)? {
            0 => return Ok(()),
            BLOCK if block.iter().all(|byte| *byte == 0) => {
                return drain(input, &mut scratch, u64::MAX).map(|_| ());
            }
            BLOCK => {}
            _ => return Err(malformed("it ends within a header")),
        }
        let header = Header::from_byte_slice(&block);
        check(header, &block)?;
        let kind = header.entry_type();
        let stated = header
            .entry_size()
            .map_err(|_| malformed("an entry has no readable size"))?;
        match kind {
            EntryType::XHeader => pax(&held(input, stated, MAX_EXTENSION)?, &mut extension),
            EntryType::GNULongName => {
                extension.path = Some(until_nul(held(input, stated, MAX_NAME)?));
            }
            EntryType::GNULongLink => {
                extension.link = Some(until_nul(held(input, stated, MAX_NAME)?));
            }
            _ => {
                let extension = std::mem::take(&mut extension);
                let has_content = !matches!(
                    kind,
                    EntryType::Link
                        | EntryType::Symlink
                        | EntryType::Char
                        | EntryType::Block
                        | EntryType::Directory
                        | EntryType::Fifo
                );
                let size = match has_content {
                    true => extension.size.unwrap_or(stated),
                    false => 0,
                };
                let padded = size
                    .checked_next_multiple_of(BLOCK as u64)
                    .ok_or_else(|| malformed("an entry claims an impossible size"))?;
                let mut content = input.take(size);
                if let Some(entry) = entry(header, kind, extension, size) {
                    visit(&entry, &mut content)?;
                }
                let rest = content.limit() + (padded - size);
                if drain(input, &mut scratch, rest)? < rest {
                    return Err(malformed("it ends within an entry"));
                }
            }
        }
    }
}

/// Reads and forgets; says how much there was.
fn drain(input: &mut dyn Read, scratch: &mut [u8], most: u64) -> Result<u64, LayerFault> {
    let mut left = most;
    while left > 0 {
        let want = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(scratch.len());
        match input.read(&mut scratch[..want]) {
            Ok(0) => break,
            Ok(count) => left -= count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    Ok(most - left)
}

fn check(header: &Header, block: &[u8; BLOCK]) -> Result<(), LayerFault> {
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(at, byte)| match (148..156).contains(&at) {
            true => u32::from(b' '),
            false => u32::from(*byte),
        })
        .sum();
    match header.cksum() {
        Ok(stated) if stated == sum => Ok(()),
        _ => Err(malformed(
            "it is no tar archive, or a damaged one (a checksum is wrong)",
        )),
    }
}

/// The content of an extended header.
fn held(input: &mut dyn Read, size: u64, limit: u64) -> Result<Vec<u8>, LayerFault> {
    if size > limit {
        return Err(malformed(format!(
            "an extended header claims {size} bytes, more than {limit}"
        )));
    }
    let padded = size.next_multiple_of(BLOCK as u64);
    let mut bytes = Vec::new();
    input
        .take(padded)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if (bytes.len() as u64) < padded {
        return Err(malformed("it ends within an extended header"));
    }
    bytes.truncate(usize::try_from(size).unwrap_or(usize::MAX));
    Ok(bytes)
}

fn until_nul(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    bytes
}

fn pax(bytes: &[u8], extension: &mut Extension) {
    for field in tar::PaxExtensions::new(bytes).flatten() {
        match field.key_bytes() {
            b"path" => extension.path = Some(field.value_bytes().to_vec()),
            b"linkpath" => extension.link = Some(field.value_bytes().to_vec()),
            b"size" => {
                extension.size = field.value().ok().and_then(|size| size.parse().ok());
            }
            key => extension.sparse |= key.starts_with(b"GNU.sparse."),
        }
    }
}

/// None for what cannot be looked for: other encodings, names that lead upwards, the root.
fn entry(header: &Header, kind: EntryType, extension: Extension, size: u64) -> Option<Entry> {
    let path = extension
        .path
        .unwrap_or_else(|| header.path_bytes().into_owned());
    let path = from_root(std::str::from_utf8(&path).ok()?)?;
    let link = || {
        let link = extension
            .link
            .or_else(|| header.link_name_bytes().map(|bytes| bytes.into_owned()))?;
        String::from_utf8(link).ok()
    };
    let kind = match kind {
        _ if extension.sparse => Kind::Other,
        EntryType::Regular | EntryType::Continuous => Kind::File,
        EntryType::Directory => Kind::Folder,
        EntryType::Symlink => Kind::Symlink(link()?),
        EntryType::Link => Kind::Hardlink(from_root(&link()?)?),
        _ => Kind::Other,
    };
    Some(Entry {
        path,
        kind,
        size,
        mode: header.mode().unwrap_or(0o644) & 0o7777,
    })
}

/// A path from the root of the image; none if it leads upwards or nowhere.
pub(crate) fn from_root(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            name => parts.push(name),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests;
