//! The steps that prepare a machine.

use serde::{Deserialize, Serialize};

use super::config::Configuration;

/// One step. Steps that are finished are not repeated after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Switch off and erase what was built on the disk before.
    CleanDisk,
    /// Write the operating system.
    WriteOs,
    /// Make the partition of container storage.
    Partition,
    /// Pull the seed onto the disk.
    FetchSeed,
    /// Take its objects into the disk's object store.
    Import,
    /// Make it a deployment.
    Deploy,
    /// Put its `/etc` and `/var` in place.
    Restore,
    /// Pull the images of the release.
    Precache,
    /// Run the user's script.
    PostScript,
    /// Remove the operating system that was only needed to get here.
    RemoveFirstOs,
}

impl Step {
    /// What it does, for people.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::CleanDisk => "erase what was on the installation disk",
            Self::WriteOs => "write the operating system",
            Self::Partition => "make the partition of container storage",
            Self::FetchSeed => "pull the seed image onto the disk",
            Self::Import => "import the objects of the seed",
            Self::Deploy => "deploy the seed",
            Self::Restore => "restore /etc and /var of the seed",
            Self::Precache => "pull the images of the release",
            Self::PostScript => "run the user's script",
            Self::RemoveFirstOs => "remove the operating system of the live image",
        }
    }

    /// Whether it must be repeated when the disk holds no journal: these make the place for it.
    #[must_use]
    pub fn makes_room_for_journal(self) -> bool {
        matches!(self, Self::CleanDisk | Self::WriteOs | Self::Partition)
    }
}

/// The steps of a configuration, in order.
#[must_use]
pub fn steps(config: &Configuration, has_script: bool) -> Vec<Step> {
    let all = [
        Step::CleanDisk,
        Step::WriteOs,
        Step::Partition,
        Step::FetchSeed,
        Step::Import,
        Step::Deploy,
        Step::Restore,
        Step::Precache,
        Step::PostScript,
        Step::RemoveFirstOs,
    ];
    let wanted = |step: &Step| match step {
        Step::CleanDisk => !config.skip_disk_cleanup,
        Step::Precache => !config.precache_disabled,
        Step::PostScript => has_script,
        Step::WriteOs
        | Step::Partition
        | Step::FetchSeed
        | Step::Import
        | Step::Deploy
        | Step::Restore
        | Step::RemoveFirstOs => true,
    };
    all.into_iter().filter(wanted).collect()
}
