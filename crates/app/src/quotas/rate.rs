//! How often something may happen, by key: a token bucket that holds one minute's worth.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const MINUTE: Duration = Duration::from_secs(60);
/// Keys beyond which idle ones are looked for.
const TIDY_AT: usize = 1024;

/// Rates by key. Instead of a level, each bucket keeps the moment at which it will be full again,
/// which needs no arithmetic on fractions and shows at once which keys are idle.
#[derive(Debug)]
pub struct Rates<K> {
    /// Time in which a bucket gains one token; none for no limit.
    interval: Option<Duration>,
    buckets: Mutex<Buckets<K>>,
}

#[derive(Debug)]
struct Buckets<K> {
    full_at: HashMap<K, Instant>,
    tidy_at: usize,
}

impl<K: Copy + Eq + Hash> Rates<K> {
    /// At most this many per minute for each key, in one burst if need be; 0 for no limit.
    #[must_use]
    pub fn per_minute(count: u32) -> Self {
        Self {
            interval: MINUTE.checked_div(count),
            buckets: Mutex::new(Buckets {
                full_at: HashMap::new(),
                tidy_at: TIDY_AT,
            }),
        }
    }

    /// Takes one token.
    ///
    /// # Errors
    /// There is none left; the number of seconds until there is one.
    pub fn take(&self, key: K) -> Result<(), u64> {
        self.take_at(key, Instant::now())
    }

    fn take_at(&self, key: K, now: Instant) -> Result<(), u64> {
        let Some(interval) = self.interval else {
            return Ok(());
        };
        // A poisoned lock still guards valid times: each change to them is one step.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.tidy(now);
        let full_at = buckets.full_at.entry(key).or_insert(now);
        let then = (*full_at).max(now) + interval;
        match then.checked_duration_since(now + MINUTE) {
            None | Some(Duration::ZERO) => {
                *full_at = then;
                Ok(())
            }
            Some(wait) => Err(wait.as_secs() + 1),
        }
    }
}

impl<K: Eq + Hash> Buckets<K> {
    /// Forgets buckets that are full, once there are many; as often as the number has doubled.
    fn tidy(&mut self, now: Instant) {
        if self.full_at.len() >= self.tidy_at {
            self.full_at.retain(|_, full_at| *full_at > now);
            self.tidy_at = TIDY_AT.max(self.full_at.len() * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(rates: &Rates<u32>, key: u32, now: Instant) -> usize {
        (0..1000)
            .take_while(|_| rates.take_at(key, now).is_ok())
            .count()
    }

    #[test]
    fn a_minutes_worth_comes_at_once_and_the_rest_at_the_rate() {
        let (rates, start) = (Rates::per_minute(60), Instant::now());
        assert_eq!(admitted(&rates, 1, start), 60);
        assert_eq!(rates.take_at(1, start), Err(2));
        assert_eq!(admitted(&rates, 1, start + Duration::from_secs(10)), 10);
        assert_eq!(admitted(&rates, 1, start + Duration::from_secs(600)), 60);
    }

    #[test]
    fn one_key_uses_up_nothing_of_another() {
        let (rates, start) = (Rates::per_minute(5), Instant::now());
        assert_eq!(admitted(&rates, 1, start), 5);
        assert_eq!(admitted(&rates, 2, start), 5);
    }

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(admitted(&Rates::per_minute(0), 1, Instant::now()), 1000);
    }

    #[test]
    fn keys_that_are_idle_are_forgotten() {
        let (rates, start) = (Rates::per_minute(600), Instant::now());
        for key in 0..100_000_u32 {
            let later = start + Duration::from_millis(u64::from(key));
            assert_eq!(rates.take_at(key, later), Ok(()));
        }
        assert!(rates.buckets.lock().unwrap().full_at.len() <= TIDY_AT + 1);
    }
}
