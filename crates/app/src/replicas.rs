//! What replicas on one database share.
//!
//! Records are shared by the database and guarded by row versions. Two things live in memory:
//! heartbeats, which are flushed, so each replica learns those of the others; and timers, which
//! belong to who evaluated last, so each replica looks now and then at clusters that others
//! changed. Any of them may die then, and no deadline is missed. Alone on SQLite there is
//! nothing to do.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use muster_model::{ClusterId, Timestamp};
use muster_store::Deleted;
use tracing::warn;

use crate::{App, Error, Shared, driver::Scope, error_chain, joining};

/// Heartbeats of others are read this often, about as often as they are flushed.
const LISTEN: Duration = Duration::from_secs(5);
/// Beats of this age are read again: clocks differ, and a flush may be late.
const OVERLAP: Duration = Duration::from_secs(60);
/// Clusters that others changed are looked at this often.
const LOOK: Duration = Duration::from_secs(30);

/// Keeps up with the other replicas until the service stops.
pub async fn run(app: Shared) {
    if !app.store.is_shared() {
        return;
    }
    let mut seen = HashMap::new();
    let mut heard = Timestamp::now();
    let mut looked = Instant::now();
    loop {
        tokio::time::sleep(LISTEN).await;
        let began = Timestamp::now();
        match listen(&app, heard).await {
            Ok(()) => heard = began,
            Err(error) => {
                warn!(
                    error = error_chain(&error),
                    "heartbeats of other replicas could not be read"
                );
                continue;
            }
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if let Err(error) = look(&app, &mut seen).await {
                warn!(
                    error = error_chain(&error),
                    "changes of other replicas could not be read"
                );
            }
        }
    }
}

async fn listen(app: &App, heard: Timestamp) -> Result<(), Error> {
    let beats = app.store.heartbeats_since(heard.minus(OVERLAP)).await?;
    app.heartbeats.learn(&beats);
    Ok(())
}

/// Touches what changed since the last look. Our own changes are among them: evaluating once
/// more costs little and changes nothing.
async fn look(app: &Shared, seen: &mut HashMap<ClusterId, u64>) -> Result<(), Error> {
    let clusters = app.store.clusters(Deleted::Excluded).await;
    let mut now = HashMap::new();
    for cluster in clusters? {
        let revision = app.store.cluster_revision(cluster.id).await;
        let Some(revision) = revision? else {
            continue;
        };
        if seen.get(&cluster.id) != Some(&revision) {
            app.driver.touch(Scope::Cluster(cluster.id));
            if cluster.is_day2() {
                joining::touch(app, cluster.id);
            }
        }
        now.insert(cluster.id, revision);
    }
    *seen = now;
    Ok(())
}
