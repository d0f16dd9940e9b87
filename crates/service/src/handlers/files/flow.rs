//! Downloads that are streamed through the service.
//!
//! A producer writes into a small channel, the connection empties it; when either side goes
//! away the other one ends too. What is in memory is a few pieces, however large the file.

use std::{future::Future, io, pin::pin};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use muster_store::BlobError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::http::Chunks;

/// Pieces that may wait for a slow reader.
const WAITING: usize = 4;

/// The writing end of a download.
#[derive(Debug)]
pub struct Outlet(mpsc::Sender<io::Result<Bytes>>);

impl Outlet {
    /// Sends a piece; fails when the reader is gone.
    pub async fn write(&self, piece: impl Into<Bytes>) -> io::Result<()> {
        let gone = |_| io::Error::new(io::ErrorKind::BrokenPipe, "the reader went away");
        self.0.send(Ok(piece.into())).await.map_err(gone)
    }

    /// Sends a stream that must have exactly `size` bytes.
    pub async fn copy(
        &self,
        size: u64,
        pieces: impl Stream<Item = Result<Bytes, BlobError>>,
    ) -> io::Result<()> {
        let mut pieces = pin!(pieces);
        let mut sent = 0;
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(io::Error::other)?;
            sent += piece.len() as u64;
            self.write(piece).await?;
        }
        if sent == size {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "a stored file has {sent} bytes instead of {size}"
            )))
        }
    }
}

/// Starts a producer and gives the reading end. If the producer fails, so does the download:
/// the client sees a broken transfer, never a short file that looks whole.
pub fn produced<F>(producer: impl FnOnce(Outlet) -> F) -> Chunks
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(WAITING);
    let work = producer(Outlet(sender.clone()));
    tokio::spawn(async move {
        if let Err(error) = work.await {
            if error.kind() != io::ErrorKind::BrokenPipe {
                tracing::error!(%error, cause = ?error.get_ref(), "a download was interrupted");
            }
            // The reader may be gone.
            let _ = sender.send(Err(error)).await;
        }
    });
    Box::pin(ReceiverStream::new(receiver))
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    #[tokio::test]
    async fn pieces_arrive_in_order() {
        let pieces = [
            Ok(Bytes::from_static(b"one")),
            Ok(Bytes::from_static(b"two")),
        ];
        let chunks = produced(|out| async move { out.copy(6, stream::iter(pieces)).await });
        let all: Vec<Bytes> = chunks.map(Result::unwrap).collect().await;
        assert_eq!(all.concat(), b"onetwo");
    }

    #[tokio::test]
    async fn a_file_that_shrank_breaks_the_download() {
        let pieces = [Ok(Bytes::from_static(b"one"))];
        let chunks = produced(|out| async move { out.copy(6, stream::iter(pieces)).await });
        let last = chunks.collect::<Vec<_>>().await.pop().unwrap();
        assert!(
            last.unwrap_err()
                .to_string()
                .contains("3 bytes instead of 6")
        );
    }

    #[tokio::test]
    async fn a_reader_that_leaves_ends_the_producer() {
        let (ended, end) = tokio::sync::oneshot::channel();
        let chunks = produced(|out| async move {
            while out.write("x").await.is_ok() {}
            let _ = ended.send(());
            Ok(())
        });
        drop(chunks);
        end.await.unwrap();
    }
}
