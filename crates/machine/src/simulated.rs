//! A computer that exists in memory and does what a test or the simulator scripts.

use std::{
    collections::VecDeque,
    fmt, io,
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
    script: Vec<(Vec<String>, VecDeque<Finished>)>,
    effects: Vec<(Vec<String>, Effect)>,
    ran: Vec<Task>,
}

/// What a command changes.
struct Effect(Box<dyn Fn(&mut Tree) + Send>);

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Effect")
    }
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
                effects: Vec::new(),
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
        self.on_in_turn(words, [finished]);
    }

    /// The same for commands that are repeated: each time they end like the next of these, and in the
    /// end always like the last.
    pub fn on_in_turn<T: Into<String>>(
        &self,
        words: impl IntoIterator<Item = T>,
        finished: impl IntoIterator<Item = Finished>,
    ) {
        let words = words.into_iter().map(Into::into).collect();
        let finished = finished.into_iter().collect();
        self.state().script.push((words, finished));
    }

    /// Lets every command that begins with these words change its files.
    pub fn changes<T: Into<String>>(
        &self,
        words: impl IntoIterator<Item = T>,
        effect: impl Fn(&mut Tree) + Send + 'static,
    ) {
        let words = words.into_iter().map(Into::into).collect();
        self.state().effects.push((words, Effect(Box::new(effect))));
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
        let State {
            tree,
            effects,
            script,
            ..
        } = &mut *state;
        for (_, effect) in effects
            .iter()
            .filter(|(words, _)| command.starts_with(words))
        {
            (effect.0)(tree);
        }
        let ended = script
            .iter_mut()
            .filter(|(words, _)| command.starts_with(words))
            .max_by_key(|(words, _)| words.len())
            .and_then(|(_, answers)| match answers.len() {
                0 | 1 => answers.front().cloned(),
                _ => answers.pop_front(),
            })
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
    use std::time::Duration;

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
    fn a_command_that_is_repeated_ends_differently_until_the_last_answer() {
        let machine = Simulated::default();
        let answers = [Finished::failed(1, "busy"), Finished::with_output("yes")];
        machine.on_in_turn(["show"], answers);
        let ask = Task::new("show", "test");
        let codes: Vec<_> = (0..3).map(|_| machine.run(&ask).unwrap().code).collect();
        assert_eq!(codes, [Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn a_command_changes_files_and_is_remembered_with_its_deadline() {
        let machine = Simulated::default();
        machine.on(["umount"], Finished::default());
        machine.changes(["umount", "/mnt"], |tree| tree.line("/mounts", "none"));
        let unmount = Task::new("umount", "test").deadline(Duration::from_secs(7));
        machine.run(&unmount.clone().arg("/other")).unwrap();
        assert!(machine.read(Path::new("/mounts")).is_err());
        machine.run(&unmount.arg("/mnt")).unwrap();
        assert_eq!(machine.read(Path::new("/mounts")).unwrap(), b"none\n");
        let unmounted = machine.tasks().remove(1);
        assert_eq!(unmounted.command(), ["umount", "/mnt"]);
        assert_eq!(unmounted.deadline, Duration::from_secs(7));
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
