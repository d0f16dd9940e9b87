//! What an installation reports while it runs.

use serde::Serialize;

use super::plan::Step;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Event {
    /// A step begins.
    Started {
        /// Which.
        step: Step,
    },
    /// A step is over.
    Finished {
        /// Which.
        step: Step,
    },
    /// A step was finished before a restart.
    Skipped {
        /// Which.
        step: Step,
    },
    /// Bytes of a step.
    Bytes {
        /// Which.
        step: Step,
        /// So far.
        done: u64,
        /// In all.
        total: u64,
    },
    /// Images of a step.
    Images {
        /// Which.
        step: Step,
        /// Pulled so far.
        done: usize,
        /// In all.
        total: usize,
    },
    /// Something failed and is tried again.
    Again {
        /// Which.
        step: Step,
        /// What went wrong.
        message: String,
        /// Seconds until then.
        seconds: u64,
    },
    /// The machine is ready.
    Complete,
    /// The installation failed.
    Failed {
        /// Why.
        message: String,
    },
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Started { step } => write!(f, "{}", step.about()),
            Self::Finished { step } => write!(f, "done: {}", step.about()),
            Self::Skipped { step } => write!(f, "done before: {}", step.about()),
            Self::Bytes { step, done, total } => {
                write!(f, "{}: {} of {} MiB", step.about(), done >> 20, total >> 20)
            }
            Self::Images { step, done, total } => {
                write!(f, "{}: {done} of {total}", step.about())
            }
            Self::Again {
                step,
                message,
                seconds,
            } => write!(
                f,
                "{}: {message}; next attempt in {seconds} s",
                step.about()
            ),
            Self::Complete => f.write_str("the machine is ready"),
            Self::Failed { message } => write!(f, "failed: {message}"),
        }
    }
}
