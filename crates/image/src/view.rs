//! A virtual file: a list of ranges over files and memory.
//!
//! Every image this crate makes is such a list. It costs a few hundred bytes however large the
//! image is, any byte of it can be read at once, and the parts that come unchanged from a file
//! are still known as such, so that a server can hand them to the kernel. Start at [`View`].

mod reader;
mod source;

pub use reader::Reader;
pub use source::{ReadAt, Source};

use std::{fmt, io};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// One run of bytes of a [`View`].
#[derive(Clone)]
pub enum Range {
    /// Bytes of a source, unchanged.
    Source {
        /// Where they come from.
        source: Source,
        /// First byte in the source.
        offset: u64,
        /// How many.
        len: u64,
    },
    /// Bytes in memory.
    Bytes(Bytes),
    /// This many zero bytes.
    Zeros(u64),
}

/// Bytes put together from ranges.
#[derive(Clone, Default)]
pub struct View {
    /// With the position of each range's first byte; none is empty.
    ranges: Vec<(u64, Range)>,
    len: u64,
}

impl Range {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Source { len, .. } | Self::Zeros(len) => *len,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// No bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part from `skip` on, `len` bytes long; the caller knows that there is one.
    pub fn part(&self, skip: u64, len: u64) -> Self {
        match self {
            Self::Source { source, offset, .. } => Self::Source {
                source: source.clone(),
                offset: offset + skip,
                len,
            },
            Self::Bytes(bytes) => Self::Bytes(bytes.slice(skip as usize..(skip + len) as usize)),
            Self::Zeros(_) => Self::Zeros(len),
        }
    }

    fn read(&self, skip: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let count = usize::try_from(self.len() - skip)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let buffer = &mut buffer[..count];
        match self {
            Self::Source { source, offset, .. } => return source.read_at(buffer, offset + skip),
            Self::Bytes(bytes) => buffer.copy_from_slice(&bytes[skip as usize..][..count]),
            Self::Zeros(_) => buffer.fill(0),
        }
        Ok(count)
    }
}

impl View {
    /// All of a source.
    pub fn of(source: Source) -> Self {
        let len = source.len();
        let mut view = Self::default();
        view.push(Range::Source {
            source,
            offset: 0,
            len,
        });
        view
    }

