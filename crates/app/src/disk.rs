//! How full the file systems are that hold our data.
//!
//! Beyond `storage.usage_threshold` it is logged and `/ready` says so; without any room `/ready`
//! refuses. A database server and a bucket have disks of their own that we cannot see.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tracing::{info, warn};

use crate::Shared;

/// How often it is looked at for the log.
const LOOK: Duration = Duration::from_secs(30);
/// With less room than this the next write may fail.
const NO_ROOM: u64 = 4 << 20;

/// The folders to look at, and from when on to warn.
#[derive(Debug, Default)]
pub struct Disks {
    folders: Vec<PathBuf>,
    threshold: u16,
    warned: AtomicBool,
}

/// What a file system says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Space {
    used: u64,
    /// To us; some may be kept for the administrator.
    available: u64,
}

impl Space {
    /// As `df` shows it: rounded up, and without what is kept for the administrator.
    fn percent(self) -> u16 {
        let all = self.used.saturating_add(self.available).max(1);
        let percent = (u128::from(self.used) * 100).div_ceil(u128::from(all));
        u16::try_from(percent).unwrap_or(100)
    }
}

impl Disks {
    /// Looks at the file systems of these folders.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>, threshold: u16) -> Self {
        Self {
            folders,
            threshold,
            warned: AtomicBool::new(false),
        }
    }

    /// How full the fullest is, in percent.
    #[must_use]
    pub fn fullest(&self) -> u16 {
        let spaces = self.spaces().map(|(_, space)| space.percent());
        spaces.max().unwrap_or(0)
    }

    /// Why nothing can be written, if so.
    #[must_use]
    pub fn full(&self) -> Option<String> {
        let mut spaces = self.spaces();
        let (folder, _) = spaces.find(|(_, space)| space.available < NO_ROOM)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Some(format!(
            "the disk of the folder {name} is full; free some space"
        ))
    }

    /// What an administrator should look after before it is too late.
    #[must_use]
    pub fn nearly_full(&self) -> Option<String> {
        let percent = self.fullest();
        (percent > self.threshold).then(|| {
            format!(
                "a disk with data of this service is {percent} % full, the threshold is {} %",
                self.threshold
            )
        })
    }

    fn spaces(&self) -> impl Iterator<Item = (&PathBuf, Space)> {
        let looked = self.folders.iter().map(|folder| (folder, space(folder)));
        looked.filter_map(|(folder, space)| Some((folder, space?)))
    }

    /// Logs when the threshold is passed, in either direction.
    fn log(&self) {
        let warning = self.nearly_full();
        let warned = self.warned.swap(warning.is_some(), Ordering::Relaxed);
        match warning {
            Some(reason) if !warned => warn!(reason, "disk space is low"),
            None if warned => info!("disk space is no longer low"),
            Some(_) | None => {}
        }
    }
}

fn space(folder: &PathBuf) -> Option<Space> {
    let found = rustix::fs::statvfs(folder).ok()?;
    let used = found.f_blocks.saturating_sub(found.f_bfree);
    Some(Space {
        used: used.saturating_mul(found.f_frsize),
        available: found.f_bavail.saturating_mul(found.f_frsize),
    })
}

/// Looks until the service stops.
pub async fn run(app: Shared) {
    loop {
        let looking = Arc::clone(&app);
        // A file system on a network may take its time.
        let looked = tokio::task::spawn_blocking(move || looking.disks.log());
        if let Err(error) = looked.await {
            warn!(%error, "disk space could not be read");
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_as_full_as_df_says() {
        let percent = |used, available| Space { used, available }.percent();
        assert_eq!(percent(0, 100), 0);
        assert_eq!(percent(1, 999), 1, "rounded up");
        assert_eq!(percent(80, 20), 80);
        assert_eq!(percent(5, 0), 100);
        assert_eq!(percent(0, 0), 0);
    }

    #[test]
    fn a_real_disk_beyond_the_threshold_is_reported_and_a_missing_one_is_not() {
        let here = std::env::temp_dir();
        let used = Disks::new(vec![here.clone()], 0);
        assert!(used.fullest() > 0);
        assert!(used.nearly_full().is_some());
        assert_eq!(Disks::new(vec![here], 100).nearly_full(), None);
        let missing = Disks::new(vec!["/no/such/folder".into()], 0);
        assert_eq!((missing.fullest(), missing.full()), (0, None));
    }
}
