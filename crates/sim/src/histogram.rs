//! Durations counted in buckets that grow with what they hold, so that a million of them cost a
//! few kilobytes and adding one takes no lock.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Buckets per doubling: a figure is at most a sixteenth too high.
const STEPS: u64 = 16;
/// Beyond 2^36 µs, which is 19 hours, everything is the same.
const DOUBLINGS: u64 = 36;
const BUCKETS: usize = (STEPS * (DOUBLINGS - 3)) as usize;

/// The counter.
#[derive(Debug)]
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    total_us: AtomicU64,
    longest_us: AtomicU64,
}

/// A reading of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    buckets: Vec<u64>,
    total_us: u64,
    longest_us: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            total_us: AtomicU64::new(0),
            longest_us: AtomicU64::new(0),
        }
    }
}

/// The bucket of a duration. Up to 16 µs each has its own, then every doubling has 16.
fn bucket(us: u64) -> usize {
    let place = if us < STEPS {
        us
    } else {
        let doubling = u64::from(us.ilog2()) - 4;
        // The four bits after the first one say where in its doubling it lies.
        STEPS * (doubling + 1) + ((us >> doubling) - STEPS)
    };
    usize::try_from(place).map_or(BUCKETS - 1, |place| place.min(BUCKETS - 1))
}

/// The longest duration a bucket holds.
fn upper_end(bucket: usize) -> u64 {
    let place = bucket as u64;
    if place < STEPS {
        return place;
    }
    let doubling = place / STEPS - 1;
    ((STEPS + place % STEPS + 1) << doubling) - 1
}

impl Histogram {
    /// Counts one.
    pub fn add(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.buckets[bucket(us)].fetch_add(1, Ordering::Relaxed);
        self.total_us.fetch_add(us, Ordering::Relaxed);
        self.longest_us.fetch_max(us, Ordering::Relaxed);
    }

    /// How it stands.
    #[must_use]
    pub fn read(&self) -> Spread {
        Spread {
            buckets: self
                .buckets
                .iter()
                .map(|count| count.load(Ordering::Relaxed))
                .collect(),
            total_us: self.total_us.load(Ordering::Relaxed),
            longest_us: self.longest_us.load(Ordering::Relaxed),
        }
    }

    /// Forgets the longest, which unlike the counts cannot be separated afterwards.
    pub fn forget_longest(&self) {
        self.longest_us.store(0, Ordering::Relaxed);
    }
}

impl Spread {
    /// What was added after `before` was read.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            buckets: self
                .buckets
                .iter()
                .zip(&before.buckets)
                .map(|(now, then)| now.saturating_sub(*then))
                .collect(),
            total_us: self.total_us.saturating_sub(before.total_us),
            longest_us: self.longest_us,
        }
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The time within which this share (0 to 1) was done; zero if there were none.
    #[must_use]
    pub fn within(&self, share: f64) -> Duration {
        let wanted = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (place, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_micros(upper_end(place).min(self.longest_us));
            }
        }
        Duration::ZERO
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_micros(self.total_us / self.count().max(1))
    }

    /// The longest, exactly.
    #[must_use]
    pub const fn longest(&self) -> Duration {
        Duration::from_micros(self.longest_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_lies_in_its_bucket_and_close_to_the_end_of_it() {
        let mut last = 0;
        for us in (0..5000).chain([1 << 20, (1 << 20) + 1, 123_456_789, 1 << 35]) {
            let place = bucket(us);
            assert!(place >= last, "{us}");
            last = place;
            let end = upper_end(place);
            assert!(end >= us && end - us <= us / 16, "{us}: {end}");
            assert!(place == 0 || upper_end(place - 1) < us, "{us}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn shares_and_mean_are_those_of_what_was_added() {
        let all = Histogram::default();
        for ms in 1..=1000 {
            all.add(Duration::from_millis(ms));
        }
        let spread = all.read();
        assert_eq!(spread.count(), 1000);
        assert_eq!(spread.longest(), Duration::from_secs(1));
        assert_eq!(spread.mean(), Duration::from_micros(500_500));
        for (share, ms) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let off = spread.within(share).as_secs_f64() * 1000.0 / ms;
            assert!((1.0..1.07).contains(&off), "{share}: {off}");
        }
        assert_eq!(Histogram::default().read().within(0.99), Duration::ZERO);
    }

    #[test]
    fn a_window_holds_only_what_came_after_its_begin() {
        let all = Histogram::default();
        all.add(Duration::from_secs(9));
        let before = all.read();
        all.forget_longest();
        all.add(Duration::from_millis(2));
        let window = all.read().since(&before);
        assert_eq!(window.count(), 1);
        assert_eq!(window.longest(), Duration::from_millis(2));
        assert_eq!(window.within(0.5), Duration::from_millis(2));
    }
}
