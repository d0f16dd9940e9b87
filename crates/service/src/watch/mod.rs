//! Streams changes to clients, so that they need not poll.
//!
//! `GET /v2/watch` answers with server-sent events: first the current objects, then what
//! changes. A watcher is *level*-driven: it remembers which version of each object it has sent
//! and, whenever the notifier wakes it, sends what is newer. So there is no queue that could overflow:
//! a slow reader skips states and never misses the last one. Events are history, not state;
//! they are sent one by one, by their numbers in the store, and a client that comes back goes
//! on after the last one it saw.
//!
//! [`request`] says who may watch what, [`stream`] is a watcher, [`message`] what it sends.
//! For people: `docs/watch.md`.

mod message;
mod places;
mod request;
mod stream;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use request::Audience;
pub use request::answer;

use message::Subject;
use muster_app::error_chain;
use muster_config::sections::Quotas;
use muster_store::{Store, StoreError};
use places::Places;

use crate::{http::Failure, service::Shared};

/// The path below the API's base.
pub const PATH: &str = "/v2/watch";

/// Changes are announced at most this often.
const PAUSE: Duration = Duration::from_millis(20);
/// After the store failed.
const RETRY: Duration = Duration::from_secs(1);
/// Bytes of finished messages that watchers share.
const SHARED_BYTES: usize = 64 << 20;

/// Wakes watchers when something was committed, here or by another replica.
#[derive(Debug)]
pub struct ChangeNotifier {
    /// Number up to which history is complete; none while there are no watchers.
    head: watch::Sender<Option<i64>>,
    wanted: Notify,
    closing: CancellationToken,
    places: Places,
    finished: Mutex<Finished>,
}

/// Messages by object and version, so that many watchers of one object cost one rendering.
#[derive(Debug, Default)]
struct Finished {
    messages: HashMap<(Subject, Audience), (i64, Bytes)>,
    bytes: usize,
}

impl ChangeNotifier {
    /// With as many places for watchers as the settings allow.
    pub fn new(quotas: &Quotas) -> Self {
        Self {
            head: watch::Sender::new(None),
            wanted: Notify::new(),
            closing: CancellationToken::new(),
            places: Places::new(quotas),
            finished: Mutex::default(),
        }
    }

    /// Ends all streams; for the shutdown.
    pub fn close(&self) {
        self.closing.cancel();
    }

    fn listen(&self) -> watch::Receiver<Option<i64>> {
        let head = self.head.subscribe();
        self.wanted.notify_one();
        head
    }

    /// The message for a version of an object, made once.
    fn message(
        &self,
        subject: Subject,
        audience: Audience,
        version: i64,
        make: impl FnOnce() -> Result<Bytes, Failure>,
    ) -> Result<Bytes, Failure> {
        let lock = || self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, message)) = lock().messages.get(&(subject, audience))
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
            .insert((subject, audience), (version, message.clone()));
        finished.bytes -= before.map_or(0, |(_, message)| message.len());
        Ok(message)
    }

    /// Announces commits until the last watcher has left.
    async fn follow(&self, store: &Store) -> Result<(), StoreError> {
        let mut follower = store.follow().await?;
        self.head.send_replace(Some(follower.head()));
        while self.head.receiver_count() > 0 {
            if follower.changed().await? {
                self.head.send_replace(Some(follower.head()));
                tokio::time::sleep(PAUSE).await;
            }
        }
        self.head.send_replace(None);
        *self.finished.lock().unwrap_or_else(PoisonError::into_inner) = Finished::default();
        // A watcher may have come while we were leaving.
        if self.head.receiver_count() > 0 {
            self.wanted.notify_one();
        }
        Ok(())
    }

    fn forget(&self, subject: Subject) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        for audience in [Audience::Trusted, Audience::ReadOnly] {
            if let Some((_, message)) = finished.messages.remove(&(subject, audience)) {
                finished.bytes -= message.len();
            }
        }
    }
}

/// Follows the store while there are watchers, until the service stops.
pub async fn run(service: Shared) {
    let changes = &service.changes;
    loop {
        changes.wanted.notified().await;
        if let Err(error) = changes.follow(&service.store).await {
            warn!(
                error = error_chain(&error),
                "watchers get no changes until the database answers"
            );
            tokio::time::sleep(RETRY).await;
            changes.wanted.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_model::ClusterId;
    use uuid::Uuid;

    use super::*;

    const SUBJECT: Subject = Subject::Cluster(ClusterId(Uuid::from_u128(1)));

    #[test]
    fn a_message_is_made_once_per_version() {
        let notifier = ChangeNotifier::new(&Quotas::default());
        let made = |version, text: &'static str| {
            notifier
                .message(SUBJECT, Audience::Trusted, version, || {
                    Ok(Bytes::from_static(text.as_bytes()))
                })
                .unwrap()
        };
        assert_eq!(made(1, "one"), "one");
        assert_eq!(made(1, "again"), "one");
        assert_eq!(made(2, "second"), "second");
        assert_eq!(notifier.finished.lock().unwrap().bytes, "second".len());
        notifier.forget(SUBJECT);
        assert_eq!(notifier.finished.lock().unwrap().bytes, 0);
    }

    #[test]
    fn shared_messages_do_not_fill_the_memory() {
        let notifier = ChangeNotifier::new(&Quotas::default());
        let large = Bytes::from(vec![b'x'; SHARED_BYTES / 4]);
        for number in 0..20 {
            let subject = Subject::Cluster(ClusterId(Uuid::from_u128(number)));
            notifier
                .message(subject, Audience::Trusted, 1, || Ok(large.clone()))
                .unwrap();
        }
        assert!(notifier.finished.lock().unwrap().bytes <= SHARED_BYTES);
    }
}
