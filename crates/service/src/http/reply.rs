//! The response of a handler, before compression and the common headers.

use std::{
    io::Write,
    pin::Pin,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use futures::{Stream, TryStreamExt};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use muster_image::View;
use muster_model::Timestamp;
use serde::Serialize;

use super::{
    file_spans::{FileSpans, Piece},
    pieces::pieces,
};
use crate::{http::Failure, redact};

/// The body type of every response of the server.
pub type Body = BoxBody<Piece, std::io::Error>;

/// A chunked source of file content, for what should not sit in memory as a whole.
pub type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, std::io::Error>> + Send + Sync>>;

/// Below this, compression costs more than it saves.
const MIN_GZIP_BYTES: usize = 1400;

fn gzip(plain: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(
        Vec::with_capacity(plain.len() / 4),
        flate2::Compression::fast(),
    );
    // Writing to a Vec cannot fail.
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default().into()
}

/// A finished answer.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    content: Content,
    gzip: Option<Arc<OnceLock<Bytes>>>,
}

enum Content {
    Empty,
    Bytes(Bytes),
    Chunks(Chunks, Option<u64>),
    View(View),
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Chunks(_, size) => write!(f, "Chunks({size:?})"),
            Self::View(view) => write!(f, "View({})", view.len()),
        }
    }
}