    /// Bytes in memory.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        let mut view = Self::default();
        view.push(Range::Bytes(bytes.into()));
        view
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// No bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ranges in order; together they are the whole.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = &Range> {
        self.ranges.iter().map(|(_, range)| range)
    }

    /// Adds a range at the end.
    pub fn push(&mut self, range: Range) {
        if !range.is_empty() {
            let start = self.len;
            self.len += range.len();
            self.ranges.push((start, range));
        }
    }

    /// Adds all of another view at the end.
    pub fn append(&mut self, other: &Self) {
        other.ranges().for_each(|range| self.push(range.clone()));
    }

    /// Adds zeros at the end until the length is a multiple of `unit`.
    pub fn pad_to(&mut self, unit: u64) {
        self.push(Range::Zeros(self.len.next_multiple_of(unit) - self.len));
    }

    /// A part of this view.
    ///
    /// # Errors
    ///
    /// When the part reaches past the end.
    pub fn slice(&self, offset: u64, len: u64) -> Result<Self> {
        let end = offset
            .checked_add(len)
            .filter(|end| *end <= self.len)
            .ok_or_else(|| Error::Truncated {
                what: format!("a part of {len} bytes from byte {offset}"),
                needs: offset.saturating_add(len),
                has: self.len,
            })?;
        let mut part = Self::default();
        let first = self
            .ranges
            .partition_point(|(start, range)| start + range.len() <= offset);
        for (start, range) in &self.ranges[first..] {
            if *start >= end {
                break;
            }
            let skip = offset.saturating_sub(*start);
            let stop = range.len().min(end - start);
            part.push(range.part(skip, stop - skip));
        }
        Ok(part)
    }

    /// The same bytes, but with others from `offset` on.
    ///
    /// # Errors
    ///
    /// When the new bytes reach past the end.
    pub fn patched(&self, offset: u64, bytes: impl Into<Bytes>) -> Result<Self> {
        self.replaced(offset, &Self::bytes(bytes))
    }

    /// The same bytes, but with those of another view from `offset` on.
    ///
    /// # Errors
    ///
    /// When the other view reaches past the end.
    pub fn replaced(&self, offset: u64, with: &Self) -> Result<Self> {
        self.slice(offset, with.len)?;
        let mut whole = self.slice(0, offset)?;
        whole.append(with);
        let rest = offset + with.len;
        whole.append(&self.slice(rest, self.len - rest)?);
        Ok(whole)
    }

    /// Reads at most one range; 0 only at the end or for an empty buffer.
    ///
    /// # Errors
    ///
    /// Those of the source.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if buffer.is_empty() || offset >= self.len {
            return Ok(0);
        }
        let index = self.ranges.partition_point(|(start, _)| *start <= offset) - 1;
        let (start, range) = &self.ranges[index];
        range.read(offset - start, buffer)
    }

    /// Reads exactly `len` bytes. Only for small parts: they are held in memory.
    ///
    /// # Errors
    ///
    /// Those of the source, and when the part reaches past the end.
    pub fn read_exact(&self, what: &str, offset: u64, len: u64) -> Result<Vec<u8>> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(Error::Truncated {
                what: what.to_owned(),
                needs: offset.saturating_add(len),
                has: self.len,
            });
        }
        let failed = |cause| Error::Read {
            what: what.to_owned(),
            offset,
            cause,
        };
        let size = usize::try_from(len)
            .map_err(|_| failed(io::Error::from(io::ErrorKind::OutOfMemory)))?;
        let mut buffer = vec![0; size];
        let mut done = 0;
        while done < size {
            match self.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(buffer)
    }

    /// A reader over the whole, `Read` and `Seek`.
    pub fn reader(&self) -> Reader {
        Reader::new(self.clone())
    }

    /// Names the content: equal inputs give equal tags, in any process, without reading the
    /// sources (each brings its own identity). Fit for a strong ETag.
    pub fn tag(&self) -> String {
        let mut hash = Sha256::new();
        for range in self.ranges() {
            match range {
                Range::Source {
                    source,
                    offset,
                    len,
                } => {
                    hash.update(b"source");
                    hash.update(source.identity());
                    hash.update(offset.to_le_bytes());
                    hash.update(len.to_le_bytes());
                }
                Range::Bytes(bytes) => {
                    hash.update(b"bytes");
                    hash.update((bytes.len() as u64).to_le_bytes());
                    hash.update(bytes);
                }
                Range::Zeros(len) => {
                    hash.update(b"zeros");
                    hash.update(len.to_le_bytes());
                }
            }
        }
        hash.finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

// Bytes may be an Ignition config full of secrets: say how many, never which.
impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source { offset, len, .. } => write!(f, "source[{offset}; {len}]"),
            Self::Bytes(bytes) => write!(f, "bytes[{}]", bytes.len()),
            Self::Zeros(len) => write!(f, "zeros[{len}]"),
        }
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ranges()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, SeekFrom};

    use proptest::prelude::*;

    use super::*;

    fn alphabet() -> View {
        View::of(Source::memory((b'a'..=b'z').collect::<Vec<u8>>()))
    }

    fn all(view: &View) -> Vec<u8> {
        let mut bytes = Vec::new();
        view.reader().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_patch_changes_its_bytes_and_no_others() {
        let view = alphabet()
            .patched(2, &b"XY"[..])
            .unwrap()
            .patched(3, &b"Z"[..])
            .unwrap();
        assert_eq!(all(&view), b"abXZefghijklmnopqrstuvwxyz");
        assert_eq!(view.len(), 26);
    }

    #[test]
    fn a_patch_past_the_end_is_refused_with_both_lengths() {
        let error = alphabet().patched(25, &b"XY"[..]).unwrap_err().to_string();
        assert!(
            error.contains("needs 27 bytes") && error.contains("after 26"),
            "{error}"
        );
        assert!(alphabet().slice(u64::MAX, 2).is_err());
    }

    #[test]
    fn equal_recipes_have_equal_tags_and_others_do_not() {
        let patched = |byte: u8| alphabet().patched(1, vec![byte]).unwrap().tag();
        assert_eq!(patched(1), patched(1));
        assert_ne!(patched(1), patched(2));
        assert_ne!(alphabet().tag(), patched(1));
    }

    #[test]
    fn debug_output_never_shows_bytes() {
        let shown = format!("{:?}", View::bytes(&b"secret"[..]));
        assert_eq!(shown, "[bytes[6]]");
    }

    #[test]
    fn a_file_that_shrank_is_an_error_not_an_endless_loop() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[1; 100]).unwrap();
        let view = View::of(Source::file(file.try_clone().unwrap()).unwrap());
        file.set_len(10).unwrap();
        let error = view.reader().read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(view.read_exact("x", 0, 100).is_err());
    }

    proptest! {
        #[test]
        fn any_range_equals_the_slice_of_the_whole(
            patches in prop::collection::vec((0u64..200, prop::collection::vec(any::<u8>(), 0..40)), 0..8),
            zeros in 0u64..50, from in 0u64..300, count in 0usize..300,
        ) {
            let mut plain: Vec<u8> = (0..240u32).map(|n| n as u8).collect();
            let mut view = View::of(Source::memory(plain.clone()));
            for (at, bytes) in patches {
                plain[at as usize..][..bytes.len()].copy_from_slice(&bytes);
                view = view.patched(at, bytes).unwrap();
            }
            view.push(Range::Zeros(zeros));
            plain.resize(plain.len() + zeros as usize, 0);
            prop_assert_eq!(&all(&view), &plain);
            let mut reader = view.reader();
            reader.seek(SeekFrom::Start(from)).unwrap();
            let mut got = Vec::new();
            reader.take(count as u64).read_to_end(&mut got).unwrap();
            let from = (from as usize).min(plain.len());
            prop_assert_eq!(got, &plain[from..(from + count).min(plain.len())]);
        }
    }
}
