//! Reading from devices that may never answer.
//!
//! A read from a disk whose last path is gone waits until the path comes back, and nothing can
//! interrupt it. It therefore happens on a thread of its own, which is left behind when it does
//! not end in time. While it waits, the same device is not read again: one thread per dead disk
//! is all that is ever lost.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

/// Devices that are being read.
static WAITING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn waiting<T>(use_it: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    use_it(&mut WAITING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The first bytes of a device, if it gives them in time.
pub fn read_start(path: &Path, length: usize, timeout: Duration) -> io::Result<Vec<u8>> {
    if !waiting(|waiting| waiting.insert(path.to_owned())) {
        return Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!("{} has not answered an earlier read yet", path.display()),
        ));
    }
    let (sender, receiver) = mpsc::channel();
    let device = path.to_owned();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let outcome = File::open(&device)
            .and_then(|file| file.take(length as u64).read_to_end(&mut bytes))
            .map(|_| bytes);
        waiting(|waiting| waiting.remove(&device));
        // The caller may have stopped waiting.
        let _ = sender.send(outcome);
    });
    receiver.recv_timeout(timeout).unwrap_or_else(|_| {
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("{} does not answer", path.display()),
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    #[test]
    fn a_device_that_never_answers_costs_one_wait_and_one_thread() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let read = || read_start(&pipe, 4, Duration::from_millis(50));
        assert_eq!(read().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(read().unwrap_err().kind(), io::ErrorKind::ResourceBusy);

        // It comes back: the thread that waited ends, and reading works again.
        fs::write(&pipe, "late").unwrap();
        while waiting(|waiting| waiting.contains(&pipe)) {
            thread::yield_now();
        }
        let writer = thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, "here")
        });
        let bytes = read_start(&pipe, 4, Duration::from_secs(60)).unwrap();
        assert_eq!(bytes, b"here");
        writer.join().unwrap().unwrap();
    }
}
