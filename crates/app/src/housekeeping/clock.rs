//! Whether the clock can be trusted before something is deleted.
//!
//! Records carry the time of day, so their age is only as good as the clock. It is compared with
//! the monotonic clock, which cannot be set: if the two run apart by more than [`TOLERANCE`],
//! the clock jumped, and nothing is deleted for the time of `housekeeping.notice`, measured by
//! the monotonic clock. A start counts as a jump unless the time of day last seen by a service
//! on this database is a short while ago: a long standstill looks just like a jump, and nothing
//! could be used during it either.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use muster_model::Timestamp;
use tracing::{info, warn};

use crate::App;

/// How much the two clocks may differ between two readings.
const TOLERANCE: Duration = Duration::from_secs(60);
/// A service that was away no longer than this has missed nothing.
const SHORT_STANDSTILL: Duration = Duration::from_secs(3600);
/// How often the clocks are compared.
const LOOK: Duration = Duration::from_secs(10);
/// How often the time of day is saved, in looks.
const SAVE_EVERY: u32 = 30;
/// The setting it is saved in.
const SAVED: &str = "housekeeping_clock";

/// A moment at which things may be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time of day.
    pub now: Timestamp,
    /// The monotonic clock.
    pub steady: Instant,
    /// Since when the time of day can be trusted.
    pub trusted_since: Instant,
}

/// The comparison of both clocks.
#[derive(Debug)]
pub struct Clock {
    state: Mutex<State>,
}

impl Clock {
    /// Begins with the time of day that was last saved.
    pub async fn start(app: &App) -> Self {
        let saved = app.store.setting(SAVED).await.ok().flatten();
        let saved = saved.and_then(|text| text.parse().ok()).map(Timestamp);
        let state = State::start(
            saved,
            Timestamp::now(),
            Instant::now(),
            app.config.housekeeping.notice,
        );
        Self {
            state: Mutex::new(state),
        }
    }

    /// The current time, if the clock can be trusted.
    pub fn look(&self) -> Option<Moment> {
        self.lock().look(Timestamp::now(), Instant::now())
    }

    /// Compares the clocks until the service stops: a jump there and back is seen too.
    pub async fn watch(&self, app: &App) {
        for look in 0_u32.. {
            let moment = self.look();
            // Never a doubtful time: it would be trusted after a restart.
            if let Some(moment) = moment.filter(|_| look.is_multiple_of(SAVE_EVERY)) {
                let now = moment.now.0.to_string();
                if let Err(error) = app.store.put_setting(SAVED, &now).await {
                    warn!(%error, "the time of day could not be saved for the next start");
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct State {
    now: Timestamp,
    steady: Instant,
    trusted_from: Instant,
    distrust: Duration,
}

impl State {
    fn start(
        saved: Option<Timestamp>,
        now: Timestamp,
        steady: Instant,
        distrust: Duration,
    ) -> Self {
        let recent = saved.is_some_and(|saved| {
            now.since(saved) <= SHORT_STANDSTILL && saved.since(now) <= TOLERANCE
        });
        if !recent {
            info!(
                ?distrust,
                "the time since the last run is long or unknown, housekeeping deletes nothing for now"
            );
        }
        Self {
            now,
            steady,
            trusted_from: if recent { steady } else { steady + distrust },
            distrust,
        }
    }

    fn look(&mut self, now: Timestamp, steady: Instant) -> Option<Moment> {
        let expected = self.now.plus(steady.duration_since(self.steady));
        let (ahead, behind) = (now.since(expected), expected.since(now));
        if ahead.max(behind) > TOLERANCE {
            warn!(
                ?ahead,
                ?behind,
                distrust = ?self.distrust,
                "the clock jumped, housekeeping deletes nothing for now"
            );
            self.trusted_from = steady + self.distrust;
        }
        (self.now, self.steady) = (now, steady);
        (steady >= self.trusted_from).then_some(Moment {
            now,
            steady,
            trusted_since: self.trusted_from,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const DAY: Duration = Duration::from_secs(24 * 3600);
    const NOON: Timestamp = Timestamp(1_800_000_000_000_000);

    /// A state that trusts its clock, and its monotonic beginning.
    fn trusting() -> (State, Instant) {
        let start = Instant::now();
        (State::start(Some(NOON), NOON, start, DAY), start)
    }

    #[test]
    fn a_clock_that_keeps_step_is_believed() {
        let (mut state, start) = trusting();
        for hours in 0..50 {
            let passed = HOUR * hours;
            // Slewed by a second an hour.
            let now = NOON.plus(passed + Duration::from_secs(hours.into()));
            let moment = state.look(now, start + passed).unwrap();
            assert_eq!((moment.now, moment.trusted_since), (now, start));
        }
    }

    #[test]
    fn after_a_jump_in_either_direction_nothing_is_deleted_for_a_day_of_running_time() {
        for jumped in [NOON.plus(DAY * 30), NOON.minus(HOUR * 2)] {
            let (mut state, start) = trusting();
            assert_eq!(state.look(jumped, start), None);
            assert_eq!(state.look(jumped.plus(HOUR * 23), start + HOUR * 23), None);
            let moment = state.look(jumped.plus(DAY), start + DAY).unwrap();
            assert_eq!(moment.trusted_since, start + DAY, "older notices are void");
        }
    }

    #[test]
    fn a_jump_there_and_back_counts_from_its_end() {
        let (mut state, start) = trusting();
        assert_eq!(state.look(NOON.plus(DAY * 30), start), None);
        assert_eq!(state.look(NOON.plus(HOUR), start + HOUR), None);
        assert_eq!(state.look(NOON.plus(DAY), start + DAY), None);
        assert!(
            state
                .look(NOON.plus(DAY + HOUR), start + DAY + HOUR)
                .is_some()
        );
    }

    #[test]
    fn a_start_is_trusted_only_shortly_after_the_last_run() {
        let start = Instant::now();
        let trusted = |saved| {
            State::start(saved, NOON, start, DAY)
                .look(NOON, start)
                .is_some()
        };
        assert!(trusted(Some(NOON)));
        assert!(trusted(Some(NOON.minus(HOUR))));
        assert!(
            !trusted(Some(NOON.minus(HOUR * 2))),
            "the clock may be ahead"
        );
        assert!(!trusted(Some(NOON.plus(HOUR))), "it runs backwards");
        assert!(!trusted(None));
    }
}
