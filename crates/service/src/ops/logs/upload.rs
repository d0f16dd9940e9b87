//! Logs that hosts and the controller inside a cluster send, stored as they arrive.

use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{HeaderMap, StatusCode, header};
use http_body::Body;
use http_body_util::BodyDataStream;
use muster_api::error::Failure;
use muster_store::{BlobError, BlobPath};

use crate::app::{App, blob_failure};

/// The part of the form that holds the file.
const PART: &str = "upfile";
/// Room for the other parts of a form: their headers and small values.
const FORM_BYTES: u64 = 64 << 10;
/// Longest pause between two pieces of an upload.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Nothing came for too long.
#[derive(Debug, thiserror::Error)]
#[error("nothing of the upload arrived for {} s", .0.as_secs())]
struct Silent(Duration);

/// Why reading an upload stopped; travels through the store and back.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("the upload is larger than {0} bytes")]
    TooLarge(u64),
    #[error("the upload is broken: {0}")]
    Broken(#[from] multer::Error),
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        let too_large = |limit: u64| {
            Self::infra(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the upload is larger than the {limit} bytes this service accepts \
                     (server.max_upload_bytes)"
                ),
            )
        };
        match stopped {
            Stopped::TooLarge(limit) => too_large(limit),
            Stopped::Broken(multer::Error::StreamSizeExceeded { limit }) => too_large(limit),
            Stopped::Broken(multer::Error::StreamReadFailed(cause)) if cause.is::<Silent>() => {
                Self::infra(StatusCode::REQUEST_TIMEOUT, cause.to_string())
            }
            Stopped::Broken(cause) => Self::bad_request(format!("the upload is broken: {cause}")),
        }
    }
}

/// Stores the file of a form under `path`: all of it or nothing, in bounded memory.
pub async fn store<B>(
    app: &App,
    headers: &HeaderMap,
    body: B,
    path: &BlobPath,
) -> Result<u64, Failure>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let limit = app.config.server.max_upload_bytes;
    let mut form = form(headers, body, limit)?;
    loop {
        let part = form
            .next_field()
            .await
            .map_err(|cause| Failure::from(Stopped::from(cause)))?;
        let Some(part) = part else {
            return Err(Failure::bad_request(format!(
                "the form has no part {PART:?}; send the file in one of that name"
            )));
        };
        if part.name() == Some(PART) {
            return app
                .blobs
                .put_stream(path, limited(part, limit))
                .await
                .map_err(failure);
        }
        // Dropping a part skips it.
    }
}

fn form<B>(headers: &HeaderMap, body: B, limit: u64) -> Result<multer::Multipart<'static>, Failure>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let whole = limit.saturating_add(FORM_BYTES);
    let number = |value: &http::HeaderValue| value.to_str().ok()?.parse::<u64>().ok();
    if headers
        .get(header::CONTENT_LENGTH)
        .and_then(number)
        .is_some_and(|length| length > whole)
    {
        return Err(Stopped::TooLarge(limit).into());
    }
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let boundary = multer::parse_boundary(content_type.unwrap_or_default()).map_err(|cause| {
        Failure::infra(
            StatusCode::BAD_REQUEST,
            format!("the upload must be multipart/form-data with a boundary: {cause}"),
        )
    })?;
    let limits = multer::SizeLimit::new().whole_stream(whole);
    let constraints = multer::Constraints::new().size_limit(limits);
    Ok(multer::Multipart::with_constraints(
        impatient(BodyDataStream::new(body), LONGEST_PAUSE),
        boundary,
        constraints,
    ))
}

/// The pieces, and an error in place of a long pause.
fn impatient<S, E>(
    pieces: S,
    pause: Duration,
) -> impl Stream<Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    tokio_stream::StreamExt::timeout(pieces, pause).map(move |piece| match piece {
        Ok(piece) => piece.map_err(Into::into),
        Err(_) => Err(Silent(pause).into()),
    })
}

fn limited<S>(pieces: S, limit: u64) -> impl Stream<Item = Result<Bytes, Stopped>> + Send
where
    S: Stream<Item = Result<Bytes, multer::Error>> + Send,
{
    pieces.scan(0u64, move |seen, piece| {
        let piece = piece.map_err(Stopped::from).and_then(|piece| {
            *seen += piece.len() as u64;
            if *seen > limit {
                Err(Stopped::TooLarge(limit))
            } else {
                Ok(piece)
            }
        });
        futures::future::ready(Some(piece))
    })
}

/// What the client did wrong is told to the client, the rest is the store's fault.
fn failure(error: BlobError) -> Failure {
    match error {
        BlobError::Source { path, source } => match source.downcast::<Stopped>() {
            Ok(stopped) => (*stopped).into(),
            Err(source) => blob_failure(BlobError::Source { path, source }),
        },
        other => blob_failure(other),
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http::HeaderValue;
    use http_body_util::Full;

    use super::*;

    fn headers(content_type: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))])
    }

    const FORM: &str = "multipart/form-data; boundary=xyz";

    fn body(text: &str) -> Full<Bytes> {
        Full::new(Bytes::from(text.replace('\n', "\r\n")))
    }

    #[tokio::test]
    async fn the_file_is_found_among_other_parts() {
        let text = "--xyz\nContent-Disposition: form-data; name=\"other\"\n\nskip\n--xyz\n\
                    Content-Disposition: form-data; name=\"upfile\"; filename=\"l\"\n\nlogs\n--xyz--\n";
        let mut form = form(&headers(FORM), body(text), 1000).unwrap();
        let other = form.next_field().await.unwrap().unwrap();
        assert_eq!(other.name(), Some("other"));
        drop(other);
        let file = form.next_field().await.unwrap().unwrap();
        assert_eq!(file.name(), Some(PART));
        let pieces: Vec<_> = limited(file, 4).map(Result::unwrap).collect().await;
        assert_eq!(pieces.concat(), b"logs");
    }

    #[tokio::test]
    async fn a_file_beyond_the_limit_stops_the_upload() {
        let pieces = [
            Ok(Bytes::from_static(b"abc")),
            Ok(Bytes::from_static(b"de")),
        ];
        let last = limited(stream::iter(pieces), 4)
            .collect::<Vec<_>>()
            .await
            .pop()
            .unwrap();
        let failure = Failure::from(last.unwrap_err());
        assert_eq!(failure.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn an_upload_that_falls_silent_is_given_up() {
        let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"lo"))]);
        let body = first.chain(stream::pending());
        let mut pieces = Box::pin(impatient(body, Duration::from_millis(20)));
        assert_eq!(pieces.next().await.unwrap().unwrap(), "lo");
        let silence = pieces.next().await.unwrap().unwrap_err();
        let stopped = Stopped::from(multer::Error::StreamReadFailed(silence));
        assert_eq!(Failure::from(stopped).status, StatusCode::REQUEST_TIMEOUT);
    }

    #[test]
    fn an_announced_length_beyond_the_limit_is_not_even_read() {
        let mut headers = headers(FORM);
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("99999999"));
        let refused = form(&headers, body(""), 1000).err().unwrap();
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn broken_forms_are_bad_requests() {
        for content_type in ["", "text/plain", "multipart/form-data"] {
            let refused = form(&headers(content_type), body(""), 1000).err().unwrap();
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{content_type:?}");
        }
        let mut cut = form(&headers(FORM), body("--xyz\nContent-"), 1000).unwrap();
        let stopped = Stopped::from(cut.next_field().await.err().unwrap());
        assert_eq!(Failure::from(stopped).status, StatusCode::BAD_REQUEST);
    }
}
