//! A machine says hello, for the first time or again.
//!
//! What an agent does with the answer matters: it sleeps for ever on 401, 403, 404 and 409 and
//! tries again on anything else. So "not now" is 400 where a later hello may succeed, and 409
//! where only a person can help.

use muster_model::{
    Cluster, Event, Host, HostKey, HostKind, HostProgress, HostRole, HostStage, HostStatus,
    Severity, Timestamp,
};

use crate::{
    disks, history,
    inventory::{self, Inventory},
    view::Refused,
};

/// Who says hello.
#[derive(Clone, Copy, Debug)]
pub struct NewHost<'a> {
    /// Its place in the store.
    pub key: HostKey,
    /// The cluster of its infra-env, else the one it was bound to.
    pub cluster: Option<&'a Cluster>,
    /// Version of its agent.
    pub agent_version: Option<&'a str>,
    /// Owner of the infra-env.
    pub user_name: &'a str,
}

/// Whether clients see a fresh host or one that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// First registration: the whole record is shown.
    New,
    /// Again: the state is left out of the answer.
    Again,
}

/// A granted registration.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a registration changes nothing until it is stored"]
pub struct Registered {
    /// The record to store.
    pub host: Host,
    /// History.
    pub events: Vec<Event>,
    /// Shape of the answer.
    pub answer: Answer,
}

const WAITING: &str = "Waiting for the host to describe its hardware";

/// Registers a host; `existing` is its record unless it was deleted.
///
/// # Errors
/// 409 when a new host meets a cluster that takes none, or an installed host boots the wrong
/// medium; 400 in statuses from which a hello leads nowhere.
pub fn register(
    existing: Option<&Host>,
    new: &NewHost<'_>,
    now: Timestamp,
) -> Result<Registered, Refused> {
    match existing {
        None => first(new, now),
        Some(host) => again(host, new, now),
    }
}

fn first(new: &NewHost<'_>, now: Timestamp) -> Result<Registered, Refused> {
    let mut host = Host::registered(new.key, new.cluster.map(|c| c.id), new.user_name, now);
    host.status_info = WAITING.to_owned();
    host.discovery_agent_version = new.agent_version.map(str::to_owned);
    if let Some(cluster) = new.cluster {
        if !cluster.status.accepts_changes() {
            let reason = format!(
                "cluster {} is {} and takes no new hosts now; wait for the end of the installation or reset it",
                cluster.name, cluster.status
            );
            return Err(refused(Refused::conflict(reason), &host, now));
        }
        if cluster.is_day2() {
            host.kind = HostKind::AddToExistingClusterHost;
            host.role = HostRole::Worker;
            host.machine_config_pool_name = Some("worker".to_owned());
        } else if cluster.is_single_node() {
            host.role = HostRole::Master;
            host.bootstrap = true;
        }
        host.suggested_role = host.role;
    }
    let message = format!("Host {}: registered", host.id);
    let event = history::of_host(
        "host_registration_succeeded",
        Severity::Info,
        &host,
        now,
        message,
    );
    Ok(Registered {
        host,
        events: vec![event],
        answer: Answer::New,
    })
}

