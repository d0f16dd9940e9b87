//! Writing a small image from scratch.
//!
//! First every directory gets its records (their lengths do not depend on places), then places
//! are given out, then the bytes are made: descriptors, path tables, both trees, files.

mod record;

use std::collections::{BTreeMap, BTreeSet};

use self::record::{Draft, Target, Tree, draft};

use crate::{
    error::{Error, Result},
    iso9660::{
        Extent, SECTOR, joliet,
        numbers::{both16, both32, put},
    },
    view::View,
};

/// First sector of descriptors: one per tree, then their end.
const FIRST_DESCRIPTOR: u32 = 16;

/// What an image is made of; paths have been checked.
pub(crate) struct Content<'a> {
    pub label: &'a str,
    pub files: &'a BTreeMap<String, View>,
    /// Directories that are there even without files.
    pub directories: &'a BTreeSet<String>,
    /// Whether names are written for Joliet too.
    pub joliet: bool,
}

#[derive(Default)]
struct Directory {
    parent: usize,
    name: String,
    /// Name and index of each directory below.
    directories: Vec<(String, usize)>,
    /// Name and index of each file.
    files: Vec<(String, usize)>,
}

/// Writes an image.
pub(crate) fn write(content: &Content<'_>) -> Result<View> {
    let Content { label, files, .. } = content;
    let directories = directories(files, content.directories);
    if directories.len() > usize::from(u16::MAX) {
        return Err(Error::Refused(
            "an image has at most 65535 directories".into(),
        ));
    }
    let trees: &[Tree] = if content.joliet {
        &[Tree::Plain, Tree::Joliet]
    } else {
        &[Tree::Plain]
    };
    let end = FIRST_DESCRIPTOR + trees.len() as u32;
    let trees: Vec<Layout> = trees
        .iter()
        .map(|tree| Layout::of(*tree, &directories))
        .collect();
    let mut next = end + 1;
    let tables: Vec<[u32; 2]> = trees
        .iter()
        .map(|tree| {
            let each = sectors(tree.path_table_len as u64);
            let places = [next, next + each];
            next += 2 * each;
            places
        })
        .collect();
    let trees: Vec<Layout> = trees
        .into_iter()
        .map(|tree| tree.placed(&mut next))
        .collect();
    let mut extents = Vec::new();
    let mut body = View::default();
    let meta_end = next;
    for (path, content) in *files {
        let len = u32::try_from(content.len())
            .map_err(|_| Error::Refused(format!("{path} is larger than 4 GiB")))?;
        extents.push(Extent { sector: next, len });
        body.append(content);
        body.pad_to(SECTOR);
        next = u32::try_from(u64::from(meta_end) + body.len() / SECTOR)
            .map_err(|_| Error::Refused("the image would be larger than 8 TiB".into()))?;
    }
    let mut meta = vec![0; meta_end as usize * SECTOR as usize];
    for (index, (tree, tables)) in trees.iter().zip(&tables).enumerate() {
        let at = (FIRST_DESCRIPTOR as usize + index) * SECTOR as usize;
        put(&mut meta, at, &tree.descriptor(label, next, *tables));
        for (place, big_endian) in tables.iter().zip([false, true]) {
            put(
                &mut meta,
                *place as usize * SECTOR as usize,
                &tree.path_table(&directories, big_endian),
            );
        }
        tree.write(&extents, &mut meta);
    }
    put(&mut meta, end as usize * SECTOR as usize, b"\xffCD001\x01");
    let mut image = View::bytes(meta);
    image.append(&body);
    Ok(image)
}

/// All directories, parents first and level by level, as path tables want them.
fn directories(files: &BTreeMap<String, View>, empty: &BTreeSet<String>) -> Vec<Directory> {
    // By depth, then by the parts of the path: the order of parents is that of their children.
    let mut levels: BTreeMap<(usize, Vec<&str>), Directory> = BTreeMap::new();
    levels.insert((0, Vec::new()), Directory::default());
    for path in files.keys() {
        let parts: Vec<&str> = path.split('/').collect();
        for depth in 1..parts.len() {
            levels.entry((depth, parts[..depth].to_vec())).or_default();
        }
    }
    for path in empty {
        let parts: Vec<&str> = path.split('/').collect();
        for depth in 1..=parts.len() {
            levels.entry((depth, parts[..depth].to_vec())).or_default();
        }
    }
    let index: BTreeMap<String, usize> = levels
        .keys()
        .enumerate()
        .map(|(index, (_, parts))| (parts.join("/"), index))
        .collect();
    let mut all: Vec<Directory> = levels.into_values().collect();
    let split = |path: &str| match path.rsplit_once('/') {
        Some((parent, name)) => (index.get(parent).copied().unwrap_or(0), name.to_owned()),
        None => (0, path.to_owned()),
    };
    for (path, own) in index.iter().filter(|(path, _)| !path.is_empty()) {
        let (parent, name) = split(path);
        all[*own].parent = parent;
        all[*own].name.clone_from(&name);
        all[parent].directories.push((name, *own));
    }
    for (number, path) in files.keys().enumerate() {
        let (parent, name) = split(path);
        all[parent].files.push((name, number));
    }
    all
}

struct Layout {
    tree: Tree,
    drafts: Vec<Vec<Draft>>,
    /// Names of directories as this tree writes them, by index.
    names: Vec<Vec<u8>>,
    path_table_len: usize,
    places: Vec<Extent>,
}

