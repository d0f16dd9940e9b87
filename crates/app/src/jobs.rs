//! Work that takes longer than a request: started after its decision is stored.
//!
//! A job can be lost with the process, so its cause stays in the records: at start, clusters
//! that are still preparing get their job again ([`resume`]). Among replicas the store says who
//! does it ([`muster_store::Claim`]); the others wait, and take over when that one ends.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use muster_engine::{Job, install::awaits_files};
use muster_model::{ClusterId, ClusterStatus};
use muster_store::{BlobPath, Claim, Deleted};
use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::{debug, error, info, warn};

use crate::{
    App, Error, Missing, aggregate::Cause, driver::Scope, error_chain, files, joining,
    preparation::Outcome,
};

/// How often a replica looks whether the one that does a job has died.
const STANDBY: Duration = Duration::from_secs(2);

/// Clusters whose files are made at the same time: while one uses the processor, others may wait for
/// their registry. Each holds a connection to the database.
const PREPARING: usize = 4;

/// Jobs under way. The rules request a job until its result is in, so a request may come twice.
#[derive(Debug)]
pub struct RunningJobs {
    jobs: Mutex<HashSet<Job>>,
    preparing: Semaphore,
    heavy: Semaphore,
}

impl Default for RunningJobs {
    fn default() -> Self {
        Self {
            jobs: Mutex::default(),
            preparing: Semaphore::new(PREPARING),
            heavy: Semaphore::new(1),
        }
    }
}

impl RunningJobs {
    fn enter(&self, job: Job) -> bool {
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(job)
    }

    /// Waits for the turn to use all cores.
    pub async fn heavy(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed; were it, crowded is better than never.
        self.heavy.acquire().await.ok()
    }
}

/// Leaves the list however the job ends, or it could never run again.
struct Leaves(Arc<App>, Job);

impl Drop for Leaves {
    fn drop(&mut self) {
        let mut jobs = self
            .0
            .jobs
            .jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
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
        match run(&app, job).await {
            Ok(()) => {}
            Err(gone) if is_moot(&job, &gone) => info!(?job, %gone, "a job is not needed any more"),
            Err(error) => error!(?job, error = error_chain(&error), "a job failed"),
        }
    });
}

/// The record that the job worked for was deleted meanwhile.
fn is_moot(job: &Job, error: &Error) -> bool {
    let Error::Missing(missing) = error else {
        return false;
    };
    match (job, missing) {
        (
            Job::MakeClusterFiles(id) | Job::DeleteClusterFiles(id) | Job::DeleteLogs(id),
            Missing::Cluster(gone),
        ) => id == gone,
        (Job::MakeHostFiles(key), Missing::Host(gone)) => key == gone,
        // The host may outlive its cluster, and its files are those of the cluster.
        (Job::MakeHostFiles(_), Missing::Cluster(_)) => true,
        (
            Job::MakeClusterFiles(_) | Job::DeleteClusterFiles(_) | Job::DeleteLogs(_),
            Missing::Host(_),
        )
        | (_, Missing::InfraEnv(_)) => false,
    }
}

async fn run(app: &Arc<App>, job: Job) -> Result<(), Error> {
    let began = Instant::now();
    let (name, result) = match job {
        Job::MakeClusterFiles(id) => ("make-cluster-files", make_cluster_files(app, id).await),
        Job::MakeHostFiles(key) => ("make-host-files", files::generate_for_host(app, key).await),
        Job::DeleteClusterFiles(id) => (
            "delete-cluster-files",
            files::delete_generated(app, id).await,
        ),
        Job::DeleteLogs(id) => {
            let prefix = [&*id.to_string(), "logs"];
            ("delete-logs", delete_prefix(app, &prefix).await)
        }
    };
    app.metrics.operation(name, began);
    result
}

