//! Progress on standard error: a bar that changes on a terminal, few lines elsewhere.

use std::{
    io::{self, Write},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use muster_release::Progress;

use crate::{progress::Pace, terminal};

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
    /// Of the layer that was shown last.
    layer: String,
    pace: Pace,
}

impl Meter {
    pub fn new() -> Self {
        let terminal = terminal::stderr().has_cursor();
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
                let short = &digest.hex()[..12];
                if state.layer != short {
                    state.layer = short.to_owned();
                    state.pace = Pace::default();
                }
                let amount = state.pace.describe(*done, Some(*total));
                let last = *state.last.get_or_insert_with(Instant::now);
                let over = done == total;
                if last.elapsed() < self.every && !(over && state.bar) {
                    return;
                }
                state.last = Some(Instant::now());
                state.bar = !over;
                let _ = match self.terminal {
                    true => write!(
                        err,
                        "\r\x1b[2Klayer {short} {} {}{}",
                        bar(*done, *total),
                        amount,
                        if over { "\n" } else { "" }
                    ),
                    false => writeln!(err, "layer {short}: {amount}"),
                };
                let _ = err.flush();
            }
            Progress::Again { failure, pause } => {
                clear(&mut state, self.terminal, &mut err);
                let _ = writeln!(err, "{failure}; trying again in {pause:?}");
            }
            // What failed for good is the error of the command, or another mirror has it.
            Progress::GivenUp { .. } => clear(&mut state, self.terminal, &mut err),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_ever_whatever_is_done() {
        assert_eq!(bar(1, 2).chars().filter(|part| *part == '█').count(), 15);
        assert_eq!(bar(u64::MAX, u64::MAX).chars().count(), 30);
    }
}
