//! Files, directories, links and devices in memory: what a machine looks like from inside.

use std::{
    collections::BTreeMap,
    io,
    ops::Bound,
    path::{Component, Path, PathBuf},
};

use crate::Kind;

/// As many links in a row as Linux follows.
const LINKS_IN_A_ROW: usize = 40;

/// What is at one path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A file and its content.
    File(Vec<u8>),
    /// A directory.
    Directory,
    /// A symbolic link and its target as written.
    Link(PathBuf),
    /// A block device and its first bytes.
    Block(Vec<u8>),
    /// Something of another kind, such as a character device.
    Other,
    /// A file that cannot be read, with the number of the error.
    Unreadable(i32),
}

/// A tree of nodes under `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<PathBuf, Node>,
}

impl Tree {
    /// Puts a node at a path, and directories above it where there is nothing yet.
    pub fn insert(&mut self, path: impl Into<PathBuf>, node: Node) {
        let path = path.into();
        for above in path.ancestors().skip(1) {
            if self.nodes.contains_key(above) {
                break;
            }
            self.nodes.insert(above.to_owned(), Node::Directory);
        }
        self.nodes.insert(path, node);
    }

    /// Puts a file with a line of text, as most files of sysfs are.
    pub fn line(&mut self, path: impl Into<PathBuf>, line: &str) {
        self.insert(path, Node::File(format!("{line}\n").into_bytes()));
    }

    /// Everything, by path.
    pub fn nodes(&self) -> impl Iterator<Item = (&Path, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_path(), node))
    }

    /// Takes away what is at a path.
    pub fn remove(&mut self, path: &Path) -> io::Result<()> {
        let path = self.resolve(path)?;
        self.nodes.remove(&path).map(drop).ok_or_else(missing)
    }

    /// The path with all links followed.
    pub fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.walk(path, LINKS_IN_A_ROW)
    }

    fn walk(&self, path: &Path, links_left: usize) -> io::Result<PathBuf> {
        let mut done = PathBuf::from("/");
        let mut parts = path.components();
        while let Some(part) = parts.next() {
            match part {
                Component::ParentDir => {
                    done.pop();
                }
                Component::Normal(name) => {
                    let here = done.join(name);
                    match self.nodes.get(&here) {
                        None => return Err(missing()),
                        Some(Node::Link(target)) => {
                            let links_left = links_left.checked_sub(1).ok_or_else(|| {
                                io::Error::other("too many symbolic links in a row")
                            })?;
                            let rest = done.join(target).join(parts.as_path());
                            return self.walk(&rest, links_left);
                        }
                        Some(
                            Node::File(_)
                            | Node::Directory
                            | Node::Block(_)
                            | Node::Other
                            | Node::Unreadable(_),
                        ) => done = here,
                    }
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Ok(done)
    }

    /// What is at a path, links followed.
    pub fn get(&self, path: &Path) -> io::Result<&Node> {
        let path = self.resolve(path)?;
        self.nodes.get(&path).ok_or_else(missing)
    }

    /// The content of a file or the first bytes of a device.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.get(path)? {
            Node::File(bytes) | Node::Block(bytes) => Ok(bytes.clone()),
            Node::Unreadable(number) => Err(io::Error::from_raw_os_error(*number)),
            Node::Directory => Err(io::ErrorKind::IsADirectory.into()),
            Node::Link(_) | Node::Other => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The names in a directory, sorted.
    pub fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let path = self.resolve(path)?;
        match self.nodes.get(&path) {
            Some(Node::Directory) => {}
            Some(Node::Unreadable(number)) => return Err(io::Error::from_raw_os_error(*number)),
            Some(Node::File(_) | Node::Link(_) | Node::Block(_) | Node::Other) => {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            None => return Err(missing()),
        }
        let mut names: Vec<String> = Vec::new();
        let below = (Bound::Excluded(path.as_path()), Bound::Unbounded);
        for (inner, _) in self.nodes.range::<Path, _>(below) {
            let Ok(rest) = inner.strip_prefix(&path) else {
                break;
            };
            if let Some(Component::Normal(name)) = rest.components().next() {
                let name = name.to_string_lossy();
                if names.last().is_none_or(|last| *last != name) {
                    names.push(name.into_owned());
                }
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Where the link at a path points.
    pub fn link(&self, path: &Path) -> io::Result<PathBuf> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let path = self.resolve(folder)?.join(name);
        match self.nodes.get(&path) {
            Some(Node::Link(target)) => Ok(target.clone()),
            Some(
                Node::File(_)
                | Node::Directory
                | Node::Block(_)
                | Node::Other
                | Node::Unreadable(_),
            ) => Err(io::ErrorKind::InvalidInput.into()),
            None => Err(missing()),
        }
    }

    /// What kind of thing is at a path, links followed.
    pub fn kind(&self, path: &Path) -> io::Result<Kind> {
        Ok(match self.get(path)? {
            Node::File(_) | Node::Unreadable(_) => Kind::File,
            Node::Directory => Kind::Directory,
            Node::Block(_) => Kind::Block,
            Node::Link(_) | Node::Other => Kind::Other,
        })
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.line("/sys/devices/pci0/block/sda/size", "8");
        tree.insert(
            "/sys/block/sda",
            Node::Link("../devices/pci0/block/sda".into()),
        );
        tree.insert("/sys/loop", Node::Link("loop".into()));
        tree.insert("/sys/denied", Node::Unreadable(13));
        tree
    }

    #[test]
    fn links_in_the_middle_of_a_path_are_followed() {
        let tree = tree();
        let path = Path::new("/sys/block/sda/size");
        assert_eq!(tree.read(path).unwrap(), b"8\n");
        assert_eq!(
            tree.resolve(path).unwrap(),
            Path::new("/sys/devices/pci0/block/sda/size")
        );
        assert_eq!(
            tree.link(Path::new("/sys/block/sda")).unwrap(),
            Path::new("../devices/pci0/block/sda")
        );
        assert!(tree.link(Path::new("/sys/block")).is_err());
    }

    #[test]
    fn a_directory_lists_its_own_names_once() {
        let tree = tree();
        assert_eq!(
            tree.list(Path::new("/sys")).unwrap(),
            ["block", "denied", "devices", "loop"]
        );
        assert_eq!(tree.list(Path::new("/sys/block/sda")).unwrap(), ["size"]);
        assert!(tree.list(Path::new("/sys/nothing")).is_err());
    }

    #[test]
    fn links_in_a_circle_and_unreadable_files_are_errors() {
        let tree = tree();
        assert!(tree.resolve(Path::new("/sys/loop")).is_err());
        let denied = tree.read(Path::new("/sys/denied")).unwrap_err();
        assert_eq!(denied.kind(), io::ErrorKind::PermissionDenied);
    }
}
