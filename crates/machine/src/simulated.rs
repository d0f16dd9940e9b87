//! A computer that exists in memory and does what a test or the simulator scripts.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use crate::{Finished, Kernel, Kind, Machine, Network, Node, Task, TaskError, Tree};

/// A computer in memory. Files that are written are there afterwards; programs answer by the
/// script, and one that is not in it is not installed.
#[derive(Debug)]
pub struct Simulated {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tree: Tree,
    network: Network,
    kernel: Kernel,
    clock: SystemTime,
    script: Vec<(Vec<String>, Finished)>,
    ran: Vec<Task>,
}

impl Default for Simulated {
    fn default() -> Self {
        Self::new(Tree::default())
    }
}

impl Simulated {
    /// A computer with these files, no network and no programs, in 1970.
    pub fn new(tree: Tree) -> Self {
        Self {
            state: Mutex::new(State {
                tree,
                network: Network::default(),
                kernel: Kernel::default(),
                clock: SystemTime::UNIX_EPOCH,
                script: Vec::new(),
                ran: Vec::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it a network.
    pub fn set_network(&self, network: Network) {
        self.state().network = network;
    }

    /// Gives it a name, an architecture and a kernel.
    pub fn set_kernel(&self, kernel: Kernel) {
        self.state().kernel = kernel;
    }

    /// Sets its clock.
    pub fn set_clock(&self, now: SystemTime) {
        self.state().clock = now;
    }

    /// Changes its files.
    pub fn change(&self, change: impl FnOnce(&mut Tree)) {
        change(&mut self.state().tree);
    }

    /// Lets every command that begins with these words end like this. The longest beginning
    /// wins, of equal ones the last that was given.
    pub fn on<T: Into<String>>(&self, words: impl IntoIterator<Item = T>, finished: Finished) {
        let words = words.into_iter().map(Into::into).collect();
        self.state().script.push((words, finished));
    }

    /// The commands that were run, in order.
    pub fn ran(&self) -> Vec<Vec<String>> {
        self.state().ran.iter().map(Task::command).collect()
    }

    /// The same with their environments, deadlines and input.
    pub fn tasks(&self) -> Vec<Task> {
        self.state().ran.clone()
    }
}

impl Machine for Simulated {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.state().tree.read(path)
    }

    fn read_start(&self, path: &Path, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = self.state().tree.read(path)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.state().tree.list(path)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        self.state().tree.link(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.state().tree.resolve(path)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        self.state().tree.kind(path)
    }

    fn write(&self, path: &Path, content: &[u8], _mode: u32) -> io::Result<()> {
        let mut state = self.state();
        let path = match state.tree.resolve(path) {
            Ok(path) => path,
            Err(_) => path.to_owned(),
        };
        state.tree.insert(path, Node::File(content.to_vec()));
        Ok(())
    }

    fn make_directory(&self, path: &Path, _mode: u32) -> io::Result<()> {
        let mut state = self.state();
        match state.tree.kind(path) {
            Ok(Kind::Directory) => {}
            Ok(Kind::File | Kind::Block | Kind::Other) => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Err(_) => state.tree.insert(path, Node::Directory),
        }
        Ok(())
    }

    fn make_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.tree.insert(path, Node::Link(target.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state().tree.remove(path)
    }

    fn network(&self) -> io::Result<Network> {
        Ok(self.state().network.clone())
    }

    fn kernel(&self) -> Kernel {
        self.state().kernel.clone()
    }

    fn run(&self, task: &Task) -> Result<Finished, TaskError> {
        let mut state = self.state();
        let command = task.command();
        state.ran.push(Task {
            // It may hold on to a channel that someone waits for the end of.
            observer: None,
            ..task.clone()
        });
        let ended = state
            .script
            .iter()
            .filter(|(words, _)| command.starts_with(words))
            .max_by_key(|(words, _)| words.len())
            .map(|(_, finished)| finished.clone())
            .ok_or_else(|| TaskError::NotStarted {
                program: task.program.clone(),
                reason: task.reason.clone(),
                source: io::ErrorKind::NotFound.into(),
            });
        drop(state);
        if let (Some(observer), Ok(finished)) = (&task.observer, &ended) {
            observer(&finished.stdout);
            observer(&finished.stderr);
        }
        ended
    }

    fn now(&self) -> SystemTime {
        self.state().clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_answer_by_the_longest_beginning_and_are_remembered() {
        let machine = Simulated::default();
        machine.on(["podman"], Finished::failed(125, "no"));
        machine.on(["podman", "pull"], Finished::with_output("yes"));
        let pull = Task::new("podman", "test").args(["pull", "image"]);
        assert_eq!(machine.run(&pull).unwrap().out(), "yes");
        let other = Task::new("podman", "test").arg("ps");
        assert_eq!(machine.run(&other).unwrap().code, Some(125));
        assert!(
            machine
                .run(&Task::new("fio", "test"))
                .unwrap_err()
                .is_missing()
        );
        assert_eq!(machine.ran()[0], ["podman", "pull", "image"]);
    }

    #[test]
    fn a_written_file_can_be_read_and_removed() {
        let machine = Simulated::default();
        let path = Path::new("/etc/assisted/node0");
        machine.write(path, b"x", 0o644).unwrap();
        assert_eq!(machine.read_start(path, 9).unwrap(), b"x");
        machine.remove(path).unwrap();
        assert!(machine.read(path).is_err());
    }
}
