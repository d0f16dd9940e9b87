//! When a connection has been idle for too long.
//!
//! hyper closes an HTTP/1 connection whose next request does not come, but it waits for ever for
//! the very first bytes of a connection, for the next request on an HTTP/2 one, and for a client
//! that lets the answers on it lie. Here all three have an end. A client that takes nothing from
//! its socket at all is seen in [`stall`](super::stall).

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use http::{Response, Version};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::{Instant, sleep_until};

use super::{Body, connections::InProgress, file_spans::Piece};

/// How long an HTTP/2 connection may be without requests. Generous, because the end of a large
/// answer may still be on its way after the server is done with it.
const HTTP2_IDLE: Duration = Duration::from_secs(600);

/// What happens on one connection.
#[derive(Debug)]
pub struct Traffic {
    stage: Mutex<Stage>,
    idle: Duration,
    stalled: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// No request came yet.
    Silent { until: Instant },
    /// hyper watches the time.
    Http1,
    /// Requests in work, those of them whose answer lies ready for a client that does not ask
    /// for more, and when any of this last changed.
    Http2 {
        running: usize,
        offered: usize,
        since: Instant,
    },
}

impl Traffic {
    /// A new connection, on which a request has to come within `first`, and whose answers may lie
    /// untaken for as long as `stalled`.
    pub fn new(first: Duration, stalled: Duration) -> Arc<Self> {
        Self::with_idle(first, HTTP2_IDLE, stalled)
    }

    fn with_idle(first: Duration, idle: Duration, stalled: Duration) -> Arc<Self> {
        let until = Instant::now() + first;
        let stage = Mutex::new(Stage::Silent { until });
        Arc::new(Self {
            stage,
            idle,
            stalled,
        })
    }

    /// A request came; it is in work until what is returned is dropped.
    pub fn request(self: &Arc<Self>, version: Version) -> Option<Running> {
        if version != Version::HTTP_2 {
            self.change(|_| Stage::Http1);
            return None;
        }
        self.change(|stage| match stage {
            Stage::Silent { .. } | Stage::Http1 => Stage::http2(1, 0),
            Stage::Http2 {
                running, offered, ..
            } => Stage::http2(running + 1, offered),
        });
        Some(Running {
            traffic: Arc::clone(self),
            offered: false,
        })
    }

    /// Returns when the connection should be closed, and whether no request ever came.
    pub async fn is_over(&self) -> bool {
        loop {
            let stage = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let look_again = match stage {
                Stage::Silent { until } => until,
                Stage::Http1 => return std::future::pending().await,
                Stage::Http2 {
                    running: 0, since, ..
                } => since + self.idle,
                Stage::Http2 {
                    running,
                    offered,
                    since,
                } if running == offered => since + self.stalled,
                Stage::Http2 { .. } => now + self.idle.min(self.stalled),
            };
            if look_again <= now {
                return matches!(stage, Stage::Silent { .. });
            }
            sleep_until(look_again).await;
        }
    }

    fn change(&self, next: impl FnOnce(Stage) -> Stage) {
        // A poisoned lock still guards a valid stage: it is copied in and out.
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        *stage = next(*stage);
    }
}

impl Stage {
    fn http2(running: usize, offered: usize) -> Self {
        let since = Instant::now();
        Self::Http2 {
            running,
            offered,
            since,
        }
    }
}

/// A request in work.
#[derive(Debug)]
pub struct Running {
    traffic: Arc<Traffic>,
    /// A part of the answer was handed out, and the client has not made room for the next.
    offered: bool,
}

impl Running {
    /// Keeps the request in work until the whole answer is taken.
    pub fn until_taken(self, response: Response<Body>) -> Response<Body> {
        response.map(|body| {
            Taken {
                body,
                running: self,
            }
            .boxed()
        })
    }

    fn set_offered(&mut self, now: bool) {
        let before = std::mem::replace(&mut self.offered, now);
        self.settle(0, usize::from(before), usize::from(now));
    }

