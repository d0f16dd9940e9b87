//! Statistics of requests: how many of each kind, how long they took, how they ended.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use muster_api::client::ClientError;
use serde_json::{Value, json};

use crate::histogram::{Histogram, Spread};

/// Kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An agent says hello.
    Register,
    /// It asks for work.
    Poll,
    /// It hands in a result.
    Reply,
    /// Everything else: the user, installers, the controller.
    Other,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Register, Self::Poll, Self::Reply, Self::Other];

    /// Its name in figures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Poll => "poll",
            Self::Reply => "reply",
            Self::Other => "other",
        }
    }
}

/// How much was said so far.
#[derive(Debug)]
pub struct Tally {
    took: [Histogram; Kind::ALL.len()],
    /// Waiting for a free place on the line. Not the service's fault, but it hides calls that
    /// should have been made: if it grows, the figures flatter the service.
    turns: Histogram,
    refused: AtomicU64,
    unanswered: AtomicU64,
    since: Instant,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            took: Default::default(),
            turns: Histogram::default(),
            refused: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            since: Instant::now(),
        }
    }
}

/// A reading of the [`Tally`], or the difference of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    took: [Spread; Kind::ALL.len()],
    turns: Spread,
    /// Calls answered with an error.
    pub refused: u64,
    /// Calls without an answer.
    pub unanswered: u64,
    /// The time it was counted for.
    pub lasted: Duration,
}

impl Tally {
    /// How it stands.
    #[must_use]
    pub fn read(&self) -> Traffic {
        Traffic {
            took: self.took.each_ref().map(Histogram::read),
            turns: self.turns.read(),
            refused: self.refused.load(Ordering::Relaxed),
            unanswered: self.unanswered.load(Ordering::Relaxed),
            lasted: self.since.elapsed(),
        }
    }

    /// Begins a window: compare a later reading with this one.
    #[must_use]
    pub fn begin_window(&self) -> Traffic {
        let before = self.read();
        self.took.iter().for_each(Histogram::forget_longest);
        self.turns.forget_longest();
        before
    }

    /// A turn on the line was waited for.
    pub(crate) fn turn(&self, waited: Duration) {
        self.turns.add(waited);
    }

    /// A call has ended.
    pub(crate) fn call<T>(&self, kind: Kind, took: Duration, result: &Result<T, ClientError>) {
        self.took[kind as usize].add(took);
        let ended_badly = match result {
            Ok(_) => return,
            Err(
                ClientError::Refused { .. } | ClientError::Garbage { .. } | ClientError::TooLong(_),
            ) => &self.refused,
            Err(
                ClientError::Unreachable(_) | ClientError::Silent(_) | ClientError::Settings(_),
            ) => &self.unanswered,
        };
        ended_badly.fetch_add(1, Ordering::Relaxed);
    }
}

impl Traffic {
    /// What came after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let part = |place: usize| self.took[place].since(&before.took[place]);
        Self {
            took: [part(0), part(1), part(2), part(3)],
            turns: self.turns.since(&before.turns),
            refused: self.refused.saturating_sub(before.refused),
            unanswered: self.unanswered.saturating_sub(before.unanswered),
            lasted: self.lasted.saturating_sub(before.lasted),
        }
    }

    /// The durations of one kind of call.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> &Spread {
        &self.took[kind as usize]
    }

    /// Calls of all kinds.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.took.iter().map(Spread::count).sum()
    }

    /// The figures for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let calls: serde_json::Map<String, Value> = Kind::ALL
            .iter()
            .map(|kind| (kind.name().to_owned(), self.row(self.of(*kind))))
            .collect();
        json!({
            "kind": "traffic",
            "seconds": self.lasted.as_secs_f64(),
            "calls": calls,
            "turn": self.row(&self.turns),
            "refused": self.refused,
            "unanswered": self.unanswered,
        })
    }

    fn row(&self, spread: &Spread) -> Value {
        json!({
            "count": spread.count(),
            "per_second": self.rate(spread),
            "p50_ms": ms(spread.within(0.5)),
            "p90_ms": ms(spread.within(0.9)),
            "p99_ms": ms(spread.within(0.99)),
            "max_ms": ms(spread.longest()),
            "mean_ms": ms(spread.mean()),
        })
    }

    fn rate(&self, spread: &Spread) -> f64 {
        spread.count() as f64 / self.lasted.as_secs_f64().max(1e-3)
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The figures for people: a row per kind of call.
impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["per s", "p50 ms", "p90 ms", "p99 ms", "max ms"];
        write!(f, "{:<10}{:>10}", "", "calls")?;
        head.iter().try_for_each(|name| write!(f, "{name:>10}"))?;
        let rows = Kind::ALL.map(|kind| (kind.name(), self.of(kind)));
        for (name, spread) in rows.into_iter().chain([("(turn)", &self.turns)]) {
            write!(
                f,
                "\n{name:<10}{:>10}{:>10.1}",
                spread.count(),
                self.rate(spread)
            )?;
            for share in [0.5, 0.9, 0.99] {
                write!(f, "{:>10.2}", ms(spread.within(share)))?;
            }
            write!(f, "{:>10.2}", ms(spread.longest()))?;
        }
        write!(
            f,
            "\n{} calls in {:.1} s, {} refused, {} without an answer; (turn) is the wait for a \
             free place on this side",
            self.calls(),
            self.lasted.as_secs_f64(),
            self.refused,
            self.unanswered
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_counts_its_own_calls_by_kind_and_by_end() {
        let tally = Tally::default();
        let took = Duration::from_millis(3);
        tally.call(Kind::Register, took, &Ok(()));
        let before = tally.begin_window();
        tally.call(Kind::Poll, took, &Ok(()));
        let silent: Result<(), _> = Err(ClientError::Silent(took));
        tally.call(Kind::Poll, took, &silent);
        tally.turn(Duration::from_micros(5));
        let window = tally.read().since(&before);
        assert_eq!(window.of(Kind::Register).count(), 0);
        assert_eq!(window.of(Kind::Poll).count(), 2);
        assert_eq!(
            (window.calls(), window.refused, window.unanswered),
            (2, 0, 1)
        );
        let figures = window.json();
        assert_eq!(figures["calls"]["poll"]["count"], 2);
        assert_eq!(figures["calls"]["poll"]["max_ms"], 3.0);
        let text = window.to_string();
        assert!(text.contains("poll") && text.contains("2 calls"), "{text}");
    }
}
