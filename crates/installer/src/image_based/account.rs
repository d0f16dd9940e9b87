//! What happened, with its time: kept on the disk beside the journal, and after that on the installed
//! system. The live system forgets its own log when the power goes.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use muster_machine::Machine;
use muster_model::Timestamp;

use super::progress::Event;
use crate::error::InstallError;

/// Name of the file.
const FILE: &str = "installation.log";
/// Most that is kept: a registry that is away for days must not fill the disk.
const LARGEST: usize = 4 << 20;

/// What happened so far.
#[derive(Debug, Default)]
pub struct Account {
    text: Mutex<String>,
}

impl Account {
    /// Notes an event; amounts are on the console only.
    pub fn note(&self, at: SystemTime, event: &Event) {
        if matches!(event, Event::Bytes { .. } | Event::Images { .. }) {
            return;
        }
        let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let at = Timestamp::from_unix_seconds(i64::try_from(seconds).unwrap_or_default());
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if text.len() < LARGEST {
            text.push_str(&format!("{} {event}\n", at.millis()));
        }
    }

    /// Puts what an earlier attempt left in a folder before everything else.
    pub fn take_up(&self, machine: &dyn Machine, folder: &Path) {
        if let Ok(earlier) = machine.read(&folder.join(FILE)) {
            let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
            text.insert_str(0, &String::from_utf8_lossy(&earlier));
        }
    }

    /// Writes it to a folder, which is there.
    ///
    /// # Errors
    /// It could not be written.
    pub fn save(&self, machine: &dyn Machine, folder: &Path) -> Result<(), InstallError> {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let written = machine.write(&folder.join(FILE), text.as_bytes(), 0o600);
        written.map_err(InstallError::file(format!("{FILE} cannot be written")))
    }
}
