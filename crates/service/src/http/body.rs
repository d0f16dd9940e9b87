//! The body of a request: read within limits, or skipped.

use std::{net::IpAddr, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use muster_api::contract::Operation;
use muster_app::refusals::Refusal;
use muster_model::json_size;

use super::intake::{Held, MOST_VALUES};
use crate::{http::Failure, service::Shared};

/// How long a body may take to arrive. Uploads, which are not read here, have a limit of their
/// own.
const BODY_LIMIT: Duration = Duration::from_secs(60);

/// Whether the client is still sending a body that will not be read. The connection cannot be used
/// again then, and the client learns of it, or its next request would die.
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

/// The largest bodies of operations that take more than [`USUAL_LIMIT`].
const LIMITS: &[(&str, u64)] = &[
    // Reports of hosts with a thousand neighbours.
    ("v2PostStepReply", 8 << 20),
    // Network descriptions of a thousand hosts.
    ("RegisterInfraEnv", 8 << 20),
    ("UpdateInfraEnv", 8 << 20),
    // CA bundles, Ignition and overrides with files in them.
    ("v2RegisterCluster", 4 << 20),
    ("V2UpdateCluster", 4 << 20),
    ("v2UpdateClusterInstallConfig", 4 << 20),
    ("v2UpdateHostIgnition", 4 << 20),
    ("v2UpdateHost", 4 << 20),
    // A mebibyte of content in Base64.
    ("V2CreateClusterManifest", 2 << 20),
    ("V2UpdateClusterManifest", 2 << 20),
];
const USUAL_LIMIT: u64 = 1 << 20;

/// The largest body that an operation takes.
fn limit_of(operation: &Operation) -> u64 {
    LIMITS
        .iter()
        .find(|(id, _)| *id == operation.id)
        .map_or(USUAL_LIMIT, |(_, limit)| *limit)
}

/// The body, if there is one, within the limits of size, time and memory.
pub async fn read_body(
    app: &Shared,
    operation: &Operation,
    peer: IpAddr,
    headers: &HeaderMap,
    incoming: Incoming,
) -> Result<Option<(Bytes, Held)>, Failure> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_none()
        && !headers.contains_key(header::TRANSFER_ENCODING)
        && http_body::Body::is_end_stream(&incoming)
    {
        return Ok(None);
    }
    let of_all = app.config.server.max_body_bytes;
    let limit = of_all.min(limit_of(operation));
    let too_large = || {
        app.metrics.refused(Refusal::BodyTooLarge);
        let setting = match limit == of_all {
            true => " (server.max_body_bytes)",
            false => "",
        };
        let message =
            format!("the body is larger than the {limit} bytes this call accepts{setting}");
        Failure::infra(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let expected = announced.unwrap_or(limit);
    let mut held = app.intake.bytes(&app.metrics, peer, expected).await?;
    let reading = collect(incoming, announced.unwrap_or(0), limit);
    let bytes = tokio::time::timeout(BODY_LIMIT, reading)
        .await
        .map_err(|_| {
            let message = format!("the body did not arrive within {} s", BODY_LIMIT.as_secs());
            Failure::infra(StatusCode::REQUEST_TIMEOUT, message)
        })?
        .map_err(|cause| match cause {
            Unread::TooLarge => too_large(),
            Unread::Cut => Failure::infra(
                StatusCode::BAD_REQUEST,
                "the body ended before it was complete",
            ),
        })?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let size = json_size(&bytes);
    if size.values > MOST_VALUES {
        app.metrics.refused(Refusal::TooManyValues);
        let message = format!(
            "the body has {} values, at most {MOST_VALUES} are accepted; split the request",
            size.values
        );
        return Err(Failure::infra(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    held.add(app.intake.parsed(&app.metrics, peer, size).await?);
    Ok(Some((bytes, held)))
}

enum Unread {
    TooLarge,
    Cut,
}

/// All bytes in one piece, which is grown as they come.
async fn collect(mut incoming: Incoming, announced: u64, limit: u64) -> Result<Bytes, Unread> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    let mut bytes = BytesMut::with_capacity(announced.min(limit));
    while let Some(frame) = incoming.frame().await {
        if let Ok(piece) = frame.map_err(|_| Unread::Cut)?.into_data() {
            if bytes.len() + piece.len() > limit {
                return Err(Unread::TooLarge);
            }
            bytes.extend_from_slice(&piece);
        }
    }
    Ok(bytes.freeze())
}

/// What the client says it sends.
pub fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(header::CONTENT_TYPE)
        .map(|value| value.to_str().unwrap_or("unreadable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_of_an_operation_that_takes_a_body() {
        let operations = muster_api::contract::contract().operations();
        for (id, limit) in LIMITS {
            let operation = operations.iter().find(|operation| operation.id == *id);
            let operation = operation.unwrap_or_else(|| panic!("{id} is no operation"));
            assert!(operation.body.is_some() && limit_of(operation) == *limit);
        }
    }
}
