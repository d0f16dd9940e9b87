//! What is about to be deleted, and since when that has been announced.
//!
//! In memory, and timed by the monotonic clock: after a restart the time of notice begins again.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use muster_model::Timestamp;

use super::clock::Moment;

/// The announcements for one sort of record.
#[derive(Debug)]
pub struct Notices<K> {
    given: Mutex<HashMap<K, Notice>>,
}

impl<K> Default for Notices<K> {
    fn default() -> Self {
        Self {
            given: Mutex::default(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Notice {
    since: Instant,
    /// The last activity when it was given; a later one withdraws it.
    activity: Timestamp,
}

/// How far an announcement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeState {
    /// There was none; there is one now.
    New,
    /// Its time is not over.
    Waiting,
    /// Its time is over.
    Over,
}

impl<K: Eq + Hash> Notices<K> {
    /// The notice of a record that was last active then.
    pub fn state(
        &self,
        id: K,
        activity: Timestamp,
        moment: &Moment,
        notice: Duration,
    ) -> NoticeState {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        match given.get(&id) {
            Some(known) if known.activity == activity && known.since >= moment.trusted_since => {
                if moment.steady.duration_since(known.since) >= notice {
                    NoticeState::Over
                } else {
                    NoticeState::Waiting
                }
            }
            Some(_) | None => {
                let since = moment.steady;
                given.insert(id, Notice { since, activity });
                NoticeState::New
            }
        }
    }

    /// The record is gone.
    pub fn forget(&self, id: &K) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTICE: Duration = Duration::from_secs(10);

    #[test]
    fn a_notice_runs_by_the_monotonic_clock_and_ends_with_activity_or_a_jump() {
        let notices = Notices::default();
        let start = Instant::now();
        let at = |seconds, trusted| Moment {
            now: Timestamp(seconds as i64),
            steady: start + Duration::from_secs(seconds),
            trusted_since: start + Duration::from_secs(trusted),
        };
        let ask =
            |activity, moment: &Moment| notices.state("c", Timestamp(activity), moment, NOTICE);
        assert_eq!(ask(1, &at(0, 0)), NoticeState::New);
        assert_eq!(ask(1, &at(9, 0)), NoticeState::Waiting);
        assert_eq!(ask(1, &at(10, 0)), NoticeState::Over);
        assert_eq!(ask(2, &at(11, 0)), NoticeState::New, "it was used");
        assert_eq!(
            ask(2, &at(30, 12)),
            NoticeState::New,
            "the clock jumped since"
        );
        assert_eq!(ask(2, &at(39, 12)), NoticeState::Waiting);
        assert_eq!(ask(2, &at(40, 12)), NoticeState::Over);
        notices.forget(&"c");
        assert_eq!(ask(2, &at(41, 12)), NoticeState::New);
    }
}