/// Files that were made for an installation that was cancelled are not those of the next one:
/// settings may have changed in between. Then they are made again.
async fn make_cluster_files(app: &Arc<App>, id: ClusterId) -> Result<(), Error> {
    let Some(_ours) = claim(app, id).await? else {
        return Ok(());
    };
    loop {
        let cluster = app.cluster(id).await?;
        if !awaits_files(&cluster) {
            return Ok(());
        }
        info!(cluster = %id, "making install files");
        let attempt = cluster.install_started_at;
        let made = files::generate(app, id).await;
        let cause = Cause::internal();
        let (state, _) = app
            .change_cluster(id, &cause, |all| {
                let cluster = all.cluster()?;
                let preparing = cluster.status == ClusterStatus::PreparingForInstallation;
                if cluster.install_started_at != attempt && preparing {
                    return Ok(AttemptState::Restarted);
                }
                if !preparing {
                    return Ok(AttemptState::Abandoned);
                }
                let decision = {
                    let view = all.view(&app.heartbeats)?;
                    match &made {
                        Ok(Outcome::Made(cluster_id)) => {
                            muster_engine::install::files_ready(&view, Some(*cluster_id), cause.now)
                        }
                        // Cancelled and begun again between two looks.
                        Ok(Outcome::Unwanted) => return Ok(AttemptState::Restarted),
                        Err(error) => {
                            let reason = error.to_string();
                            muster_engine::install::files_failed(&view, &reason, cause.now)
                        }
                    }
                };
                all.take(decision);
                all.refresh(app, cause.now);
                Ok(AttemptState::Recorded)
            })
            .await?;
        match (state, made) {
            (AttemptState::Restarted, _) => continue,
            (AttemptState::Abandoned, _) => {
                info!(cluster = %id, "the installation was aborted while its files were generated");
                return files::delete_generated(app, id).await;
            }
            (AttemptState::Recorded, Err(error)) => {
                warn!(cluster = %id, error = error_chain(&error), "install files could not be made");
                return Ok(());
            }
            (AttemptState::Recorded, Ok(_)) => return Ok(()),
        }
    }
}

/// What became of the installation while its files were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptState {
    /// It still waits for them; the result was stored.
    Recorded,
    /// It was started again: the files are of an earlier attempt.
    Restarted,
    /// It was cancelled or reset.
    Abandoned,
}

/// A preparation that is this process's to do.
struct Ours<'a> {
    _claim: Claim,
    _turn: Option<SemaphorePermit<'a>>,
}

/// Waits until the job is ours; nothing if it was done by another replica meanwhile.
async fn claim(app: &App, id: ClusterId) -> Result<Option<Ours<'_>>, Error> {
    let work = format!("files/{id}");
    loop {
        // Given back before each pause: who waits for another replica must not hold up others.
        let turn = app.jobs.preparing.acquire().await.ok();
        if !awaits_files(&*app.cluster(id).await?) {
            return Ok(None);
        }
        if let Some(claim) = app.store.claim(&work).await? {
            return Ok(Some(Ours {
                _claim: claim,
                _turn: turn,
            }));
        }
        drop(turn);
        debug!(cluster = %id, "another replica generates the installation files");
        tokio::time::sleep(STANDBY).await;
    }
}

/// Deletes every file below a path.
pub async fn delete_prefix(app: &App, segments: &[&str]) -> Result<(), Error> {
    let path = BlobPath::new(segments.iter().copied())?;
    Ok(app.blobs.delete_prefix(&path).await?)
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
                app.driver.touch(Scope::Host(host.key()));
            }
        }
        Err(error) => {
            error!(%error, "hosts could not be read at start; the timers of unbound ones start with their next change");
        }
    }
    for cluster in clusters {
        app.driver.touch(Scope::Cluster(cluster.id));
        if cluster.status == ClusterStatus::PreparingForInstallation {
            start(Arc::clone(app), Job::MakeClusterFiles(cluster.id));
        }
        if cluster.is_day2() {
            joining::touch(app, cluster.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{HostId, HostKey, InfraEnvId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_job_for_a_deleted_record_is_moot_and_no_failure() {
        let id = |number| ClusterId(Uuid::from_u128(number));
        let key = |number| HostKey {
            infra_env: InfraEnvId(Uuid::nil()),
            host: HostId(Uuid::from_u128(number)),
        };
        let cluster = |number| Error::from(Missing::Cluster(id(number)));
        let host = |number| Error::from(Missing::Host(key(number)));
        for (job, error, moot) in [
            (Job::MakeClusterFiles(id(1)), cluster(1), true),
            (Job::MakeClusterFiles(id(1)), cluster(2), false),
            (
                Job::MakeClusterFiles(id(1)),
                Error::not_found("a file"),
                false,
            ),
            (Job::MakeHostFiles(key(1)), host(1), true),
            (Job::MakeHostFiles(key(1)), host(2), false),
            (Job::MakeHostFiles(key(1)), cluster(1), true),
        ] {
            assert_eq!(is_moot(&job, &error), moot, "{job:?} {error}");
        }
    }
}
