//! Telling clients what changes, so that they need not ask again and again.
//!
//! `GET /v2/watch` answers with server-sent events: first everything as it is, then what
//! changes. A watcher is *level*-driven: it remembers which version of each object it has sent
//! and, whenever the bell rings, sends what is newer. So there is no queue that could overflow:
//! a slow reader skips states and never misses the last one. Events are history, not state;
//! they are sent one by one, by their numbers in the store, and a client that comes back goes
//! on after the last one it saw.
//!
//! [`request`] says who may watch what, [`stream`] is a watcher, [`message`] what it sends.
//! For people: `docs/watch.md`.

mod message;
mod request;
mod stream;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use request::answer;

use crate::app::{App, Shared, store_failure};
use message::Subject;
use muster_api::error::Failure;

/// The path below the API's base.
pub const PATH: &str = "/v2/watch";

/// Most watchers at once; each is a connection and a list of versions.
const MOST_WATCHERS: usize = 1000;
/// The bell rings at most this often.
const PAUSE: Duration = Duration::from_millis(20);
/// After the store failed.
const RETRY: Duration = Duration::from_secs(1);
/// Bytes of finished messages that watchers share.
const SHARED_BYTES: usize = 64 << 20;

/// Rings when something was committed, here or by another replica.
#[derive(Debug)]
pub struct Bell {
    /// Number up to which history is complete; none while nobody listens.
    head: watch::Sender<Option<i64>>,
    wanted: Notify,
    closing: CancellationToken,
    places: Arc<Semaphore>,
    finished: Mutex<Finished>,
}

impl Default for Bell {
    fn default() -> Self {
        Self {
            head: watch::Sender::new(None),
            wanted: Notify::new(),
            closing: CancellationToken::new(),
            places: Arc::new(Semaphore::new(MOST_WATCHERS)),
            finished: Mutex::default(),
        }
    }
}

/// Messages by object and version, so that many watchers of one object cost one rendering.
#[derive(Debug, Default)]
struct Finished {
    messages: HashMap<Subject, (i64, Bytes)>,
    bytes: usize,
}

impl Bell {
    /// Ends all streams; for the shutdown.
    pub fn close(&self) {
        self.closing.cancel();
    }

    fn listen(&self) -> watch::Receiver<Option<i64>> {
        let head = self.head.subscribe();
        self.wanted.notify_one();
        head
    }

    fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// The message for a version of an object, made once.
    fn message(
        &self,
        subject: Subject,
        version: i64,
        make: impl FnOnce() -> Result<Bytes, Failure>,
    ) -> Result<Bytes, Failure> {
        let lock = || self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, message)) = lock().messages.get(&subject)
            && *known == version
        {
            return Ok(message.clone());
        }
        let message = make()?;
        let mut finished = lock();
        if finished.bytes + message.len() > SHARED_BYTES {
            *finished = Finished::default();
        }
        finished.bytes += message.len();
        let before = finished
            .messages
            .insert(subject, (version, message.clone()));
        finished.bytes -= before.map_or(0, |(_, message)| message.len());
        Ok(message)
    }

    fn forget(&self, subject: Subject) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, message)) = finished.messages.remove(&subject) {
            finished.bytes -= message.len();
        }
    }
}

/// Rings the bell while somebody listens, until the service stops.
pub async fn run(app: Shared) {
    loop {
        app.bell.wanted.notified().await;
        if let Err(failure) = ring(&app).await {
            warn!(reason = %failure.reason, "watchers are not told of changes until the database answers");
            tokio::time::sleep(RETRY).await;
            app.bell.wanted.notify_one();
        }
    }
}

async fn ring(app: &App) -> Result<(), Failure> {
    let mut follower = app.store.follow().await.map_err(store_failure)?;
    app.bell.head.send_replace(Some(follower.head()));
    while app.bell.head.receiver_count() > 0 {
        if follower.changed().await.map_err(store_failure)? {
            app.bell.head.send_replace(Some(follower.head()));
            tokio::time::sleep(PAUSE).await;
        }
    }
    app.bell.head.send_replace(None);
    *app.bell
        .finished
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Finished::default();
    // Somebody may have come while we were leaving.
    if app.bell.head.receiver_count() > 0 {
        app.bell.wanted.notify_one();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use muster_model::ClusterId;
    use uuid::Uuid;

    use super::*;

    const SUBJECT: Subject = Subject::Cluster(ClusterId(Uuid::from_u128(1)));

    #[test]
    fn a_message_is_made_once_per_version() {
        let bell = Bell::default();
        let made = |version, text: &'static str| {
            bell.message(SUBJECT, version, || Ok(Bytes::from_static(text.as_bytes())))
                .unwrap()
        };
        assert_eq!(made(1, "one"), "one");
        assert_eq!(made(1, "again"), "one");
        assert_eq!(made(2, "second"), "second");
        assert_eq!(bell.finished.lock().unwrap().bytes, "second".len());
        bell.forget(SUBJECT);
        assert_eq!(bell.finished.lock().unwrap().bytes, 0);
    }

    #[test]
    fn shared_messages_do_not_fill_the_memory() {
        let bell = Bell::default();
        let large = Bytes::from(vec![b'x'; SHARED_BYTES / 4]);
        for number in 0..20 {
            let subject = Subject::Cluster(ClusterId(Uuid::from_u128(number)));
            bell.message(subject, 1, || Ok(large.clone())).unwrap();
        }
        assert!(bell.finished.lock().unwrap().bytes <= SHARED_BYTES);
    }
}
