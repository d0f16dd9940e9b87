//! How fast simulated time runs.
//!
//! All durations in this crate are those of a real installation; the factor shortens them.

use std::time::Duration;

/// The factor between simulated and real time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace(f64);

impl Pace {
    /// Slowest and fastest that make sense: real time, and a day in a minute and a half.
    pub const RANGE: std::ops::RangeInclusive<f64> = 1.0..=1000.0;

    /// A pace; a factor outside of [`Pace::RANGE`] is taken to its nearest end.
    #[must_use]
    pub fn new(factor: f64) -> Self {
        let factor = if factor.is_nan() { 1.0 } else { factor };
        Self(factor.clamp(*Self::RANGE.start(), *Self::RANGE.end()))
    }

    /// The factor.
    #[must_use]
    pub const fn factor(self) -> f64 {
        self.0
    }

    /// What a simulated duration takes.
    #[must_use]
    pub fn real(self, simulated: Duration) -> Duration {
        simulated.div_f64(self.0)
    }

    /// Lets simulated time pass.
    pub async fn sleep(self, simulated: Duration) {
        tokio::time::sleep(self.real(simulated)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_at_sixty_takes_a_second_and_nonsense_is_bounded() {
        let minute = Duration::from_secs(60);
        assert_eq!(Pace::new(60.0).real(minute), Duration::from_secs(1));
        for (given, factor) in [(0.0, 1.0), (-3.0, 1.0), (f64::NAN, 1.0), (1e9, 1000.0)] {
            assert_eq!(Pace::new(given).factor(), factor, "{given}");
        }
    }
}
