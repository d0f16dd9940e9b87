//! Logs that hosts and the controller inside a cluster send, stored as they arrive.

use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{HeaderMap, StatusCode, header};
use http_body::Body;
use http_body_util::BodyDataStream;
use muster_app::{
    App, files,
    quotas::{Arriving, NoRoom},
    refusals::Refusal,
};
use muster_model::ClusterId;
use muster_store::{BlobError, BlobPath};
use tokio::time::{Instant, timeout_at};

use super::form::{Form, FormError, OTHER_BYTES};
use crate::http::Failure;

/// The part of the form that holds the file.
const PART: &str = "upfile";
/// In each window at least this many bytes of an upload must arrive.
const WINDOW: Duration = Duration::from_secs(60);
const WINDOW_BYTES: usize = 64 << 10;

/// Too little came for too long.
#[derive(Debug, thiserror::Error)]
#[error("fewer than {WINDOW_BYTES} bytes of the upload arrived within {} s", .0.as_secs())]
struct TooSlow(Duration);

/// Why reading an upload stopped; travels through the store and back.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("the upload is larger than {0} bytes")]
    TooLarge(u64),
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    #[error("the upload is broken: {0}")]
    Broken(#[from] FormError),
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::TooLarge(limit) => Self::infra(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the upload is larger than the {limit} bytes this service accepts \
                     (server.max_upload_bytes)"
                ),
            ),
            Stopped::NoRoom(room) => {
                Self::infra(StatusCode::INSUFFICIENT_STORAGE, room.to_string())
            }
            Stopped::Broken(FormError::Source(cause)) if cause.is::<TooSlow>() => {
                Self::infra(StatusCode::REQUEST_TIMEOUT, cause.to_string())
            }
            Stopped::Broken(cause @ FormError::NoBoundary) => {
                Self::infra(StatusCode::BAD_REQUEST, cause.to_string())
            }
            Stopped::Broken(cause) => Self::bad_request(format!("the upload is broken: {cause}")),
        }
    }
}

impl Stopped {
    /// The limit that was hit, if it was one.
    fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::TooLarge(_) => Some(Refusal::UploadTooLarge),
            // Counted where the room is looked at.
            Self::NoRoom(_) => None,
            Self::Broken(FormError::TooMuchElse) => Some(Refusal::FormTooLarge),
            Self::Broken(FormError::Source(cause)) if cause.is::<TooSlow>() => {
                Some(Refusal::UploadTooSlow)
            }
            Self::Broken(
                FormError::NoBoundary
                | FormError::Cut
                | FormError::BadBoundary
                | FormError::Source(_),
            ) => None,
        }
    }

    /// The failure, counted if a limit was hit.
    fn counted(self, app: &App) -> Failure {
        if let Some(refusal) = self.refusal() {
            app.metrics.refused(refusal);
        }
        self.into()
    }
}

/// Stores the file of a form under `path`: all of it or nothing, in bounded memory.
pub async fn store<B>(
    app: &App,
    cluster: ClusterId,
    headers: &HeaderMap,
    body: B,
    path: &BlobPath,
) -> Result<u64, Failure>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let limit = app.config.server.max_upload_bytes;
    let mut form = form(headers, body, limit).map_err(|stopped| stopped.counted(app))?;
    let folder = files::logs(cluster)?;
    let mut arriving = Arriving::begin(app, cluster, &folder, path).await?;
    arriving
        .check_disk(announced(headers).unwrap_or(0))
        .map_err(|room| room.refuse(app))?;
    let found = form.find(PART).await;
    if !found.map_err(|cause| Stopped::from(cause).counted(app))? {
        return Err(Failure::bad_request(format!(
            "the form has no part {PART:?}; send the file in one of that name"
        )));
    }
    app.blobs
        .put_stream(
            path,
            limited(form.content(), limit, |bytes| arriving.admit(bytes)),
        )
        .await
        .map_err(|error| failure(app, error))
}

fn form<B>(headers: &HeaderMap, body: B, limit: u64) -> Result<Form, Stopped>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let whole = limit.saturating_add(2 * OTHER_BYTES as u64);
    if announced(headers).is_some_and(|length| length > whole) {
        return Err(Stopped::TooLarge(limit));
    }
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let pieces = paced(BodyDataStream::new(body), WINDOW);
    Ok(Form::new(content_type.unwrap_or_default(), pieces)?)
}

