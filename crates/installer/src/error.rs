//! Why an installation, or a part of it, failed.

use std::{io, time::Duration};

use muster_api::client::ClientError;
use muster_machine::TaskError;
use tokio::task::JoinError;

use crate::{
    disk::Refused,
    image_based::{
        partition::PartitionError, plan::Step, processors::ProcessorsError, seed::SeedError,
    },
};

/// Why an installation, or a part of it, failed.
///
/// People get a reason as one text (a detail at the service, a line of a log), so `Display` includes
/// the cause; it is not a `source` as well.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The disk may not be written.
    #[error(transparent)]
    Disk(#[from] Refused),
    /// A program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A file or directory of the machine.
    #[error("{what}: {cause}")]
    File {
        /// Which, and what was not possible.
        what: String,
        /// Why.
        cause: io::Error,
    },
    /// The service did not return something that the installation needs.
    #[error("{what} cannot be fetched: {cause}")]
    Service {
        /// What was asked for.
        what: String,
        /// The last response.
        cause: Box<ClientError>,
    },
    /// The files of a seed.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// The processors of this machine are not those that the seed was made for.
    #[error(transparent)]
    Processors(#[from] ProcessorsError),
    /// The partition of container storage cannot be where it was asked for.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The seed was not fetched from its registry; the reason is that of [`Fetch`].
    ///
    /// [`Fetch`]: crate::image_based::run::Fetch
    #[error("{0}")]
    Registry(String),
    /// Images that were to be precached.
    #[error("{failed} of {total} images could not be pulled; the first: {image}: {cause}")]
    Images {
        /// How many failed.
        failed: usize,
        /// How many there are.
        total: usize,
        /// The first that failed.
        image: String,
        /// Why.
        cause: ProgramError,
    },
    /// A config, a disk or the output of a program is not what the installation needs.
    #[error("{0}")]
    Unusable(String),
    /// The firmware does not start the installed disk.
    #[error("{0}")]
    Firmware(String),
    /// A condition did not come true in time.
    #[error("{what} after {} minutes: {missing}", limit.as_secs() / 60)]
    TimedOut {
        /// What is over.
        what: &'static str,
        /// How long it was waited for.
        limit: Duration,
        /// What was missing at last.
        missing: String,
    },
    /// Work on another thread ended without a result.
    #[error("{0}")]
    Interrupted(JoinError),
    /// Several parts failed, each for its own reason.
    #[error("{}", joined(.0))]
    Several(Vec<InstallError>),
    /// A step of an image-based installation failed.
    #[error("{}: {cause}", step.about())]
    Step {
        /// The step.
        step: Step,
        /// Why.
        cause: Box<InstallError>,
    },
    /// A part of something larger failed.
    #[error("{what}: {cause}")]
    Part {
        /// What failed with it.
        what: String,
        /// Why.
        cause: Box<InstallError>,
    },
}

fn joined(errors: &[InstallError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

impl InstallError {
    /// Turns an error of the file system into one that names the file.
    pub(crate) fn file(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::File {
            what: what.into(),
            cause,
        }
    }

    /// Turns an error into one that says what failed with it.
    pub(crate) fn part(what: impl Into<String>) -> impl FnOnce(Self) -> Self {
        move |cause| Self::Part {
            what: what.into(),
            cause: Box::new(cause),
        }
    }

    /// For content that cannot be used.
    pub(crate) fn unusable(what: impl Into<String>) -> Self {
        Self::Unusable(what.into())
    }

    /// Nothing, one error or all of them.
    pub(crate) fn several(errors: Vec<Self>) -> Result<(), Self> {
        match errors.is_empty() {
            true => Ok(()),
            false => Err(Self::Several(errors)),
        }
    }
}

/// Why a program did not do what it was run for.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It was not started, or was stopped.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// It ended by itself, without success.
    #[error("{program} ({reason}) ended with {}: {end}", ending(*.code))]
    Failed {
        /// The program.
        program: String,
        /// What it was for.
        reason: String,
        /// Exit status; none if a signal ended it.
        code: Option<i32>,
        /// The end of what it printed.
        end: String,
    },
}

fn ending(code: Option<i32>) -> String {
    match code {
        Some(code) => format!("exit status {code}"),
        None => "a signal".to_owned(),
    }
}

impl ProgramError {
    /// Whether it printed this before it failed.
    #[must_use]
    pub fn printed(&self, text: &str) -> bool {
        match self {
            Self::Task(_) => false,
            Self::Failed { end, .. } => end.contains(text),
        }
    }
}