impl Layout {
    fn of(tree: Tree, directories: &[Directory]) -> Self {
        let mut names = vec![vec![0]; directories.len()];
        let mut drafts = Vec::new();
        for (own, directory) in directories.iter().enumerate() {
            let own_draft = draft(tree, vec![0], None, own == 0, Target::Directory(own));
            let up = draft(
                tree,
                vec![1],
                None,
                false,
                Target::Directory(directory.parent),
            );
            let mut below: Vec<Draft> = Vec::new();
            let entries = directory
                .directories
                .iter()
                .map(|(name, index)| (name, Target::Directory(*index)))
                .chain(
                    directory
                        .files
                        .iter()
                        .map(|(name, index)| (name, Target::File(*index))),
                );
            for (name, target) in entries {
                let taken = |name: &[u8]| below.iter().any(|draft| draft.name == name);
                let written = tree.name(name, target, &taken);
                if let Target::Directory(index) = target {
                    names[index].clone_from(&written);
                }
                below.push(draft(tree, written, Some(name), false, target));
            }
            below.sort_by(|a, b| a.name.cmp(&b.name));
            drafts.push([own_draft, up].into_iter().chain(below).collect());
        }
        let path_table_len = names
            .iter()
            .map(|name: &Vec<u8>| 8 + name.len().next_multiple_of(2))
            .sum();
        Self {
            tree,
            drafts,
            names,
            path_table_len,
            places: Vec::new(),
        }
    }

    /// Gives every directory its sectors.
    fn placed(mut self, next: &mut u32) -> Self {
        self.places = self
            .drafts
            .iter()
            .map(|records| {
                let mut end = 0;
                for record in records {
                    end = fit(end, record.len()) + record.len();
                }
                let count = sectors(end as u64);
                let extent = Extent {
                    sector: *next,
                    len: count * SECTOR as u32,
                };
                *next += count;
                extent
            })
            .collect();
        self
    }

    fn write(&self, files: &[Extent], meta: &mut [u8]) {
        for (place, records) in self.places.iter().zip(&self.drafts) {
            let mut end = 0;
            for record in records {
                end = fit(end, record.len());
                let (extent, flags) = match record.points_at {
                    Target::Directory(index) => (self.places[index], 2),
                    Target::File(index) => (files[index], 0),
                };
                put(
                    meta,
                    place.start() as usize + end,
                    &record.bytes(extent, flags),
                );
                end += record.len();
            }
        }
    }

    fn path_table(&self, directories: &[Directory], big_endian: bool) -> Vec<u8> {
        let mut table = Vec::with_capacity(self.path_table_len);
        for (index, name) in self.names.iter().enumerate() {
            let (sector, parent) = (
                self.places[index].sector,
                directories[index].parent as u16 + 1,
            );
            table.extend([name.len() as u8, 0]);
            if big_endian {
                table.extend(sector.to_be_bytes());
                table.extend(parent.to_be_bytes());
            } else {
                table.extend(sector.to_le_bytes());
                table.extend(parent.to_le_bytes());
            }
            table.extend(name);
            table.resize(table.len().next_multiple_of(2), 0);
        }
        table
    }

    fn descriptor(&self, label: &str, image_sectors: u32, tables: [u32; 2]) -> Vec<u8> {
        let mut bytes = vec![0; SECTOR as usize];
        let text = |text: &str, len: usize| -> Vec<u8> {
            match self.tree {
                Tree::Plain => text
                    .bytes()
                    .chain(std::iter::repeat(b' '))
                    .take(len)
                    .collect(),
                Tree::Joliet => {
                    let padded = joliet::encode(text, len / 2).into_iter();
                    padded
                        .chain([0, b' '].into_iter().cycle())
                        .take(len)
                        .collect()
                }
            }
        };
        bytes[0] = if self.tree == Tree::Plain { 1 } else { 2 };
        put(&mut bytes, 1, b"CD001\x01");
        put(&mut bytes, 8, &text("LINUX", 32));
        put(&mut bytes, 40, &text(label, 32));
        put(&mut bytes, 80, &both32(image_sectors));
        if self.tree == Tree::Joliet {
            put(&mut bytes, 88, b"%/E");
        }
        put(&mut bytes, 120, &both16(1));
        put(&mut bytes, 124, &both16(1));
        put(&mut bytes, 128, &both16(SECTOR as u16));
        put(&mut bytes, 132, &both32(self.path_table_len as u32));
        put(&mut bytes, 140, &tables[0].to_le_bytes());
        put(&mut bytes, 148, &tables[1].to_be_bytes());
        let root = Draft {
            name: vec![0],
            system_use: Vec::new(),
            points_at: Target::Directory(0),
        };
        put(&mut bytes, 156, &root.bytes(self.places[0], 2));
        for (at, len) in [
            (190, 128),
            (318, 128),
            (446, 128),
            (574, 128),
            (702, 37),
            (739, 37),
            (776, 37),
        ] {
            put(&mut bytes, at, &text("", len));
        }
        for at in [813, 830, 847, 864] {
            put(&mut bytes, at, b"0000000000000000\0");
        }
        bytes[881] = 1;
        bytes
    }
}

/// Where a record of this length goes: none may cross the border of a sector.
fn fit(end: usize, len: usize) -> usize {
    let sector = SECTOR as usize;
    if end % sector + len > sector {
        end.next_multiple_of(sector)
    } else {
        end
    }
}

fn sectors(bytes: u64) -> u32 {
    bytes.div_ceil(SECTOR) as u32
}
