//! What the sources said at one moment, reduced to what the account needs. Read leniently: a
//! field that is missing is a field without a value.

use std::{collections::BTreeMap, time::Duration};

use muster_controller::record;
use serde_json::Value;

/// Longest text of others that is shown.
const LONGEST: usize = 600;

/// Everything seen at one moment.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Since the account began.
    pub at: Duration,
    /// The service on the rendezvous host.
    pub service: ServiceSeen,
    /// The Kubernetes API of the new cluster.
    pub api: ApiSeen,
    /// The rendezvous host accepts connections at all (SSH); none if that was not tried.
    pub host_answers: Option<bool>,
}

/// The service at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ServiceSeen {
    /// There is none in this kind of installation.
    #[default]
    None,
    /// It does not answer; why.
    Silent(String),
    /// It answers, but not us; why.
    Refused(String),
    /// It answers and knows no cluster yet.
    Empty,
    /// It answers.
    Cluster(Box<ServiceView>),
}

/// What the service says of the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceView {
    /// When the cluster was registered. A service that knows the same cluster since another moment has
    /// lost what it knew.
    pub registered: String,
    /// For example `installing`.
    pub status: String,
    /// Why.
    pub status_info: String,
    /// Per cent of the whole installation.
    pub percent: i64,
    /// Its hosts.
    pub hosts: Vec<HostView>,
    /// Validations of cluster and hosts, by whom they are about and id.
    pub validations: BTreeMap<(String, String), Validation>,
    /// The history, oldest first.
    pub events: Vec<Event>,
}

/// A validation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    /// `success`, `failure`, …
    pub status: String,
    /// For people.
    pub message: String,
}

impl Validation {
    /// It stands in the way.
    #[must_use]
    pub fn failed(&self) -> bool {
        matches!(self.status.as_str(), "failure" | "error")
    }
}

/// A host as the service sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostView {
    /// Its name.
    pub name: String,
    /// For example `known`.
    pub status: String,
    /// Why.
    pub status_info: String,
    /// Stage of its installation.
    pub stage: String,
    /// It leads the installation, and the service runs there.
    pub bootstrap: bool,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When, as RFC 3339 writes it.
    pub time: String,
    /// `info`, `warning`, …
    pub severity: String,
    /// What.
    pub message: String,
}

impl ServiceView {
    /// From the service's answers.
    #[must_use]
    pub fn read(cluster: &Value, events: &Value) -> Self {
        let mut view = Self {
            registered: text(cluster, "/created_at"),
            status: text(cluster, "/status"),
            status_info: text(cluster, "/status_info"),
            percent: cluster["progress"]["total_percentage"]
                .as_i64()
                .unwrap_or(0),
            ..Self::default()
        };
        let name = text(cluster, "/name");
        view.add_validations(&format!("cluster {name}"), cluster);
        for host in list(cluster, "hosts") {
            let inventory: Value =
                serde_json::from_str(host["inventory"].as_str().unwrap_or("")).unwrap_or_default();
            let names = [
                text(host, "/requested_hostname"),
                text(&inventory, "/hostname"),
                text(host, "/id"),
            ];
            let name = names.into_iter().find(|name| !name.is_empty());
            let name = name.unwrap_or_default();
            view.add_validations(&format!("host {name}"), host);
            view.hosts.push(HostView {
                name,
                status: text(host, "/status"),
                status_info: text(host, "/status_info"),
                stage: text(host, "/progress/current_stage"),
                bootstrap: host["bootstrap"] == true,
            });
        }
        view.events = events
            .as_array()
            .into_iter()
            .flatten()
            // Validations are shown with what they check; their events would say it twice.
            .filter(|event| !text(event, "/name").contains("_validation_"))
            .map(|event| Event {
                time: text(event, "/event_time"),
                severity: text(event, "/severity"),
                message: text(event, "/message"),
            })
            .collect();
        view
    }

    fn add_validations(&mut self, about: &str, object: &Value) {
        let text_of = object["validations_info"].as_str().unwrap_or_default();
        let all: BTreeMap<String, Vec<Value>> = serde_json::from_str(text_of).unwrap_or_default();
        for one in all.values().flatten() {
            self.validations.insert(
                (about.to_owned(), text(one, "/id")),
                Validation {
                    status: text(one, "/status"),
                    message: text(one, "/message"),
                },
            );
        }
    }
}

/// The Kubernetes API at one moment.
#[derive(Clone, Debug, PartialEq)]
pub enum ApiSeen {
    /// It does not answer; why.
    Silent(String),
    /// It answers.
    Alive(Box<ClusterView>),
}

impl Default for ApiSeen {
    fn default() -> Self {
        Self::Silent(String::new())
    }
}

/// What the cluster says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterView {
    /// The way it was reached, where that is not its name.
    pub way: Option<String>,
    /// `kube-system/bootstrap` says `complete`.
    pub bootstrap_complete: bool,
    /// etcd has removed the member of the bootstrap host; none if the cluster does not say.
    pub etcd_bootstrap_removed: Option<bool>,
    /// The cluster version.
    pub version: Option<VersionView>,
    /// Cluster operators by name.
    pub operators: BTreeMap<String, OperatorView>,
    /// Nodes by name, and whether they are ready.
    pub nodes: BTreeMap<String, bool>,
    /// The controller's record and the one of the service: what the controller does, its outcome,
    /// stages of hosts by name, history.
    pub record: RecordView,
}

