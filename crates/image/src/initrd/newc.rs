//! The newc form of cpio, the only archive format the kernel supports.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::Member;
use crate::error::{Error, Result};

const HEADER: usize = 110;
const END: &str = "TRAILER!!!";
const DIRECTORY: u32 = 0o040_755;
const TYPE: u32 = 0o170_000;

/// Zeros up to the next multiple of four.
pub fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Writes an archive; parent directories come before the first file that needs them.
pub(super) fn write(members: &[Member]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut inode = 0;
    let mut known = BTreeSet::new();
    for member in members {
        for (end, _) in member.name.match_indices('/').filter(|(end, _)| *end > 0) {
            let parent = &member.name[..end];
            if known.insert(parent) {
                inode += 1;
                record(&mut out, inode, DIRECTORY, parent, &[])?;
            }
        }
        inode += 1;
        record(&mut out, inode, member.mode, &member.name, &member.data)?;
    }
    record(&mut out, 0, 0, END, &[])?;
    Ok(out)
}

fn record(out: &mut Vec<u8>, inode: u32, mode: u32, name: &str, data: &[u8]) -> Result<()> {
    let size = u32::try_from(data.len()).map_err(|_| {
        Error::Refused(format!(
            "{name} is larger than the 4 GiB that fit in an initrd archive"
        ))
    })?;
    let links = if mode & TYPE == 0o040_000 { 2 } else { 1 };
    let name_size = u32::try_from(name.len() + 1)
        .map_err(|_| Error::Refused("a file name is longer than an archive can hold".into()))?;
    let fields = [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
    out.extend(b"070701");
    fields
        .iter()
        .for_each(|field| out.extend(format!("{field:08x}").bytes()));
    out.extend(name.as_bytes());
    out.push(0);
    pad(out);
    out.extend(data);
    pad(out);
    Ok(())
}

/// Reads one archive up to and with its end, and moves `rest` behind it.
pub(super) fn read(rest: &mut &[u8], at: u64) -> Result<Vec<Member>> {
    let whole = *rest;
    let mut members = Vec::new();
    let mut position = 0;
    loop {
        let place = at + position as u64;
        let header = Header::read(whole.get(position..).unwrap_or_default(), place)?;
        let cut_off = || Error::form(place, "a whole cpio member", "the end of the archive");
        let name_end = position + HEADER + header.name_size;
        let name = whole.get(position + HEADER..name_end).ok_or_else(cut_off)?;
        let data_start = name_end.next_multiple_of(4);
        let data_end = data_start.checked_add(header.size).ok_or_else(cut_off)?;
        let data = whole.get(data_start..data_end).ok_or_else(cut_off)?;
        position = data_end.next_multiple_of(4);
        let name = String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name)).into_owned();
        if name == END {
            *rest = whole.get(position..).unwrap_or_default();
            return Ok(members);
        }
        if header.mode & TYPE != 0o040_000 {
            let name = name
                .trim_start_matches("./")
                .trim_start_matches('/')
                .to_owned();
            members.push(Member {
                name,
                mode: header.mode,
                data: Bytes::copy_from_slice(data),
            });
        }
    }
}

struct Header {
    mode: u32,
    size: usize,
    name_size: usize,
}

impl Header {
    fn read(bytes: &[u8], at: u64) -> Result<Self> {
        let expected = "a cpio archive in newc form (`070701`), gzip or xz";
        if !bytes.starts_with(b"070701") && !bytes.starts_with(b"070702") {
            return Err(Error::form(at, expected, kind(bytes)));
        }
        let Some(header) = bytes.get(..HEADER) else {
            return Err(Error::form(
                at,
                expected,
                format!("{} last bytes", bytes.len()),
            ));
        };
        let field = |index: usize| {
            let digits = &header[6 + index * 8..][..8];
            std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .ok_or_else(|| Error::form(at, "a cpio header of hexadecimal digits", "others"))
        };
        Ok(Self {
            mode: field(1)?,
            size: field(6)? as usize,
            name_size: field(11)? as usize,
        })
    }
}

fn kind(bytes: &[u8]) -> String {
    match bytes {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "a zstd archive".into(),
        [b'B', b'Z', b'h', ..] => "a bzip2 archive".into(),
        [0x02, 0x21, 0x4c, 0x18, ..] | [0x04, 0x22, 0x4d, 0x18, ..] => "an lz4 archive".into(),
        [0x5d, 0, ..] => "an lzma archive".into(),
        _ => format!("`{}`", bytes[..6.min(bytes.len())].escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_claims_more_than_there_is_is_refused() {
        let member = Member {
            name: "a".into(),
            mode: 0o100_600,
            data: Bytes::from_static(b"xyz"),
        };
        let mut bytes = write(&[member]).unwrap();
        bytes[54..62].copy_from_slice(b"ffffffff");
        let error = read(&mut bytes.as_slice(), 0).unwrap_err().to_string();
        assert!(error.contains("whole cpio member"), "{error}");
        assert!(read(&mut &b"070701"[..], 7).is_err());
    }
}
