//! Small archives for the boot loader: newc cpio, packed with gzip.
//!
//! The same content always gives the same bytes: no times, no owners, counted inodes. A
//! download that is resumed must find the image as it was.

use std::{collections::BTreeSet, io::Write};

use flate2::{Compression, write::GzEncoder};

const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_777;

/// A cpio archive under construction.
#[derive(Debug, Default)]
pub struct Cpio {
    bytes: Vec<u8>,
    inode: u32,
    directories: BTreeSet<String>,
}

impl Cpio {
    /// Adds a file with these permissions, after the directories that lead to it.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) {
        self.parents(path);
        self.member(path, REGULAR | permissions, content);
    }

    /// Adds a symbolic link.
    pub fn symlink(&mut self, path: &str, target: &str) {
        self.parents(path);
        self.member(path, SYMLINK, target.as_bytes());
    }

    /// The finished archive, compressed.
    #[must_use]
    pub fn gzip(mut self) -> Vec<u8> {
        self.inode = 0;
        self.header("TRAILER!!!", 0, 0, 0);
        gzip(&self.bytes)
    }

    fn parents(&mut self, path: &str) {
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .filter(|at| *at > 0);
        for end in ends {
            let directory = &path[..end];
            if self.directories.insert(directory.to_owned()) {
                self.member(directory, DIRECTORY, &[]);
            }
        }
    }

    fn member(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.inode += 1;
        let (inode, size) = (self.inode, content.len());
        self.header(path, inode, mode, size);
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn header(&mut self, path: &str, inode: u32, mode: u32, size: usize) {
        self.bytes.extend_from_slice(b"070701");
        let (links, name) = (1, path.len() + 1);
        // Inode, mode, owner, group, links, time, size, two devices of two numbers, length of
        // the name, check sum.
        let inode = usize::try_from(inode).unwrap_or_default();
        let mode = usize::try_from(mode).unwrap_or_default();
        for field in [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name, 0] {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// A discovery config as it lies in a boot image: its length there is what must fit.
#[must_use]
pub fn ignition_payload(config: &str) -> Vec<u8> {
    let mut archive = Cpio::default();
    archive.file("config.ign", 0o644, config.as_bytes());
    let mut bytes = archive.gzip();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail; were it to, the archive would be empty and refused.
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
pub mod tests {
    use std::io::Read;

    use super::*;

    /// Name, mode and content of each member.
    pub fn members(packed: &[u8]) -> Vec<(String, u32, String)> {
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed)
            .read_to_end(&mut bytes)
            .unwrap();
        let mut rest = bytes.as_slice();
        let mut found = Vec::new();
        loop {
            assert_eq!(&rest[..6], b"070701");
            let field = |index: usize| {
                let text = std::str::from_utf8(&rest[6 + index * 8..14 + index * 8]).unwrap();
                usize::from_str_radix(text, 16).unwrap()
            };
            let (mode, size, name) = (field(1), field(6), field(11));
            let path = String::from_utf8(rest[110..110 + name - 1].to_vec()).unwrap();
            let start = (110 + name).next_multiple_of(4);
            if path == "TRAILER!!!" {
                return found;
            }
            let content = String::from_utf8(rest[start..start + size].to_vec()).unwrap();
            found.push((path, u32::try_from(mode).unwrap(), content));
            rest = &rest[(start + size).next_multiple_of(4)..];
        }
    }

    #[test]
    fn directories_come_once_and_before_what_lies_in_them() {
        let mut archive = Cpio::default();
        archive.file("/etc/a/one", 0o600, b"1");
        archive.file("/etc/a/two", 0o755, b"22222");
        archive.symlink("/etc/b", "/etc/a");
        let found = members(&archive.gzip());
        let wanted = [
            ("/etc", 0o040_755, ""),
            ("/etc/a", 0o040_755, ""),
            ("/etc/a/one", 0o100_600, "1"),
            ("/etc/a/two", 0o100_755, "22222"),
            ("/etc/b", 0o120_777, "/etc/a"),
        ];
        let wanted = wanted.map(|(path, mode, text)| (path.to_owned(), mode, text.to_owned()));
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_payload_is_aligned_and_always_the_same() {
        let payload = ignition_payload("{}");
        assert_eq!(payload.len() % 4, 0);
        assert_eq!(payload, ignition_payload("{}"));
        assert_eq!(members(&payload)[0].0, "config.ign");
    }
}
