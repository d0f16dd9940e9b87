//! Cached steps, valid while nothing they depend on changes.
//!
//! A poll of a quiet host gets the same steps as its last one, and making them means reading
//! the inventory of every neighbour. So the finished JSON is kept, cut where the ids of the
//! steps go: those are new with every poll. The key is the revision of the host's environment.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use muster_api::wire;
use muster_engine::{StepType, steps::Steps};
use muster_model::HostKey;
use rand::Rng;

/// Stands where the random part of a step id goes; eight characters, like the id itself.
const PLACEHOLDER: &str = "????????";

/// What a host's steps depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepsKey {
    /// Revision of its cluster, or version of the host itself if it has none.
    pub environment: u64,
    /// Version of its infra-env.
    pub infra_env: i64,
    /// Time alone asks for its logs.
    pub logs_due: bool,
}

/// An answer to a poll, all but the ids.
#[derive(Debug)]
pub struct Instructions {
    parts: Vec<Bytes>,
}

impl Instructions {
    /// Writes the steps down.
    pub fn new(steps: &Steps) -> Result<Self, serde_json::Error> {
        let mut text = serde_json::to_string(&view(steps))?;
        text.push('\n');
        // Cut at the ids only: an argument could contain the same characters.
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        for step in &steps.steps {
            let marker = format!("\"step_id\":\"{}-{PLACEHOLDER}\"", step.step_type);
            let Some(at) = rest.find(&marker) else {
                continue;
            };
            let (head, tail) = rest.split_at(at + marker.len() - PLACEHOLDER.len() - 1);
            parts.push(Bytes::copy_from_slice(head.as_bytes()));
            rest = &tail[PLACEHOLDER.len()..];
        }
        parts.push(Bytes::copy_from_slice(rest.as_bytes()));
        Ok(Self { parts })
    }

    /// The JSON with fresh ids.
    #[must_use]
    pub fn with_new_ids(&self) -> Bytes {
        let mut random = rand::rng();
        let size = self
            .parts
            .iter()
            .map(|part| part.len() + PLACEHOLDER.len())
            .sum();
        let mut body = BytesMut::with_capacity(size);
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                body.put_slice(format!("{:08x}", random.random::<u32>()).as_bytes());
            }
            body.put_slice(part);
        }
        body.freeze()
    }
}

fn view(steps: &Steps) -> wire::Steps {
    let shown = steps.steps.iter().map(|step| wire::Step {
        step_type: Some(step.step_type.to_string()),
        // An upgrade has no id: agents answer it without one.
        step_id: (step.step_type != StepType::UpgradeAgent)
            .then(|| format!("{}-{PLACEHOLDER}", step.step_type)),
        args: Some(step.args.clone()),
    });
    // No pause is an order to leave at once; to an agent that stays it would mean "ask again
    // immediately", for ever.
    let leaves_at_once = steps.exit && steps.interval.is_zero();
    let seconds = steps.interval.max(Duration::from_secs(1)).as_secs();
    let action = if steps.exit { "exit" } else { "continue" };
    wire::Steps {
        instructions: (!leaves_at_once).then(|| shown.collect()),
        next_instruction_seconds: (!leaves_at_once).then(|| i64::try_from(seconds).unwrap_or(60)),
        post_step_action: Some(action.to_owned()),
    }
}

/// The cache.
#[derive(Debug, Default)]
pub struct StepCache {
    steps: Mutex<HashMap<HostKey, (StepsKey, Arc<Instructions>)>>,
}

impl StepCache {
    /// The instructions, if they are still true.
    pub fn get(&self, host: HostKey, key: StepsKey) -> Option<Arc<Instructions>> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps
            .get(&host)
            .filter(|(known, _)| *known == key)
            .map(|(_, steps)| Arc::clone(steps))
    }

    /// Keeps instructions.
    pub fn put(&self, host: HostKey, key: StepsKey, steps: Instructions) -> Arc<Instructions> {
        let steps = Arc::new(steps);
        self.steps
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(host, (key, Arc::clone(&steps)));
        steps
    }

    /// Forgets a host that is gone.
    pub fn forget(&self, host: HostKey) {
        self.steps
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&host);
    }
}

#[cfg(test)]
mod tests {
    use muster_engine::steps::Step;

    use super::*;

    #[test]
    fn every_poll_gets_the_same_steps_under_new_ids() {
        let tricky = r#"{"step_id":"inventory-????????"}"#.to_owned();
        let steps = Steps {
            steps: vec![
                Step {
                    step_type: StepType::Inventory,
                    args: vec![tricky.clone()],
                },
                Step {
                    step_type: StepType::NtpSynchronizer,
                    args: vec![],
                },
            ],
            interval: Duration::from_secs(60),
            exit: false,
        };
        let kept = Instructions::new(&steps).unwrap();
        let read = |body: Bytes| serde_json::from_slice::<wire::Steps>(&body).unwrap();
        let (first, second) = (read(kept.with_new_ids()), read(kept.with_new_ids()));
        let ids = |steps: &wire::Steps| -> Vec<String> {
            steps
                .instructions
                .iter()
                .flatten()
                .filter_map(|step| step.step_id.clone())
                .collect()
        };
        assert_ne!(ids(&first), ids(&second));
        for id in ids(&first).iter().chain(&ids(&second)) {
            let (_, random) = id.rsplit_once('-').unwrap();
            assert!(
                random.len() == 8 && random.chars().all(|c| c.is_ascii_hexdigit()),
                "{id}"
            );
        }
        assert_eq!(
            first.instructions.unwrap()[0].args.as_deref(),
            Some(&[tricky][..])
        );
        assert_eq!(first.next_instruction_seconds, Some(60));
    }

    fn shown(step_type: StepType, exit: bool) -> serde_json::Value {
        let steps = Steps {
            steps: vec![Step {
                step_type,
                args: vec![],
            }],
            interval: Duration::from_secs(120),
            exit,
        };
        let body = Instructions::new(&steps).unwrap().with_new_ids();
        serde_json::from_slice(&body).unwrap()
    }

    #[test]
    fn the_last_work_of_an_agent_is_announced_together_with_the_order_to_leave() {
        let view = shown(StepType::RebootForReclaim, true);
        assert_eq!(view["instructions"][0]["step_type"], "reboot-for-reclaim");
        assert_eq!(view["next_instruction_seconds"], 120);
        assert_eq!(view["post_step_action"], "exit");
    }

    #[test]
    fn an_upgrade_has_no_id() {
        let view = shown(StepType::UpgradeAgent, false);
        assert_eq!(
            view["instructions"][0],
            serde_json::json!({"step_type": "upgrade-agent", "args": []})
        );
    }

    #[test]
    fn a_host_that_must_leave_gets_no_steps() {
        let steps = Steps {
            steps: vec![],
            interval: Duration::ZERO,
            exit: true,
        };
        let body = Instructions::new(&steps).unwrap().with_new_ids();
        let view: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            view,
            serde_json::json!({"instructions": null, "post_step_action": "exit"})
        );
    }
}
