//! Archives the kernel unpacks before anything runs: newc cpio, plain, gzip or xz.
//!
//! An initrd is any number of such archives one after another with zeros between them; a later
//! member replaces an earlier one of the same name. What this crate embeds is one more.

mod newc;
mod xz;

pub use newc::pad;

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::{Compression, GzBuilder, bufread::GzDecoder};

use crate::error::{Error, Result};

pub(crate) use xz::unpack as unxz;

/// The member that Ignition reads.
pub const IGNITION: &str = "config.ign";
/// NetworkManager profiles in this directory are used in the initrd and by the live system.
pub const NETWORK: &str = "etc/coreos-firstboot-network";
/// Embedded archives are a few megabytes; more is damage or malice.
const LARGEST_UNPACKED: u64 = 512 * 1024 * 1024;

/// A file in an archive.
#[derive(Clone, PartialEq, Eq)]
pub struct Member {
    /// Path without a leading slash.
    pub name: String,
    /// POSIX mode with type bits.
    pub mode: u32,
    /// Content, or the target of a symbolic link.
    pub data: Bytes,
}

/// Files to be seen in the initrd. Directories come and go with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    members: Vec<Member>,
}

impl Archive {
    /// Reads all archives in `bytes`.
    ///
    /// # Errors
    ///
    /// When something is neither an archive nor zeros, or unpacks to more than is sane.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut archive = Self::default();
        let mut rest = bytes;
        while let Some(zeros) = rest.iter().position(|byte| *byte != 0) {
            rest = &rest[zeros..];
            let at = (bytes.len() - rest.len()) as u64;
            match rest {
                [0x1f, 0x8b, ..] => {
                    let unpacked = gunzip(&mut rest, at)?;
                    archive.read_plain(&unpacked)?;
                }
                [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
                    let unpacked = xz::unpack(&mut rest, at, LARGEST_UNPACKED)?;
                    archive.read_plain(&unpacked)?;
                }
                _ => archive.add_all(newc::read(&mut rest, at)?),
            }
        }
        Ok(archive)
    }

    /// The members in order of first appearance.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// There is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Content of one member.
    pub fn get(&self, name: &str) -> Option<&Bytes> {
        self.members
            .iter()
            .find(|member| member.name == name)
            .map(|member| &member.data)
    }

    /// Adds a regular file, or replaces it. Permissions are `rw-------`: configurations hold
    /// secrets, and only root reads them.
    pub fn set(&mut self, name: &str, data: impl Into<Bytes>) {
        self.add(Member {
            name: name.to_owned(),
            mode: 0o100_600,
            data: data.into(),
        });
    }

    /// Adds a member of any kind, or replaces it; `mode` has type bits. A leading slash in the
    /// name means the same directory and is left out.
    pub fn put(&mut self, name: &str, mode: u32, data: impl Into<Bytes>) {
        self.add(Member {
            name: name.trim_start_matches('/').to_owned(),
            mode,
            data: data.into(),
        });
    }

    /// Removes members; says how many.
    pub fn remove(&mut self, unwanted: impl Fn(&str) -> bool) -> usize {
        let before = self.members.len();
        self.members.retain(|member| !unwanted(&member.name));
        before - self.members.len()
    }

    /// The members below a directory, with their names in it.
    pub fn below<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = (&'a str, &'a Bytes)> {
        self.members.iter().filter_map(move |member| {
            let name = member.name.strip_prefix(directory)?.strip_prefix('/')?;
            Some((name, &member.data))
        })
    }

    /// As gzip, zero-padded to a multiple of four so that anything may follow.
    /// Equal archives give equal bytes.
    ///
    /// # Errors
    ///
    /// When a member is larger than the format can say (4 GiB).
    pub fn gzip(&self) -> Result<Vec<u8>> {
        let plain = newc::write(&self.members)?;
        let mut gzip = GzBuilder::new()
            .mtime(0)
            .write(Vec::new(), Compression::best());
        let packed = gzip.write_all(&plain).and_then(|()| gzip.finish());
        let mut packed = packed.map_err(|cause| Error::Read {
            what: "an archive while packing it".into(),
            offset: 0,
            cause,
        })?;
        pad(&mut packed);
        Ok(packed)
    }

    /// As xz, smaller and slower than [`Self::gzip`].
    ///
    /// # Errors
    ///
    /// When a member is larger than the format can say (4 GiB).
    pub fn xz(&self) -> Result<Vec<u8>> {
        let mut packed = xz::pack(&newc::write(&self.members)?)?;
        pad(&mut packed);
        Ok(packed)
    }

    fn read_plain(&mut self, mut unpacked: &[u8]) -> Result<()> {
        let len = unpacked.len();
        while let Some(zeros) = unpacked.iter().position(|byte| *byte != 0) {
            unpacked = &unpacked[zeros..];
            let at = (len - unpacked.len()) as u64;
            self.add_all(newc::read(&mut unpacked, at)?);
        }
        Ok(())
    }

    fn add_all(&mut self, members: Vec<Member>) {
        members.into_iter().for_each(|member| self.add(member));
    }

    fn add(&mut self, member: Member) {
        match self
            .members
            .iter_mut()
            .find(|known| known.name == member.name)
        {
            Some(known) => *known = member,
            None => self.members.push(member),
        }
    }
}

