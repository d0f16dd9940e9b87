//! How much space the logs of a cluster get, and how much of the disk stays free.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Mutex, PoisonError},
};

use muster_model::ClusterId;
use muster_store::{BlobError, BlobPath};

use super::limit_from_mib;
use crate::{App, Error, refusals::Refusal};

/// Free disk space is checked again after this many bytes of an upload.
const ASK_DISK_EVERY: u64 = 16 << 20;

/// Bytes that are arriving at this moment, by cluster.
#[derive(Debug, Default)]
pub struct LogRoom(Mutex<HashMap<ClusterId, u64>>);

impl LogRoom {
    /// Changes the sum of a cluster and returns it.
    fn change(&self, cluster: ClusterId, change: impl FnOnce(u64) -> u64) -> u64 {
        let mut arriving = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = change(arriving.remove(&cluster).unwrap_or(0));
        if sum > 0 {
            arriving.insert(cluster, sum);
        }
        sum
    }
}

/// Why an upload must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// The logs of the cluster have used up their room.
    #[error(
        "the logs of this cluster would take more than {limit} MiB (quotas.cluster_logs_mib); \
         raise the quota, or delete clusters that are not needed"
    )]
    Cluster {
        /// The quota.
        limit: u32,
    },
    /// The disk is nearly full.
    #[error(
        "the disk of the file store would be left with less than {min_free} MiB \
         (quotas.min_free_disk_mib); make room on it, or move the file store"
    )]
    Disk {
        /// What must stay free.
        min_free: u32,
    },
}

impl NoRoom {
    /// Counts the refusal and returns it as an error; agents retry it later.
    pub fn refuse(self, app: &App) -> Error {
        app.metrics.refused(match self {
            Self::Cluster { .. } => Refusal::LogQuota,
            Self::Disk { .. } => Refusal::DiskFull,
        });
        self.into()
    }
}

/// An upload of logs under way; gives its share back when dropped.
#[derive(Debug)]
pub struct Arriving<'a> {
    app: &'a App,
    cluster: ClusterId,
    /// What the other logs of the cluster take.
    stored: u64,
    here: u64,
    ask_disk_at: u64,
}

impl<'a> Arriving<'a> {
    /// Begins an upload that will replace `path` among the logs in `folder`.
    ///
    /// # Errors
    /// When the file store does not answer.
    pub async fn begin(
        app: &'a App,
        cluster: ClusterId,
        folder: &BlobPath,
        path: &BlobPath,
    ) -> Result<Self, BlobError> {
        let others = app.blobs.list(folder).await?;
        let others = others.iter().filter(|blob| blob.path != *path);
        Ok(Self {
            app,
            cluster,
            stored: others.map(|blob| blob.size).sum(),
            here: 0,
            ask_disk_at: 0,
        })
    }

    /// Whether this many more bytes may be uploaded.
    ///
    /// # Errors
    /// Which room is used up.
    pub fn admit(&mut self, bytes: u64) -> Result<(), NoRoom> {
        self.here += bytes;
        let arriving = self
            .app
            .quotas
            .log_room
            .change(self.cluster, |sum| sum + bytes);
        let limit = self.app.config.quotas.cluster_logs_mib;
        if limit_from_mib(limit).is_some_and(|room| self.stored + arriving > room) {
            return Err(NoRoom::Cluster { limit });
        }
        if self.here >= self.ask_disk_at {
            self.ask_disk_at = self.here + ASK_DISK_EVERY;
            self.check_disk(0)?;
        }
        Ok(())
    }

    /// Whether an upload of this announced length leaves enough of the disk free.
    ///
    /// # Errors
    /// It does not.
    pub fn check_disk(&self, announced: u64) -> Result<(), NoRoom> {
        let min_free = self.app.config.quotas.min_free_disk_mib;
        let left = self.app.blobs.root().and_then(free_bytes);
        match (limit_from_mib(min_free), left) {
            (Some(wanted), Some(free)) if free.saturating_sub(announced) < wanted => {
                Err(NoRoom::Disk { min_free })
            }
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        let here = self.here;
        let give_back = |sum: u64| sum.saturating_sub(here);
        self.app.quotas.log_room.change(self.cluster, give_back);
    }
}

/// What is free on the disk of a folder; none if the system does not say.
fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn bytes_that_arrive_are_counted_by_cluster_and_given_back() {
        let room = LogRoom::default();
        let (one, other) = (ClusterId(Uuid::from_u128(1)), ClusterId(Uuid::from_u128(2)));
        assert_eq!(room.change(one, |sum| sum + 5), 5);
        assert_eq!(room.change(one, |sum| sum + 7), 12);
        assert_eq!(room.change(other, |sum| sum + 1), 1);
        assert_eq!(room.change(one, |sum| sum - 12), 0);
        assert_eq!(room.0.lock().unwrap().len(), 1);
    }
}
