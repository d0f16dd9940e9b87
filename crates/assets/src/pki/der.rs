//! The few DER forms a certificate needs.
//!
//! A certificate library would do, but the one in the workspace cannot write two organisations in
//! one name, as the node bootstrapper's certificate has. OpenSSL reads everything written here in
//! the tests.

use jiff::{Timestamp, tz::TimeZone};

/// One tag, length, value.
pub(super) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes: Vec<u8> = length
            .to_be_bytes()
            .into_iter()
            .skip_while(|b| *b == 0)
            .collect();
        out.push(0x80 | bytes.len() as u8);
        out.extend(bytes);
    }
    out.extend(content);
    out
}

pub(super) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(0x30, &parts.concat())
}

/// A SET in DER order: sorted by encoding.
pub(super) fn set(mut parts: Vec<Vec<u8>>) -> Vec<u8> {
    parts.sort();
    tlv(0x31, &parts.concat())
}

/// A context-specific constructed wrapper, `[n]`.
pub(super) fn explicit(number: u8, content: &[u8]) -> Vec<u8> {
    tlv(0xa0 | number, content)
}

/// A context-specific primitive, `[n] IMPLICIT`.
pub(super) fn implicit(number: u8, content: &[u8]) -> Vec<u8> {
    tlv(0x80 | number, content)
}

/// A non-negative integer.
pub(super) fn unsigned(value: u64) -> Vec<u8> {
    let mut bytes: Vec<u8> = value
        .to_be_bytes()
        .into_iter()
        .skip_while(|b| *b == 0)
        .collect();
    if bytes.first().is_none_or(|b| b & 0x80 != 0) {
        bytes.insert(0, 0);
    }
    tlv(0x02, &bytes)
}

pub(super) fn boolean(value: bool) -> Vec<u8> {
    tlv(0x01, &[if value { 0xff } else { 0 }])
}

pub(super) fn null() -> Vec<u8> {
    tlv(0x05, &[])
}

pub(super) fn octets(content: &[u8]) -> Vec<u8> {
    tlv(0x04, content)
}

/// Whole bytes as a BIT STRING.
pub(super) fn bits(content: &[u8]) -> Vec<u8> {
    tlv(0x03, &[&[0], content].concat())
}

/// Named bits: bit 0 is the most significant of the first byte, trailing zeros are left out.
pub(super) fn named_bits(set: &[u8]) -> Vec<u8> {
    let last = set.iter().copied().max().unwrap_or(0);
    let mut bytes = vec![0u8; usize::from(last / 8) + 1];
    for bit in set {
        bytes[usize::from(bit / 8)] |= 0x80 >> (bit % 8);
    }
    tlv(0x03, &[&[7 - last % 8], bytes.as_slice()].concat())
}

/// An object identifier.
pub(super) fn oid(arcs: &[u32]) -> Vec<u8> {
    let mut content = vec![(arcs[0] * 40 + arcs[1]) as u8];
    for arc in &arcs[2..] {
        let mut groups = vec![(arc & 0x7f) as u8];
        let mut rest = arc >> 7;
        while rest > 0 {
            groups.push(0x80 | (rest & 0x7f) as u8);
            rest >>= 7;
        }
        content.extend(groups.into_iter().rev());
    }
    tlv(0x06, &content)
}

/// A name part: PrintableString where its characters allow, else UTF8String.
pub(super) fn text(value: &str) -> Vec<u8> {
    let printable = |c: char| c.is_ascii_alphanumeric() || " '()+,-./:=?".contains(c);
    let tag = if value.chars().all(printable) {
        0x13
    } else {
        0x0c
    };
    tlv(tag, value.as_bytes())
}

/// A moment: UTCTime up to 2049, GeneralizedTime after, as RFC 5280 wants.
pub(super) fn time(at: Timestamp) -> Vec<u8> {
    let at = at.to_zoned(TimeZone::UTC);
    if at.year() < 2050 {
        tlv(0x17, at.strftime("%y%m%d%H%M%SZ").to_string().as_bytes())
    } else {
        tlv(0x18, at.strftime("%Y%m%d%H%M%SZ").to_string().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_positive_and_short() {
        assert_eq!(unsigned(0), [2, 1, 0]);
        assert_eq!(unsigned(127), [2, 1, 127]);
        assert_eq!(unsigned(128), [2, 2, 0, 128]);
    }

    #[test]
    fn long_contents_get_long_lengths() {
        assert_eq!(tlv(4, &[0; 300])[..4], [4, 0x82, 1, 44]);
    }

    #[test]
    fn named_bits_say_how_many_are_unused() {
        // digitalSignature and keyEncipherment
        assert_eq!(named_bits(&[0, 2]), [3, 2, 5, 0xa0]);
    }

    #[test]
    fn identifiers_with_large_arcs_are_split_into_sevens() {
        assert_eq!(
            oid(&[1, 2, 840, 113549]),
            [6, 6, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d]
        );
    }

    #[test]
    fn times_from_2050_on_have_four_digit_years() {
        assert_eq!(time("2049-12-31T23:59:59Z".parse().unwrap())[0], 0x17);
        assert_eq!(time("2050-01-01T00:00:00Z".parse().unwrap())[0], 0x18);
    }
}