    fn settle(&self, ended: usize, minus: usize, plus: usize) {
        self.traffic.change(|stage| match stage {
            Stage::Http2 {
                running, offered, ..
            } => Stage::http2(
                running.saturating_sub(ended),
                (offered + plus).saturating_sub(minus),
            ),
            Stage::Silent { .. } | Stage::Http1 => stage,
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.settle(1, usize::from(self.offered), 0);
    }
}

/// Keeps a request in progress until hyper has taken the whole answer.
pub fn until_sent(response: Response<Body>, in_progress: InProgress) -> Response<Body> {
    response.map(|body| {
        Sent {
            body,
            _in_progress: in_progress,
        }
        .boxed()
    })
}

struct Sent {
    body: Body,
    _in_progress: InProgress,
}

impl http_body::Body for Sent {
    type Data = Piece;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, io::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that notes whether it waits for its client or its client for it.
struct Taken {
    body: Body,
    running: Running,
}

impl http_body::Body for Taken {
    type Data = Piece;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, io::Error>>> {
        self.running.set_offered(false);
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.running.set_offered(polled.is_ready());
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(3600);

    async fn stays(traffic: &Traffic) -> bool {
        timeout(4 * SHORT, traffic.is_over()).await.is_err()
    }

    async fn ends(traffic: &Traffic) -> bool {
        timeout(Duration::from_secs(20), traffic.is_over())
            .await
            .is_ok()
    }

    #[tokio::test]
    async fn a_silent_connection_ends_at_its_first_deadline() {
        assert!(ends(&Traffic::with_idle(SHORT, LONG, LONG)).await);
        assert!(stays(&Traffic::with_idle(LONG, SHORT, SHORT)).await);
    }

    #[tokio::test]
    async fn http1_is_left_to_hyper() {
        let traffic = Traffic::with_idle(SHORT, SHORT, LONG);
        assert!(traffic.request(Version::HTTP_11).is_none());
        assert!(stays(&traffic).await);
    }

    #[tokio::test]
    async fn http2_ends_when_idle_and_never_under_a_request() {
        let traffic = Traffic::with_idle(SHORT, SHORT, LONG);
        let first = traffic.request(Version::HTTP_2);
        let second = traffic.request(Version::HTTP_2);
        drop(first);
        assert!(stays(&traffic).await);
        drop(second);
        assert!(ends(&traffic).await);
    }

    #[tokio::test]
    async fn an_answer_on_its_way_counts_as_a_request() {
        let traffic = Traffic::with_idle(SHORT, SHORT, LONG);
        let running = traffic.request(Version::HTTP_2).unwrap();
        let response = running.until_taken(Response::new(super::super::reply::empty()));
        assert!(stays(&traffic).await);
        drop(response);
        assert!(ends(&traffic).await);
    }

    /// A body of two frames; the second comes when it is sent.
    fn in_two(running: Running) -> (Body, tokio::sync::mpsc::Sender<Frame<Piece>>) {
        let (send, mut frames) = tokio::sync::mpsc::channel(2);
        let parts = futures::stream::poll_fn(move |cx| frames.poll_recv(cx));
        let parts = futures::StreamExt::map(parts, Ok);
        let body = BodyExt::boxed(http_body_util::StreamBody::new(parts));
        let response = running.until_taken(Response::new(body));
        (response.into_body(), send)
    }

    #[tokio::test]
    async fn an_unread_response_ends_the_connection_and_a_pending_one_does_not() {
        let traffic = Traffic::with_idle(LONG, LONG, SHORT);
        let (mut body, send) = in_two(traffic.request(Version::HTTP_2).unwrap());
        let frame = || Frame::data(Piece::from(bytes::Bytes::from_static(b"some")));
        assert!(stays(&traffic).await, "the answer is still being made");
        send.try_send(frame()).unwrap();
        body.frame().await.unwrap().unwrap();
        // The client asks for more, and it is us who have nothing.
        assert!(timeout(SHORT, body.frame()).await.is_err());
        assert!(stays(&traffic).await, "the client waits for us");
        send.try_send(frame()).unwrap();
        body.frame().await.unwrap().unwrap();
        assert!(ends(&traffic).await, "we wait for the client");
        let other = traffic.request(Version::HTTP_2);
        assert!(stays(&traffic).await, "another request is in work");
        drop(other);
        drop(body);
        assert!(stays(&traffic).await, "nothing is left to take");
    }
}
