//! Instructions, kept while nothing they depend on changes.
//!
//! A poll of a quiet host gets the same steps as its last one, and making them means reading
//! the inventory of every neighbour. The key is the revision of the host's surroundings.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use muster_engine::steps::Steps;
use muster_model::HostKey;

/// What a host's steps depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepsKey {
    /// Revision of its cluster, or version of the host itself if it has none.
    pub surroundings: u64,
    /// Version of its infra-env.
    pub infra_env: i64,
}

/// The cache.
#[derive(Debug, Default)]
pub struct StepCache {
    steps: Mutex<HashMap<HostKey, (StepsKey, Arc<Steps>)>>,
}

impl StepCache {
    /// The steps, if they are still true.
    pub fn get(&self, host: HostKey, key: StepsKey) -> Option<Arc<Steps>> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.get(&host).filter(|(known, _)| *known == key).map(|(_, steps)| Arc::clone(steps))
    }

    /// Keeps steps.
    pub fn put(&self, host: HostKey, key: StepsKey, steps: Steps) -> Arc<Steps> {
        let steps = Arc::new(steps);
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).insert(host, (key, Arc::clone(&steps)));
        steps
    }

    /// Forgets a host that is gone.
    pub fn forget(&self, host: HostKey) {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).remove(&host);
    }
}
