//! What happened, kept in the cluster: a ConfigMap with the state of every host and operator and
//! the history of the installation.
//!
//! In an agent-based installation the service disappears with the node it ran on. Who follows the
//! installation then reads this record, and a controller that starts again takes from it which
//! hosts belong to the cluster.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use muster_model::HostStage;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::sleep};
use tracing::{info, warn};
use uuid::Uuid;

use crate::{
    chain::chain,
    hosts::Host,
    kube::{Kind, Kube, KubeError},
    operators::Report,
    options::Pace,
    service::now,
};

/// Name of the ConfigMap.
pub const NAME: &str = "muster-installation";
const STATUS: &str = "status.json";
const HISTORY: &str = "history.json";
/// Entries of the history that are kept, and characters of each.
const LONGEST_HISTORY: usize = 300;
const LONGEST_MESSAGE: usize = 400;

/// Name of the ConfigMap that the service on the rendezvous host writes before it ends with it.
pub const HANDOVER: &str = "muster-installation-service";
/// Namespace of both.
pub const NAMESPACE: &str = "assisted-installer";

/// The state of the installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// What the controller does at present.
    pub phase: String,
    /// How it ended, if it did.
    pub outcome: Option<String>,
    /// The service answers.
    pub service_reachable: bool,
    /// Every host.
    pub hosts: Vec<Host>,
    /// Status and message of operators.
    pub operators: BTreeMap<String, (String, String)>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    time: String,
    message: String,
}

impl Entry {
    /// An entry; a long message is cut.
    #[must_use]
    pub fn new(time: String, message: impl Into<String>) -> Self {
        let message = message.into().chars().take(LONGEST_MESSAGE).collect();
        Self { time, message }
    }

    /// When, as RFC 3339 writes it.
    #[must_use]
    pub fn time(&self) -> &str {
        &self.time
    }

    /// What.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The ConfigMap in which the service of an agent-based installation leaves what it knows.
#[must_use]
pub fn handover(hosts: &[Host], history: &[Entry]) -> Value {
    let newest = history.len().saturating_sub(LONGEST_HISTORY);
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": HANDOVER, "namespace": NAMESPACE},
        "data": {
            STATUS: json!({"hosts": hosts}).to_string(),
            HISTORY: json!(history[newest..]).to_string(),
        },
    })
}

/// State and history in a ConfigMap of either kind.
#[must_use]
pub fn read(config_map: &Value) -> (State, Vec<Entry>) {
    let kept = Record::read(config_map).kept().clone();
    (kept.state, kept.history.into())
}

/// The record, to be shared.
#[derive(Debug, Default)]
pub struct Record {
    kept: Mutex<Kept>,
    changed: Notify,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Kept {
    state: State,
    history: VecDeque<Entry>,
}

impl Record {
    /// What an earlier run of the controller left behind, if it did.
    ///
    /// # Errors
    /// The API does not answer.
    pub async fn load(kube: &Kube, namespace: &str) -> Result<Self, KubeError> {
        let find = |name| Kind::CONFIG_MAP.within(namespace, name);
        let found = kube.find(&find(NAME)).await?;
        let record = Self::read(&found.unwrap_or_default());
        if record.state().hosts.is_empty() {
            // A first run after the service has gone: it left its hosts.
            let left = kube.find(&find(HANDOVER)).await?;
            let hosts = Self::read(&left.unwrap_or_default()).state().hosts;
            record.kept().state.hosts = hosts;
        }
        Ok(record)
    }

