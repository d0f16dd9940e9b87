//! Progress on standard error: a bar that changes on a terminal, few lines elsewhere.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use muster_release::Progress;

const WIDTH: u64 = 30;

pub struct Meter {
    terminal: bool,
    every: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When something was shown last; what is over at once is not shown at all.
    last: Option<Instant>,
    bar: bool,
}

impl Meter {
    pub fn new() -> Self {
        let terminal = io::stderr().is_terminal();
        Self {
            terminal,
            every: match terminal {
                true => Duration::from_millis(200),
                false => Duration::from_secs(10),
            },
            state: Mutex::default(),
        }
    }

    pub fn show(&self, progress: &Progress<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut err = io::stderr().lock();
        match progress {
            Progress::Layer {
                digest,
                done,
                total,
            } => {
                let last = *state.last.get_or_insert_with(Instant::now);
                let over = done == total;
                if last.elapsed() < self.every && !(over && state.bar) {
                    return;
                }
                state.last = Some(Instant::now());
                state.bar = !over;
                let short = &digest.hex()[..12];
                let _ = match self.terminal {
                    true => write!(
                        err,
                        "\r\x1b[2Klayer {short} {} {}{}",
                        bar(*done, *total),
                        amount(*done, *total),
                        if over { "\n" } else { "" }
                    ),
                    false => writeln!(err, "layer {short}: {}", amount(*done, *total)),
                };
                let _ = err.flush();
            }
            Progress::Again { failure, pause } => {
                clear(&mut state, self.terminal, &mut err);
                let _ = writeln!(err, "{failure}; trying again in {pause:?}");
            }
            Progress::GivenUp { failure } => {
                clear(&mut state, self.terminal, &mut err);
                let _ = writeln!(err, "{failure}");
            }
            Progress::Waiting { digest } => {
                clear(&mut state, self.terminal, &mut err);
                let short = &digest.hex()[..12];
                let _ = writeln!(err, "another process reads layer {short}: waiting for it");
            }
            // Kinds that are added later are no reason to fail.
            _ => {}
        }
    }
}

fn clear(state: &mut State, terminal: bool, err: &mut impl Write) {
    if terminal && std::mem::take(&mut state.bar) {
        let _ = write!(err, "\r\x1b[2K");
    }
}

fn bar(done: u64, total: u64) -> String {
    let full = done.saturating_mul(WIDTH) / total.max(1);
    (0..WIDTH)
        .map(|at| if at < full { '█' } else { '░' })
        .collect()
}

fn amount(done: u64, total: u64) -> String {
    let percent = done.saturating_mul(100) / total.max(1);
    format!("{} of {} MiB, {percent} %", done >> 20, total >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_whatever_they_are() {
        assert_eq!(amount(1 << 20, 4 << 20), "1 of 4 MiB, 25 %");
        assert_eq!(amount(0, 0), "0 of 0 MiB, 0 %");
        assert_eq!(bar(1, 2).chars().filter(|part| *part == '█').count(), 15);
        assert_eq!(bar(u64::MAX, u64::MAX).chars().count(), 30);
    }
}
