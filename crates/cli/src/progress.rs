//! Progress of long work on standard error: a line that changes on a terminal, few lines elsewhere,
//! with rate and remaining time.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use crate::terminal;

/// What is shown before this has passed would only be noise.
const FIRST_RATE: Duration = Duration::from_millis(500);

/// How fast something goes: measured from the first amount that was seen.
#[derive(Debug, Default)]
pub struct Pace {
    began: Option<(Instant, u64)>,
}

impl Pace {
    /// `12 of 40 MiB, 30 %, 4 MiB/s, 7 s left`.
    pub fn describe(&mut self, done: u64, total: Option<u64>) -> String {
        let (began, first) = *self.began.get_or_insert((Instant::now(), done));
        describe(done, total, done.saturating_sub(first), began.elapsed())
    }
}

fn describe(done: u64, total: Option<u64>, fresh: u64, elapsed: Duration) -> String {
    let mut text = amount(done, total);
    if elapsed < FIRST_RATE || fresh == 0 {
        return text;
    }
    let rate = u128::from(fresh) * 1000 / elapsed.as_millis().max(1);
    let rate = u64::try_from(rate).unwrap_or(u64::MAX).max(1);
    text += &match rate >> 20 {
        0 => format!(", {} KiB/s", rate >> 10),
        whole => format!(", {whole} MiB/s"),
    };
    if let Some(left) = total.map(|total| total.saturating_sub(done) / rate)
        && left > 0
    {
        text += &format!(", {} left", span(left));
    }
    text
}

fn amount(done: u64, total: Option<u64>) -> String {
    match total {
        Some(total) if total > 0 => format!(
            "{} of {} MiB, {} %",
            done >> 20,
            total >> 20,
            done.saturating_mul(100) / total
        ),
        Some(_) | None => format!("{} MiB", done >> 20),
    }
}

fn span(seconds: u64) -> String {
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5999 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The line itself.
#[derive(Debug)]
pub struct Meter {
    what: &'static str,
    last: Instant,
    every: Duration,
    cursor: bool,
    drawn: bool,
    pace: Pace,
}

impl Meter {
    /// A meter for one piece of work, such as `fetching`.
    pub fn new(what: &'static str) -> Self {
        let cursor = terminal::stderr().has_cursor();
        Self {
            what,
            last: Instant::now(),
            every: match cursor {
                true => Duration::from_millis(200),
                false => Duration::from_secs(10),
            },
            cursor,
            drawn: false,
            pace: Pace::default(),
        }
    }

    /// So much is done.
    pub fn show(&mut self, done: u64, total: Option<u64>) {
        let text = self.pace.describe(done, total);
        if self.last.elapsed() < self.every {
            return;
        }
        self.last = Instant::now();
        let mut err = io::stderr().lock();
        let _ = match self.cursor {
            true => write!(err, "\r\x1b[2K{}: {text}", self.what).and_then(|()| err.flush()),
            false => writeln!(err, "{}: {text}", self.what),
        };
        self.drawn = true;
    }

    /// The work is over; what follows begins on a line of its own.
    pub fn end(&self) {
        if self.cursor && self.drawn {
            let _ = writeln!(io::stderr());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn rate_and_rest_follow_from_what_came_in_this_run() {
        let second = Duration::from_secs(1);
        let shown = |done, total, fresh| describe(done, total, fresh, second);
        assert_eq!(
            shown(50 * MIB, Some(100 * MIB), 10 * MIB),
            "50 of 100 MiB, 50 %, 10 MiB/s, 5 s left"
        );
        assert_eq!(shown(MIB, None, MIB), "1 MiB, 1 MiB/s");
        assert_eq!(
            shown(MIB, Some(1000 * MIB), MIB / 2),
            "1 of 1000 MiB, 0 %, 512 KiB/s, 34 min left"
        );
        assert_eq!(shown(0, Some(0), 0), "0 MiB");
    }

    #[test]
    fn nothing_is_predicted_from_a_moment() {
        let moment = Duration::from_millis(3);
        assert_eq!(
            describe(MIB, Some(4 * MIB), MIB, moment),
            "1 of 4 MiB, 25 %"
        );
    }

    #[test]
    fn spans_are_as_coarse_as_they_are_long() {
        assert_eq!(span(99), "99 s");
        assert_eq!(span(100), "2 min");
        assert_eq!(span(7_260), "2 h 1 min");
    }
}
