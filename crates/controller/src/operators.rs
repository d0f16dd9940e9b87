//! What is reported about operators.

use std::{
    collections::BTreeMap,
    str::FromStr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::kube::{items, text};

/// Name under which the service knows the cluster version.
pub const CLUSTER_VERSION: &str = "cvo";
/// Name of the console's operator.
pub const CONSOLE: &str = "console";

/// Status of an operator, in the words of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Still at it.
    Progressing,
    /// It works.
    Available,
    /// It does not work.
    Failed,
}

impl Status {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Progressing => "progressing",
            Self::Available => "available",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for Status {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Progressing, Self::Available, Self::Failed]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(())
    }
}

/// An operator the service asks about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Monitored {
    /// Its name.
    pub name: String,
    /// Installed by the operator lifecycle manager, not part of the release.
    pub olm: bool,
    /// Where its subscription is.
    pub namespace: String,
    /// Name of its subscription.
    pub subscription: String,
    /// What the service has stored.
    pub status: Option<Status>,
    /// The message with it.
    pub message: String,
}

/// The state of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it is.
    pub status: Status,
    /// Why.
    pub message: String,
    /// Which version.
    pub version: String,
}

impl Report {
    /// Of a ClusterOperator.
    #[must_use]
    pub fn of_cluster_operator(object: &Value) -> Self {
        let operator = items(object, "/status/versions").find(|one| one["name"] == "operator");
        let version = operator.or_else(|| items(object, "/status/versions").next());
        let version = version.map_or("", |version| text(version, "/version"));
        Self::of_conditions(object, version)
    }

    /// Of the ClusterVersion.
    #[must_use]
    pub fn of_cluster_version(object: &Value) -> Self {
        Self::of_conditions(object, text(object, "/status/desired/version"))
    }

    /// The first of these that holds, whatever order the conditions are in.
    fn of_conditions(object: &Value, version: &str) -> Self {
        let rules = [
            ("Available", "True", Status::Available),
            ("Progressing", "True", Status::Progressing),
            ("Degraded", "True", Status::Failed),
            ("Failing", "True", Status::Failed),
            ("Available", "False", Status::Failed),
        ];
        let found = rules.into_iter().find_map(|(kind, value, status)| {
            items(object, "/status/conditions")
                .find(|one| one["type"] == kind && one["status"] == value)
                .map(|one| (status, text(one, "/message")))
        });
        let (status, message) = found.unwrap_or((Status::Progressing, ""));
        Self {
            status,
            message: message.to_owned(),
            version: version.to_owned(),
        }
    }

    /// Whether this is to be reported, given what the service has stored. An operator that was
    /// available once stays so.
    #[must_use]
    pub fn is_news(&self, to: &Monitored) -> bool {
        if to.status == Some(Status::Available) {
            return false;
        }
        to.status != Some(self.status) || (!self.message.is_empty() && to.message != self.message)
    }
}

/// Whether the console is part of this cluster: its capability is enabled, or this release does
/// not know it as a capability.
#[must_use]
pub fn has_console(cluster_version: &Value) -> bool {
    let has = |list: &str| {
        let list = format!("/status/capabilities/{list}");
        items(cluster_version, &list).any(|one| one == "Console")
    };
    has("enabledCapabilities") || !has("knownCapabilities")
}

/// Every ClusterOperator with status and message, for a failed installation.
#[must_use]
pub fn summary<'a>(operators: impl Iterator<Item = &'a Value>) -> Value {
    operators
        .map(|operator| {
            let report = Report::of_cluster_operator(operator);
            json!({
                "name": text(operator, "/metadata/name"),
                "status": report.status.as_str(),
                "status_info": report.message,
            })
        })
        .collect()
}

/// How often a CSV has been found failed, one operator beside the other.
///
/// A CSV may fail and recover, for example while its dependencies come up. So it counts as failed
/// only when it was found so ten times in a row, at least half a minute apart.
#[derive(Debug)]
pub struct Failures {
    needed: u32,
    apart: Duration,
    seen: BTreeMap<String, (u32, Instant)>,
}

impl Failures {
    /// Nothing found yet.
    #[must_use]
    pub fn new(needed: u32, apart: Duration) -> Self {
        Self {
            needed,
            apart,
            seen: BTreeMap::new(),
        }
    }

