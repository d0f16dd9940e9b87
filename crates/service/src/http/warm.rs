//! Reading files without blocking the threads of the runtime.
//!
//! An image that is downloaded often lies in the page cache, and reading it there is as quick
//! as copying memory. The kernel can be asked to answer only from there; what is not there yet is
//! read on a thread that may wait.

#[cfg(target_os = "linux")]
use std::io::IoSliceMut;
use std::{
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use muster_image::Source;
#[cfg(target_os = "linux")]
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use tokio::task::JoinHandle;

/// How much is brought into memory at a time.
const WINDOW: u64 = 1 << 20;

/// Reads what is in memory; `None` if that is nothing.
#[cfg(target_os = "linux")]
pub fn read(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
    let mut slices = [IoSliceMut::new(buffer)];
    loop {
        match preadv2(file, &mut slices, offset, ReadWriteFlags::NOWAIT) {
            Ok(count) => return Ok(Some(count)),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            // A file system that does not know is read as ever.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                return FileExt::read_at(file, buffer, offset).map(Some);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Other kernels cannot be asked what is in memory, so this one waits for the disk.
#[cfg(not(target_os = "linux"))]
pub fn read(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
    FileExt::read_at(file, buffer, offset).map(Some)
}

/// Brings parts of files into memory, one after the other.
#[derive(Debug, Default)]
pub struct Warmer {
    running: Option<JoinHandle<()>>,
    /// The byte that was brought last; it is not brought again, so that a crowded memory slows
    /// a download down but cannot stop it.
    brought: Option<u64>,
    /// The run found in memory last; it is often sent in several goes, and looked for once.
    known: Range<u64>,
}

impl Warmer {
    /// Ready with how much of a run can be taken, once its end is in memory, or was.
    pub fn poll_run(
        &mut self,
        cx: &mut Context<'_>,
        source: &Source,
        file: &File,
        offset: u64,
        len: u64,
    ) -> Poll<io::Result<u64>> {
        if !self.known.contains(&offset) {
            ready!(self.poll(cx, source, file, offset + len - 1))?;
            self.known = offset..offset + len;
        }
        Poll::Ready(Ok(len.min(self.known.end - offset)))
    }

    /// Ready once the byte at `offset` is in memory, or was.
    pub fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &Source,
        file: &File,
        offset: u64,
    ) -> Poll<io::Result<()>> {
        loop {
            if let Some(running) = &mut self.running {
                // What went wrong is met again by the reader.
                let _ = ready!(Pin::new(running).poll(cx));
                self.running = None;
            }
            if self.brought == Some(offset) || read(file, &mut [0], offset)?.is_some() {
                return Poll::Ready(Ok(()));
            }
            let source = source.clone();
            self.brought = Some(offset);
            self.running = Some(tokio::task::spawn_blocking(move || {
                if let Some(file) = source.as_file() {
                    bring(file, offset);
                }
            }));
        }
    }
}

fn bring(file: &File, offset: u64) {
    let mut buffer = vec![0; 128 << 10];
    let mut done = 0;
    while done < WINDOW {
        match FileExt::read_at(file, &mut buffer, offset + done) {
            Ok(0) | Err(_) => return,
            Ok(count) => done += count as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, io::Write};

    use super::*;

    #[tokio::test]
    async fn what_was_brought_can_be_read_without_waiting() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 300_000]).unwrap();
        file.as_file().sync_all().unwrap();
        let cold = file.reopen().unwrap();
        rustix::fs::fadvise(&cold, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let source = Source::file(cold).unwrap();
        let file = source.as_file().unwrap();
        let mut warmer = Warmer::default();
        for offset in [200_000, 0, 299_999] {
            poll_fn(|cx| warmer.poll(cx, &source, file, offset))
                .await
                .unwrap();
            let mut byte = [0];
            assert_eq!(read(file, &mut byte, offset).unwrap(), Some(1));
            assert_eq!(byte, [7]);
        }
        // A run is looked for once and taken in any number of goes.
        for (offset, len, expected) in [(0, 1_000, 1_000), (400, 1_000, 600), (1_000, 1, 1)] {
            let taken = poll_fn(|cx| warmer.poll_run(cx, &source, file, offset, len));
            assert_eq!(taken.await.unwrap(), expected, "{offset}");
        }
        // The end, and what is beyond it, is not waited for.
        poll_fn(|cx| warmer.poll(cx, &source, file, 300_000))
            .await
            .unwrap();
        assert_eq!(read(file, &mut [0], 300_000).unwrap(), Some(0));
    }
}
