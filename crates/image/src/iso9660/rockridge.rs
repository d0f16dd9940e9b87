//! Rock Ridge: POSIX names, modes and links in the system-use bytes of directory records.

use crate::{
    error::Result,
    iso9660::{
        SECTOR,
        directory::Record,
        numbers::{both32, le32, put},
    },
    view::View,
};

/// A record's attributes may go on elsewhere, and there again; further than this is a loop.
const MOST_CONTINUATIONS: usize = 32;

/// What the attributes of one record say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// POSIX name.
    pub name: Option<String>,
    /// POSIX mode with type bits.
    pub mode: Option<u32>,
    /// Target, for a symbolic link.
    pub link: Option<String>,
    /// Sector of the directory that really belongs here (it was too deep for the plain tree).
    pub child: Option<u32>,
    /// This directory belongs elsewhere and is not shown here.
    pub relocated: bool,
}

/// How many bytes to skip in every record, if the tree has Rock Ridge at all.
///
/// `own` is the `.` record of the root directory.
pub fn skip(own: &Record) -> Option<usize> {
    let found = own
        .system_use
        .windows(7)
        .take(16)
        .find(|entry| entry.starts_with(b"SP\x07\x01\xbe\xef"))?;
    Some(usize::from(found[6]))
}

/// Reads the attributes of a record, following continuations.
///
/// # Errors
///
/// When a continuation lies outside the image.
pub fn attributes(view: &View, record: &Record, skip: usize) -> Result<Attributes> {
    let mut found = Attributes::default();
    let mut area = record.system_use.get(skip..).unwrap_or_default().to_vec();
    let (mut name, mut link) = (Vec::new(), Link::default());
    for _ in 0..MOST_CONTINUATIONS {
        let mut next = None;
        for (_, entry) in entries(&area) {
            match &entry[..2] {
                b"NM" if entry.len() >= 5 && entry[4] & 6 == 0 => {
                    name.extend_from_slice(&entry[5..]);
                }
                b"PX" => found.mode = Some(le32(entry, 4)),
                b"SL" if entry.len() >= 5 => link.add(&entry[5..]),
                b"CL" => found.child = Some(le32(entry, 4)),
                b"RE" => found.relocated = true,
                b"CE" => next = Some((le32(entry, 4), le32(entry, 12), le32(entry, 20))),
                _ => {}
            }
        }
        let Some((sector, offset, len)) = next else {
            break;
        };
        let start = u64::from(sector) * SECTOR + u64::from(offset);
        area = view.read_exact("Rock Ridge attributes", start, u64::from(len).min(SECTOR))?;
    }
    found.name = (!name.is_empty()).then(|| String::from_utf8_lossy(&name).into_owned());
    found.link = link.seen.then_some(link.target);
    Ok(found)
}

/// Rewrites every sector number in the attributes of one record, and says at which bytes they
/// go on, for how many.
pub fn move_sectors(area: &mut [u8], map: &impl Fn(u32) -> u32) -> Vec<(u64, u64)> {
    let mut continuations = Vec::new();
    let places: Vec<(usize, [u8; 2])> = entries(area)
        .map(|(at, entry)| (at, [entry[0], entry[1]]))
        .collect();
    for (at, kind) in places {
        if !matches!(&kind, b"CE" | b"CL" | b"PL") || at + 12 > area.len() {
            continue;
        }
        let sector = le32(area, at + 4);
        if &kind == b"CE" {
            let start = u64::from(sector) * SECTOR + u64::from(le32(area, at + 12));
            continuations.push((start, u64::from(le32(area, at + 20)).min(SECTOR)));
        }
        put(area, at + 4, &both32(map(sector)));
    }
    continuations
}

/// The entries of one area with their offsets; stops at the first that makes no sense.
fn entries(area: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let len = usize::from(*area.get(at + 2)?);
        let entry = area.get(at..at + len)?;
        if len < 4 || &entry[..2] == b"ST" {
            return None;
        }
        at += len;
        Some((at - len, entry))
    })
}

/// A symbolic link's target, which comes in pieces.
#[derive(Default)]
struct Link {
    seen: bool,
    open: bool,
    target: String,
}

impl Link {
    fn add(&mut self, mut pieces: &[u8]) {
        self.seen = true;
        while let [flags, len, rest @ ..] = pieces {
            let len = usize::from(*len).min(rest.len());
            if !self.open && !self.target.is_empty() && self.target != "/" {
                self.target.push('/');
            }
            match flags & 0x0e {
                2 => self.target.push('.'),
                4 => self.target.push_str(".."),
                8 => self.target.push('/'),
                _ => self.target.push_str(&String::from_utf8_lossy(&rest[..len])),
            }
            self.open = flags & 1 != 0;
            pieces = &rest[len..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_put_together_from_its_pieces() {
        let mut link = Link::default();
        link.add(b"\x08\x00\x00\x03usr\x01\x02li");
        link.add(b"\x00\x01b\x04\x00");
        assert_eq!(link.target, "/usr/lib/..");
    }

    #[test]
    fn entries_of_nonsense_lengths_end_the_list() {
        assert_eq!(entries(b"NM\x00\x01").count(), 0);
        assert_eq!(entries(b"NM\x09\x01a").count(), 0);
        assert_eq!(entries(b"NM\x06\x01\x00aPX").count(), 1);
    }
}
