//! xz with limits: the header of a stream may ask for gigabytes of memory.

use std::io::{Read, Write};

use lzma_rust2::{CheckType, XzOptions, XzReader, XzWriter};

use crate::error::{Error, Result};

/// What the highest preset of xz uses.
const LARGEST_DICTIONARY: u64 = 64 * 1024 * 1024;

/// Unpacks one stream and moves `rest` behind it.
pub(crate) fn unpack(rest: &mut &[u8], at: u64, most: u64) -> Result<Vec<u8>> {
    let damaged = |why: String| Error::form(at, "an xz archive", why);
    let asked = dictionary(rest).ok_or_else(|| damaged("a header without LZMA2 filter".into()))?;
    if asked > LARGEST_DICTIONARY {
        return Err(damaged(format!("one that needs {asked} bytes of memory")));
    }
    let mut unpacked = Vec::new();
    let mut reader = XzReader::new(*rest, false);
    reader
        .by_ref()
        .take(most + 1)
        .read_to_end(&mut unpacked)
        .map_err(|cause| damaged(cause.to_string()))?;
    super::within_limit(&unpacked, at, most)?;
    *rest = reader.into_inner();
    Ok(unpacked)
}

/// Packs with the check the kernel can verify (CRC32).
pub(super) fn pack(plain: &[u8]) -> Result<Vec<u8>> {
    let mut options = XzOptions::with_preset(6);
    options.set_check_sum_type(CheckType::Crc32);
    XzWriter::new(Vec::new(), options)
        .and_then(|mut writer| {
            writer.write_all(plain)?;
            writer.finish()
        })
        .map_err(|cause| Error::Read {
            what: "an archive while packing it".into(),
            offset: 0,
            cause: std::io::Error::other(cause.to_string()),
        })
}

/// The dictionary size of the first block; 0 for a stream without blocks.
fn dictionary(stream: &[u8]) -> Option<u64> {
    const STREAM_HEADER: usize = 12;
    let words = usize::from(*stream.get(STREAM_HEADER)?);
    if words == 0 {
        return Some(0);
    }
    let header = stream.get(STREAM_HEADER..STREAM_HEADER + (words + 1) * 4)?;
    let flags = header[1];
    let mut at = 2;
    // Packed and plain size come first, if at all, as numbers of seven bits a byte.
    for present in [flags & 0x40 != 0, flags & 0x80 != 0] {
        if present {
            at += header.get(at..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
        }
    }
    for _ in 0..=flags & 3 {
        let (id, size) = (*header.get(at)?, usize::from(*header.get(at + 1)?));
        if id == 0x21 {
            let bits = u32::from(*header.get(at + 2)?);
            return (bits < 40).then(|| u64::from(2 | (bits & 1)) << (bits / 2 + 11));
        }
        at += 2 + size;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_asks_for_gigabytes_is_refused_before_it_is_read() {
        let mut packed = pack(b"hello").unwrap();
        assert_eq!(unpack(&mut packed.as_slice(), 0, 100).unwrap(), b"hello");
        let place = packed
            .windows(2)
            .position(|pair| pair == [0x21, 1])
            .unwrap();
        packed[place + 2] = 39;
        let error = unpack(&mut packed.as_slice(), 0, 100)
            .unwrap_err()
            .to_string();
        assert!(error.contains("bytes of memory"), "{error}");
    }

    #[test]
    fn unpacking_stops_at_the_limit() {
        let packed = pack(&[7; 5000]).unwrap();
        assert!(unpack(&mut packed.as_slice(), 0, 4999).is_err());
        assert!(unpack(&mut packed.as_slice(), 0, 5000).is_ok());
    }
}
