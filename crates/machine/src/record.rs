//! A captured machine: everything that was read from it, in a folder of readable files.
//!
//! `tree.txt` holds files, links and devices in the notation of [`Tree`], `network.json` the
//! answers of the routing socket, `machine.json` kernel, clock and what programs answered.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use crate::{BadNotation, Finished, Kernel, Network, Simulated, Tree};

const TREE: &str = "tree.txt";
const NETWORK: &str = "network.json";
const MACHINE: &str = "machine.json";

/// Everything a machine was seen to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Its files.
    pub tree: Tree,
    /// Its network.
    pub network: Network,
    /// Kernel, clock and programs.
    pub about: About,
}

/// Kernel, clock and programs of a recorded machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// What the kernel says about itself.
    pub kernel: Kernel,
    /// Seconds since 1970 when it was recorded.
    #[serde(default)]
    pub clock: u64,
    /// What programs answered.
    #[serde(default)]
    pub programs: Vec<Answer>,
}

/// What a program answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Program and arguments.
    pub command: Vec<String>,
    /// How it ended.
    #[serde(flatten)]
    pub finished: Finished,
}

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadRecord {
    /// A file of it cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of it is no valid JSON.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The tree is not in its notation.
    #[error("{}: {source}", path.display())]
    Notation {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: BadNotation,
    },
}

impl Record {
    /// Reads a record from its folder. A missing `network.json` is a machine without network.
    pub fn open(folder: &Path) -> Result<Self, BadRecord> {
        let path = folder.join(TREE);
        let text = fs::read_to_string(&path).map_err(|source| BadRecord::File {
            path: path.clone(),
            source,
        })?;
        Ok(Self {
            tree: Tree::parse(&text).map_err(|source| BadRecord::Notation { path, source })?,
            network: json(&folder.join(NETWORK))?,
            about: json(&folder.join(MACHINE))?,
        })
    }

    /// Writes a record into a folder, making it if need be.
    pub fn save(&self, folder: &Path) -> Result<(), BadRecord> {
        let write = |name: &str, content: String| {
            let path = folder.join(name);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, content))
                .map_err(|source| BadRecord::File { path, source })
        };
        write(TREE, self.tree.notation())?;
        for (name, value) in [
            (NETWORK, serde_json::to_string_pretty(&self.network)),
            (MACHINE, serde_json::to_string_pretty(&self.about)),
        ] {
            let mut text = value.map_err(|source| BadRecord::Json {
                path: folder.join(name),
                source,
            })?;
            text.push('\n');
            write(name, text)?;
        }
        Ok(())
    }

    /// A machine that says again what was recorded.
    pub fn replay(self) -> Simulated {
        let machine = Simulated::new(self.tree);
        machine.set_network(self.network);
        machine.set_kernel(self.about.kernel);
        let since = Duration::from_secs(self.about.clock);
        machine.set_clock(
            SystemTime::UNIX_EPOCH
                .checked_add(since)
                .unwrap_or(SystemTime::UNIX_EPOCH),
        );
        for answer in self.about.programs {
            machine.on(answer.command, answer.finished);
        }
        machine
    }
}

fn json<T: Default + for<'de> Deserialize<'de>>(path: &Path) -> Result<T, BadRecord> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
        Err(source) => {
            return Err(BadRecord::File {
                path: path.to_owned(),
                source,
            });
        }
    };
    serde_json::from_str(&text).map_err(|source| BadRecord::Json {
        path: path.to_owned(),
        source,
    })
}