fn gunzip(rest: &mut &[u8], at: u64) -> Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    GzDecoder::new(rest)
        .take(LARGEST_UNPACKED + 1)
        .read_to_end(&mut unpacked)
        .map_err(|cause| Error::form(at, "a gzip archive", cause.to_string()))?;
    within_limit(&unpacked, at, LARGEST_UNPACKED)?;
    Ok(unpacked)
}

fn within_limit(unpacked: &[u8], at: u64, most: u64) -> Result<()> {
    if unpacked.len() as u64 > most {
        let expected = format!("an archive that unpacks to at most {most} bytes");
        return Err(Error::form(at, expected, "more"));
    }
    Ok(())
}

// Contents are configurations with secrets in them.
impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} ({:o}, {} bytes)",
            self.name,
            self.mode,
            self.data.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Archive {
        let mut archive = Archive::default();
        archive.set(IGNITION, &b"{\"ignition\":{}}"[..]);
        archive.set(
            "etc/coreos-firstboot-network/a.nmconnection",
            &b"[connection]"[..],
        );
        archive
    }

    #[test]
    fn what_was_packed_is_read_back_from_either_compression() {
        assert_eq!(Archive::read(&sample().gzip().unwrap()).unwrap(), sample());
        assert_eq!(Archive::read(&sample().xz().unwrap()).unwrap(), sample());
    }

    #[test]
    fn archives_may_follow_each_other_and_the_last_word_counts() {
        let mut newer = Archive::default();
        newer.set(IGNITION, &b"new"[..]);
        let mut bytes = sample().xz().unwrap();
        bytes.extend([0; 512]);
        bytes.extend(newc::write(&newer.members).unwrap());
        bytes.extend(newer.gzip().unwrap());
        bytes.extend([0; 7]);
        let read = Archive::read(&bytes).unwrap();
        assert_eq!(read.get(IGNITION).unwrap(), "new");
        assert_eq!(
            read.below(NETWORK)
                .map(|(name, _)| name)
                .collect::<Vec<_>>(),
            ["a.nmconnection"]
        );
    }

    #[test]
    fn packing_twice_gives_equal_bytes_of_aligned_length() {
        assert_eq!(sample().gzip().unwrap(), sample().gzip().unwrap());
        assert_eq!(sample().gzip().unwrap().len() % 4, 0);
    }

    #[test]
    fn other_bytes_are_an_error_that_names_the_place() {
        let mut bytes = sample().gzip().unwrap();
        let len = bytes.len();
        bytes.extend(b"\x28\xb5\x2f\xfdrest");
        let error = Archive::read(&bytes).unwrap_err().to_string();
        assert!(
            error.contains(&format!("byte {len}")) && error.contains("zstd"),
            "{error}"
        );
    }

    #[test]
    fn debug_output_never_shows_contents() {
        assert!(!format!("{:?}", sample()).contains("ignition\":"));
    }
}
