//! How often a name may be tried.
//!
//! A few attempts are free. After that each further one has to wait, twice as long every time
//! up to a minute: slow enough against guessing, short enough that nobody can lock the rightful
//! owner out for long. Names that do not exist are treated the same, or the difference would
//! tell which ones do; but they are counted apart, so that inventing names cannot wash the
//! counters of real ones out of memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Attempts without any waiting.
const FREE: u32 = 5;
/// Longest wait between two attempts, in seconds.
const LONGEST_WAIT: i64 = 60;
/// Counters are forgotten after so many quiet seconds.
const FORGET_AFTER: i64 = 15 * 60;
/// Names without a user that are counted at the same time.
const STRANGERS: usize = 4096;

/// Counts attempts per name.
#[derive(Debug, Default)]
pub(crate) struct LoginLimit {
    known: Mutex<HashMap<String, Attempts>>,
    strangers: Mutex<HashMap<String, Attempts>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Attempts {
    failures: u32,
    last: i64,
    not_before: i64,
}

impl LoginLimit {
    /// Counts an attempt before it is made, so that many at once cannot slip through together.
    /// `Err` is the number of seconds to wait.
    pub(crate) fn begin(&self, name: &str, known: bool, now: i64) -> Result<(), i64> {
        let table = if known { &self.known } else { &self.strangers };
        // A poisoned lock still guards valid counters: they are plain numbers.
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        if !known && table.len() >= STRANGERS && !table.contains_key(name) {
            let oldest = table.iter().min_by_key(|(_, attempts)| attempts.last);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                table.remove(&oldest);
            }
        }
        let attempts = table.entry(name.into()).or_default();
        if now - attempts.last > FORGET_AFTER {
            *attempts = Attempts::default();
        }
        if now < attempts.not_before {
            // Bounded, should the clock have been turned back meanwhile.
            return Err((attempts.not_before - now).min(LONGEST_WAIT));
        }
        attempts.failures = attempts.failures.saturating_add(1);
        attempts.last = now;
        if let Some(beyond) = attempts.failures.checked_sub(FREE) {
            attempts.not_before = now + (1_i64 << beyond.min(6)).min(LONGEST_WAIT);
        }
        Ok(())
    }

    /// The attempt was a success: the name starts afresh.
    pub(crate) fn succeeded(&self, name: &str) {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_free_attempts_the_wait_doubles_up_to_a_minute() {
        let limit = LoginLimit::default();
        for _ in 0..FREE {
            assert_eq!(limit.begin("ann", true, 1000), Ok(()));
        }
        let mut now = 1000;
        let mut waits = Vec::new();
        for _ in 0..9 {
            let wait = limit.begin("ann", true, now).unwrap_err();
            waits.push(wait);
            now += wait;
            assert_eq!(limit.begin("ann", true, now), Ok(()));
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn success_and_silence_both_clear_the_counter() {
        let limit = LoginLimit::default();
        let exhaust = |name| while limit.begin(name, true, 1000).is_ok() {};
        exhaust("ann");
        limit.succeeded("ann");
        assert_eq!(limit.begin("ann", true, 1000), Ok(()));
        exhaust("bob");
        assert_eq!(limit.begin("bob", true, 1001 + FORGET_AFTER), Ok(()));
    }

    #[test]
    fn invented_names_stay_bounded_and_leave_real_ones_counted() {
        let limit = LoginLimit::default();
        while limit.begin("ann", true, 1000).is_ok() {}
        for number in 0..STRANGERS + 500 {
            assert_eq!(
                limit.begin(&format!("stranger-{number}"), false, 1000),
                Ok(())
            );
        }
        assert_eq!(limit.strangers.lock().unwrap().len(), STRANGERS);
        assert!(limit.begin("ann", true, 1000).is_err());
    }

    #[test]
    fn a_clock_turned_back_does_not_lock_a_name_for_years() {
        let limit = LoginLimit::default();
        while limit.begin("ann", true, 1_000_000).is_ok() {}
        assert!(limit.begin("ann", true, 0).unwrap_err() <= LONGEST_WAIT);
    }
}
