//! The files of an image by name.
//!
//! Names come from Rock Ridge where there is any, else from Joliet, else from the plain tree,
//! where paths are matched against their shortened upper-case form.

use std::collections::HashSet;

use crate::{
    error::{Error, Result},
    iso9660::{
        Extent, SECTOR, directory,
        directory::Record,
        entry::{Entry, Kind},
        joliet, rockridge,
        volume::{Descriptors, Volume},
    },
    view::View,
};

/// Deeper than any sane tree; a guard against loops that the visited set does not see.
const DEEPEST: usize = 64;
/// More entries than any boot image has.
const MOST_ENTRIES: usize = 1_000_000;

/// An image, opened.
#[derive(Clone, Debug)]
pub struct Iso {
    view: View,
    descriptors: Descriptors,
    names: Names,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    RockRidge { skip: usize },
    Joliet,
    Plain,
}

impl Iso {
    /// Opens an image.
    ///
    /// # Errors
    ///
    /// When it is no ISO 9660 image, damaged or cut off.
    pub fn open(view: View) -> Result<Self> {
        let descriptors = Descriptors::read(&view)?;
        let own = directory::records(&view, descriptors.primary.root)?;
        let names = match own.first().and_then(rockridge::skip) {
            Some(skip) => Names::RockRidge { skip },
            None if descriptors.joliet.is_some() => Names::Joliet,
            None => Names::Plain,
        };
        Ok(Self {
            view,
            descriptors,
            names,
        })
    }

    /// The bytes of the image.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The tree every reader knows.
    pub fn primary(&self) -> &Volume {
        &self.descriptors.primary
    }

    /// The tree with Unicode names.
    pub fn joliet(&self) -> Option<&Volume> {
        self.descriptors.joliet.as_ref()
    }

    /// Both trees.
    pub fn volumes(&self) -> impl Iterator<Item = &Volume> {
        std::iter::once(self.primary()).chain(self.joliet())
    }

    /// Byte offset of the boot record descriptor and the sector of the El Torito catalog.
    pub fn boot_catalog(&self) -> Option<(u64, u32)> {
        self.descriptors.boot_catalog
    }

    /// The label.
    pub fn label(&self) -> &str {
        &self.primary().label
    }

    /// Whether names come from Rock Ridge.
    pub fn has_rock_ridge(&self) -> bool {
        matches!(self.names, Names::RockRidge { .. })
    }