    fn read(config_map: &Value) -> Self {
        // A record that cannot be read is an empty one: it must not stop an installation.
        let of = |key: &str| config_map["data"][key].as_str().unwrap_or_default();
        let kept = Kept {
            state: serde_json::from_str(of(STATUS)).unwrap_or_default(),
            history: serde_json::from_str(of(HISTORY)).unwrap_or_default(),
        };
        Self {
            kept: Mutex::new(kept),
            changed: Notify::new(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present state.
    #[must_use]
    pub fn state(&self) -> State {
        self.kept().state.clone()
    }

    /// Messages of the history, oldest first.
    #[must_use]
    pub fn history(&self) -> Vec<String> {
        let kept = self.kept();
        kept.history.iter().map(|one| one.message.clone()).collect()
    }

    /// Whether this is part of the history.
    #[must_use]
    pub fn contains(&self, message: &str) -> bool {
        let message: String = message.chars().take(LONGEST_MESSAGE).collect();
        self.kept().history.iter().any(|one| one.message == message)
    }

    /// Changes the state.
    pub fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.kept().state);
        self.changed.notify_one();
    }

    /// Adds to the history, and logs it.
    pub fn note(&self, message: impl Into<String>) {
        let entry = Entry::new(now(), message);
        info!("{}", entry.message);
        let mut kept = self.kept();
        kept.history.push_back(entry);
        while kept.history.len() > LONGEST_HISTORY {
            kept.history.pop_front();
        }
        drop(kept);
        self.changed.notify_one();
    }

    /// The same for something that may have been noted before, by an earlier run too.
    pub fn note_once(&self, message: String) {
        if !self.contains(&message) {
            self.note(message);
        }
    }

    /// A host reached a stage.
    pub fn stage(&self, id: Uuid, stage: HostStage) {
        self.set(|state| {
            for host in state.hosts.iter_mut().filter(|host| host.id == id) {
                host.stage = Some(stage);
            }
        });
    }

    /// An operator has a state. Whether its status is another one than before.
    pub fn operator(&self, name: &str, report: &Report) -> bool {
        let message = report.message.chars().take(LONGEST_MESSAGE).collect();
        let entry = (report.status.as_str().to_owned(), message);
        let mut differs = false;
        self.set(|state| {
            let before = state.operators.insert(name.to_owned(), entry);
            differs = before.is_none_or(|(status, _)| status != report.status.as_str());
        });
        differs
    }

    /// The ConfigMap with everything in it.
    fn config_map(&self, namespace: &str) -> Value {
        let kept = self.kept();
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": NAME, "namespace": namespace},
            "data": {
                STATUS: json!(kept.state).to_string(),
                HISTORY: json!(kept.history).to_string(),
            },
        })
    }

    /// Writes the record now.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn write(&self, kube: &Kube, namespace: &str) -> Result<(), KubeError> {
        kube.apply(&self.config_map(namespace)).await
    }

    /// Keeps the ConfigMap current, for good.
    pub async fn keep(&self, kube: &Kube, namespace: &str, pace: &Pace) {
        let mut written = Value::Null;
        let mut complained = false;
        loop {
            self.changed.notified().await;
            sleep(pace.record).await;
            let content = self.config_map(namespace);
            if content == written {
                continue;
            }
            match kube.apply(&content).await {
                Ok(()) => written = content,
                Err(error) => {
                    if !complained {
                        warn!(error = %chain(&error), "record of the installation not written, retrying");
                        complained = true;
                    }
                    self.changed.notify_one();
                    sleep(pace.retry).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::host;

    #[test]
    fn a_record_survives_being_written_and_read_and_stays_small() {
        let record = Record::default();
        record.set(|state| state.hosts = vec![host(1, "a", "master", "Rebooting")]);
        record.stage(Uuid::from_u128(1), HostStage::Joined);
        for number in 0..1000 {
            record.note(format!("{number} {}", "x".repeat(1000)));
        }
        let written = record.config_map("assisted-installer");
        assert!(written.to_string().len() < 200_000);
        let read = Record::read(&written);
        assert_eq!(read.state(), record.state());
        assert_eq!(read.state().hosts[0].stage, Some(HostStage::Joined));
        assert_eq!(read.history().len(), LONGEST_HISTORY);
        assert!(read.history().last().unwrap().starts_with("999 "));
    }

    #[test]
    fn what_the_service_leaves_is_read_as_a_record() {
        let left = handover(
            &[host(1, "a", "master", "Rebooting")],
            &[Entry::new(
                "2026-01-02T03:04:05Z".to_owned(),
                "x".repeat(1000),
            )],
        );
        let (state, history) = read(&left);
        assert_eq!(state.hosts[0].stage, Some(HostStage::Rebooting));
        assert_eq!(history[0].time(), "2026-01-02T03:04:05Z");
        assert_eq!(history[0].message().len(), LONGEST_MESSAGE);
    }

    #[test]
    fn an_unreadable_record_is_an_empty_one() {
        let odd = json!({"data": {STATUS: "{", HISTORY: 5}});
        assert_eq!(Record::read(&odd).state(), State::default());
    }
}
