//! Serialised responses of `GET cluster`, kept until the cluster changes.
//!
//! Web pages and scripts ask for whole clusters every few seconds; with a hundred hosts that
//! is a megabyte of JSON. The key is the store's revision of the cluster (which covers its
//! hosts) plus the heartbeat epoch, so a cached body is never older than the records.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use bytes::Bytes;
use muster_model::ClusterId;

/// Bodies of at most this many clusters are kept.
const CAPACITY: usize = 256;

/// What a cached body depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyKey {
    /// Of the cluster and its hosts.
    pub revision: u64,
    /// Of the heartbeats.
    pub epoch: u64,
}

/// A body and, once it was requested, its compressed form.
#[derive(Clone, Debug)]
pub struct CachedBody {
    key: BodyKey,
    /// JSON with its closing newline.
    pub plain: Bytes,
    /// Compressed on first demand.
    pub gzip: Arc<OnceLock<Bytes>>,
}

/// The cache.
#[derive(Debug, Default)]
pub struct ClusterBodies {
    bodies: Mutex<HashMap<ClusterId, CachedBody>>,
}

impl ClusterBodies {
    /// The body, if it is still true.
    #[must_use]
    pub fn get(&self, id: ClusterId, key: BodyKey) -> Option<CachedBody> {
        let bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        bodies.get(&id).filter(|body| body.key == key).cloned()
    }

    /// Keeps a body.
    pub fn put(&self, id: ClusterId, key: BodyKey, plain: Bytes) -> CachedBody {
        let body = CachedBody {
            key,
            plain,
            gzip: Arc::default(),
        };
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        if bodies.len() >= CAPACITY && !bodies.contains_key(&id) {
            bodies.clear();
        }
        bodies.insert(id, body.clone());
        body
    }
}
