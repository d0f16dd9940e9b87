//! What is not used any more is deleted if that is switched on, and what a user deleted long ago
//! is removed for good.
//!
//! Three rounds, each with its own interval, all switched and timed by the settings of section
//! `housekeeping`: [`inactive`] clusters, [`orphans`] (infra-envs that lead nowhere), and
//! [`removal`] of deleted records with their events and files. The first two announce what they
//! will delete ([`notices`]), and none of them deletes when the clock is in doubt ([`clock`]).
//! Replicas may do the same round at the same time: row versions let one of them win, and the
//! other finds nothing left to do.

mod clock;
mod inactive;
mod notices;
mod orphans;
mod removal;

use std::time::Duration;

use muster_model::{Event, HostStatus};
use muster_store::Changes;
use tracing::{info, warn};

use self::{
    clock::{Clock, Moment},
    notices::Notices,
};
use crate::{App, Error, Shared, error_chain, refusals::Refusal};

/// No round is repeated faster than this, whatever is configured.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// Makes all rounds until the service stops.
pub async fn run(app: Shared) {
    let rules = &app.config.housekeeping;
    let clock = Clock::start(&app).await;
    let (clusters, infra_envs) = (Notices::default(), Notices::default());
    tokio::join!(
        clock.watch(&app),
        async {
            if rules.deregister_inactive {
                let every = rules.deregister_interval;
                rounds(&app, &clock, "deleted inactive clusters", every, |moment| {
                    inactive::sweep(&app, moment, &clusters)
                })
                .await;
            }
        },
        async {
            if rules.delete_unregistered {
                let what = "removed clusters that were deleted long ago";
                rounds(&app, &clock, what, rules.deletion_interval, |moment| {
                    removal::sweep(&app, moment.now)
                })
                .await;
            }
        },
        async {
            if rules.delete_inactive_infra_envs {
                let what = "deleted infra-envs without a cluster";
                rounds(&app, &clock, what, rules.infra_env_interval, |moment| {
                    orphans::sweep(&app, moment, &infra_envs)
                })
                .await;
            }
        },
    );
}

/// One kind of round, first after one interval and then again and again.
async fn rounds<R>(
    app: &App,
    clock: &Clock,
    what: &'static str,
    every: Duration,
    mut sweep: impl FnMut(Moment) -> R,
) where
    R: Future<Output = Result<usize, Error>>,
{
    loop {
        tokio::time::sleep(every.max(SHORTEST_INTERVAL)).await;
        let Some(moment) = clock.look() else {
            app.metrics.refused(Refusal::ClockJump);
            continue;
        };
        match sweep(moment).await {
            Ok(0) => {}
            Ok(count) => info!(count, what, "housekeeping"),
            Err(error) => {
                warn!(
                    what,
                    error = error_chain(&error),
                    "housekeeping failed; the next round tries again"
                );
            }
        }
    }
}

/// Stores an announcement, unless it was made since the last activity, as before a restart.
async fn announce(app: &App, event: Event, activity: muster_model::Timestamp) -> Result<(), Error> {
    let known = app
        .store
        .event_happened_since(&event.name, &event.scope, activity);
    if known.await? {
        return Ok(());
    }
    let mut changes = Changes::new();
    changes.event(event);
    Ok(app.commit(changes).await?)
}

/// Whether a host has, or is about to have, a system that someone needs.
fn is_installed(status: HostStatus) -> bool {
    use HostStatus::{
        AddedToExistingCluster, Installed, Installing, InstallingInProgress,
        InstallingPendingUserAction,
    };
    matches!(
        status,
        Installing
            | InstallingInProgress
            | InstallingPendingUserAction
            | Installed
            | AddedToExistingCluster
    )
}

/// Most deletions in one round.
fn most(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
