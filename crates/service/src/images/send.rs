//! The response to a request for a view: all of it, parts of it, or an error.
//!
//! An answer with several parts is a view, too: its headers are bytes between slices. How the
//! bytes get onto the connection is in `http::file_spans`.

use http::{HeaderMap, Method, StatusCode, header};
use muster_app::images::compose::image_error;
use muster_boot_images::compose::Download;
use muster_image::{View, view::Range};

use super::ranges::{Wanted, wanted};
use crate::http::{Failure, Reply};

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
    let whole = |status, view| Reply::view(status, plain, view);
    let part = |start, count| view.slice(start, count).map_err(image_error);
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
                Reply::view(StatusCode::PARTIAL_CONTENT, &kind, body)
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
        body.append(&view.slice(*start, *count).map_err(image_error)?);
    }
    body.push(Range::Bytes(format!("\r\n--{boundary}--\r\n").into()));
    Ok(body)
}

#[cfg(test)]
mod tests {
    use muster_image::Source;

    use super::*;

    #[test]
    fn several_parts_are_one_body_with_headers_between() {
        let view = View::of(Source::memory(&b"abcdefghij"[..]));
        let body = multipart(&view, &[(0, 2), (7, 3)], "B", "x/y").unwrap();
        let body = body.read_exact("all parts", 0, body.len()).unwrap();
        assert_eq!(
            String::from_utf8(body).unwrap(),
            "\r\n--B\r\nContent-Type: x/y\r\nContent-Range: bytes 0-1/10\r\n\r\nab\
             \r\n--B\r\nContent-Type: x/y\r\nContent-Range: bytes 7-9/10\r\n\r\nhij\
             \r\n--B--\r\n"
        );
    }
}
