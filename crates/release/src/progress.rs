//! Progress of a long transfer.

use std::{fmt, sync::Arc, time::Duration};

use crate::{Digest, Failure};

/// Something to report.
#[derive(Debug)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// Bytes of a layer have been read.
    Layer {
        /// Which.
        digest: &'a Digest,
        /// Bytes read.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// A location failed and is asked again.
    Again {
        /// What it did.
        failure: &'a Failure,
        /// After so long.
        pause: Duration,
    },
    /// A location is given up; the next one is asked, if there is one.
    GivenUp {
        /// What it did.
        failure: &'a Failure,
    },
    /// Another process or task is reading the same layer.
    Waiting {
        /// Which.
        digest: &'a Digest,
    },
}

type Receiver = dyn Fn(Progress<'_>) + Send + Sync;

/// Where progress goes.
#[derive(Clone, Default)]
pub(crate) struct Watcher(Option<Arc<Receiver>>);

impl Watcher {
    pub fn new(receiver: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receiver)))
    }

    pub fn report(&self, progress: Progress<'_>) {
        match &progress {
            Progress::Again { failure, .. } | Progress::GivenUp { failure } => {
                tracing::debug!(%failure, "a registry failed");
            }
            Progress::Layer { .. } | Progress::Waiting { .. } => {}
        }
        if let Some(receiver) = &self.0 {
            receiver(progress);
        }
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Watcher")
    }
}
