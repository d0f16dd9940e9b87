//! Step replies of agents, converted to facts.
//!
//! Output is read through a typed struct and written again for storage, so nothing an agent
//! invents gets into the database. A failed step is never an error of the request: the agent
//! did its duty by reporting it. Replies may arrive twice, late, or from a host whose status has
//! changed since; each function here documents what counts then.

mod dhcp;
mod inventory;
mod news;
mod ports;
mod preparation;
mod reclaim;
mod results;
mod upgrade;
mod vips;

use std::fmt;

use muster_model::{Cluster, Event, Host, Timestamp};

use crate::{
    StepType, draft,
    events::EventKind,
    history, media,
    reports::keep,
    rules::triggers::{self, Occasion, Trigger},
    settings::Settings,
    view::{Decision, Environment, Measured},
};

/// A reply to one step. Output may hold secrets of the host, so `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq)]
pub struct StepReply {
    /// Which kind of step.
    pub step_type: StepType,
    /// 0 is success; 256 means the boot medium is gone.
    pub exit_code: i64,
    /// What it wrote, mostly JSON.
    pub output: String,
    /// What it complained about; also successful steps may.
    pub error: String,
}

impl fmt::Debug for StepReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepReply")
            .field("step_type", &self.step_type)
            .field("exit_code", &self.exit_code)
            .field("output_bytes", &self.output.len())
            .finish_non_exhaustive()
    }
}

impl StepReply {
    /// Its complaint, fit for a status or a report.
    fn complaint(&self) -> String {
        let text = self.error.replace('\0', "");
        if text.trim().is_empty() {
            format!("no reason given, exit code {}", self.exit_code)
        } else {
            text
        }
    }
}

/// A reply that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReply {
    /// The output is not what this step answers.
    #[error("output of step {step} cannot be read: {cause}")]
    Unreadable {
        /// The step.
        step: String,
        /// What is wrong and where.
        cause: String,
    },
    /// The output has more bytes or values than are parsed.
    #[error("output of step {step} is too large: {cause}")]
    TooLarge {
        /// The step.
        step: String,
        /// How large it is, and how large it may be.
        cause: String,
    },
    /// The output is fine, but not wanted now.
    #[error("output of step {step} is not accepted: {reason}")]
    NotNow {
        /// The step.
        step: String,
        /// Why.
        reason: String,
    },
}

impl BadReply {
    pub(crate) fn not_now(step: StepType, reason: impl Into<String>) -> Self {
        Self::NotNow {
            step: step.to_string(),
            reason: reason.into(),
        }
    }

    pub(crate) fn unreadable(step: StepType, cause: impl Into<String>) -> Self {
        Self::Unreadable {
            step: step.to_string(),
            cause: cause.into(),
        }
    }
}

/// What a reply changes.
pub(crate) struct Outcome {
    pub(crate) host: Host,
    pub(crate) cluster: Option<Cluster>,
    pub(crate) events: Vec<Event>,
    pub(crate) measured: Vec<Measured>,
}

/// Takes a reply in. Refresh afterwards: a reply changes facts, never the status by itself,
/// save for lost media, failed installations and nodes on their way back to discovery.
///
/// # Errors
/// The output cannot be read, or the host's state does not allow it.
pub fn apply(
    host: &Host,
    around: &Environment<'_>,
    reply: &StepReply,
    settings: &Settings,
    now: Timestamp,
) -> Result<Decision, BadReply> {
    let mut outcome = Outcome {
        host: host.clone(),
        cluster: None,
        events: Vec::new(),
        measured: Vec::new(),
    };
    if reply.exit_code == 0 {
        outcome.host.media_recovered |= !host.media_connected;
        outcome.host.media_connected = true;
        succeeded(&mut outcome, around, reply, settings, now)?;
    } else {
        failed(&mut outcome, around, reply, settings, now);
    }
    let needs_no_refresh = outcome.cluster.is_none()
        && outcome.events.is_empty()
        && !news::for_rules(host, &outcome.host, settings);
    let mut decision = draft::about_host(host, outcome.host, outcome.events, now);
    decision.needs_no_refresh = needs_no_refresh;
    decision.measured = outcome.measured;
    decision.cluster = outcome.cluster.map(|mut cluster| {
        cluster.updated_at = now;
        cluster
    });
    Ok(decision)
}