/// What the records in the cluster say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordView {
    /// What the controller does.
    pub phase: String,
    /// How it ended.
    pub outcome: Option<String>,
    /// Stage of each host by name.
    pub stages: BTreeMap<String, String>,
    /// The history, oldest first.
    pub events: Vec<Event>,
}

impl RecordView {
    /// From the ConfigMaps of service and controller.
    #[must_use]
    pub fn read(service: &Value, controller: &Value) -> Self {
        let mut view = Self::default();
        for map in [service, controller] {
            let (state, history) = record::read(map);
            for host in &state.hosts {
                if let Some(stage) = host.stage {
                    view.stages
                        .insert(host.name().to_owned(), stage.to_string());
                }
            }
            view.events.extend(history.iter().map(|entry| Event {
                time: entry.time().to_owned(),
                severity: "info".to_owned(),
                message: shown(entry.message()),
            }));
            if !state.phase.is_empty() || state.outcome.is_some() {
                view.phase = state.phase;
                view.outcome = state.outcome;
            }
        }
        view
    }
}

/// The conditions of a ClusterVersion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionView {
    /// Available is True.
    pub available: bool,
    /// Failing is not False.
    pub failing: Option<String>,
    /// Progressing is not False: what it says.
    pub progressing: Option<String>,
    /// The cluster it says it is.
    pub cluster_id: String,
}

impl VersionView {
    /// From the object.
    #[must_use]
    pub fn read(version: &Value) -> Self {
        let condition = |kind: &str| {
            let mut all = list(&version["status"], "conditions");
            all.find(|one| one["type"] == kind)
        };
        let unless_false = |kind: &str| match condition(kind) {
            Some(one) if one["status"] == "False" => None,
            Some(one) => Some(text(one, "/message")),
            None => Some(String::new()),
        };
        Self {
            available: condition("Available").is_some_and(|one| one["status"] == "True"),
            // Missing at the start, which is no failure.
            failing: condition("Failing")
                .filter(|one| one["status"] == "True")
                .map(|one| text(one, "/message")),
            progressing: unless_false("Progressing"),
            cluster_id: text(version, "/spec/clusterID"),
        }
    }

    /// The cluster is initialized.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.available && self.failing.is_none() && self.progressing.is_none()
    }
}

/// The conditions of a ClusterOperator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorView {
    /// Available is True.
    pub available: bool,
    /// Degraded is True: what it says.
    pub degraded: Option<String>,
    /// Progressing is not False: what it says.
    pub progressing: Option<String>,
}

impl OperatorView {
    /// From the object.
    #[must_use]
    pub fn read(operator: &Value) -> Self {
        let version = VersionView::read(operator);
        let mut conditions = list(&operator["status"], "conditions");
        let degraded = conditions.find(|one| one["type"] == "Degraded");
        Self {
            available: version.available,
            degraded: degraded
                .filter(|one| one["status"] == "True")
                .map(|one| text(one, "/message")),
            progressing: version.progressing,
        }
    }
}

/// A text of others, on one line and without what could confuse a terminal.
#[must_use]
pub fn shown(text: &str) -> String {
    let clean = muster_api::client::printable(text);
    match clean.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

fn text(value: &Value, pointer: &str) -> String {
    let found = value.pointer(pointer).and_then(Value::as_str);
    shown(found.unwrap_or_default())
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_is_complete_when_all_three_conditions_say_so() {
        let version = |available: &str, failing: Option<&str>, progressing: &str| {
            let mut conditions = vec![
                json!({"type": "Available", "status": available}),
                json!({"type": "Progressing", "status": progressing, "message": "12% complete"}),
            ];
            if let Some(failing) = failing {
                conditions.push(json!({"type": "Failing", "status": failing, "message": "no"}));
            }
            VersionView::read(&json!({"status": {"conditions": conditions}}))
        };
        assert!(version("True", Some("False"), "False").complete());
        assert!(version("True", None, "False").complete());
        assert!(!version("True", Some("True"), "False").complete());
        assert!(!version("False", None, "False").complete());
        let working = version("False", None, "True");
        assert_eq!(working.progressing.as_deref(), Some("12% complete"));
        assert!(!VersionView::read(&Value::Null).complete());
    }

    #[test]
    fn hosts_and_validations_are_read_and_hostile_texts_are_harmless() {
        let cluster = json!({
            "name": "lab", "status": "insufficient", "progress": {"total_percentage": 7},
            "validations_info": r#"{"network":[{"id":"api-vips-defined","status":"failure","message":"none"}]}"#,
            "hosts": [{"id": "1", "requested_hostname": "a\u{1b}[2J", "status": "known",
                       "bootstrap": true, "progress": {"current_stage": "Rebooting"}}],
        });
        let events = json!([{"event_time": "t", "message": "m\nn"},
                            {"name": "host_validation_failed", "message": "twice"}]);
        let view = ServiceView::read(&cluster, &events);
        assert_eq!(view.events.len(), 1);
        let key = ("cluster lab".to_owned(), "api-vips-defined".to_owned());
        assert!(view.validations[&key].failed());
        assert!(!view.hosts[0].name.contains('\u{1b}') && view.hosts[0].bootstrap);
        assert!(!view.events[0].message.contains('\n'));
    }
}
