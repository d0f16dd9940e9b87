//! Directory records while writing: names of both trees, POSIX names and permissions.

use crate::iso9660::{
    Extent,
    directory::HEAD,
    joliet,
    numbers::{both16, both32, put},
};

/// A date for everything, since a clock would make equal images differ: 1 January 1980.
pub(super) const DATE: [u8; 7] = [80, 1, 1, 0, 0, 0, 0];

/// Which of the two trees is being written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tree {
    Plain,
    Joliet,
}

/// A record without its place.
pub(super) struct Draft {
    pub(super) name: Vec<u8>,
    pub(super) system_use: Vec<u8>,
    pub(super) points_at: Target,
}

#[derive(Clone, Copy)]
pub(super) enum Target {
    Directory(usize),
    File(usize),
}

impl Tree {
    pub(super) fn name(
        self,
        name: &str,
        target: Target,
        taken: &impl Fn(&[u8]) -> bool,
    ) -> Vec<u8> {
        match self {
            Self::Joliet => joliet::encode(name, 103),
            Self::Plain => plain_name(name, target, taken),
        }
    }
}

/// An upper-case name of at most 8 and 3 characters that is not taken yet.
fn plain_name(name: &str, target: Target, taken: &impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let clean = |part: &str, most: usize| -> String {
        part.chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_uppercase()
                } else {
                    '_'
                }
            })
            .take(most)
            .collect()
    };
    let (stem, end) = match target {
        Target::Directory(_) => (name, String::new()),
        Target::File(_) => {
            let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
            (stem, format!(".{};1", clean(extension, 3)))
        }
    };
    let first = format!("{}{end}", clean(stem, 8));
    let numbered = (0..100_000u32).map(|number| {
        let number = number.to_string();
        format!("{}{number}{end}", clean(stem, 8 - number.len()))
    });
    std::iter::once(first)
        .chain(numbered)
        .map(String::into_bytes)
        .find(|name| !taken(name))
        .unwrap_or_else(|| name.as_bytes().to_vec())
}

pub(super) fn draft(
    tree: Tree,
    name: Vec<u8>,
    posix: Option<&str>,
    root: bool,
    points_at: Target,
) -> Draft {
    let mut system_use = Vec::new();
    if tree == Tree::Plain {
        if root {
            system_use.extend(b"SP\x07\x01\xbe\xef\0");
        }
        let (mode, links) = match points_at {
            Target::Directory(_) => (0o040_555, 2),
            Target::File(_) => (0o100_444, 1),
        };
        system_use.extend(b"PX\x24\x01");
        for number in [mode, links, 0, 0] {
            system_use.extend(both32(number));
        }
        if let Some(posix) = posix {
            system_use.extend([b'N', b'M', 5 + posix.len() as u8, 1, 0]);
            system_use.extend(posix.as_bytes());
        }
        if root {
            system_use.extend(b"ER\x12\x01\x0a\0\0\x01RRIP_1991A");
        }
    }
    Draft {
        name,
        system_use,
        points_at,
    }
}

impl Draft {
    fn system_use_at(&self) -> usize {
        (HEAD + self.name.len()).next_multiple_of(2)
    }

    pub(super) fn len(&self) -> usize {
        (self.system_use_at() + self.system_use.len()).next_multiple_of(2)
    }

    pub(super) fn bytes(&self, extent: Extent, flags: u8) -> Vec<u8> {
        let mut bytes = vec![0; self.len()];
        bytes[0] = self.len() as u8;
        put(&mut bytes, 2, &both32(extent.sector));
        put(&mut bytes, 10, &both32(extent.len));
        put(&mut bytes, 18, &DATE);
        bytes[25] = flags;
        put(&mut bytes, 28, &both16(1));
        bytes[32] = self.name.len() as u8;
        put(&mut bytes, HEAD, &self.name);
        put(&mut bytes, self.system_use_at(), &self.system_use);
        bytes
    }
}
