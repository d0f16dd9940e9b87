//! Operators of the new cluster: which were chosen, what they report, and when all are settled.
//!
//! What they ask of hosts is evaluated in `checks::operators`; [`explained`] describes it.
//! During finalizing the controller inside the cluster reports each one. The installation is
//! complete when every built-in one is available and every optional one is available or has
//! failed; the slowest optional one stretches the stages that wait for them.

use std::time::Duration;

use muster_catalog::Operator;
use muster_model::{Cluster, MonitoredOperator, Timestamp};

use crate::{
    draft::Draft,
    events, history, progress,
    view::{ClusterView, Decision, Refused},
};

pub use crate::checks::operators::{Explained, explained};

/// What the controller inside the cluster says about an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorReport {
    /// Which one.
    pub name: String,
    /// `available`, `progressing` or `failed`.
    pub status: String,
    /// Why.
    pub status_info: Option<String>,
    /// Version it has reached.
    pub version: Option<String>,
}

/// Takes a report in and moves the progress of the cluster.
///
/// # Errors
/// Missing when the operator is not monitored, invalid when the status is unknown.
pub fn report(
    view: &ClusterView<'_>,
    report: &OperatorReport,
    now: Timestamp,
) -> Result<Decision, Refused> {
    if !matches!(
        report.status.as_str(),
        "available" | "progressing" | "failed" | ""
    ) {
        return Err(Refused::invalid(format!(
            "operator status {:?} is unknown; use available, progressing or failed",
            report.status
        )));
    }
    let mut draft = Draft::of(view, now);
    let operator = draft
        .cluster
        .monitored_operators
        .iter_mut()
        .flatten()
        .find(|operator| operator.name == report.name)
        .ok_or_else(|| {
            Refused::missing(format!(
                "operator {:?} is not monitored on this cluster",
                report.name
            ))
        })?;
    operator.status = Some(report.status.clone());
    operator.status_info.clone_from(&report.status_info);
    if report.version.is_some() {
        operator.version.clone_from(&report.version);
    }
    operator.status_updated_at = Some(now);
    let status = match report.status.as_str() {
        "" => "in an unknown state",
        status => status,
    };
    let details = report
        .status_info
        .as_deref()
        .filter(|info| !info.is_empty());
    let message = format!(
        "Operator {} is {status}: {}",
        report.name,
        details.unwrap_or("no details")
    );
    let kind = events::CLUSTER_OPERATOR_STATUS;
    let event = history::about_cluster(kind, &draft.cluster, now, message);
    draft.events.push(event);
    if !draft.cluster.is_day2() {
        progress::count_operators(&mut draft.cluster);
    }
    Ok(draft.finish())
}

/// The optional operators that are chosen for a cluster; older records may say `ocs` for ODF.
pub fn chosen(cluster: &Cluster) -> impl Iterator<Item = Operator> {
    let operators = cluster.monitored_operators.iter().flatten();
    operators
        .filter(|operator| is_olm(operator))
        .filter_map(|operator| Operator::from_request(&operator.name).ok())
}

fn is_olm(operator: &MonitoredOperator) -> bool {
    operator.operator_type == "olm"
}

/// Nothing more is expected of it: optional operators may fail.
pub(crate) fn is_settled(operator: &MonitoredOperator) -> bool {
    match operator.status.as_deref() {
        Some("available") => true,
        Some("failed") => is_olm(operator),
        _ => false,
    }
}

pub(crate) fn all_settled(cluster: &Cluster) -> bool {
    cluster.monitored_operators.iter().flatten().all(is_settled)
}

pub(crate) fn failed_olm(cluster: &Cluster) -> Vec<&str> {
    let operators = cluster.monitored_operators.iter().flatten();
    operators
        .filter(|operator| is_olm(operator) && operator.status.as_deref() == Some("failed"))
        .map(|operator| operator.name.as_str())
        .collect()
}

/// The longest any optional operator may take.
pub(crate) fn slowest_olm(cluster: &Cluster) -> Duration {
    let operators = cluster.monitored_operators.iter().flatten();
    let seconds = operators
        .filter(|o| is_olm(o))
        .map(|o| o.timeout_seconds)
        .max();
    Duration::from_secs(u64::try_from(seconds.unwrap_or(0)).unwrap_or(0))
}
