//! Records what is read from another machine.
//!
//! Whatever looks at a machine through a recorder sees the machine itself; afterwards the
//! recorder holds exactly what was looked at, links on the way included. So a capture holds all
//! that is needed to see the same again, and nothing else.

use std::{
    collections::BTreeSet,
    io,
    path::{Component, Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use crate::{
    Finished, Kernel, Kind, Machine, Network, Node, Record, Task, TaskError, record::Answer,
};

/// Looks at a machine and writes down what it sees.
#[derive(Debug)]
pub struct Recorder<'a> {
    of: &'a dyn Machine,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    record: Record,
    /// Canonical paths that are no links, so that each is asked about once.
    plain: BTreeSet<PathBuf>,
}

impl<'a> Recorder<'a> {
    /// Begins to record.
    pub fn new(of: &'a dyn Machine) -> Self {
        Self {
            of,
            seen: Mutex::default(),
        }
    }

    /// Everything that was looked at.
    pub fn record(self) -> Record {
        let seen = self
            .seen
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut record = seen.record;
        record.about.kernel = self.of.kernel();
        record.about.clock = self
            .of
            .now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        record
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down the links on the way to a path; gives the path without them.
    fn follow(&self, path: &Path) -> PathBuf {
        let mut done = PathBuf::from("/");
        let mut ahead: Vec<PathBuf> = parts(path);
        let mut timeout = 64;
        while let Some(part) = ahead.pop() {
            if part == Path::new("..") {
                done.pop();
                continue;
            }
            let here = done.join(&part);
            if self.seen().plain.contains(&here) {
                done = here;
                continue;
            }
            match self.of.link(&here) {
                Ok(target) if timeout > 0 => {
                    timeout -= 1;
                    self.seen()
                        .record
                        .tree
                        .insert(here, Node::Link(target.clone()));
                    if target.is_absolute() {
                        done = PathBuf::from("/");
                    }
                    ahead.extend(parts(&target));
                }
                _ => {
                    self.seen().plain.insert(here.clone());
                    done = here;
                }
            }
        }
        done
    }

    /// Writes a node down unless something fuller is there already.
    fn note(&self, path: &Path, node: Node) {
        let path = self.follow(path);
        let mut seen = self.seen();
        let fuller = match (seen.record.tree.get(&path), &node) {
            (Err(_), _) => true,
            (Ok(Node::File(old) | Node::Block(old)), Node::File(new) | Node::Block(new)) => {
                old.len() < new.len()
            }
            (Ok(Node::Other), _) => true,
            (
                Ok(
                    Node::File(_)
                    | Node::Directory
                    | Node::Link(_)
                    | Node::Block(_)
                    | Node::Unreadable(_),
                ),
                _,
            ) => false,
        };
        if fuller {
            seen.record.tree.insert(path, node);
        }
    }

    fn note_read(&self, path: &Path, outcome: &io::Result<Vec<u8>>) {
        match outcome {
            Ok(bytes) if matches!(self.of.kind(path), Ok(Kind::Block)) => {
                self.note(path, Node::Block(bytes.clone()));
            }
            Ok(bytes) => self.note(path, Node::File(bytes.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let readable = !matches!(self.of.kind(path), Ok(Kind::Directory) | Err(_));
                if let Some(number) = error.raw_os_error().filter(|_| readable) {
                    self.note(path, Node::Unreadable(number));
                }
            }
        }
    }
}

/// The parts of a path, last first.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components()
        .rev()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| PathBuf::from(part.as_os_str()))
        .collect()
}

impl Machine for Recorder<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let outcome = self.of.read(path);
        self.note_read(path, &outcome);
        outcome
    }

    fn read_start(&self, path: &Path, length: usize) -> io::Result<Vec<u8>> {
        let outcome = self.of.read_start(path, length);
        self.note_read(path, &outcome);
        outcome
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let names = self.of.list(path)?;
        self.note(path, Node::Directory);
        for name in &names {
            // What a listing shows must be listed again, whatever it is.
            let _ = self.kind(&path.join(name));
            if self.of.link(&path.join(name)).is_ok() {
                self.follow(&path.join(name));
            }
        }
        Ok(names)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        let target = self.of.link(path)?;
        self.follow(path);
        Ok(target)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let resolved = self.of.resolve(path)?;
        let _ = self.kind(path);
        Ok(resolved)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        let kind = self.of.kind(path)?;
        let node = match kind {
            Kind::Directory => Node::Directory,
            Kind::Block => Node::Block(Vec::new()),
            Kind::File => Node::File(Vec::new()),
            Kind::Other => Node::Other,
        };
        self.note(path, node);
        Ok(kind)
    }

    fn write(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        self.of.write(path, content, mode)
    }

    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.of.make_directory(path, mode)
    }

    fn make_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        self.of.make_link(path, target)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.of.remove(path)
    }

    fn network(&self) -> io::Result<Network> {
        let network = self.of.network()?;
        self.seen().record.network = network.clone();
        Ok(network)
    }

    fn kernel(&self) -> Kernel {
        self.of.kernel()
    }

    fn run(&self, task: &Task) -> Result<Finished, TaskError> {
        let finished = self.of.run(task)?;
        self.seen().record.about.programs.push(Answer {
            command: task.command(),
            finished: finished.clone(),
        });
        Ok(finished)
    }

    fn now(&self) -> SystemTime {
        self.of.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Simulated, Tree};

    #[test]
    fn what_was_looked_at_is_there_again_and_nothing_else() {
        let original = Simulated::new(
            Tree::parse(
                "[/sys/devices/pci0/net/eth0]\naddress = 52:54\nspeed ! 22\nunseen = x\n\
                 [/sys/class/net]\neth0 -> ../../devices/pci0/net/eth0\n[/dev]\nsda block : 55aa\n",
            )
            .unwrap(),
        );
        original.on(["tool", "-x"], Finished::with_output("hello"));
        let recorder = Recorder::new(&original);
        let names = recorder.list(Path::new("/sys/class/net")).unwrap();
        assert_eq!(names, ["eth0"]);
        for file in ["address", "speed", "absent"] {
            let _ = recorder.read(&Path::new("/sys/class/net/eth0").join(file));
        }
        recorder.read_start(Path::new("/dev/sda"), 1).unwrap();
        recorder.run(&Task::new("tool", "test").arg("-x")).unwrap();

        let folder = tempfile::tempdir().unwrap();
        recorder.record().save(folder.path()).unwrap();
        let replay = Record::open(folder.path()).unwrap().replay();
        let replay: &dyn Machine = &replay;
        assert_eq!(replay.names("/sys/class/net"), ["eth0"]);
        assert_eq!(replay.text("/sys/class/net/eth0/address").unwrap(), "52:54");
        let speed = replay
            .read(Path::new("/sys/class/net/eth0/speed"))
            .unwrap_err();
        assert_eq!(speed.raw_os_error(), Some(22));
        assert!(!replay.exists("/sys/class/net/eth0/unseen"));
        assert_eq!(replay.read(Path::new("/dev/sda")).unwrap(), [0x55]);
        assert_eq!(
            replay
                .run(&Task::new("tool", "test").arg("-x"))
                .unwrap()
                .out(),
            "hello"
        );
    }
}
