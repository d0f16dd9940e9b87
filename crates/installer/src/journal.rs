//! What this installation has already done, kept on the live system.
//!
//! An installer that was killed, or a second `install` step of the service, continues where the
//! first one was: a finished step that changes a disk is never done again. The journal lives in
//! `/run`, so a reboot of the live system begins a new installation. It names the installation
//! it belongs to; one of another cluster or onto another disk starts over.

use std::path::{Path, PathBuf};

use muster_machine::Machine;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::{options::InstallOptions, plan::Step};

/// What the installer keeps on the live system.
pub const FOLDER: &str = "/run/muster-installer";
/// Where the journal lies.
pub const PATH: &str = "/run/muster-installer/journal.json";
/// Why the last attempt failed, for the step that started it.
pub const FAILURE: &str = "/run/muster-installer/failure";

/// The finished steps of one installation.
#[derive(Debug)]
pub struct Journal<'a> {
    machine: &'a dyn Machine,
    path: PathBuf,
    entries: Entries,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entries {
    installation: String,
    finished: Vec<Step>,
}

impl<'a> Journal<'a> {
    /// Opens the journal of an installation, or begins one.
    #[must_use]
    pub fn open(machine: &'a dyn Machine, path: &Path, options: &InstallOptions) -> Self {
        let installation = format!(
            "{}/{}/{}",
            options.cluster_id,
            options.host_id,
            options.boot_device.display()
        );
        let known = machine
            .read(path)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Entries>(&bytes).ok())
            .filter(|entries| entries.installation == installation);
        let entries = known.unwrap_or(Entries {
            installation,
            finished: Vec::new(),
        });
        Self {
            machine,
            path: path.to_owned(),
            entries,
        }
    }

    /// Whether a step was finished before.
    #[must_use]
    pub fn has(&self, step: Step) -> bool {
        self.entries.finished.contains(&step)
    }

    /// A step is finished; on disk before this returns.
    pub fn finish(&mut self, step: Step) {
        self.entries.finished.push(step);
        let written = serde_json::to_vec(&self.entries)
            .map_err(std::io::Error::other)
            .and_then(|text| {
                self.machine.make_directory(Path::new(FOLDER), 0o700)?;
                self.machine.write(&self.path, &text, 0o600)
            });
        if let Err(cause) = written {
            // Without it a restart would repeat steps, which is no reason to give up now.
            warn!(path = %self.path.display(), %cause, "the journal of the installation cannot be written");
        }
    }
}
