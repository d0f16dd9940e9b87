//! What nobody uses any more is deleted, and what was deleted long ago is removed for good.
//!
//! Three rounds, each with its own clock, all switched and timed by the settings of section
//! `housekeeping`: [`inactive`] clusters, [`orphans`] (infra-envs that lead nowhere), and
//! [`removal`] of deleted records with their events and files. Replicas may do the same round at
//! the same time: row versions let one of them win, and the other finds nothing left to do.

mod inactive;
mod orphans;
mod removal;

use std::time::Duration;

use muster_api::error::Failure;
use muster_model::Timestamp;
use tracing::{info, warn};

use crate::app::Shared;

/// No round is repeated faster than this, whatever is configured.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// Makes all rounds until the service stops.
pub async fn run(app: Shared) {
    let rules = &app.config.housekeeping;
    tokio::join!(
        async {
            if rules.deregister_inactive {
                let every = rules.deregister_interval;
                rounds("deleted inactive clusters", every, |now| {
                    inactive::sweep(&app, now)
                })
                .await;
            }
        },
        async {
            if rules.delete_unregistered {
                let every = rules.deletion_interval;
                rounds(
                    "removed clusters that were deleted long ago",
                    every,
                    |now| removal::sweep(&app, now),
                )
                .await;
            }
        },
        rounds(
            "deleted infra-envs that lead nowhere",
            rules.infra_env_interval,
            |now| orphans::sweep(&app, now)
        ),
    );
}

/// One kind of round, first after one interval and then again and again.
async fn rounds<R>(what: &'static str, every: Duration, mut sweep: impl FnMut(Timestamp) -> R)
where
    R: Future<Output = Result<usize, Failure>>,
{
    loop {
        tokio::time::sleep(every.max(SHORTEST_INTERVAL)).await;
        match sweep(Timestamp::now()).await {
            Ok(0) => {}
            Ok(count) => info!(count, what, "housekeeping"),
            Err(failure) => {
                warn!(what, reason = %failure.reason, "housekeeping failed; the next round tries again");
            }
        }
    }
}

/// At most so many in one round.
fn most(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
