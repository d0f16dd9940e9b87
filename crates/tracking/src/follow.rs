//! The loop: look, account, show, wait.

use std::time::{Duration, Instant};

use crate::{
    sources::Sources,
    tracker::{Line, Outcome, Status, Tracker},
};

/// Where the account goes.
pub trait Sink {
    /// Something new, and where the installation is.
    fn line(&mut self, line: &Line, status: &Status);
    /// What happens now; called after every look.
    fn status(&mut self, status: &Status);
}

/// Follows an installation to the goal of its tracker.
pub async fn follow(
    sources: &mut Sources,
    tracker: &mut Tracker,
    sink: &mut dyn Sink,
    pause: Duration,
) -> Outcome {
    let began = Instant::now();
    loop {
        let seen = sources.look(began.elapsed()).await;
        let (lines, outcome) = tracker.take(&seen);
        let status = tracker.status(&seen);
        for line in &lines {
            sink.line(line, &status);
        }
        sink.status(&status);
        if let Some(outcome) = outcome {
            return outcome;
        }
        tokio::time::sleep(pause).await;
    }
}
