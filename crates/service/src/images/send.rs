//! Sending a view, or parts of it, at constant memory.
//!
//! Reads happen on threads that may block, a chunk at a time and one ahead of what the network
//! takes; a client that is slow or gone costs two chunks. An answer with several parts is a view,
//! too: its headers are bytes between slices.

use std::{io, sync::Arc};

use futures::{StreamExt, stream};
use http::{HeaderMap, Method, StatusCode, header};
use muster_api::error::Failure;
use muster_image::{View, view::Range};

use super::{
    make::image_failure,
    ranges::{Wanted, wanted},
};
use crate::http::{Chunks, Reply};

const CHUNK: u64 = 256 * 1024;
/// Chunks read and not yet taken.
const AHEAD: usize = 2;

/// Something to be downloaded.
#[derive(Clone, Debug)]
pub struct Download {
    /// Its bytes.
    pub view: View,
    /// What names its content.
    pub tag: String,
    /// When it last changed, as an HTTP date.
    pub modified: String,
    /// The name to save it under.
    pub name: String,
}

/// Answers a request for it.
pub fn answer(download: Download, method: &Method, headers: &HeaderMap) -> Result<Reply, Failure> {
    let Download {
        view,
        tag,
        modified,
        name,
    } = download;
    let tag = format!("\"{tag}\"");
    let len = view.len();
    let plain = "application/octet-stream";
    let whole =
        |status, view: View| Reply::download(status, plain, chunks(view.clone()), view.len());
    let part = |start, count| view.slice(start, count).map_err(image_failure);
    let reply = match wanted(headers, &tag, &modified, len, method == Method::GET) {
        Wanted::Whole => whole(StatusCode::OK, view),
        Wanted::NotModified => Reply::empty(StatusCode::NOT_MODIFIED),
        Wanted::PreconditionFailed => Reply::empty(StatusCode::PRECONDITION_FAILED),
        Wanted::Unsatisfiable => Reply::empty(StatusCode::RANGE_NOT_SATISFIABLE)
            .header(header::CONTENT_RANGE, format!("bytes */{len}")),
        Wanted::Parts(parts) => match parts[..] {
            [(start, count)] => whole(StatusCode::PARTIAL_CONTENT, part(start, count)?)
                .header(header::CONTENT_RANGE, content_range(start, count, len)),
            _ => {
                let boundary = format!("part-{}", &tag[1..17.min(tag.len() - 1)]);
                let body = multipart(&view, &parts, &boundary, plain)?;
                let kind = format!("multipart/byteranges; boundary={boundary}");
                let size = body.len();
                Reply::download(StatusCode::PARTIAL_CONTENT, &kind, chunks(body), size)
            }
        },
    };
    Ok(reply
        .header(header::ETAG, tag)
        .header(header::LAST_MODIFIED, modified)
        .header(header::ACCEPT_RANGES, "bytes")
        .header(
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ))
}

fn content_range(start: u64, count: u64, len: u64) -> String {
    format!("bytes {start}-{}/{len}", start + count - 1)
}

fn multipart(
    view: &View,
    parts: &[(u64, u64)],
    boundary: &str,
    kind: &str,
) -> Result<View, Failure> {
    let mut body = View::default();
    for (start, count) in parts {
        let range = content_range(*start, *count, view.len());
        let head =
            format!("\r\n--{boundary}\r\nContent-Type: {kind}\r\nContent-Range: {range}\r\n\r\n");
        body.push(Range::Bytes(head.into()));
        body.append(&view.slice(*start, *count).map_err(image_failure)?);
    }
    body.push(Range::Bytes(format!("\r\n--{boundary}--\r\n").into()));
    Ok(body)
}

/// The bytes of a view, read as they are taken.
fn chunks(view: View) -> Chunks {
    let len = view.len();
    let view = Arc::new(view);
    let read = move |index: u64| {
        let view = Arc::clone(&view);
        async move {
            let start = index * CHUNK;
            let count = CHUNK.min(len - start);
            let reading =
                tokio::task::spawn_blocking(move || view.read_exact("an image", start, count));
            match reading.await {
                Ok(Ok(bytes)) => Ok(bytes.into()),
                Ok(Err(error)) => {
                    tracing::error!(%error, "an OS image cannot be read; a download was cut");
                    Err(io::Error::other(error))
                }
                Err(stopped) => Err(io::Error::other(stopped)),
            }
        }
    };
    Box::pin(
        stream::iter(0..len.div_ceil(CHUNK))
            .map(read)
            .buffered(AHEAD),
    )
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;
    use muster_image::Source;

    use super::*;

    async fn all(view: View) -> Vec<u8> {
        let parts: Vec<bytes::Bytes> = chunks(view).try_collect().await.unwrap();
        parts.concat()
    }

    #[tokio::test]
    async fn a_view_of_many_chunks_arrives_whole_and_in_order() {
        let plain: Vec<u8> = (0..CHUNK * 3 + 17).map(|n| (n / 7) as u8).collect();
        assert_eq!(all(View::of(Source::memory(plain.clone()))).await, plain);
        assert!(all(View::default()).await.is_empty());
    }

    #[tokio::test]
    async fn several_parts_are_one_body_with_headers_between() {
        let view = View::of(Source::memory(&b"abcdefghij"[..]));
        let body = all(multipart(&view, &[(0, 2), (7, 3)], "B", "x/y").unwrap()).await;
        assert_eq!(
            String::from_utf8(body).unwrap(),
            "\r\n--B\r\nContent-Type: x/y\r\nContent-Range: bytes 0-1/10\r\n\r\nab\
             \r\n--B\r\nContent-Type: x/y\r\nContent-Range: bytes 7-9/10\r\n\r\nhij\
             \r\n--B--\r\n"
        );
    }
}
