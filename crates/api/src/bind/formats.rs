//! The finer kinds of text: ids, times, addresses.
//!
//! Each check accepts exactly what the reference accepts, which is more than the canonical
//! form: ids without dashes pass, hardware addresses may use dots.

use std::net::{Ipv4Addr, Ipv6Addr};

use jiff::{Timestamp, civil::DateTime};

/// A finer kind of text. Formats of the contract that need no check are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Uuid,
    DateTime,
    Ipv4,
    Ipv6,
    Mac,
}

impl Format {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "uuid" => Self::Uuid,
            "date-time" => Self::DateTime,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "mac" => Self::Mac,
            _ => return None,
        })
    }

    /// The name messages use.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::DateTime => "date-time",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Mac => "mac",
        }
    }

    pub(super) fn fits(self, text: &str) -> bool {
        match self {
            Self::Uuid => is_uuid(text),
            Self::DateTime => is_date_time(text),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Mac => is_mac(text),
        }
    }
}

/// Hex digits in groups of 8, 4, 4, 4 and 12; each dash between groups may be missing.
fn is_uuid(text: &str) -> bool {
    let mut rest = text.as_bytes();
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(length) else {
            return false;
        };
        if !group.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// RFC 3339, or the same without an offset. Empty text is the zero time.
fn is_date_time(text: &str) -> bool {
    text.is_empty()
        || text.parse::<Timestamp>().is_ok()
        || (text.contains('T') && text.parse::<DateTime>().is_ok())
}

/// 6, 8 or 20 octets between colons or dashes, or in pairs between dots.
fn is_mac(text: &str) -> bool {
    let (separator, digits) = match text.bytes().find(|byte| matches!(byte, b':' | b'-' | b'.')) {
        Some(b'.') => ('.', 4),
        Some(other) => (char::from(other), 2),
        None => return false,
    };
    let mut octets = 0;
    for group in text.split(separator) {
        if group.len() != digits || !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        octets += digits / 2;
    }
    matches!(octets, 6 | 8 | 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_accepts_what_the_reference_accepts() {
        let table: &[(Format, &[&str], &[&str])] = &[
            (
                Format::Uuid,
                &[
                    "7d9d8a4e-0000-4000-8000-00c0ffee0000",
                    "7D9D8A4E-0000-4000-8000-00C0FFEE0000",
                    "7d9d8a4e00004000800000c0ffee0000",
                    "00000000-0000-0000-0000-000000000000",
                ],
                &[
                    "",
                    "7d9d8a4e",
                    "7d9d8a4e-0000-4000-8000-00c0ffee000",
                    "7d9d8a4e-0000-4000-8000-00c0ffee0000-",
                    "{}",
                ],
            ),
            (
                Format::DateTime,
                &[
                    "2026-11-15T20:00:00Z",
                    "2026-11-15T20:00:00.123+02:00",
                    "2026-11-15T20:00:00",
                    "",
                ],
                &["yesterday", "2026-11-15", "2026-13-15T20:00:00Z"],
            ),
            (Format::Ipv4, &["192.0.2.1"], &["", "192.0.2.256", "::1"]),
            (
                Format::Ipv6,
                &["2001:db8::1", "::"],
                &["", "192.0.2.1", "x::"],
            ),
            (
                Format::Mac,
                &[
                    "52:54:00:00:00:0b",
                    "52-54-00-00-00-0B",
                    "5254.0000.000b",
                    "02:00:5e:10:00:00:00:01",
                ],
                &[
                    "",
                    "525400000000",
                    "52:54:00:00:00",
                    "52:54:00:00:00:0g",
                    "52:54-00:00:00:0b",
                ],
            ),
        ];
        for (format, good, bad) in table {
            for text in *good {
                assert!(format.fits(text), "{format:?} should take {text:?}");
            }
            for text in *bad {
                assert!(!format.fits(text), "{format:?} should refuse {text:?}");
            }
        }
    }
}
