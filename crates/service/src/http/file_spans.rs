//! How a body passes spans of files around hyper.
//!
//! hyper owns a connection and writes the bytes that a body yields. A [`Piece`] can also stand
//! for bytes of a file: what it shows to hyper are blanks, as many as the file's bytes, and the
//! true bytes are noted in the connection's [`FileSpans`]. The [`Wire`](super::wire::Wire) below hyper
//! knows blanks by their address and sends the file's bytes in their place. So headers, lengths,
//! keep-alive and shutdown stay hyper's, and the bytes never pass through us.
//!
//! Should hyper ever copy blanks instead of passing them on, the counts in it no longer
//! agree, and the wire refuses to send anything more: a download is cut, never wrong.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

use bytes::{Buf, Bytes};
use muster_image::Source;

/// Shown in place of a file's bytes. Never looked at, so the system need not find memory for it.
static BLANKS: LazyLock<Box<[u8]>> = LazyLock::new(|| vec![0; 1 << 20].into());

/// Whether these bytes stand for a file's.
pub fn is_blank(bytes: &[u8]) -> bool {
    BLANKS.as_ptr_range().contains(&bytes.as_ptr())
}

/// A run of bytes of a file.
#[derive(Clone, Debug)]
pub struct Span {
    /// The file.
    pub source: Source,
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub len: u64,
}

/// The files' bytes on their way through one connection.
#[derive(Clone, Debug, Default)]
pub struct FileSpans(Arc<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    spans: VecDeque<Span>,
    /// Sent in place of blanks that hyper has not yet ticked off.
    sent: u64,
    broken: bool,
}

impl FileSpans {
    /// Notes a span; the piece stands for it and must be the next one hyper gets.
    pub fn piece(&self, span: Span) -> Piece {
        let left = span.len;
        if left > 0 {
            self.queue().spans.push_back(span);
        }
        Piece(Content::Blanks {
            left,
            owner: self.clone(),
        })
    }

    /// What is to be sent next in place of blanks.
    pub fn next(&self) -> io::Result<Span> {
        let queue = self.queue();
        match queue.spans.front() {
            Some(span) if !queue.broken => Ok(span.clone()),
            _ => Err(io::Error::other("blanks without a file behind them")),
        }
    }

    /// This many bytes of the next span were sent.
    pub fn sent(&self, count: u64) {
        let mut queue = self.queue();
        queue.sent += count;
        match queue.spans.front_mut() {
            Some(span) if span.len > count => {
                span.offset += count;
                span.len -= count;
            }
            _ => drop(queue.spans.pop_front()),
        }
    }

    /// An error once blanks went elsewhere than into the wire.
    pub fn check(&self) -> io::Result<()> {
        if self.queue().broken {
            return Err(io::Error::other(
                "the bytes of a file were not sent as such",
            ));
        }
        Ok(())
    }

    fn ticked_off(&self, count: u64) {
        let mut queue = self.queue();
        match queue.sent.checked_sub(count) {
            Some(rest) => queue.sent = rest,
            None => queue.broken = true,
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of a body: bytes, or what stands for a file's.
#[derive(Debug)]
pub struct Piece(Content);

#[derive(Debug)]
enum Content {
    Bytes(Bytes),
    Blanks { left: u64, owner: FileSpans },
}

impl From<Bytes> for Piece {
    fn from(bytes: Bytes) -> Self {
        Self(Content::Bytes(bytes))
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        match &self.0 {
            Content::Bytes(bytes) => bytes.len(),
            Content::Blanks { left, .. } => usize::try_from(*left).unwrap_or(usize::MAX),
        }
    }

    fn chunk(&self) -> &[u8] {
        match &self.0 {
            Content::Bytes(bytes) => bytes,
            Content::Blanks { .. } => &BLANKS[..self.remaining().min(BLANKS.len())],
        }
    }

    fn advance(&mut self, count: usize) {
        match &mut self.0 {
            Content::Bytes(bytes) => bytes.advance(count),
            Content::Blanks { left, owner } => {
                *left = left.saturating_sub(count as u64);
                owner.ticked_off(count as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(len: u64) -> Span {
        Span {
            source: Source::memory(vec![1; 100]),
            offset: 5,
            len,
        }
    }

    #[test]
    fn a_piece_shows_blanks_as_long_as_its_span() {
        let owner = FileSpans::default();
        let mut piece = owner.piece(span(80));
        assert_eq!(piece.remaining(), 80);
        assert!(is_blank(piece.chunk()) && piece.chunk().len() == 80);
        owner.sent(30);
        piece.advance(30);
        let next = owner.next().unwrap();
        assert_eq!((piece.remaining(), next.offset, next.len), (50, 35, 50));
        owner.sent(50);
        piece.advance(50);
        assert!(owner.check().is_ok());
        assert!(owner.next().is_err(), "nothing is left to send");
    }

    #[test]
    fn ordinary_bytes_are_not_blank() {
        let mut piece = Piece::from(Bytes::from_static(&[0; 64]));
        assert!(!is_blank(piece.chunk()) && !is_blank(&[]));
        piece.advance(60);
        assert_eq!(piece.chunk(), [0; 4]);
    }

    #[test]
    fn blanks_that_were_copied_break_the_lane() {
        let owner = FileSpans::default();
        let mut piece = owner.piece(span(80));
        let mut copied = [1; 80];
        piece.copy_to_slice(&mut copied);
        assert!(owner.check().is_err() && owner.next().is_err());
    }
}
