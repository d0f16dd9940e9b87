//! What agents answer, made into facts.
//!
//! Output is read through a typed struct and written again for storage, so nothing an agent
//! invents gets into the database. A failed step is never an error of the request: the agent
//! did its duty by telling.

mod dhcp;
mod inventory;
mod results;

use std::fmt;

use muster_model::{Cluster, Event, Host, HostStatus, Severity, Timestamp};

use crate::{
    StepType, draft, history, media,
    settings::Settings,
    view::{Decision, Surroundings},
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
    /// What it complained about.
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
    /// The output is fine, but not wanted now.
    #[error("output of step {step} is not taken: {reason}")]
    NotNow {
        /// The step.
        step: String,
        /// Why.
        reason: String,
    },
}

impl BadReply {
    /// The HTTP status for it: agents know no other refusal of a reply than 400.
    #[must_use]
    pub const fn http_status(&self) -> u16 {
        match self {
            Self::Unreadable { .. } | Self::NotNow { .. } => 400,
        }
    }

    pub(crate) fn not_now(step: StepType, reason: impl Into<String>) -> Self {
        Self::NotNow {
            step: step.to_string(),
            reason: reason.into(),
        }
    }
}

/// What a reply changes.
pub(crate) struct Outcome {
    pub(crate) host: Host,
    pub(crate) cluster: Option<Cluster>,
    pub(crate) events: Vec<Event>,
}

/// Takes a reply in. Refresh afterwards: a reply changes facts, never the status by itself,
/// save for lost media and failed installations.
///
/// # Errors
/// The output cannot be read, or the host's state does not allow it.
pub fn apply(
    host: &Host,
    around: &Surroundings<'_>,
    reply: &StepReply,
    settings: &Settings,
    now: Timestamp,
) -> Result<Decision, BadReply> {
    let mut outcome = Outcome {
        host: host.clone(),
        cluster: None,
        events: Vec::new(),
    };
    if reply.exit_code == 0 {
        outcome.host.media_connected = true;
        succeeded(&mut outcome, around, reply, settings, now)?;
    } else {
        failed(&mut outcome, reply, settings, now);
    }
    let mut decision = draft::about_host(host, outcome.host, outcome.events, now);
    decision.cluster = outcome.cluster.map(|mut cluster| {
        cluster.updated_at = now;
        cluster
    });
    Ok(decision)
}

fn succeeded(
    outcome: &mut Outcome,
    around: &Surroundings<'_>,
    reply: &StepReply,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), BadReply> {
    use StepType::*;
    let text = reply.output.as_str();
    let reports = &mut outcome.host.reports;
    match reply.step_type {
        Inventory => inventory::store(outcome, around, text, settings, now)?,
        ConnectivityCheck => reports.connectivity = Some(results::connectivity(text)?),
        ApiVipConnectivityCheck => reports.api_vip_connectivity = Some(results::api_vip(text)?),
        TangConnectivityCheck => reports.tang_connectivity = Some(results::tang(text)?),
        FreeNetworkAddresses => reports.free_addresses = Some(results::free_addresses(text)?),
        NtpSynchronizer => reports.ntp_sources = Some(results::ntp_sources(text)?),
        DomainResolution => reports.domain_name_resolutions = Some(results::resolutions(text)?),
        InstallationDiskSpeedCheck | ContainerImageAvailability if text.is_empty() => {
            // Another run is still going on there; its own reply will come.
        }
        InstallationDiskSpeedCheck => results::disk_speed(outcome, text, 0, settings, now)?,
        ContainerImageAvailability => results::images(outcome, text, now)?,
        VerifyVips => reports.vips = Some(results::vips(around, text)?),
        DhcpLeaseAllocate => dhcp::store(outcome, around, text, now)?,
        UpgradeAgent => results::upgrade(outcome, text, now)?,
        DownloadBootArtifacts if outcome.host.status == HostStatus::Reclaiming => {
            let info = "The node reboots into discovery";
            history::move_host(
                &mut outcome.host,
                HostStatus::ReclaimingRebooting,
                info,
                now,
                &mut outcome.events,
            );
        }
        DownloadBootArtifacts => {
            return Err(BadReply::not_now(
                reply.step_type,
                format!("the host is {}", outcome.host.status),
            ));
        }
        Execute | Install | StopInstallation | LogsGather | NextStepRunner | RebootForReclaim => {}
    }
    Ok(())
}

/// Podman's exit code and words when the installer's container already runs.
const ALREADY_RUNNING: (i64, &str) = (
    125,
    "the container name \"assisted-installer\" is already in use",
);

fn failed(outcome: &mut Outcome, reply: &StepReply, settings: &Settings, now: Timestamp) {
    use StepType::*;
    if reply.exit_code == media::LOST_EXIT_CODE {
        media::lost(&mut outcome.host, now, &mut outcome.events);
    }
    match reply.step_type {
        Install => {
            let already =
                reply.exit_code == ALREADY_RUNNING.0 && reply.error.contains(ALREADY_RUNNING.1);
            let installing = matches!(
                outcome.host.status,
                HostStatus::Installing | HostStatus::InstallingInProgress
            );
            if installing && !already {
                let info = format!(
                    "The installer could not be run (code {}): {}",
                    reply.exit_code, reply.error
                );
                history::move_host(
                    &mut outcome.host,
                    HostStatus::Error,
                    info,
                    now,
                    &mut outcome.events,
                );
            }
        }
        // A result that cannot be read is as good as none: the step is simply asked again.
        InstallationDiskSpeedCheck => {
            let _ = results::disk_speed(outcome, &reply.output, reply.exit_code, settings, now);
        }
        ContainerImageAvailability => {
            let _ = results::images(outcome, &reply.output, now);
        }
        TangConnectivityCheck => outcome.host.reports.tang_connectivity = Some(reply.error.clone()),
        DownloadBootArtifacts => reclaim_failed(outcome, now),
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

fn reclaim_failed(outcome: &mut Outcome, now: Timestamp) {
    if matches!(
        outcome.host.status,
        HostStatus::Reclaiming | HostStatus::ReclaimingRebooting
    ) {
        crate::binding::forget_cluster(&mut outcome.host);
        let info = "The node could not fetch the discovery image; boot it from there by hand";
        let to = HostStatus::UnbindingPendingUserAction;
        history::move_host(&mut outcome.host, to, info, now, &mut outcome.events);
    }
}

/// An event about the host of a reply.
pub(crate) fn tell(
    outcome: &mut Outcome,
    name: &str,
    severity: Severity,
    now: Timestamp,
    message: String,
) {
    let event = history::of_host(name, severity, &outcome.host, now, message);
    outcome.events.push(event);
}

#[cfg(test)]
mod tests;