impl Reply {
    const fn new(status: StatusCode, content: Content) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content,
            gzip: None,
        }
    }

    /// No body and no content type.
    #[must_use]
    pub const fn empty(status: StatusCode) -> Self {
        Self::new(status, Content::Empty)
    }

    /// JSON that ends in a newline, as every handler-made body of the API does.
    pub fn json(status: StatusCode, value: &impl Serialize) -> Result<Self, Failure> {
        let mut bytes = serde_json::to_vec(value).map_err(|cause| {
            Failure::api(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("the answer could not be written as JSON: {cause}"),
            )
        })?;
        bytes.push(b'\n');
        Ok(Self::json_bytes(status, bytes.into()))
    }

    /// JSON text made earlier.
    #[must_use]
    pub fn json_bytes(status: StatusCode, bytes: Bytes) -> Self {
        Self::new(status, Content::Bytes(bytes)).header(header::CONTENT_TYPE, "application/json")
    }

    /// A redirect to the address that this answer names as `url`; any other answer stays.
    #[must_use]
    pub fn leading_on(self) -> Self {
        #[derive(serde::Deserialize)]
        struct Address {
            url: String,
        }
        let Content::Bytes(body) = &self.content else {
            return self;
        };
        let address = serde_json::from_slice::<Address>(body).ok();
        match address.filter(|_| self.status == StatusCode::OK) {
            Some(Address { url }) => {
                Self::empty(StatusCode::TEMPORARY_REDIRECT).header(header::LOCATION, &url)
            }
            None => self,
        }
    }

    /// A page or a plain text.
    #[must_use]
    pub fn text(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(StatusCode::OK, Content::Bytes(body.into()))
            .header(header::CONTENT_TYPE, content_type)
    }

    /// A download held in memory.
    #[must_use]
    pub fn file(name: &str, bytes: impl Into<Bytes>) -> Self {
        Self::new(StatusCode::OK, Content::Bytes(bytes.into())).named(name)
    }

    /// A download that streams; `size` becomes `Content-Length`.
    #[must_use]
    pub fn stream(name: &str, chunks: Chunks, size: Option<u64>) -> Self {
        Self::new(StatusCode::OK, Content::Chunks(chunks, size)).named(name)
    }

    /// The bytes of a view, sent without holding them.
    #[must_use]
    pub fn view(status: StatusCode, kind: &str, view: View) -> Self {
        Self::new(status, Content::View(view)).header(header::CONTENT_TYPE, kind)
    }

    /// Whatever streams, without a file name, type or end that is known.
    #[must_use]
    pub fn chunks(chunks: Chunks) -> Self {
        Self::new(StatusCode::OK, Content::Chunks(chunks, None))
    }

    /// Raw bytes without a file name.
    #[must_use]
    pub fn octets(bytes: impl Into<Bytes>) -> Self {
        Self::new(StatusCode::OK, Content::Bytes(bytes.into()))
            .header(header::CONTENT_TYPE, "application/octet-stream")
    }

    /// The error in its own shape.
    #[must_use]
    pub fn failure(failure: &Failure) -> Self {
        let reply = Self::json_bytes(failure.status, failure.to_json_bytes().into());
        match failure.retry_after {
            Some(seconds) => reply.header(header::RETRY_AFTER, seconds.to_string()),
            None => reply,
        }
    }

    /// Adds a header; values that cannot be a header are left out rather than breaking the answer.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: impl AsRef<str>) -> Self {
        if let Ok(value) = HeaderValue::from_str(value.as_ref()) {
            self.headers.push((name, value));
        }
        self
    }

    /// Says when the content last changed.
    #[must_use]
    pub fn last_modified(self, at: Timestamp) -> Self {
        self.header(header::LAST_MODIFIED, at.http_date())
    }

    /// Bytes of content, as far as known before it is sent.
    #[must_use]
    pub fn size_hint(&self) -> u64 {
        match &self.content {
            Content::Empty => 0,
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Chunks(_, size) => size.unwrap_or(0),
            Content::View(view) => view.len(),
        }
    }

    /// Its status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    fn named(self, name: &str) -> Self {
        let quoted: String = name
            .chars()
            .map(|c| {
                if c == '"' || c == '\\' || c.is_control() {
                    '_'
                } else {
                    c
                }
            })
            .collect();
        self.header(header::CONTENT_TYPE, "application/octet-stream")
            .header(
                header::CONTENT_DISPOSITION,
                format!("attachment; filename=\"{quoted}\""),
            )
    }

    /// Remembers the compressed form beside a cached body, so it is made once.
    #[must_use]
    pub fn gzip_slot(mut self, slot: Arc<OnceLock<Bytes>>) -> Self {
        self.gzip = Some(slot);
        self
    }

    /// The same answer without secrets, for callers that may only look. Streams pass: their
    /// handlers leave secrets out themselves.
    pub(crate) fn redacted(mut self) -> Self {
        if let Content::Bytes(bytes) = &self.content
            && let Some(hidden) = redact::body(bytes)
        {
            self.content = Content::Bytes(hidden.into());
            self.gzip = None;
        }
        self
    }

    /// The same answer compressed, if that is worth it.
    pub(crate) fn compressed(mut self) -> Self {
        let Content::Bytes(plain) = &self.content else {
            return self;
        };
        if plain.len() < MIN_GZIP_BYTES
            || self
                .headers
                .iter()
                .any(|(name, _)| name == header::CONTENT_ENCODING)
        {
            return self;
        }
        let packed = match &self.gzip {
            Some(slot) => slot.get_or_init(|| gzip(plain)).clone(),
            None => gzip(plain),
        };
        self.content = Content::Bytes(packed);
        self.header(header::CONTENT_ENCODING, "gzip")
    }

    /// As hyper wants it; files go over the spans if the connection has one.
    pub(crate) fn into_response(self, spans: Option<FileSpans>) -> Response<Body> {
        let (body, length) = match self.content {
            Content::Empty => (empty(), None),
            Content::Bytes(bytes) => {
                let length = bytes.len() as u64;
                let body = Full::new(Piece::from(bytes)).map_err(never);
                (body.boxed(), Some(length))
            }
            Content::Chunks(chunks, size) => (framed(chunks.map_ok(Piece::from)), size),
            Content::View(view) => {
                let length = view.len();
                (framed(pieces(view, spans)), Some(length))
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        for (name, value) in self.headers {
            response.headers_mut().append(name, value);
        }
        if let Some(length) = length {
            response
                .headers_mut()
                .insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        response
    }
}

fn framed(pieces: impl Stream<Item = std::io::Result<Piece>> + Send + Sync + 'static) -> Body {
    BodyExt::boxed(StreamBody::new(pieces.map_ok(Frame::data)))
}

/// A body of nothing.
pub fn empty() -> Body {
    Full::new(Piece::from(Bytes::new())).map_err(never).boxed()
}

fn never(impossible: std::convert::Infallible) -> std::io::Error {
    match impossible {}
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_good_answer_with_an_address_leads_there_and_every_other_stays() {
        let named = |status| Reply::json(status, &json!({"url": "http://a/image"})).unwrap();
        let led = named(StatusCode::OK).leading_on().into_response(None);
        assert_eq!(led.status(), StatusCode::TEMPORARY_REDIRECT);
        assert_eq!(led.headers()[header::LOCATION], "http://a/image");
        for other in [
            named(StatusCode::NOT_FOUND),
            Reply::json(StatusCode::OK, &json!({"href": "x"})).unwrap(),
            Reply::empty(StatusCode::OK),
        ] {
            let status = other.status();
            let reply = other.leading_on().into_response(None);
            assert_eq!(reply.status(), status);
            assert!(!reply.headers().contains_key(header::LOCATION));
        }
    }
}
