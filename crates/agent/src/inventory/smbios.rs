//! The tables in which the firmware describes the machine (SMBIOS, also called DMI).
//!
//! The kernel hands them out as one run of bytes: structures, each a fixed part whose first
//! bytes are kind and length, then its strings, each ended by a NUL, all ended by another.

use std::path::Path;

use muster_machine::Machine;

const TABLES: &str = "/sys/firmware/dmi/tables/DMI";
const END: u8 = 127;

/// The tables of one machine; empty on a machine that has none.
#[derive(Debug, Default)]
pub struct Tables(Vec<u8>);

impl Tables {
    /// Reads the tables.
    pub fn of(machine: &dyn Machine) -> Self {
        Self(machine.read(Path::new(TABLES)).unwrap_or_default())
    }

    /// The tables of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// All structures.
    pub fn all(&self) -> impl Iterator<Item = Structure<'_>> {
        structures(&self.0)
    }

    /// The structures of one kind.
    pub fn of_kind(&self, kind: u8) -> impl Iterator<Item = Structure<'_>> {
        structures(&self.0).filter(move |structure| structure.kind() == kind)
    }
}

/// One structure: its fixed part, header included, and its strings.
#[derive(Clone, Copy, Debug)]
pub struct Structure<'a>(&'a [u8], &'a [u8]);

impl<'a> Structure<'a> {
    /// Number that says what the structure describes.
    pub fn kind(&self) -> u8 {
        self.0.first().copied().unwrap_or(END)
    }

    /// A run of bytes of the fixed part.
    pub fn bytes(&self, range: std::ops::Range<usize>) -> Option<&'a [u8]> {
        self.0.get(range)
    }

    /// The string whose number is at a place of the fixed part.
    pub fn string(&self, at: usize) -> Option<&'a str> {
        let number = usize::from(self.byte(at)?).checked_sub(1)?;
        let string = self.1.split(|byte| *byte == 0).nth(number)?;
        std::str::from_utf8(string)
            .ok()
            .filter(|text| !text.is_empty())
    }

    /// A byte of the fixed part; none if this firmware's version of it is shorter.
    pub fn byte(&self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    /// Two bytes of the fixed part.
    pub fn word(&self, at: usize) -> Option<u16> {
        let bytes = self.0.get(at..at.checked_add(2)?)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Four bytes of the fixed part.
    pub fn double_word(&self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

fn structures(mut bytes: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    const HEADER: usize = 4;
    std::iter::from_fn(move || {
        let length = usize::from(*bytes.get(1)?);
        if length < HEADER {
            return None;
        }
        let (fixed, rest) = bytes.split_at_checked(length)?;
        let strings = rest.windows(2).position(|pair| pair == [0, 0]);
        let (strings, after) = match strings {
            Some(end) => (&rest[..end], &rest[end + 2..]),
            None => (rest, &[][..]),
        };
        bytes = after;
        Some(Structure(fixed, strings)).filter(|structure| structure.kind() != END)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn structures_with_and_without_strings_are_found_up_to_the_end_mark() {
        let table = [
            &[17, 6, 0, 0, 0x34, 0x12][..],
            b"DIMM A\0Samsung\0\0",
            &[4, 4, 1, 0, 0, 0],
            &[17, 5, 2, 0, 9],
            b"x\0\0",
            &[127, 4, 3, 0, 0, 0],
            &[17, 4, 4, 0, 0, 0],
        ]
        .concat();
        let tables = Tables(table);
        let found: Vec<_> = tables.of_kind(17).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].word(4), Some(0x1234));
        assert_eq!(found[0].double_word(4), None);
        assert_eq!(found[1].byte(4), Some(9));
        let named = Structure(&[1, 2], b"DIMM A\0Samsung");
        assert_eq!(
            (named.string(0), named.string(1)),
            (Some("DIMM A"), Some("Samsung"))
        );
        assert_eq!(named.string(2), None);
    }

    proptest! {
        #[test]
        fn no_table_makes_the_reader_stumble(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let tables = Tables(bytes);
            for kind in 0..=255 {
                for structure in tables.of_kind(kind) {
                    let _ = (structure.byte(9), structure.word(12), structure.double_word(28), structure.string(4));
                }
            }
        }
    }
}
