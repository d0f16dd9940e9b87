//! Registration of a machine, for the first time or again, and of a cluster.
//!
//! What a registration leads to is in the table `rules::triggers::register`. What an agent does
//! with the answer matters: it sleeps for ever when something is missing or in conflict, and tries
//! again after anything else.

use muster_model::{
    Cluster, ClusterId, ClusterKind, ClusterStatus, Event, Host, HostKey, HostKind, HostRole,
    Timestamp,
};
use uuid::Uuid;

use crate::{
    events, history,
    rules::triggers::{self, Occasion, Trigger},
    view::Refused,
};

/// The machine that registers.
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

/// Registers a host; `existing` is its record unless it was deleted.
///
/// # Errors
/// A conflict when a new host meets a cluster that takes none, or an installed host boots the
/// wrong medium; invalid in statuses in which a registration leads nowhere.
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

/// The status a cluster of this kind begins with.
#[must_use]
pub fn first_status(kind: ClusterKind) -> ClusterStatus {
    let (id, now) = (ClusterId(Uuid::nil()), Timestamp(0));
    let mut cluster = Cluster::blank(id, kind, "", ClusterStatus::Insufficient, "", now);
    let (rows, trigger) = (triggers::cluster::ROWS, Trigger::RegisterCluster);
    let occasion = Occasion::default();
    // Every kind has a row, so there is no other answer to look at.
    let _ = triggers::create(rows, trigger, &mut cluster, &occasion, now);
    cluster.status
}

fn first(new: &NewHost<'_>, now: Timestamp) -> Result<Registered, Refused> {
    let mut host = Host::registered(new.key, new.cluster.map(|c| c.id), new.user_name, now);
    host.discovery_agent_version = new.agent_version.map(str::to_owned);
    if let Some(cluster) = new.cluster {
        if !cluster.status.accepts_changes() {
            let reason = format!(
                "cluster {} is {} and accepts no new hosts now; wait for the end of the installation or reset it",
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
    let occasion = Occasion {
        newcomer: Some(new),
        ..Occasion::default()
    };
    let (rows, trigger) = (triggers::register::ROWS, Trigger::RegisterHost);
    triggers::create(rows, trigger, &mut host, &occasion, now)
        .map_err(|not| not.or(|| nowhere(&host)))?;
    let message = format!("Host {}: registered", host.id);
    let event = history::about_host(events::HOST_REGISTRATION_SUCCEEDED, &host, now, message);
    Ok(Registered {
        host,
        events: vec![event],
        answer: Answer::New,
    })
}

fn again(existing: &Host, new: &NewHost<'_>, now: Timestamp) -> Result<Registered, Refused> {
    let mut host = existing.clone();
    let mut events = Vec::new();
    let occasion = Occasion {
        newcomer: Some(new),
        ..Occasion::default()
    };
    let (rows, trigger) = (triggers::register::ROWS, Trigger::RegisterHost);
    triggers::fire(rows, trigger, &mut host, &occasion, now, &mut events)
        .map_err(|not| refused(not.or(|| nowhere(existing)), existing, now))?;
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

fn nowhere(host: &Host) -> Refused {
    Refused::invalid(format!(
        "host {} is {} and cannot register now; reset or delete it first",
        host.id, host.status
    ))
}

fn refused(refusal: Refused, host: &Host, now: Timestamp) -> Refused {
    let message = format!("Host {}: registration refused: {}", host.id, refusal.reason);
    let event = history::about_host(events::HOST_REGISTRATION_FAILED, host, now, message);
    refusal.with(event)
}
