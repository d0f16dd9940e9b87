//! The computer this program runs on, as a trait.
//!
//! Everything the host side does to a computer goes through one trait, [`Machine`]: reading what
//! the kernel and the firmware report, asking for the network, writing a file, running a program.
//! [`Real`] is this computer. [`Simulated`] lives in memory and is scripted by a test or the simulator;
//! a [`Record`], captured by a [`Recorder`] on another computer, can be replayed as one.
//! So code that inspects a machine can be tested on machines that are not available.

mod device_read;
mod mounts;
#[cfg(target_os = "linux")]
mod netlink;
mod network;
mod notation;
mod real;
mod record;
mod recorder;
mod simulated;
mod task;
mod tree;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    str::FromStr,
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

pub use mounts::{Mount, mounts};
pub use network::{Address, Link, Neighbour, Network, Route};
pub use notation::BadNotation;
pub use real::Real;
pub use record::{About, Answer, BadRecord, Record};
pub use recorder::Recorder;
pub use simulated::Simulated;
pub use task::{Cancel, Finished, Observer, Task, TaskError};
pub use tree::{Node, Tree};

/// One computer, as far as the host side needs it.
///
/// All calls block: the kernel answers at once, and a caller that runs a long [`Task`] from
/// asynchronous code hands it to a blocking thread. Paths are those of the computer itself.
pub trait Machine: fmt::Debug + Send + Sync {
    /// A whole file; for the small files of sysfs, procfs and the like, cut at 16 MiB.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The first bytes of a file or device, at most `length`. A device that does not answer is
    /// an error after a few seconds.
    fn read_start(&self, path: &Path, length: usize) -> io::Result<Vec<u8>>;

    /// The names in a directory, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Where a symbolic link points, as written in it.
    fn link(&self, path: &Path) -> io::Result<PathBuf>;

    /// The path with every link in it followed; an error if it does not exist.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// What is at a path, links followed.
    fn kind(&self, path: &Path) -> io::Result<Kind>;

    /// Puts a file in place as a whole: a reader sees the old content or the new one.
    fn write(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()>;

    /// Creates a directory and those above it, where they are missing. The mode is that of the
    /// last one, also if it exists.
    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()>;

    /// Puts a symbolic link in place of whatever file or link is there.
    fn make_link(&self, path: &Path, target: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Links, addresses, routes and neighbours as the kernel has them now.
    fn network(&self) -> io::Result<Network>;

    /// What the kernel says about itself.
    fn kernel(&self) -> Kernel;

    /// Runs a program to its end, its deadline or its cancellation.
    fn run(&self, task: &Task) -> Result<Finished, TaskError>;

    /// The clock of the machine.
    fn now(&self) -> SystemTime;
}

impl dyn Machine + '_ {
    /// The text of a file without surrounding blanks and NULs; `None` if it cannot be read or
    /// says nothing. Bytes that are no UTF-8 are replaced.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = self.read(path.as_ref()).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A file that holds one number, or anything else that can be parsed.
    pub fn value<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The names in a directory; none if it cannot be listed.
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        self.list(path.as_ref()).unwrap_or_default()
    }

    /// Whether something is at this path.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.kind(path.as_ref()).is_ok()
    }
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A block device.
    Block,
    /// Anything else: character devices, sockets, pipes.
    Other,
}

/// What the kernel says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Name of the machine.
    pub hostname: String,
    /// Hardware name, such as `x86_64`.
    pub architecture: String,
    /// Version of the kernel.
    pub release: String,
}
