//! How long a client may leave its socket full.
//!
//! The kernel has an option for this, but it also cuts off clients that take a little at a time:
//! it looks at whether the next packet fits, not at whether anything was taken. So the time is
//! taken here, from when the socket filled up to when it takes more; [`UNSENT`] keeps the kernel
//! from holding so much that a slow client would seem to take nothing.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::{
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

/// Most bytes that the kernel holds without having sent them. A client that takes half of it
/// within the limit is seen to do so.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 1 << 20;

/// Prepares a socket for being watched. Where it cannot be set, slow clients need to be a little faster.
pub fn prepare(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    let _ = SockRef::from(stream).set_tcp_notsent_lowat(UNSENT);
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

/// Watches the writes of one connection.
#[derive(Debug)]
pub struct Stall {
    limit: Duration,
    /// Since when a write has been waiting.
    waiting: Option<Instant>,
    /// Kept from one wait to the next: most are short.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Stall {
    /// No write may wait for longer than `limit`.
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            waiting: None,
            timer: None,
        }
    }

    /// Passes on how a write went, and ends one that has waited for too long.
    pub fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let now = Instant::now();
        let end = *self.waiting.get_or_insert(now) + self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        loop {
            ready!(timer.as_mut().poll(cx));
            if end <= now {
                return Poll::Ready(Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the client read nothing for too long (server.stalled_timeout)",
                )));
            }
            // It was set for an earlier wait.
            timer.as_mut().reset(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::timeout;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    async fn wait(stall: &mut Stall) -> io::Result<()> {
        poll_fn(|cx| stall.watch(cx, Poll::Pending)).await
    }

    #[tokio::test]
    async fn a_write_that_waits_for_too_long_is_ended() {
        let ended = timeout(Duration::from_secs(20), wait(&mut Stall::new(SHORT))).await;
        assert_eq!(ended.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn every_byte_taken_restarts_the_timeout() {
        let limit = Duration::from_secs(5);
        let mut stall = Stall::new(limit);
        assert!(timeout(SHORT, wait(&mut stall)).await.is_err());
        let first = stall.waiting.unwrap();
        assert!(timeout(SHORT, wait(&mut stall)).await.is_err());
        assert_eq!(stall.waiting, Some(first), "still the same wait");
        let taken = poll_fn(|cx| stall.watch(cx, Poll::Ready(Ok(1)))).await;
        assert_eq!((taken.unwrap(), stall.waiting), (1, None));
        assert!(timeout(SHORT, wait(&mut stall)).await.is_err());
        assert!(stall.waiting.unwrap() > first);
    }

    #[tokio::test]
    async fn a_timer_of_an_earlier_wait_ends_no_later_one() {
        let mut stall = Stall::new(4 * SHORT);
        assert!(timeout(SHORT, wait(&mut stall)).await.is_err());
        let _ = poll_fn(|cx| stall.watch(cx, Poll::Ready(Ok(())))).await;
        // As if the connection had been idle until just before the timer goes off.
        stall.waiting = Some(Instant::now() + Duration::from_secs(60));
        assert!(timeout(8 * SHORT, wait(&mut stall)).await.is_err());
    }
}
