//! Results on their way to the service.
//!
//! A result is kept until the service has taken it or will never take it: a service that is
//! away for minutes loses nothing. Of each kind of step only the newest result waits, because
//! the service keeps only the newest; so the box never holds more than there are kinds.
//!
//! What the service already has is not sent again for an hour, as in the reference, unless
//! polling failed in between (it may have lost its memory).

use std::{
    collections::{BTreeMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use muster_api::{client::ClientError, requests, wire::StepReply};
use tokio::sync::Notify;
use tracing::{debug, warn};
use uuid::Uuid;

use crate::{backoff::Backoff, link::Link};

const REMEMBERED: Duration = Duration::from_secs(3600);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Whose results these are.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Where it belongs.
    pub infra_env: Uuid,
    /// The machine.
    pub host: Uuid,
    /// What it calls itself.
    pub version: Option<String>,
}

/// Results that wait, and what was taken.
#[derive(Debug, Default)]
pub struct Outbox {
    state: Mutex<State>,
    changed: Notify,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<StepReply>,
    taken: BTreeMap<String, (u64, Instant)>,
    under_way: bool,
}

impl Outbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a result in; `always` sends it even if the service has it.
    pub fn put(&self, reply: StepReply, always: bool) {
        let mut state = self.state();
        let kind = kind(&reply);
        let is_known = state
            .taken
            .get(&kind)
            .is_some_and(|(sum, at)| *sum == digest(&reply) && at.elapsed() < REMEMBERED);
        if is_known && succeeded(&reply) && !always {
            debug!(step = kind, "same result as last time; not sent");
            return;
        }
        state
            .waiting
            .retain(|older| older.step_type != reply.step_type);
        state.waiting.push_back(reply);
        self.changed.notify_one();
    }

    /// The service may have forgotten what it had.
    pub fn forget(&self) {
        self.state().taken.clear();
    }

    /// Waits until all is delivered or given up.
    pub async fn emptied(&self) {
        loop {
            let notified = self.emptied.notified();
            {
                let state = self.state();
                if state.waiting.is_empty() && !state.under_way {
                    return;
                }
            }
            notified.await;
        }
    }

    /// Delivers for ever.
    pub async fn deliver(self: Arc<Self>, link: Arc<Link>, sender: Sender) {
        let mut backoff = Backoff::up_to(LONGEST_WAIT);
        loop {
            let changed = self.changed.notified();
            let Some(reply) = self.begin() else {
                changed.await;
                continue;
            };
            let result = match link.client(sender.version.as_deref()) {
                Ok(client) => {
                    let request = requests::post_step_reply(sender.infra_env, sender.host, &reply);
                    client.send(&request).await
                }
                Err(error) => Err(error),
            };
            let wait = self.finish(reply, result, &mut backoff);
            if let Some(wait) = wait {
                tokio::time::sleep(wait).await;
            }
        }
    }

    fn begin(&self) -> Option<StepReply> {
        let mut state = self.state();
        let next = state.waiting.pop_front();
        state.under_way = next.is_some();
        next
    }

    /// Takes note of what became of a delivery; says how long to wait before the next.
    fn finish(
        &self,
        reply: StepReply,
        result: Result<(), ClientError>,
        backoff: &mut Backoff,
    ) -> Option<Duration> {
        let mut state = self.state();
        state.under_way = false;
        let kind = kind(&reply);
        let wait = match result {
            Ok(()) => {
                backoff.reset();
                if succeeded(&reply) {
                    let mark = (digest(&reply), Instant::now());
                    state.taken.insert(kind, mark);
                }
                None
            }
            Err(error) if is_final(&error) => {
                warn!(%error, step = kind, "the service does not take this result; dropped");
                backoff.reset();
                None
            }
            Err(error) => {
                let wait = backoff.wait();
                warn!(%error, step = kind, wait = wait.as_secs(), "result not delivered; it is kept");
                let newer = state
                    .waiting
                    .iter()
                    .any(|other| other.step_type == reply.step_type);
                if !newer {
                    state.waiting.push_front(reply);
                }
                Some(wait)
            }
        };
        if state.waiting.is_empty() {
            self.emptied.notify_waiters();
        }
        wait
    }
}

/// Saying it again would not help. Refused credentials are not final: they get renewed.
fn is_final(error: &ClientError) -> bool {
    error.status().is_some_and(|status| {
        status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 407 | 408 | 425 | 429)
    })
}

fn kind(reply: &StepReply) -> String {
    reply.step_type.clone().unwrap_or_default()
}

fn succeeded(reply: &StepReply) -> bool {
    reply.exit_code.unwrap_or(0) == 0
}

fn digest(reply: &StepReply) -> u64 {
    let mut digest = DefaultHasher::new();
    reply.output.hash(&mut digest);
    digest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(kind: &str, output: &str, exit_code: i64) -> StepReply {
        StepReply {
            step_type: Some(kind.into()),
            step_id: Some(format!("{kind}-1")),
            exit_code: (exit_code != 0).then_some(exit_code),
            output: Some(output.into()),
            error: None,
        }
    }

    fn refused(status: u16) -> Result<(), ClientError> {
        Err(ClientError::Refused {
            status: status.try_into().unwrap(),
            reason: "no".into(),
        })
    }

    fn backoff() -> Backoff {
        Backoff::up_to(LONGEST_WAIT)
    }

    #[test]
    fn a_result_the_service_has_is_not_sent_again_until_polling_failed() {
        let outbox = Outbox::default();
        let same = || reply("inventory", "{}", 0);
        outbox.put(same(), false);
        let first = outbox.begin().unwrap();
        outbox.finish(first, Ok(()), &mut backoff());
        outbox.put(same(), false);
        assert!(outbox.begin().is_none());
        outbox.put(same(), true);
        assert!(outbox.begin().is_some());
        outbox.put(reply("inventory", "{\"a\":1}", 0), false);
        assert!(outbox.begin().is_some());
        outbox.forget();
        outbox.put(same(), false);
        assert!(outbox.begin().is_some());
    }

    #[test]
    fn failures_are_always_sent() {
        let outbox = Outbox::default();
        for _ in 0..3 {
            outbox.put(reply("tang-connectivity-check", "", -1), false);
            let next = outbox.begin().unwrap();
            assert!(outbox.finish(next, Ok(()), &mut backoff()).is_none());
        }
    }

    #[test]
    fn an_undelivered_result_waits_until_a_newer_one_takes_its_place() {
        let outbox = Outbox::default();
        outbox.put(reply("inventory", "old", 0), false);
        outbox.put(reply("install", "x", 1), false);
        let first = outbox.begin().unwrap();
        assert!(outbox.finish(first, refused(503), &mut backoff()).is_some());
        outbox.put(reply("inventory", "new", 0), false);
        assert_eq!(outbox.begin().unwrap().output.as_deref(), Some("x"));
        assert_eq!(outbox.begin().unwrap().output.as_deref(), Some("new"));
        assert!(outbox.begin().is_none());
    }

    #[test]
    fn what_the_service_will_never_take_is_dropped_and_what_it_may_take_later_is_kept() {
        for (status, kept) in [
            (400, false),
            (404, false),
            (401, true),
            (429, true),
            (500, true),
        ] {
            let outbox = Outbox::default();
            outbox.put(reply("inventory", "x", 0), false);
            let first = outbox.begin().unwrap();
            outbox.finish(first, refused(status), &mut backoff());
            assert_eq!(outbox.begin().is_some(), kept, "{status}");
        }
    }
}
