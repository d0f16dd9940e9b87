//! Sends a growing file to the disk while the rest of it still comes, so that waiting for the disk
//! in the end is short.

use std::{
    fs::File,
    sync::mpsc::{SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

/// After this many new bytes the disk is asked to take them.
const STRIDE: usize = 32 << 20;

/// The thread that waits for the disk; only large files have one.
#[derive(Debug, Default)]
pub(super) struct Behind {
    unsent: usize,
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
}

impl Behind {
    /// Notes that this many bytes were written.
    pub fn wrote(&mut self, bytes: usize, file: &File) {
        self.unsent += bytes;
        if self.unsent < STRIDE {
            return;
        }
        self.unsent = 0;
        if self.thread.is_none() {
            self.thread = start(file);
        }
        if let Some((wake, _)) = &self.thread {
            // One that is busy will find these bytes, too.
            let _ = wake.try_send(());
        }
    }

    /// Waits until the thread has ended.
    pub fn end(&mut self) {
        if let Some((wake, thread)) = self.thread.take() {
            drop(wake);
            let _ = thread.join();
        }
    }
}

/// Without it everything is the same, later.
fn start(file: &File) -> Option<(SyncSender<()>, JoinHandle<()>)> {
    let file = file.try_clone().ok()?;
    let (wake, woken) = sync_channel(1);
    let thread = thread::Builder::new()
        .name("write-behind".to_owned())
        .spawn(move || {
            while woken.recv().is_ok() {
                // Faults show in the end, when the whole file is waited for.
                if file.sync_data().is_err() {
                    return;
                }
            }
        });
    thread.ok().map(|thread| (wake, thread))
}
