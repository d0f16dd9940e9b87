//! What is done already, kept on the installed disk: a power cut costs the step it hits.

use std::path::{Path, PathBuf};

use muster_machine::Machine;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::plan::Step;
use crate::error::InstallError;

/// The finished steps of one installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Which installation it belongs to: a digest of its configuration.
    installation: String,
    /// Steps that are finished, in order.
    finished: Vec<Step>,
    /// Images that could not be precached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_images: Vec<String>,
}

impl Journal {
    /// Begins one.
    #[must_use]
    pub fn new(configuration: &[u8]) -> Self {
        let digest = Sha256::digest(configuration);
        Self {
            installation: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            finished: Vec::new(),
            failed_images: Vec::new(),
        }
    }

    /// The one in a folder, if it is of this installation.
    #[must_use]
    pub fn read(machine: &dyn Machine, folder: &Path, configuration: &[u8]) -> Option<Self> {
        let bytes = machine.read(&path(folder)).ok()?;
        let found: Self = serde_json::from_slice(&bytes).ok()?;
        let own = Self::new(configuration);
        (found.installation == own.installation).then_some(found)
    }

    /// Whether a step is finished.
    #[must_use]
    pub fn has(&self, step: Step) -> bool {
        self.finished.contains(&step)
    }

    /// Notes a step; [`Journal::save`] makes that durable.
    pub fn finish(&mut self, step: Step) {
        if !self.has(step) {
            self.finished.push(step);
        }
    }

    /// Writes it to a folder.
    ///
    /// # Errors
    /// It could not be written.
    pub fn save(&self, machine: &dyn Machine, folder: &Path) -> Result<(), InstallError> {
        let written = serde_json::to_vec(self)
            .map_err(std::io::Error::other)
            .and_then(|text| {
                machine.make_directory(folder, 0o700)?;
                machine.write(&path(folder), &text, 0o600)
            });
        written.map_err(InstallError::file("the journal cannot be written"))
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("journal.json")
}