/// The length of the body, if the client says it beforehand.
fn announced(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// The pieces, and an error once fewer than [`WINDOW_BYTES`] come within `window`.
fn paced<S, E>(
    pieces: S,
    window: Duration,
) -> impl Stream<Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let state = (Box::pin(pieces), Instant::now() + window, 0);
    stream::unfold(state, move |(mut pieces, mut end, mut seen)| async move {
        let piece: Result<Bytes, Box<dyn std::error::Error + Send + Sync>> =
            match timeout_at(end, pieces.next()).await {
                Ok(piece) => piece?.map_err(Into::into),
                Err(_) => Err(TooSlow(window).into()),
            };
        if let Ok(piece) = &piece {
            seen += piece.len();
            if seen >= WINDOW_BYTES {
                (end, seen) = (Instant::now() + window, 0);
            }
        }
        Some((piece, (pieces, end, seen)))
    })
}

/// The pieces, up to `limit` bytes and as long as there is room for them.
fn limited<S>(
    pieces: S,
    limit: u64,
    mut admit: impl FnMut(u64) -> Result<(), NoRoom> + Send,
) -> impl Stream<Item = Result<Bytes, Stopped>> + Send
where
    S: Stream<Item = Result<Bytes, FormError>> + Send,
{
    pieces.scan(0u64, move |seen, piece| {
        let piece = piece.map_err(Stopped::from).and_then(|piece| {
            *seen += piece.len() as u64;
            if *seen > limit {
                return Err(Stopped::TooLarge(limit));
            }
            admit(piece.len() as u64)?;
            Ok(piece)
        });
        futures::future::ready(Some(piece))
    })
}

/// What the client did wrong is reported to the client, the rest is the store's fault.
fn failure(app: &App, error: BlobError) -> Failure {
    match error {
        BlobError::Source { path, source } => match source.downcast::<Stopped>() {
            Ok(stopped) => match *stopped {
                Stopped::NoRoom(room) => room.refuse(app).into(),
                other @ (Stopped::TooLarge(_) | Stopped::Broken(_)) => other.counted(app),
            },
            Err(source) => BlobError::Source { path, source }.into(),
        },
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
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
    async fn a_file_beyond_the_limit_stops_the_upload() {
        let pieces = [
            Ok(Bytes::from_static(b"abc")),
            Ok(Bytes::from_static(b"de")),
        ];
        let last = limited(stream::iter(pieces), 4, |_| Ok(()))
            .collect::<Vec<_>>()
            .await
            .pop()
            .unwrap();
        let failure = Failure::from(last.unwrap_err());
        assert_eq!(failure.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn an_upload_that_falls_silent_or_dribbles_is_given_up() {
        let window = Duration::from_millis(50);
        let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"lo"))]);
        let mut silent = Box::pin(paced(first.chain(stream::pending()), window));
        assert_eq!(silent.next().await.unwrap().unwrap(), "lo");
        let dribble = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(b"l")));
        let dribble = dribble.then(async |piece| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            piece
        });
        let mut dribble = Box::pin(paced(dribble, window).skip_while(|piece| {
            let goes_on = piece.is_ok();
            async move { goes_on }
        }));
        for slow in [silent.next().await, dribble.next().await] {
            let stopped = Stopped::from(FormError::Source(slow.unwrap().unwrap_err()));
            assert_eq!(stopped.refusal(), Some(Refusal::UploadTooSlow));
            assert_eq!(Failure::from(stopped).status, StatusCode::REQUEST_TIMEOUT);
        }
    }

    #[test]
    fn an_announced_length_beyond_the_limit_is_not_even_read() {
        let mut headers = headers(FORM);
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("99999999"));
        let refused = Failure::from(form(&headers, body(""), 1000).err().unwrap());
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn broken_forms_are_bad_requests() {
        for content_type in ["", "text/plain", "multipart/form-data"] {
            let refused = form(&headers(content_type), body(""), 1000).err().unwrap();
            let refused = Failure::from(refused);
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{content_type:?}");
        }
        let mut cut = form(&headers(FORM), body("--xyz\nContent-"), 1000).unwrap();
        let stopped = Stopped::from(cut.find(PART).await.err().unwrap());
        assert_eq!(Failure::from(stopped).status, StatusCode::BAD_REQUEST);
    }
}