fn again(existing: &Host, new: &NewHost<'_>, now: Timestamp) -> Result<Registered, Refused> {
    use HostStatus::*;
    let mut host = existing.clone();
    let mut events = Vec::new();
    let rebooting = host.progress.stage == Some(HostStage::Rebooting);
    let day2_done = host.is_day2() && host.progress.stage == Some(HostStage::Done);
    match host.status {
        PreparingForInstallation | PreparingSuccessful => {
            forget_progress(&mut host);
            host.reports.images_status = None;
            forget_logs(&mut host);
            refresh_identity(&mut host, new);
            let info = "The host restarted during the preparation and is ready again";
            history::move_host(&mut host, Known, info, now, &mut events);
        }
        Discovering
        | Known
        | Disconnected
        | Insufficient
        | ResettingPendingUserAction
        | Binding
        | PendingForInput => {
            start_over(&mut host, new);
            history::move_host(&mut host, Discovering, WAITING, now, &mut events);
        }
        Resetting if rebooting => {}
        Resetting => {
            start_over(&mut host, new);
            history::move_host(&mut host, Discovering, WAITING, now, &mut events);
        }
        DiscoveringUnbound
        | DisconnectedUnbound
        | InsufficientUnbound
        | KnownUnbound
        | Unbinding
        | UnbindingPendingUserAction
        | ReclaimingRebooting => {
            start_over(&mut host, new);
            history::move_host(&mut host, DiscoveringUnbound, WAITING, now, &mut events);
        }
        InstallingPendingUserAction if rebooting || day2_done => {
            let reason = format!(
                "host {} booted the discovery image again; {}",
                host.id,
                wrong_boot(&host)
            );
            return Err(refused(Refused::bad_request(reason), &host, now));
        }
        InstallingInProgress | AddedToExistingCluster if rebooting || day2_done => {
            let info = format!(
                "The host booted the discovery image instead of its disk; {}",
                wrong_boot(&host)
            );
            history::move_host(
                &mut host,
                InstallingPendingUserAction,
                info,
                now,
                &mut events,
            );
        }
        Installing | InstallingInProgress => {
            let info = "The host restarted unexpectedly during the installation";
            history::move_host(&mut host, Error, info, now, &mut events);
        }
        Error => {}
        Installed => {
            let reason = format!(
                "host {} is installed but booted the discovery image; correct its boot order",
                inventory::hostname(&host)
            );
            return Err(refused(Refused::conflict(reason), &host, now));
        }
        Cancelled
        | PreparingFailed
        | Disabled
        | DisabledUnbound
        | Reclaiming
        | InstallingPendingUserAction
        | AddedToExistingCluster => {
            let reason = format!(
                "host {} is {} and cannot register now; reset or delete it first",
                host.id, host.status
            );
            return Err(refused(Refused::bad_request(reason), &host, now));
        }
    }
    host.registered_at = now;
    // A clock read before the restart says nothing about the clock now.
    host.checked_in_at = now;
    host.agent_clock = None;
    host.updated_at = now;
    Ok(Registered {
        host,
        events,
        answer: Answer::Again,
    })
}

fn refused(refusal: Refused, host: &Host, now: Timestamp) -> Refused {
    let message = format!("Host {}: registration refused: {}", host.id, refusal.reason);
    let event = history::of_host(
        "host_registration_failed",
        Severity::Error,
        host,
        now,
        message,
    );
    refusal.with(event)
}

/// A live system that started anew knows nothing of its past.
fn start_over(host: &mut Host, new: &NewHost<'_>) {
    forget_discovery(host);
    forget_logs(host);
    refresh_identity(host, new);
}

pub(crate) fn forget_discovery(host: &mut Host) {
    forget_progress(host);
    host.reports.inventory = None;
    host.reports.images_status = None;
    host.bootstrap = false;
}

fn forget_progress(host: &mut Host) {
    let timed_out = host.progress.stage_timed_out;
    host.progress = HostProgress {
        stage_timed_out: timed_out,
        ..HostProgress::default()
    };
}

pub(crate) fn forget_logs(host: &mut Host) {
    host.logs_info = None;
    host.logs_started_at = None;
    host.logs_collected_at = None;
}

fn refresh_identity(host: &mut Host, new: &NewHost<'_>) {
    host.discovery_agent_version = new.agent_version.map(str::to_owned);
    host.reports.ntp_sources = None;
    host.kind = match new.cluster {
        Some(cluster) if cluster.is_day2() => HostKind::AddToExistingClusterHost,
        Some(_) | None => HostKind::Host,
    };
}

/// Names the disk to boot from, as far as it is known.
fn wrong_boot(host: &Host) -> String {
    let inventory = Inventory::of(host).ok();
    let present = [
        host.installation_disk_id.as_deref().unwrap_or_default(),
        host.installation_disk_path.as_deref().unwrap_or_default(),
    ];
    let disk = inventory
        .as_ref()
        .and_then(|inventory| disks::choose(inventory, &present));
    match disk {
        Some(disk) => format!(
            "correct the boot order so that it boots from {} {} ({}, {})",
            disk.model, disk.serial, disk.name, disk.id
        ),
        None => "correct the boot order so that it boots from its installation disk".to_owned(),
    }
}
