//! Purges what was deleted long ago: records, events, secrets and files.

use muster_model::{ClusterId, Timestamp};
use muster_store::{Changes, Deleted};

use crate::{App, Error, jobs::delete_prefix};

/// Removes what is due; files first, so that a crash in between leaves the record to try again.
pub async fn sweep(app: &App, now: Timestamp) -> Result<usize, Error> {
    let rules = &app.config.housekeeping;
    let due: Vec<ClusterId> = app
        .store
        .clusters(Deleted::Included)
        .await?
        .iter()
        .filter(|cluster| {
            cluster
                .deleted_at
                .is_some_and(|at| now.since(at) > rules.unregistered_after)
        })
        .map(|cluster| cluster.id)
        .take(super::most(rules.max_clusters_per_round))
        .collect();
    for id in &due {
        delete_prefix(app, &[&id.to_string()]).await?;
        let mut changes = Changes::default();
        changes.purge_cluster(*id);
        app.store.commit(changes).await?;
    }
    app.store
        .purge_leftovers(now.minus(rules.unregistered_after))
        .await?;
    Ok(due.len())
}
