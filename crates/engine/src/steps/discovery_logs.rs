//! Logs of hosts that wait for their installation, sent periodically where configured.
//!
//! They show what happened before an installation fails, or why a host never becomes ready. They
//! come on top of the steps of a status and depend on the clock, so they are apart from the table.

use std::time::Duration;

use muster_model::{Host, HostStatus, Timestamp};

use super::{Step, StepType, args};
use crate::{settings::Settings, view::Environment};

/// Whether the logs of a host are older than a site allows.
#[must_use]
pub fn discovery_logs_due(host: &Host, every: Option<Duration>, now: Timestamp) -> bool {
    let waits = matches!(
        host.status,
        HostStatus::Discovering
            | HostStatus::Known
            | HostStatus::Insufficient
            | HostStatus::PendingForInput
    );
    let old = |every| {
        let sent = host.logs_collected_at;
        sent.is_none_or(|sent| now.since(sent) >= every)
    };
    waits && every.is_some_and(old)
}

/// The step that sends them; logs belong to a cluster, so a host without one sends none.
#[must_use]
pub fn discovery_logs(host: &Host, around: &Environment<'_>, settings: &Settings) -> Option<Step> {
    let step_type = StepType::LogsGather;
    if settings.disabled_steps.contains(&step_type) {
        return None;
    }
    let args = vec![args::logs(host, around)?];
    Some(Step { step_type, args })
}