    /// Finds an entry by its path; leading and doubled slashes do not matter.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or what is wrong with the directories on the way.
    pub fn find(&self, path: &str) -> Result<Entry> {
        let missing = || Error::NotFound {
            path: path.to_owned(),
        };
        let mut here = Entry::root(self.root());
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if here.kind != Kind::Directory {
                return Err(missing());
            }
            let entries = self.list(&here)?;
            let found = entries
                .iter()
                .position(|entry| entry.name == part)
                .or_else(|| {
                    let plain = shortened(part);
                    let same = |entry: &Entry| {
                        entry.name.eq_ignore_ascii_case(part)
                            || self.names == Names::Plain && entry.name == plain
                    };
                    entries.iter().position(same)
                });
            here = found
                .and_then(|index| entries.into_iter().nth(index))
                .ok_or_else(missing)?;
        }
        Ok(here)
    }

    /// Finds a file; `None` when there is nothing of that name.
    ///
    /// # Errors
    ///
    /// When the name is not a file's, or the directories on the way are damaged.
    pub fn find_file(&self, path: &str) -> Result<Option<Entry>> {
        match self.find(path) {
            Ok(Entry {
                kind: Kind::Directory,
                ..
            }) => Err(Error::WrongKind {
                path: path.to_owned(),
                is: "a directory",
                expected: "a file",
            }),
            Ok(entry) => Ok(Some(entry)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The bytes of a file.
    ///
    /// # Errors
    ///
    /// When there is no such file, or it reaches past the end of the image.
    pub fn file(&self, path: &str) -> Result<View> {
        let entry = self.find_file(path)?.ok_or_else(|| Error::NotFound {
            path: path.to_owned(),
        })?;
        self.content(&entry)
    }

    /// A small file as bytes in memory; `None` when it does not exist.
    ///
    /// # Errors
    ///
    /// When it is larger than `most`, or not readable.
    pub fn small_file(&self, path: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let Some(entry) = self.find_file(path)? else {
            return Ok(None);
        };
        if entry.len() > most {
            let at = entry.extents.first().map_or(0, |extent| extent.start());
            let expected = format!("{path} of at most {most} bytes");
            return Err(Error::form(at, expected, format!("{} bytes", entry.len())));
        }
        let content = self.content(&entry)?;
        content.read_exact(path, 0, content.len()).map(Some)
    }

    /// The bytes of an entry.
    ///
    /// # Errors
    ///
    /// When it reaches past the end of the image.
    pub fn content(&self, entry: &Entry) -> Result<View> {
        let mut content = View::default();
        // The sector of an empty file means nothing and may lie anywhere.
        for extent in entry.extents.iter().filter(|extent| extent.len > 0) {
            content.append(&self.view.slice(extent.start(), extent.len.into())?);
        }
        Ok(content)
    }

    /// What is in a directory, in the image's order.
    ///
    /// # Errors
    ///
    /// When a record is damaged or lies outside the image.
    pub fn list(&self, directory: &Entry) -> Result<Vec<Entry>> {
        let Some(extent) = directory.extents.first() else {
            return Ok(Vec::new());
        };
        let mut entries: Vec<Entry> = Vec::new();
        let mut continued = false;
        for record in directory::records(&self.view, *extent)? {
            if record.is_self_or_parent() {
                continue;
            }
            let (extent, continues) = (record.extent, record.continues());
            match entries.last_mut().filter(|_| continued) {
                Some(entry) => {
                    entry.extents.push(extent);
                    entry.records.push(record);
                }
                None => entries.extend(self.entry(record)?),
            }
            continued = continues;
        }
        Ok(entries)
    }

    /// Every entry below the root with its path, parents first.
    ///
    /// # Errors
    ///
    /// When the tree is damaged or is no tree.
    pub fn walk(&self) -> Result<Vec<(String, Entry)>> {
        let mut found = Vec::new();
        self.descend(
            "",
            &Entry::root(self.root()),
            &mut HashSet::new(),
            &mut found,
        )?;
        Ok(found)
    }

    fn descend(
        &self,
        path: &str,
        directory: &Entry,
        visited: &mut HashSet<u32>,
        found: &mut Vec<(String, Entry)>,
    ) -> Result<()> {
        for entry in self.list(directory)? {
            let path = if path.is_empty() {
                entry.name.clone()
            } else {
                format!("{path}/{}", entry.name)
            };
            found.push((path.clone(), entry.clone()));
            if entry.kind != Kind::Directory {
                continue;
            }
            let sector = entry.extents.first().map_or(0, |extent| extent.sector);
            if !visited.insert(sector)
                || path.matches('/').count() > DEEPEST
                || found.len() > MOST_ENTRIES
            {
                return Err(Error::form(
                    u64::from(sector) * SECTOR,
                    "directories that form a tree",
                    format!("{path} a second time or too deep"),
                ));
            }
            self.descend(&path, &entry, visited, found)?;
        }
        Ok(())
    }

    fn root(&self) -> Extent {
        match (self.names, self.joliet()) {
            (Names::Joliet, Some(joliet)) => joliet.root,
            (Names::Joliet, None) | (Names::RockRidge { .. } | Names::Plain, _) => {
                self.primary().root
            }
        }
    }

    /// `None` for directories that are shown elsewhere.
    fn entry(&self, record: Record) -> Result<Option<Entry>> {
        let mut kind = if record.is_directory() {
            Kind::Directory
        } else {
            Kind::File
        };
        let mut extent = record.extent;
        let (mut name, mut mode) = (None, None);
        match self.names {
            Names::Joliet => name = Some(joliet::decode(&record.name)),
            Names::Plain => {}
            Names::RockRidge { skip } => {
                let attributes = rockridge::attributes(&self.view, &record, skip)?;
                if attributes.relocated {
                    return Ok(None);
                }
                if let Some(target) = attributes.link {
                    kind = Kind::Link(target);
                }
                if let Some(sector) = attributes.child {
                    kind = Kind::Directory;
                    // Only the directory's own first record says how long it is.
                    let start = u64::from(sector) * SECTOR;
                    let head = self.view.read_exact("a directory", start, SECTOR)?;
                    extent = Extent {
                        sector,
                        len: Record::parse(&head, start)?.extent.len,
                    };
                }
                (name, mode) = (attributes.name, attributes.mode.map(|mode| mode & 0o7777));
            }
        }
        let name = name.unwrap_or_else(|| record.plain_name());
        Ok(Some(Entry {
            name,
            kind,
            mode,
            extents: vec![extent],
            records: vec![record],
        }))
    }
}

/// A name as the plain tree has it: upper case, eight and three characters.
fn shortened(name: &str) -> String {
    let clean = |part: &str, most: usize| -> String {
        part.chars()
            .take(most)
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_uppercase()
                } else {
                    '_'
                }
            })
            .collect()
    };
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((stem, extension)) => format!("{}.{}", clean(stem, 8), clean(extension, 3)),
        None => clean(name, 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_shorten_as_mkisofs_shortens_them() {
        for (long, short) in [
            ("kargs.json", "KARGS.JSO"),
            ("initrd.addrsize", "INITRD.ADD"),
            ("genericdvd.prm", "GENERICD.PRM"),
            (".cmdline", "_CMDLINE"),
            ("vmlinuz", "VMLINUZ"),
        ] {
            assert_eq!(shortened(long), short);
        }
    }
}
