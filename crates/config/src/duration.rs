//! Go's notation of durations: `10s`, `4h`, `1h30m`, `1.5h`, `200ms`.
//!
//! Existing deployments write their timeouts this way, so we read exactly that, without signs:
//! a negative timeout has no meaning in any of our settings.

use std::time::Duration;

/// Units, longest name first where one is the beginning of another (`ms` before `m`).
const UNITS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

/// A text that is not a duration, and which part of it is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// No text at all.
    #[error("nothing given")]
    Empty,
    /// Something else where a number should be.
    #[error("no number at `{0}`")]
    NoNumber(String),
    /// A number alone.
    #[error("no unit after `{0}`")]
    NoUnit(String),
    /// More than Go can count.
    #[error("longer than 292 years")]
    TooLong,
}

/// Reads a duration.
///
/// # Errors
/// The text is none.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    let mut rest = text;
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| c != '.' && !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let amount: f64 = number
            .parse()
            .map_err(|_| DurationError::NoNumber(rest.to_owned()))?;
        let Some((unit, size)) = UNITS.iter().find(|(unit, _)| tail.starts_with(unit)) else {
            return Err(DurationError::NoUnit(number.to_owned()));
        };
        nanos += amount * size;
        rest = &tail[unit.len()..];
    }
    // Go counts nanoseconds in 63 bits, about 292 years; beyond that it refuses too.
    if nanos >= i64::MAX as f64 {
        return Err(DurationError::TooLong);
    }
    Ok(Duration::from_nanos(nanos as u64))
}

/// Writes a duration in the same notation, without the zero parts: `1h30m`, `200ms`, `0s`.
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
        (u64::from(duration.subsec_millis()), "ms"),
        (u64::from(duration.subsec_micros() % 1000), "us"),
        (u64::from(duration.subsec_nanos() % 1000), "ns"),
    ];
    let text: String = parts
        .iter()
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, unit)| format!("{amount}{unit}"))
        .collect();
    if text.is_empty() { "0s".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_go_reads_them() {
        for (text, millis) in [
            ("10s", 10_000),
            ("4h", 14_400_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("200ms", 200),
            (".5s", 500),
            ("0", 0),
            ("0s", 0),
            ("1m1ms", 60_001),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in [
            "", "10", "s", "-5s", "10 s", "1h30", "1d", "..s", ".s", "1e3s", "9999999h",
        ] {
            assert!(parse_duration(text).is_err(), "{text:?} must be refused");
        }
    }

    #[test]
    fn a_written_duration_reads_back_the_same() {
        for text in [
            "10s", "4h", "1h30m", "200ms", "480h", "1m1ms", "0s", "7us3ns",
        ] {
            let duration = parse_duration(text).unwrap();
            assert_eq!(format_duration(duration), text);
        }
    }
}
