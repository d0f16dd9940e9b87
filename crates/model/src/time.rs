//! A moment in UTC with microseconds, and the two ways the wire writes it.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// Microseconds since the Unix epoch. Comes in as an argument; pure code never asks a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// How clients see an unset moment in millisecond fields; they compare with it.
    pub const ZERO_MILLIS: &'static str = "0001-01-01T00:00:00.000Z";
    /// How clients see an unset moment in `created_at`-like fields.
    pub const ZERO_PRECISE: &'static str = "0001-01-01T00:00:00Z";

    /// The present moment. For the shell only; decisions get it handed in.
    #[must_use]
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_microsecond())
    }

    /// Seconds since the epoch, rounded down.
    #[must_use]
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// The moment `seconds` after the epoch.
    #[must_use]
    pub const fn from_unix_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    /// Later by `by`, saturating.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    /// Earlier by `by`, saturating.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    /// Time passed since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 with exactly three fractional digits, as most date-time fields have it.
    #[must_use]
    pub fn millis(self) -> String {
        self.jiff().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
    }

    /// RFC 3339 with as many fractional digits as needed (0 to 6), as `created_at` has it.
    #[must_use]
    pub fn precise(self) -> String {
        self.jiff().to_string()
    }

    /// `Last-Modified` form (IMF-fixdate, whole seconds).
    #[must_use]
    pub fn http_date(self) -> String {
        self.jiff()
            .strftime("%a, %d %b %Y %H:%M:%S GMT")
            .to_string()
    }

    fn jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_microsecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.precise())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_forms_have_the_digits_clients_expect() {
        let moment = Timestamp(1_700_000_000_905_910);
        assert_eq!(moment.millis(), "2023-11-14T22:13:20.905Z");
        assert_eq!(moment.precise(), "2023-11-14T22:13:20.90591Z");
        assert_eq!(moment.http_date(), "Tue, 14 Nov 2023 22:13:20 GMT");
        assert_eq!(
            Timestamp(1_700_000_000_000_000).precise(),
            "2023-11-14T22:13:20Z"
        );
    }

    #[test]
    fn a_gap_to_the_future_is_no_time_at_all() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
    }
}