fn succeeded(
    outcome: &mut Outcome,
    around: &Environment<'_>,
    reply: &StepReply,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), BadReply> {
    use StepType::*;
    let text = reply.output.as_str();
    let reports = &mut outcome.host.reports;
    match reply.step_type {
        Inventory => inventory::store(outcome, around, text, settings, now)?,
        ConnectivityCheck => {
            let before = outcome.host.clone();
            let reports = &mut outcome.host.reports;
            keep(&mut reports.connectivity, results::connectivity(text)?);
            let event = ports::changed(&before, &outcome.host, now);
            outcome.events.extend(event);
        }
        ApiVipConnectivityCheck => {
            keep(&mut reports.api_vip_connectivity, results::api_vip(text)?);
        }
        TangConnectivityCheck => keep(&mut reports.tang_connectivity, results::tang(text)?),
        FreeNetworkAddresses => keep(&mut reports.free_addresses, results::free_addresses(text)?),
        NtpSynchronizer => keep(&mut reports.ntp_sources, results::ntp_sources(text)?),
        DomainResolution => {
            keep(
                &mut reports.domain_name_resolutions,
                results::resolutions(text)?,
            );
        }
        InstallationDiskSpeedCheck | ContainerImageAvailability if text.is_empty() => {
            // Another run is still going on there; its own reply will come.
        }
        InstallationDiskSpeedCheck => {
            preparation::disk_speed(outcome, around, reply, settings, now)?;
        }
        ContainerImageAvailability => preparation::images(outcome, text, now)?,
        VerifyVips => {
            if let Some(found) = vips::diagnostics(around, text)? {
                keep(&mut reports.vips, found);
            }
        }
        DhcpLeaseAllocate => dhcp::store(outcome, around, text, now)?,
        UpgradeAgent => upgrade::result(outcome, text, now)?,
        DownloadBootArtifacts => reclaim::downloaded(outcome, now)?,
        Execute | Install | StopInstallation | LogsGather | NextStepRunner | RebootForReclaim => {}
    }
    Ok(())
}

/// Podman's exit code and words when the installer's container already runs.
const ALREADY_RUNNING: (i64, &str) = (
    125,
    "the container name \"assisted-installer\" is already in use",
);

fn failed(
    outcome: &mut Outcome,
    around: &Environment<'_>,
    reply: &StepReply,
    settings: &Settings,
    now: Timestamp,
) {
    use StepType::*;
    if reply.exit_code == media::LOST_EXIT_CODE {
        media::lost(&mut outcome.host, now, &mut outcome.events);
    }
    match reply.step_type {
        Install => installation_failed(outcome, reply, now),
        // A result that cannot be read is as good as none: the step is simply asked again.
        InstallationDiskSpeedCheck => {
            let _ = preparation::disk_speed(outcome, around, reply, settings, now);
        }
        ContainerImageAvailability => {
            let _ = preparation::images(outcome, &reply.output, now);
        }
        TangConnectivityCheck => keep(
            &mut outcome.host.reports.tang_connectivity,
            reply.complaint(),
        ),
        DownloadBootArtifacts => reclaim::failed(outcome, &reply.complaint(), now),
        ConnectivityCheck
        | Execute
        | Inventory
        | FreeNetworkAddresses
        | DhcpLeaseAllocate
        | ApiVipConnectivityCheck
        | NtpSynchronizer
        | DomainResolution
        | StopInstallation
        | LogsGather
        | NextStepRunner
        | UpgradeAgent
        | RebootForReclaim
        | VerifyVips => {}
    }
}

/// The installer did not run to its end. It counts only while the host installs: afterwards
/// the installation has been cancelled, reset or has failed already.
fn installation_failed(outcome: &mut Outcome, reply: &StepReply, now: Timestamp) {
    let already = reply.exit_code == ALREADY_RUNNING.0 && reply.error.contains(ALREADY_RUNNING.1);
    if !already {
        let said = format!(
            "The installer could not be run (code {}): {}",
            reply.exit_code,
            reply.complaint()
        );
        happened(outcome, Trigger::HostInstallationFailed, &said, now);
    }
}

/// Lets a trigger loose on the host of a reply; `false` if its status does not take it.
fn happened(outcome: &mut Outcome, trigger: Trigger, said: &str, now: Timestamp) -> bool {
    let (rows, events) = (triggers::host::ROWS, &mut outcome.events);
    let occasion = Occasion {
        said,
        ..Occasion::default()
    };
    triggers::fire(rows, trigger, &mut outcome.host, &occasion, now, events).is_ok()
}

/// An event about the host of a reply.
pub(crate) fn record(outcome: &mut Outcome, kind: EventKind, now: Timestamp, message: String) {
    let event = history::about_host(kind, &outcome.host, now, message);
    outcome.events.push(event);
}

#[cfg(test)]
mod anything_tests;
#[cfg(test)]
mod tests;
