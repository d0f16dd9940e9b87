//! Operators of the new cluster: their reports, and when they are all settled.

use std::time::Duration;

use muster_model::{Cluster, MonitoredOperator, Severity, Timestamp};

use crate::{
    draft::Draft,
    history, progress,
    view::{ClusterView, Decision, Refused},
};

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
/// The operator is not monitored (404) or the status is unknown (400).
pub fn report(
    view: &ClusterView<'_>,
    report: &OperatorReport,
    now: Timestamp,
) -> Result<Decision, Refused> {
    if !matches!(
        report.status.as_str(),
        "available" | "progressing" | "failed" | ""
    ) {
        return Err(Refused::bad_request(format!(
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
            Refused::not_found(format!(
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
    let message = format!(
        "Operator {} is {}: {}",
        report.name,
        report.status,
        report.status_info.as_deref().unwrap_or("no details")
    );
    let event = history::of_cluster(
        "cluster_operator_status",
        Severity::Info,
        &draft.cluster,
        now,
        message,
    );
    draft.events.push(event);
    progress::count_operators(&mut draft.cluster);
    Ok(draft.finish())
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
