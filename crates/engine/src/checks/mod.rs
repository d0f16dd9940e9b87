//! Validations as data: one row each, evaluated in table order.
//!
//! A row says which category a result is shown in, what it gates and how to find the answer.
//! [`host::HOST_CHECKS`] and [`cluster::CLUSTER_CHECKS`] are the whole list. Operators have a
//! table of their own, [`operators::OPERATOR_CHECKS`].

pub(crate) mod cluster;
mod cluster_hosts;
mod cluster_manifests;
mod cluster_network;
mod cluster_vips;
pub(crate) mod host;
mod host_disks;
mod host_encryption;
mod host_group;
mod host_hardware;
mod host_names;
mod host_needs;
mod host_network;
mod host_reach;
#[cfg(test)]
mod host_sets_tests;
mod host_table;
mod neighbourhood;
pub(crate) mod operators;
#[cfg(test)]
mod testbed;

use std::collections::{BTreeMap, BTreeSet};

use muster_model::{Cluster, Event, Host, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{agent_json, events, history, inventory, view::Measured};

/// Maximum length of the reasons in a status, in characters.
const LONGEST_REASON: usize = 2040;
/// Number of examples that are listed before "and 7 more" follows.
const MOST_EXAMPLES: usize = 5;

/// The first few of a list that may be as long as the cluster is large.
pub(crate) fn examples<T: AsRef<str>>(all: &[T]) -> String {
    let shown = all.len().min(MOST_EXAMPLES);
    let named: Vec<&str> = all[..shown].iter().map(AsRef::as_ref).collect();
    let mut text = named.join(", ");
    if all.len() > shown {
        text.push_str(&format!(" and {} more", all.len() - shown));
    }
    text
}

/// How a check ended. "Not yet", "no" and "broken input" are different answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Failure,
    Pending,
    Error,
    Disabled,
    /// True, and not worth a line: the question does not arise.
    Silent,
}

impl Outcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Success | Self::Silent => "success",
            Self::Failure => "failure",
            Self::Pending => "pending",
            Self::Error => "error",
            Self::Disabled => "disabled",
        }
    }

    pub(crate) const fn is_true(self) -> bool {
        match self {
            Self::Success | Self::Disabled | Self::Silent => true,
            Self::Failure | Self::Pending | Self::Error => false,
        }
    }
}

/// The answer of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckResult {
    pub(crate) outcome: Outcome,
    pub(crate) message: String,
}

impl CheckResult {
    pub(crate) fn pass(message: impl Into<String>) -> Self {
        Self::new(Outcome::Success, message)
    }

    pub(crate) fn fail(message: impl Into<String>) -> Self {
        Self::new(Outcome::Failure, message)
    }

    pub(crate) fn wait(message: impl Into<String>) -> Self {
        Self::new(Outcome::Pending, message)
    }

    pub(crate) fn broken(message: impl Into<String>) -> Self {
        Self::new(Outcome::Error, message)
    }

    pub(crate) fn silent() -> Self {
        Self::new(Outcome::Silent, "")
    }

    fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Self {
            outcome,
            message: message.into(),
        }
    }
}

/// Results of one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    shown: BTreeMap<&'static str, Vec<Entry>>,
    passing: BTreeSet<&'static str>,
}

/// One result as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    id: String,
    status: String,
    message: String,
}

impl Findings {
    fn note(&mut self, id: &'static str, category: &'static str, result: CheckResult, shown: bool) {
        if result.outcome.is_true() {
            self.passing.insert(id);
        }
        if shown && result.outcome != Outcome::Silent {
            self.shown.entry(category).or_default().push(Entry {
                id: id.to_owned(),
                status: result.outcome.as_str().to_owned(),
                message: result.message,
            });
        }
    }

    pub(crate) fn passes(&self, id: &str) -> bool {
        self.passing.contains(id)
    }

    pub(crate) fn text(&self) -> String {
        agent_json::text(&self.shown)
    }

    /// Messages of everything that failed and holds something back, sorted, for `status_info`; cut
    /// where clients cut it. What is `advisory` or ignored would hide the real reasons.
    pub(crate) fn failures(&self, advisory: impl Fn(&str) -> bool) -> String {
        let mut messages: Vec<&str> = self
            .shown
            .values()
            .flatten()
            .filter(|entry| entry.status == "failure")
            .filter(|entry| !self.passes(&entry.id) && !advisory(&entry.id))
            .map(|entry| entry.message.as_str())
            .collect();
        messages.sort_unstable();
        let mut text = messages.join(" ; ");
        if let Some((end, _)) = text.char_indices().nth(LONGEST_REASON) {
            text.truncate(end);
        }
        text
    }

    /// Ids the user decided to live with count as passed; what was found is still shown.
    fn ignore(
        &mut self,
        list: Option<&str>,
        never: &[&str],
        all: impl Iterator<Item = &'static str>,
    ) {
        let ignored: Vec<String> = agent_json::stored(list).ok().unwrap_or_default();
        let everything = ignored.iter().any(|id| id == "all");
        for id in all {
            if !never.contains(&id) && (everything || ignored.iter().any(|i| i == id)) {
                self.passing.insert(id);
            }
        }
    }
}

