//! Work that takes longer than a request: started after its decision is stored.
//!
//! A job can be lost with the process, so its cause stays in the records: at start, clusters
//! that are still preparing get their job again ([`resume`]).

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use muster_api::error::Failure;
use muster_engine::Job;
use muster_model::{ClusterId, ClusterStatus};
use muster_store::{BlobPath, Deleted};
use tracing::{error, info, warn};

use crate::{
    aggregate::Cause,
    app::{App, blob_failure},
    ops,
};

/// Jobs under way. The rules wish for a job until its result is in, so a wish may come twice.
#[derive(Debug, Default)]
pub struct UnderWay(Mutex<HashSet<Job>>);

impl UnderWay {
    fn enter(&self, job: Job) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(job)
    }
}

/// Leaves the list however the job ends, or it could never run again.
struct Leaves(Arc<App>, Job);

impl Drop for Leaves {
    fn drop(&mut self) {
        let mut jobs = self.0.jobs.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.remove(&self.1);
    }
}

/// Runs a job beside the requests, unless it is already running.
pub fn start(app: Arc<App>, job: Job) {
    if !app.jobs.enter(job) {
        return;
    }
    let end = Leaves(Arc::clone(&app), job);
    tokio::spawn(async move {
        let _end = end;
        if let Err(failure) = run(&app, job).await {
            error!(?job, reason = %failure.reason, "a job failed");
        }
    });
}

async fn run(app: &Arc<App>, job: Job) -> Result<(), Failure> {
    match job {
        Job::MakeClusterFiles(id) => make_cluster_files(app, id).await,
        Job::MakeHostFiles(key) => ops::files::generate_for_host(app, key).await,
        Job::DeleteClusterFiles(id) => ops::files::delete_generated(app, id).await,
        Job::DeleteLogs(id) => delete_prefix(app, &[&id.to_string(), "logs"]).await,
    }
}

/// Files that were made for an installation that was cancelled are not those of the next one:
/// settings may have changed in between. Then they are made again.
async fn make_cluster_files(app: &Arc<App>, id: ClusterId) -> Result<(), Failure> {
    loop {
        info!(cluster = %id, "making install files");
        let attempt = app.cluster(id).await?.install_started_at;
        let made = ops::files::generate(app, id).await;
        let cause = Cause::internal();
        let (outdated, _) = app
            .change_cluster(id, &cause, |all| {
                let cluster = all.cluster()?;
                if cluster.install_started_at != attempt {
                    return Ok(cluster.status == ClusterStatus::PreparingForInstallation);
                }
                let decision = {
                    let view = all.view(&app.heartbeats)?;
                    match &made {
                        Ok(files) => muster_engine::install::files_ready(
                            &view,
                            Some(files.openshift_cluster_id),
                            cause.now,
                        ),
                        Err(failure) => {
                            muster_engine::install::files_failed(&view, &failure.reason, cause.now)
                        }
                    }
                };
                all.take(decision);
                all.refresh(app, cause.now);
                Ok(false)
            })
            .await?;
        if outdated {
            continue;
        }
        if let Err(failure) = made {
            warn!(cluster = %id, reason = %failure.reason, "install files could not be made");
        }
        return Ok(());
    }
}

/// Deletes every file below a path.
pub async fn delete_prefix(app: &App, segments: &[&str]) -> Result<(), Failure> {
    let path = BlobPath::new(segments.iter().copied()).map_err(blob_failure)?;
    app.blobs.delete_prefix(&path).await.map_err(blob_failure)
}

/// After a start: looks at every record once and continues what was interrupted.
pub async fn resume(app: &Arc<App>) {
    let clusters = match app.store.clusters(Deleted::Excluded).await {
        Ok(clusters) => clusters,
        Err(error) => {
            error!(%error, "clusters could not be read at start; their timers start with their next change");
            return;
        }
    };
    match app.store.hosts().await {
        Ok(hosts) => {
            for host in hosts.iter().filter(|host| host.cluster.is_none()) {
                app.driver.touch(crate::driver::Scope::Host(host.key()));
            }
        }
        Err(error) => {
            error!(%error, "hosts could not be read at start; the timers of unbound ones start with their next change");
        }
    }
    for cluster in clusters {
        app.driver.touch(crate::driver::Scope::Cluster(cluster.id));
        if cluster.status == ClusterStatus::PreparingForInstallation {
            start(Arc::clone(app), Job::MakeClusterFiles(cluster.id));
        }
    }
}
