//! The body of a request: read within limits, or known to be left unread.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use muster_api::{contract::Operation, error::Failure};

use crate::app::Shared;

/// How long a body may take to arrive. Uploads, which are not read here, have a limit of their
/// own.
const BODY_LIMIT: Duration = Duration::from_secs(60);

/// Whether the client is still sending a body nobody will read. The connection cannot be used
/// again then, and the client is told, or its next request would die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyState {
    /// All of it is here, or there was none.
    Read,
    /// Something may still come.
    Unread,
}

impl BodyState {
    /// Before anything is read.
    pub fn of(request: &Request<Incoming>, operation: &Operation) -> Self {
        let empty = http_body::Body::is_end_stream(request.body());
        if empty && operation.upload.is_none() {
            Self::Read
        } else {
            Self::Unread
        }
    }

    /// Whether the connection cannot be used again.
    pub fn is_left_unread(self) -> bool {
        self == Self::Unread
    }
}

/// The body, if there is one, within the limits of size and time.
pub async fn read_body(
    app: &Shared,
    headers: &HeaderMap,
    incoming: Incoming,
) -> Result<Option<Bytes>, Failure> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_none()
        && !headers.contains_key(header::TRANSFER_ENCODING)
        && http_body::Body::is_end_stream(&incoming)
    {
        return Ok(None);
    }
    let limit = app.config.server.max_body_bytes;
    let too_large = || {
        Failure::infra(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the body is larger than the {limit} bytes this service accepts (server.max_body_bytes)"
            ),
        )
    };
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let limit_bytes = usize::try_from(limit).unwrap_or(usize::MAX);
    let collected = tokio::time::timeout(BODY_LIMIT, Limited::new(incoming, limit_bytes).collect())
        .await
        .map_err(|_| {
            Failure::infra(
                StatusCode::REQUEST_TIMEOUT,
                format!("the body did not arrive within {} s", BODY_LIMIT.as_secs()),
            )
        })?
        .map_err(|cause| {
            if cause.downcast_ref::<LengthLimitError>().is_some() {
                too_large()
            } else {
                Failure::infra(
                    StatusCode::BAD_REQUEST,
                    "the body ended before it was complete",
                )
            }
        })?;
    let bytes = collected.to_bytes();
    Ok((!bytes.is_empty()).then_some(bytes))
}

/// What the client says it sends.
pub fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(header::CONTENT_TYPE)
        .map(|value| value.to_str().unwrap_or("unreadable"))
}
