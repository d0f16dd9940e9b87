//! The bytes of a view as a body yields them, at constant memory.
//!
//! What comes from a file goes over the connection's spans where there is one. Otherwise (HTTP/2,
//! media that are no files) it is read a chunk at a time: at once if it is in memory, else on a
//! thread that may wait.

use std::{collections::VecDeque, io};

use bytes::Bytes;
use futures::{Stream, stream};
use muster_image::{Source, View, view::Range};

use super::{
    file_spans::{FileSpans, Piece, Span},
    warm,
};

/// Read at once where the bytes pass through us.
const CHUNK: u64 = 64 << 10;
/// Most bytes of a file in one piece; hyper counts them in a `usize`.
const MOST_IN_PIECE: u64 = 1 << 30;

static ZEROS: [u8; 4 << 10] = [0; 4 << 10];

/// All bytes of a view, in order.
pub fn pieces(
    view: View,
    spans: Option<FileSpans>,
) -> impl Stream<Item = io::Result<Piece>> + Send + Sync + 'static {
    let rest = Rest {
        ranges: view.ranges().cloned().collect(),
        spans,
    };
    stream::try_unfold(rest, |mut rest| async move {
        let piece = rest.next().await?;
        Ok(piece.map(|piece| (piece, rest)))
    })
}

/// What has not been yielded yet.
struct Rest {
    ranges: VecDeque<Range>,
    spans: Option<FileSpans>,
}

impl Rest {
    async fn next(&mut self) -> io::Result<Option<Piece>> {
        let Some(range) = self.ranges.pop_front() else {
            return Ok(None);
        };
        let file = matches!(&range, Range::Source { source, .. } if source.as_file().is_some());
        let spans = self.spans.as_ref().filter(|_| file);
        let most = match (&range, spans) {
            (Range::Bytes(bytes), _) => bytes.len() as u64,
            (Range::Zeros(_), _) => ZEROS.len() as u64,
            (Range::Source { .. }, Some(_)) => MOST_IN_PIECE,
            (Range::Source { .. }, None) => CHUNK,
        };
        let len = range.len().min(most);
        if len < range.len() {
            self.ranges.push_front(range.part(len, range.len() - len));
        }
        Ok(Some(match (range, spans) {
            (Range::Bytes(bytes), _) => bytes.into(),
            (Range::Zeros(_), _) => Bytes::from_static(&ZEROS[..len as usize]).into(),
            (Range::Source { source, offset, .. }, Some(spans)) => spans.piece(Span {
                source,
                offset,
                len,
            }),
            (Range::Source { source, offset, .. }, None) => {
                read(source, offset, len as usize).await?.into()
            }
        }))
    }
}

async fn read(source: Source, offset: u64, len: usize) -> io::Result<Bytes> {
    let mut buffer = vec![0; len];
    if let Some(file) = source.as_file()
        && warm::read(file, &mut buffer, offset)? == Some(len)
    {
        return Ok(buffer.into());
    }
    let reading = tokio::task::spawn_blocking(move || {
        let part = View::of(source).read_exact("an OS image", offset, len as u64);
        part.map(Bytes::from)
    });
    match reading.await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => {
            tracing::error!(%error, "an OS image cannot be read; a download was aborted");
            Err(io::Error::other(error))
        }
        Err(stopped) => Err(io::Error::other(stopped)),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Buf;
    use futures::TryStreamExt;

    use super::*;
    use crate::http::file_spans::is_blank;

    fn pattern(len: u64) -> Vec<u8> {
        (0..len).map(|n| (n / 7) as u8).collect()
    }

    async fn all(view: View) -> Vec<u8> {
        let parts: Vec<Piece> = pieces(view, None).try_collect().await.unwrap();
        let copied = |mut part: Piece| part.copy_to_bytes(part.remaining());
        parts.into_iter().map(copied).collect::<Vec<_>>().concat()
    }

    #[tokio::test]
    async fn a_view_of_many_chunks_arrives_whole_and_in_order() {
        let plain = pattern(CHUNK * 3 + 17);
        let mut view = View::of(Source::memory(plain.clone()));
        view.push(Range::Zeros(9_000));
        view.push(Range::Bytes(Bytes::from_static(b"end")));
        let expected = [&plain[..], &[0; 9_000], b"end"].concat();
        assert_eq!(all(view).await, expected);
        assert!(all(View::default()).await.is_empty());
    }

    #[tokio::test]
    async fn files_go_over_the_lane_and_nothing_else_does() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pattern(5_000)).unwrap();
        let mut view = View::bytes(&b"head"[..]);
        let source = Source::file(file.reopen().unwrap()).unwrap();
        view.append(&View::of(source).slice(100, 3_000).unwrap());
        view.append(&View::of(Source::memory(&b"memory"[..])));
        assert_eq!(
            all(view.clone()).await[4..3_004],
            pattern(5_000)[100..3_100]
        );

        let spans = FileSpans::default();
        let parts: Vec<Piece> = pieces(view, Some(spans.clone()))
            .try_collect()
            .await
            .unwrap();
        let shown: Vec<_> = parts
            .iter()
            .map(|part| (part.remaining(), is_blank(part.chunk())))
            .collect();
        assert_eq!(shown, [(4, false), (3_000, true), (6, false)]);
        let span = spans.next().unwrap();
        assert_eq!((span.offset, span.len), (100, 3_000));
    }
}
