//! One step of a refresh: the first row that matches, and its effect.

use super::{
    cluster::{self, CLUSTER_RULES, ClusterFacts},
    coverage,
    host::{self, HostFacts, HostRule},
};

/// Time passed, or facts changed: the trigger of the refresh tables.
pub(crate) const REFRESH: &str = "Refresh";

/// Name of the rule that leads a host somewhere, and where; `None` if it stays.
pub(crate) fn step_host(
    machine: &'static str,
    table: &[&[HostRule]],
    facts: &HostFacts<'_>,
) -> Option<(&'static str, host::Next)> {
    let from = facts.host.status;
    let mut rules = table.iter().copied().flatten();
    let rule = rules.find(|rule| rule.from.contains(&from) && (rule.when)(facts))?;
    coverage::hit(machine, REFRESH, rule.name);
    let next = (rule.then)(facts)?;
    keep_word(rule.name, from, next.status, rule.to);
    Some((rule.name, next))
}

/// The same for a cluster.
pub(crate) fn step_cluster(facts: &ClusterFacts<'_>) -> Option<(&'static str, cluster::Next)> {
    let from = facts.cluster.status;
    let mut rules = CLUSTER_RULES.iter();
    let rule = rules.find(|rule| rule.from.contains(&from) && (rule.when)(facts))?;
    coverage::hit("cluster", REFRESH, rule.name);
    let next = (rule.then)(facts)?;
    keep_word(rule.name, from, next.status, rule.to);
    Some((rule.name, next))
}

/// A row leads to one of the statuses it names, or nowhere.
fn keep_word<S: PartialEq>(rule: &str, from: S, to: S, named: &[S]) {
    debug_assert!(
        named.contains(&to) || (named.is_empty() && from == to),
        "rule {rule:?} leads where its row does not say"
    );
}