    /// Takes in one look at a CSV and returns what is to be reported.
    pub fn report(&mut self, operator: &str, csv: &Value, now: Instant) -> Report {
        let phase = text(csv, "/status/phase");
        let status = match phase {
            "Succeeded" => Status::Available,
            "Failed" if self.count(operator, now) >= self.needed => Status::Failed,
            _ => Status::Progressing,
        };
        if phase != "Failed" {
            self.seen.remove(operator);
        }
        Report {
            status,
            message: text(csv, "/status/message").to_owned(),
            version: text(csv, "/spec/version").to_owned(),
        }
    }

    fn count(&mut self, operator: &str, now: Instant) -> u32 {
        match self.seen.get_mut(operator) {
            Some((count, last)) => {
                if now.saturating_duration_since(*last) >= self.apart {
                    *count += 1;
                    *last = now;
                }
                *count
            }
            None => {
                self.seen.insert(operator.to_owned(), (1, now));
                1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(conditions: &[(&str, &str)]) -> Value {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status, "message": kind}))
            .collect();
        json!({"status": {
            "conditions": conditions,
            "versions": [{"name": "x", "version": "1"}, {"name": "operator", "version": "4.20.1"}],
        }})
    }

    #[test]
    fn the_order_of_conditions_does_not_matter() {
        let rows: &[(&[(&str, &str)], Status)] = &[
            (
                &[("Available", "True"), ("Progressing", "True")],
                Status::Available,
            ),
            (
                &[("Degraded", "True"), ("Available", "True")],
                Status::Available,
            ),
            (
                &[("Available", "False"), ("Progressing", "True")],
                Status::Progressing,
            ),
            (
                &[("Progressing", "False"), ("Degraded", "True")],
                Status::Failed,
            ),
            (
                &[("Available", "False"), ("Progressing", "False")],
                Status::Failed,
            ),
            (
                &[("Failing", "True"), ("Progressing", "False")],
                Status::Failed,
            ),
            (&[("Available", "Unknown")], Status::Progressing),
            (&[], Status::Progressing),
        ];
        for (conditions, status) in rows {
            let report = Report::of_cluster_operator(&operator(conditions));
            assert_eq!(report.status, *status, "{conditions:?}");
            assert_eq!(report.version, "4.20.1");
        }
    }

    #[test]
    fn only_news_is_reported() {
        let stored = |status, message: &str| Monitored {
            status,
            message: message.to_owned(),
            ..Monitored::default()
        };
        let report = |status, message: &str| Report {
            status,
            message: message.to_owned(),
            version: String::new(),
        };
        let progressing = report(Status::Progressing, "1 of 3");
        assert!(progressing.is_news(&stored(None, "")));
        assert!(progressing.is_news(&stored(Some(Status::Progressing), "0 of 3")));
        assert!(!progressing.is_news(&stored(Some(Status::Progressing), "1 of 3")));
        assert!(!report(Status::Progressing, "").is_news(&stored(Some(Status::Progressing), "x")));
        assert!(!report(Status::Failed, "x").is_news(&stored(Some(Status::Available), "")));
    }

    #[test]
    fn the_console_is_a_capability_since_some_release() {
        let version = |known: &[&str], enabled: &[&str]| {
            json!({"status": {"capabilities": {
                "knownCapabilities": known, "enabledCapabilities": enabled,
            }}})
        };
        assert!(has_console(&json!({})));
        assert!(has_console(&version(&["Console"], &["Console"])));
        assert!(!has_console(&version(&["Console"], &[])));
    }

    #[test]
    fn a_csv_fails_when_it_was_found_failed_ten_times_in_a_row() {
        let apart = Duration::from_secs(30);
        let mut failures = Failures::new(10, apart);
        let failed = json!({"status": {"phase": "Failed", "message": "no"}});
        let began = Instant::now();
        let at = |times: u32| began + apart * times;
        for times in 0..9 {
            // Looks in between do not count.
            for late in [0, 1, 29] {
                let report = failures.report("a", &failed, at(times) + Duration::from_secs(late));
                assert_eq!(report.status, Status::Progressing, "{times}");
            }
        }
        assert_eq!(failures.report("a", &failed, at(9)).status, Status::Failed);
        assert_eq!(
            failures.report("b", &failed, at(9)).status,
            Status::Progressing
        );
        let better = json!({"status": {"phase": "Installing"}});
        assert_eq!(
            failures.report("a", &better, at(10)).status,
            Status::Progressing
        );
        assert_eq!(
            failures.report("a", &failed, at(11)).status,
            Status::Progressing
        );
        let good = json!({"status": {"phase": "Succeeded"}, "spec": {"version": "1.2.3"}});
        let report = failures.report("a", &good, at(12));
        assert_eq!(
            (report.status, report.version.as_str()),
            (Status::Available, "1.2.3")
        );
    }
}
