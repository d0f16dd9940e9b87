//! Runs steps side by side: one of a kind at a time, a bounded number of them together, and all
//! of them ended when the runner goes.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use muster_api::wire::{Step, StepReply};
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinSet,
};
use tracing::{debug, info, warn};

use super::{Context, Outcome, kind, perform, upgrade};
use crate::outbox::Outbox;

/// Steps that run at the same time. Most wait for something, so this bounds memory, not work.
const MOST_AT_ONCE: usize = 12;
/// Of one answer of the service no more steps than this are looked at.
const MOST_TOGETHER: usize = 64;
/// Results longer than this are not sent: the service would not take them either.
const LONGEST_OUTPUT: usize = 16 << 20;
/// Of complaints, the beginning is enough.
const LONGEST_ERROR: usize = 16 << 10;

/// Runs steps. Dropping it ends those that still run.
#[derive(Debug)]
pub struct Runner {
    context: Arc<Context>,
    outbox: Arc<Outbox>,
    busy: Arc<Mutex<BTreeSet<String>>>,
    seats: Arc<Semaphore>,
    tasks: JoinSet<()>,
    renewed: Arc<Notify>,
}

impl Runner {
    /// A runner that puts results into `outbox`.
    #[must_use]
    pub fn new(context: Arc<Context>, outbox: Arc<Outbox>) -> Self {
        Self {
            context,
            outbox,
            busy: Arc::default(),
            seats: Arc::new(Semaphore::new(MOST_AT_ONCE)),
            tasks: JoinSet::new(),
            renewed: Arc::default(),
        }
    }

    /// Resolves when the agent was upgraded and has to start again.
    #[must_use]
    pub fn renewed(&self) -> Arc<Notify> {
        Arc::clone(&self.renewed)
    }

    /// Waits until all steps that were begun have ended.
    pub async fn finished(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    /// Begins the steps of one answer. One whose kind still runs is not begun again: its own
    /// result will come, and the service asks again anyway.
    pub fn begin(&mut self, steps: Vec<Step>) {
        while self.tasks.try_join_next().is_some() {}
        if steps.len() > MOST_TOGETHER {
            warn!(
                "{} steps at once; only {MOST_TOGETHER} are looked at",
                steps.len()
            );
        }
        for step in steps.into_iter().take(MOST_TOGETHER) {
            self.begin_one(step);
        }
    }

    fn begin_one(&mut self, step: Step) {
        let name = step.step_type.clone().unwrap_or_default();
        // All unknown names share one seat, so that inventing names gains nothing.
        let seat = kind(&name).map_or_else(String::new, |kind| kind.name.to_owned());
        let busy = Arc::clone(&self.busy);
        let is_free = busy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(seat.clone());
        if !is_free {
            debug!(step = name, "still running; not begun again");
            return;
        }
        // Gives the seat back also when the task is ended or panics.
        let occupied = Occupied { busy, seat };
        let (context, outbox) = (Arc::clone(&self.context), Arc::clone(&self.outbox));
        let (seats, renewed) = (Arc::clone(&self.seats), Arc::clone(&self.renewed));
        self.tasks.spawn(async move {
            let _occupied = occupied;
            let Ok(_seat) = seats.acquire_owned().await else {
                return;
            };
            info!(step = name, id = step.step_id.as_deref(), "begun");
            let outcome = perform(context, &name, step.args.unwrap_or_default()).await;
            if outcome.exit_code == 0 {
                info!(step = name, "done");
            } else {
                warn!(
                    step = name,
                    code = outcome.exit_code,
                    "failed: {}",
                    outcome.error
                );
            }
            let restart = name == upgrade::NAME && upgrade::succeeded(&outcome);
            let always = kind(&name).is_none_or(|kind| kind.always_sent);
            outbox.put(reply(step.step_id, name, outcome), always);
            if restart {
                outbox.emptied().await;
                renewed.notify_one();
            }
        });
    }
}

#[derive(Debug)]
struct Occupied {
    busy: Arc<Mutex<BTreeSet<String>>>,
    seat: String,
}

impl Drop for Occupied {
    fn drop(&mut self) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.remove(&self.seat);
    }
}

/// The result as it is sent: what is empty is left out, success has no code.
fn reply(step_id: Option<String>, step_type: String, outcome: Outcome) -> StepReply {
    let Outcome {
        mut exit_code,
        mut output,
        mut error,
    } = outcome;
    if output.len() > LONGEST_OUTPUT {
        error = format!("the result has {} bytes, too many to send", output.len());
        output.clear();
        exit_code = super::REFUSED;
    }
    if error.len() > LONGEST_ERROR {
        error = error.chars().take(LONGEST_ERROR / 4).collect();
    }
    StepReply {
        error: Some(error).filter(|text| !text.is_empty()),
        exit_code: Some(exit_code).filter(|code| *code != 0),
        output: Some(output).filter(|text| !text.is_empty()),
        step_id,
        step_type: Some(step_type.chars().take(64).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_leaves_out_what_is_empty_and_keys_are_in_order() {
        let outcome = Outcome {
            output: "{}".into(),
            ..Outcome::default()
        };
        let text = serde_json::to_string(&reply(None, "upgrade-agent".into(), outcome)).unwrap();
        assert_eq!(text, r#"{"output":"{}","step_type":"upgrade-agent"}"#);
        let outcome = Outcome::refused("no");
        let sent = reply(Some("a-1".into()), "a".into(), outcome);
        assert_eq!(
            serde_json::to_string(&sent).unwrap(),
            r#"{"error":"no","exit_code":-1,"step_id":"a-1","step_type":"a"}"#
        );
    }

    #[test]
    fn a_result_too_long_to_send_becomes_an_honest_failure() {
        let outcome = Outcome {
            output: "x".repeat(LONGEST_OUTPUT + 1),
            ..Outcome::default()
        };
        let sent = reply(None, "a".into(), outcome);
        assert_eq!((sent.output, sent.exit_code), (None, Some(-1)));
    }
}
