//! Ctrl-C at any time: once to end in good order, twice to end at once.

use std::{
    io::{self, Write},
    process,
};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// As shells count it: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// Signals that end the run.
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens from now on, on a task of its own: the run may be busy or waiting for a terminal
    /// that takes nothing, and must still be ended by the second signal.
    pub fn listen() -> io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let (asked, stop) = watch::channel(false);
        tokio::spawn(async move {
            let words = [
                "stopping; a second Ctrl-C stops immediately",
                "stopped immediately; what was created is still there",
            ];
            for text in words {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
                let _ = writeln!(io::stderr(), "{text}");
                asked.send_replace(true);
            }
            process::exit(INTERRUPTED);
        });
        Ok(Self(stop))
    }

    /// Waits until the run is to end.
    pub async fn asked(&mut self) {
        // The sender lives as long as the process.
        let _ = self.0.wait_for(|asked| *asked).await;
    }
}
