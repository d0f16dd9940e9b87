//! The list of contents at the end of an archive, and how it is checked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BackupError, DATABASE};

/// Name of the list in the archive.
pub(crate) const NAME: &str = "backup.json";
/// Raised when older programs could not restore what newer ones write.
const FORMAT: u32 = 1;

/// What an archive holds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Contents {
    /// Version of the archive's layout.
    pub format: u32,
    /// Version of the program that made it.
    pub release: String,
    /// Schema version of the database in it.
    pub schema: i64,
    /// When it was begun.
    pub created_at: String,
    /// Everything else in it, by name.
    pub members: BTreeMap<String, Member>,
}

/// One file of an archive.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Bytes.
    pub size: u64,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

impl Contents {
    pub(crate) fn new(release: &str) -> Self {
        Self {
            format: FORMAT,
            release: release.to_owned(),
            schema: muster_store::schema_version(),
            created_at: jiff::Timestamp::now().to_string(),
            members: BTreeMap::new(),
        }
    }

    /// How much data it is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.members.values().map(|member| member.size).sum()
    }

    /// Compares the list with what was found in the archive.
    pub(crate) fn check(&self, found: &BTreeMap<String, Member>) -> Result<(), BackupError> {
        if self.format > FORMAT || self.schema > muster_store::schema_version() {
            return Err(BackupError::Archive(format!(
                "it was made by muster {} and has schema version {}, this program knows up to {}; \
                 restore it with that release or a newer one",
                self.release,
                self.schema,
                muster_store::schema_version()
            )));
        }
        if !self.members.contains_key(DATABASE) {
            return Err(BackupError::Archive(format!("it lists no {DATABASE}")));
        }
        for (name, listed) in &self.members {
            match found.get(name) {
                None => return Err(BackupError::Archive(format!("{name} is missing in it"))),
                Some(found) if found != listed => {
                    return Err(BackupError::Archive(format!(
                        "{name} was altered: its SHA-256 is {}, listed is {}",
                        found.sha256, listed.sha256
                    )));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
