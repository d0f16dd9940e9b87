//! How a bound host changes when time passes or its cluster or checks change.
//!
//! The table is in three parts, by the time of life a row speaks of. Where two parts speak of
//! one status (known and preparing-failed), the order of the parts counts as well.

mod collecting;
mod installing;
mod preparing;

use muster_model::{Event, Host, HostStatus, Timestamp};

pub(crate) use super::host_facts::HostFacts;

/// One row: in these statuses, when this holds, do that.
pub(crate) struct HostRule {
    pub(crate) name: &'static str,
    pub(crate) from: &'static [HostStatus],
    /// Where it may lead; nowhere if empty.
    pub(crate) to: &'static [HostStatus],
    pub(crate) when: fn(&HostFacts<'_>) -> bool,
    pub(crate) then: fn(&HostFacts<'_>) -> Option<Next>,
}

/// Where a host goes.
pub(crate) struct Next {
    pub(crate) status: HostStatus,
    pub(crate) info: String,
    /// What else changes; most moves change nothing else.
    pub(crate) also: Option<fn(&mut Host, Timestamp)>,
    /// Further events.
    pub(crate) events: Vec<Event>,
}

pub(crate) fn go(status: HostStatus, info: impl Into<String>) -> Option<Next> {
    Some(Next {
        status,
        info: info.into(),
        also: None,
        events: Vec::new(),
    })
}

/// The status stays; something else changes, and perhaps the reason shown.
fn note(
    on: &HostFacts<'_>,
    info: impl Into<String>,
    also: fn(&mut Host, Timestamp),
) -> Option<Next> {
    Some(Next {
        status: on.host.status,
        info: info.into(),
        also: Some(also),
        events: Vec::new(),
    })
}

/// The table.
pub(crate) static HOST_RULES: &[&[HostRule]] =
    &[preparing::ROWS, installing::ROWS, collecting::ROWS];

fn ready() -> Option<Next> {
    go(HostStatus::Known, "The host is ready to be installed")
}

fn failing(on: &HostFacts<'_>) -> Option<Next> {
    go(
        HostStatus::Insufficient,
        on.why("The host is not ready to be installed"),
    )
}