type StoredFindings = BTreeMap<String, Vec<Entry>>;

/// The changes between two stored results, as (id, now failing, message).
fn differences(before: Option<&str>, after: Option<&str>) -> Vec<(Entry, String)> {
    let before: StoredFindings = agent_json::stored(before).ok().unwrap_or_default();
    let after: StoredFindings = agent_json::stored(after).ok().unwrap_or_default();
    let old: BTreeMap<&str, &str> = before
        .values()
        .flatten()
        .map(|entry| (entry.id.as_str(), entry.status.as_str()))
        .collect();
    after
        .values()
        .flatten()
        .filter_map(|entry| {
            let was = *old.get(entry.id.as_str())?;
            (was != entry.status).then(|| (entry.clone(), was.to_owned()))
        })
        .collect()
}

/// Ids of the checks that fail in a stored result.
#[must_use]
pub fn failing(stored: Option<&str>) -> Vec<String> {
    let findings: StoredFindings = agent_json::stored(stored).ok().unwrap_or_default();
    let entries = findings.into_values().flatten();
    let failing = entries.filter(|entry| entry.status == "failure");
    failing.map(|entry| entry.id).collect()
}

/// Events for checks that began or ceased to fail; checks that failed after they had passed are
/// also counted.
pub(crate) fn host_changes(
    before: &Host,
    after: &Host,
    now: Timestamp,
    measured: &mut Vec<Measured>,
) -> Vec<Event> {
    let name = inventory::hostname(after);
    let to_event = |(entry, was): (Entry, String)| match (entry.status.as_str(), was.as_str()) {
        ("failure", _) => Some(history::about_host(
            events::HOST_VALIDATION_FAILED,
            after,
            now,
            format!(
                "Host {name}: validation '{}' fails: {}",
                entry.id, entry.message
            ),
        )),
        ("success", "failure") => Some(history::about_host(
            events::HOST_VALIDATION_FIXED,
            after,
            now,
            format!("Host {name}: validation '{}' passes now", entry.id),
        )),
        _ => None,
    };
    let (old, new) = (&before.validations_info, &after.validations_info);
    let changes = differences(old.as_deref(), new.as_deref());
    let lost = changes.iter().filter(|change| is_lost(change));
    measured.extend(lost.map(|(entry, _)| Measured::HostCheckLost {
        id: entry.id.clone(),
    }));
    changes.into_iter().filter_map(to_event).collect()
}

fn is_lost((entry, was): &(Entry, String)) -> bool {
    entry.status == "failure" && was == "success"
}

/// The same for a cluster.
pub(crate) fn cluster_changes(
    before: &Cluster,
    after: &Cluster,
    now: Timestamp,
    measured: &mut Vec<Measured>,
) -> Vec<Event> {
    let to_event = |(entry, was): (Entry, String)| match (entry.status.as_str(), was.as_str()) {
        ("failure", _) => Some(history::about_cluster(
            events::CLUSTER_VALIDATION_FAILED,
            after,
            now,
            format!("Cluster validation '{}' fails: {}", entry.id, entry.message),
        )),
        ("success", "failure") => Some(history::about_cluster(
            events::CLUSTER_VALIDATION_FIXED,
            after,
            now,
            format!("Cluster validation '{}' passes now", entry.id),
        )),
        _ => None,
    };
    let (old, new) = (&before.validations_info, &after.validations_info);
    let changes = differences(old.as_deref(), new.as_deref());
    let lost = changes.iter().filter(|change| is_lost(change));
    measured.extend(lost.map(|(entry, _)| Measured::ClusterCheckLost {
        id: entry.id.clone(),
    }));
    changes.into_iter().filter_map(to_event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut_to_examples() {
        let list = |n: usize| (1..=n).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(examples(&list(0)), "");
        assert_eq!(examples(&list(5)), "1, 2, 3, 4, 5");
        assert_eq!(examples(&list(7)), "1, 2, 3, 4, 5 and 2 more");
    }

    #[test]
    fn reasons_are_sorted_joined_and_cut_between_characters() {
        let mut findings = Findings::default();
        findings.note("b", "network", CheckResult::fail("zwei"), true);
        findings.note("a", "hardware", CheckResult::fail("eins"), true);
        findings.note("c", "hardware", CheckResult::wait("drei"), true);
        findings.note("d", "hardware", CheckResult::fail("vier"), false);
        assert_eq!(findings.failures(|_| false), "eins ; zwei");
        assert_eq!(findings.failures(|id| id == "b"), "eins");
        findings.ignore(Some(r#"["a"]"#), &[], ["a", "b"].into_iter());
        assert_eq!(findings.failures(|_| false), "zwei");
        findings.note("e", "network", CheckResult::fail("ä".repeat(3000)), true);
        assert_eq!(findings.failures(|_| false).chars().count(), LONGEST_REASON);
    }
}
