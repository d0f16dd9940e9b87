//! What was deleted long ago is removed for good: records, events, secrets and files.

use std::time::Duration;

use muster_api::error::Failure;
use muster_model::{ClusterId, Timestamp};
use muster_store::{Changes, Deleted};
use tracing::{info, warn};

use crate::{
    app::{App, Shared, store_failure},
    jobs::delete_prefix,
};

/// Looks for deleted clusters now and then, until the service stops.
pub async fn run(app: Shared) {
    let rules = &app.config.housekeeping;
    if !rules.delete_unregistered {
        return;
    }
    loop {
        tokio::time::sleep(rules.deletion_interval.max(Duration::from_secs(1))).await;
        match sweep(&app, Timestamp::now()).await {
            Ok(0) => {}
            Ok(clusters) => info!(clusters, "removed clusters that were deleted long ago"),
            Err(failure) => {
                warn!(reason = %failure.reason, "housekeeping failed; the next round tries again");
            }
        }
    }
}

/// Removes what is due; files first, so that a crash in between leaves the record to try again.
async fn sweep(app: &App, now: Timestamp) -> Result<usize, Failure> {
    let rules = &app.config.housekeeping;
    let due: Vec<ClusterId> = app
        .store
        .clusters(Deleted::Included)
        .await
        .map_err(store_failure)?
        .iter()
        .filter(|cluster| {
            cluster
                .deleted_at
                .is_some_and(|at| now.since(at) > rules.unregistered_after)
        })
        .map(|cluster| cluster.id)
        .take(usize::try_from(rules.max_clusters_per_round).unwrap_or(usize::MAX))
        .collect();
    for id in &due {
        delete_prefix(app, &[&id.to_string()]).await?;
        let mut changes = Changes::default();
        changes.purge_cluster(*id);
        app.store.commit(changes).await.map_err(store_failure)?;
    }
    Ok(due.len())
}
