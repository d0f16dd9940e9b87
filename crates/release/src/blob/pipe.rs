//! Between the network, which brings chunks, and the thread that unpacks them: batches, so that
//! neither has to be woken for each chunk.

use std::io::{self, Read, Write};

use bytes::{Buf, Bytes};
use tokio::sync::mpsc;

use crate::cache::Part;

/// Batches that may wait.
pub(super) const AHEAD: usize = 16;
/// Bytes handed over at once: waking a thread for each record of TLS would cost more than the record.
const BATCH: usize = 512 << 10;

/// Gathers chunks into batches.
pub(super) struct Outlet<'a> {
    sender: &'a mpsc::Sender<Vec<Bytes>>,
    batch: Vec<Bytes>,
    size: usize,
}

/// The receiver of the bytes is gone.
pub(super) struct NobodyThere;

impl<'a> Outlet<'a> {
    pub fn new(sender: &'a mpsc::Sender<Vec<Bytes>>) -> Self {
        Self {
            sender,
            batch: Vec::new(),
            size: 0,
        }
    }

    pub async fn push(&mut self, chunk: Bytes) -> Result<(), NobodyThere> {
        self.size += chunk.len();
        self.batch.push(chunk);
        match self.size >= BATCH {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    pub async fn flush(&mut self) -> Result<(), NobodyThere> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.size = 0;
        let batch = std::mem::take(&mut self.batch);
        self.sender.send(batch).await.map_err(|_| NobodyThere)
    }
}

/// The bytes of a layer: first those of the unfinished file, then those from the network.
pub(super) struct Feed {
    receiver: mpsc::Receiver<Vec<Bytes>>,
    pub part: Option<Part>,
    replay: u64,
    batch: std::vec::IntoIter<Bytes>,
    chunk: Bytes,
    left: u64,
}

impl Feed {
    pub fn new(
        receiver: mpsc::Receiver<Vec<Bytes>>,
        part: Option<Part>,
        replay: u64,
        size: u64,
    ) -> Self {
        Self {
            receiver,
            part,
            replay,
            batch: Vec::new().into_iter(),
            chunk: Bytes::new(),
            left: size,
        }
    }

    /// The next chunk from the network, kept in the cache on its way.
    fn receive(&mut self) -> io::Result<Bytes> {
        loop {
            if let Some(chunk) = self.batch.next() {
                return Ok(chunk);
            }
            let batch = self
                .receiver
                .blocking_recv()
                .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            // A full disk costs the cache, not the answer.
            if let Some(mut part) = self.part.take() {
                match batch
                    .iter()
                    .try_for_each(|chunk| part.file.write_all(chunk))
                {
                    Ok(()) => self.part = Some(part),
                    Err(error) => {
                        tracing::warn!(%error, "a layer is not kept in the cache");
                        part.discard();
                    }
                }
            }
            self.batch = batch.into_iter();
        }
    }
}

impl Read for Feed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let count = if let (1.., Some(part)) = (self.replay, &mut self.part) {
            let most = usize::try_from(self.replay).unwrap_or(usize::MAX);
            let most = most.min(buffer.len());
            let count = part.file.read(&mut buffer[..most])?;
            if count == 0 {
                return Err(io::Error::other("the unfinished file became shorter"));
            }
            self.replay -= count as u64;
            count
        } else {
            if self.chunk.is_empty() {
                self.chunk = self.receive()?;
            }
            let count = self.chunk.len().min(buffer.len());
            self.chunk.copy_to_slice(&mut buffer[..count]);
            count
        };
        self.left -= count as u64;
        Ok(count)
    }
}
