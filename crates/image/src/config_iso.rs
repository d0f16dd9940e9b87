//! Small configuration images for a machine: a label and some files.
//!
//! Machines find them by label. Equal content gives equal bytes: no clock, no random numbers.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    error::{Error, Result},
    iso9660::writer::{self, Content},
    view::View,
};

/// Longer names do not fit in all three name spaces.
const LONGEST_NAME: usize = 103;
/// The plain name space knows no deeper directories.
const DEEPEST: usize = 8;

/// An image in the making.
#[derive(Clone, Debug)]
pub struct ConfigIso {
    label: String,
    files: BTreeMap<String, View>,
    directories: BTreeSet<String>,
    joliet: bool,
}

impl ConfigIso {
    /// An empty image.
    ///
    /// # Errors
    ///
    /// When the label is not 1 to 32 printable ASCII characters.
    pub fn new(label: &str) -> Result<Self> {
        if label.is_empty()
            || label.len() > 32
            || !label.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(Error::Refused(format!(
                "`{label}` cannot be a label: expected 1 to 32 printable ASCII characters"
            )));
        }
        Ok(Self {
            label: label.to_owned(),
            files: BTreeMap::new(),
            directories: BTreeSet::new(),
            joliet: true,
        })
    }

    /// Leaves the names for Joliet out: readers take those of Rock Ridge.
    #[must_use]
    pub fn without_joliet(mut self) -> Self {
        self.joliet = false;
        self
    }

    /// Adds a directory, which may stay empty.
    ///
    /// # Errors
    ///
    /// When the path has empty, special or overlong parts, or runs through a file.
    pub fn directory(mut self, path: &str) -> Result<Self> {
        self.check(path)?;
        self.directories.insert(path.to_owned());
        Ok(self)
    }

    /// Adds a file; directories come with it.
    ///
    /// # Errors
    ///
    /// When the path has empty, special or overlong parts, is taken, or runs through a file.
    pub fn file(mut self, path: &str, content: View) -> Result<Self> {
        self.check(path)?;
        let below = |directory: &String| {
            directory == path
                || directory
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        if self.directories.iter().any(below) {
            return Err(Error::Refused(format!(
                "`{path}` cannot be a file here: it is a directory"
            )));
        }
        self.files.insert(path.to_owned(), content);
        Ok(self)
    }

    fn check(&self, path: &str) -> Result<()> {
        let refused = |why: &str| Error::Refused(format!("`{path}` cannot be here: {why}"));
        let parts: Vec<&str> = path.split('/').collect();
        if parts.len() >= DEEPEST {
            return Err(refused("directories are at most seven deep"));
        }
        let bad = |part: &&str| {
            part.is_empty()
                || matches!(*part, "." | "..")
                || part.len() > LONGEST_NAME
                || part
                    .chars()
                    .any(|c| c.is_control() || "*/:;?\\".contains(c))
        };
        if parts.iter().any(bad) {
            return Err(refused(
                "a name is empty, longer than 103 bytes, or has special characters",
            ));
        }
        let clash = self.files.keys().any(|other| {
            other == path
                || other
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.starts_with('/'))
                || path
                    .strip_prefix(other.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
        });
        if clash {
            return Err(refused("the name is taken"));
        }
        Ok(())
    }

    /// The image: ISO 9660 with Rock Ridge and, unless it was left out, Joliet.
    ///
    /// # Errors
    ///
    /// When a file is larger than 4 GiB.
    pub fn build(&self) -> Result<View> {
        writer::write(&Content {
            label: &self.label,
            files: &self.files,
            directories: &self.directories,
            joliet: self.joliet,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iso9660::Iso;

    fn sample() -> ConfigIso {
        let many = (0..60).fold(ConfigIso::new("config-2").unwrap(), |iso, number| {
            let path = format!("many/a-rather-long-name-of-a-file-{number:03}.yaml");
            iso.file(&path, View::bytes(vec![number; 3000])).unwrap()
        });
        many.file("openstack/latest/user_data", View::bytes(&b"{}"[..]))
            .unwrap()
            .file("empty", View::default())
            .unwrap()
    }

    #[test]
    fn what_was_put_in_is_found_under_its_name() {
        let iso = Iso::open(sample().build().unwrap()).unwrap();
        assert_eq!(iso.label(), "config-2");
        assert!(iso.has_rock_ridge() && iso.joliet().is_some());
        let file = iso
            .file("many/a-rather-long-name-of-a-file-037.yaml")
            .unwrap();
        assert_eq!(file.read_exact("", 0, file.len()).unwrap(), vec![37; 3000]);
        assert_eq!(
            iso.small_file("openstack/latest/user_data", 10)
                .unwrap()
                .unwrap(),
            b"{}"
        );
        assert_eq!(iso.find("empty").unwrap().len(), 0);
        assert_eq!(iso.walk().unwrap().len(), 60 + 1 + 3 + 1);
    }

    #[test]
    fn empty_directories_are_carried_and_joliet_can_be_left_out() {
        let iso = ConfigIso::new("cluster-config").unwrap().without_joliet();
        let iso = iso.directory("a/empty").unwrap().directory("b").unwrap();
        let iso = iso.file("a/file", View::bytes(&b"x"[..])).unwrap();
        assert!(iso.clone().file("a", View::default()).is_err());
        assert!(iso.clone().directory("a/file/below").is_err());
        let iso = Iso::open(iso.build().unwrap()).unwrap();
        assert!(iso.has_rock_ridge() && iso.joliet().is_none());
        assert_eq!(iso.small_file("a/file", 9).unwrap().unwrap(), b"x");
        assert_eq!(iso.walk().unwrap().len(), 4);
    }

    #[test]
    fn equal_content_gives_equal_bytes() {
        let bytes = |view: View| view.read_exact("", 0, view.len()).unwrap();
        assert_eq!(
            bytes(sample().build().unwrap()),
            bytes(sample().build().unwrap())
        );
    }

    #[test]
    fn names_that_would_clash_or_confuse_are_refused() {
        for path in ["a", "a/b/c", "", "x//y", "../x", "q?", "1/2/3/4/5/6/7/8"] {
            let iso = ConfigIso::new("l")
                .unwrap()
                .file("a/b", View::default())
                .unwrap();
            assert!(iso.file("a", View::default()).is_err());
            let iso = ConfigIso::new("l")
                .unwrap()
                .file("a", View::default())
                .unwrap();
            assert!(iso.file(path, View::default()).is_err(), "{path}");
        }
        assert!(ConfigIso::new("two words").is_err());
    }
}
