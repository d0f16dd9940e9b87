//! How long to wait before trying again: doubling, with jitter, never for ever.

use std::time::Duration;

use rand::Rng;

const FIRST: Duration = Duration::from_secs(1);

/// Waiting times of one run of failures.
#[derive(Debug)]
pub struct Backoff {
    failures: u32,
    longest: Duration,
}

impl Backoff {
    /// Waits grow up to `longest`.
    #[must_use]
    pub fn up_to(longest: Duration) -> Self {
        Self {
            failures: 0,
            longest: longest.max(FIRST),
        }
    }

    /// It worked: the next failure starts from the beginning.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// How long to wait now. Half of it is random, so that many agents do not
    /// connect at the same moment when the service comes back.
    pub fn wait(&mut self) -> Duration {
        let longest = self.longest;
        self.wait_up_to(longest)
    }

    /// The same with another limit for this time.
    pub fn wait_up_to(&mut self, longest: Duration) -> Duration {
        let full = FIRST
            .saturating_mul(1 << self.failures.min(10))
            .min(longest);
        self.failures = self.failures.saturating_add(1);
        full / 2 + rand::rng().random_range(Duration::ZERO..=full / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(60);

    #[test]
    fn waits_grow_up_to_a_limit_and_start_over_after_success() {
        let mut backoff = Backoff::up_to(LONGEST);
        let waits: Vec<_> = (0..40).map(|_| backoff.wait()).collect();
        assert!(waits[0] <= FIRST && waits.iter().all(|wait| *wait <= LONGEST));
        assert!(waits[39] >= LONGEST / 2);
        backoff.reset();
        assert!(backoff.wait() <= FIRST);
    }

    #[test]
    fn no_wait_is_shorter_than_half_a_second() {
        for longest in [Duration::ZERO, FIRST, LONGEST] {
            let mut backoff = Backoff::up_to(longest);
            assert!((0..100).all(|_| backoff.wait() >= FIRST / 2));
        }
    }
}
