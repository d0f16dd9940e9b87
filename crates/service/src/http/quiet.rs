//! When a connection has been quiet for too long.
//!
//! hyper closes an HTTP/1 connection whose next request does not come, but it waits for ever for
//! the very first bytes of a connection, and for the next request on an HTTP/2 one. Here both
//! have an end.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{Response, Version};
use http_body_util::BodyExt;
use tokio::time::{Instant, sleep_until};

use super::Body;

/// How long an HTTP/2 connection may be without requests. Generous, because the end of a large
/// answer may still be on its way after the server is done with it.
const HTTP2_IDLE: Duration = Duration::from_secs(600);

/// What happens on one connection.
#[derive(Debug)]
pub struct Traffic {
    stage: Mutex<Stage>,
    idle: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// No request came yet.
    Silent { until: Instant },
    /// hyper watches the time.
    Http1,
    /// Requests in work, and when the last one ended.
    Http2 { running: usize, since: Instant },
}

impl Traffic {
    /// A new connection, on which a request has to come within `first`.
    pub fn new(first: Duration) -> Arc<Self> {
        Self::with_idle(first, HTTP2_IDLE)
    }

    fn with_idle(first: Duration, idle: Duration) -> Arc<Self> {
        let until = Instant::now() + first;
        let stage = Mutex::new(Stage::Silent { until });
        Arc::new(Self { stage, idle })
    }

    /// A request came; it is in work until what is returned is dropped.
    pub fn request(self: &Arc<Self>, version: Version) -> Option<Running> {
        if version != Version::HTTP_2 {
            self.change(|_| Stage::Http1);
            return None;
        }
        self.change(|stage| match stage {
            Stage::Silent { .. } | Stage::Http1 => Stage::http2(1),
            Stage::Http2 { running, .. } => Stage::http2(running + 1),
        });
        Some(Running(Arc::clone(self)))
    }

    /// Returns when the connection should be closed.
    pub async fn is_over(&self) {
        loop {
            let stage = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let look_again = match stage {
                Stage::Silent { until } => until,
                Stage::Http1 => return std::future::pending().await,
                Stage::Http2 { running: 0, since } => since + self.idle,
                Stage::Http2 { .. } => now + self.idle,
            };
            if look_again <= now {
                return;
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
    fn http2(running: usize) -> Self {
        let since = Instant::now();
        Self::Http2 { running, since }
    }
}

/// A request in work.
#[derive(Debug)]
pub struct Running(Arc<Traffic>);

impl Running {
    /// Keeps the request in work until the whole answer is taken.
    pub fn until_taken(self, response: Response<Body>) -> Response<Body> {
        response.map(|body| {
            body.map_frame(move |frame| {
                let _running = &self;
                frame
            })
            .boxed()
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.change(|stage| match stage {
            Stage::Http2 { running, .. } => Stage::http2(running.saturating_sub(1)),
            Stage::Silent { .. } | Stage::Http1 => stage,
        });
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
        assert!(ends(&Traffic::with_idle(SHORT, LONG)).await);
        assert!(stays(&Traffic::with_idle(LONG, SHORT)).await);
    }

    #[tokio::test]
    async fn http1_is_left_to_hyper() {
        let traffic = Traffic::with_idle(SHORT, SHORT);
        assert!(traffic.request(Version::HTTP_11).is_none());
        assert!(stays(&traffic).await);
    }

    #[tokio::test]
    async fn http2_ends_when_idle_and_never_under_a_request() {
        let traffic = Traffic::with_idle(SHORT, SHORT);
        let first = traffic.request(Version::HTTP_2);
        let second = traffic.request(Version::HTTP_2);
        drop(first);
        assert!(stays(&traffic).await);
        drop(second);
        assert!(ends(&traffic).await);
    }

    #[tokio::test]
    async fn an_answer_on_its_way_counts_as_a_request() {
        let traffic = Traffic::with_idle(SHORT, SHORT);
        let running = traffic.request(Version::HTTP_2).unwrap();
        let response = running.until_taken(Response::new(super::super::reply::empty()));
        assert!(stays(&traffic).await);
        drop(response);
        assert!(ends(&traffic).await);
    }
}
