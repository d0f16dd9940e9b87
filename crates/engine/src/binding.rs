//! Hosts join a cluster after discovery, and leave it again.
//!
//! Both end only when the agent restarts and registers: the record changes now, the machine
//! follows with its next poll.

use muster_model::{Arch, ArchName, Cluster, ClusterId, Event, Host, HostStatus, Timestamp};

use crate::{
    draft, events, history,
    inventory::{self, Inventory},
    rules::triggers::{self, Occasion, Trigger},
    view::{Decision, Move, RefusalKind, Refused},
};

/// Binds a host to a cluster; `cluster` is `None` if no cluster has the id that was asked for.
///
/// # Errors
/// A conflict when the host is bound or not known, or the cluster takes no hosts; invalid when
/// the cluster does not exist or is of another architecture.
pub fn bind(
    host: &Host,
    asked: ClusterId,
    cluster: Option<&Cluster>,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let refuse = |kind: RefusalKind, reason: String| Err(not_bound(host, asked, kind, reason, now));
    if let Some(present) = host.cluster {
        return refuse(
            RefusalKind::Conflict,
            format!(
                "host {} is bound to cluster {present}; unbind it first",
                host.id
            ),
        );
    }
    let Some(cluster) = cluster else {
        return refuse(RefusalKind::Invalid, format!("there is no cluster {asked}"));
    };
    let wanted = cluster.cpu_architecture.clone().unwrap_or_default();
    let inventory = Inventory::of(host).ok();
    let own = inventory.map_or_else(ArchName::default, |inventory| inventory.architecture());
    let known = !wanted.as_str().is_empty() && !own.as_str().is_empty();
    if known && !wanted.is(Arch::Multi) && !wanted.same_as(&own) {
        return refuse(
            RefusalKind::Invalid,
            format!(
                "host {} has architecture {own}, cluster {} needs {wanted}",
                host.id, cluster.name
            ),
        );
    }
    if !cluster.status.accepts_changes() {
        return refuse(
            RefusalKind::Conflict,
            format!(
                "cluster {} is {} and accepts no new hosts now",
                cluster.name, cluster.status
            ),
        );
    }
    let mut bound = host.clone();
    bound.cluster = Some(cluster.id);
    let Some(mut decision) = fire(host, bound, Trigger::BindHost, now) else {
        return refuse(
            RefusalKind::Conflict,
            format!(
                "host {} is {}; only known-unbound hosts can be bound",
                host.id, host.status
            ),
        );
    };
    let message = format!(
        "Host {}: bound to cluster {}",
        inventory::hostname(host),
        cluster.name
    );
    record(
        &mut decision,
        events::HOST_BIND_SUCCEEDED,
        host,
        now,
        message,
    );
    Ok(decision)
}

/// The refusal of a host that the cluster has no place for, for the reason its settings give.
pub fn misfit(host: &Host, asked: ClusterId, reason: String, now: Timestamp) -> Refused {
    not_bound(host, asked, RefusalKind::Invalid, reason, now)
}

fn not_bound(
    host: &Host,
    asked: ClusterId,
    kind: RefusalKind,
    reason: String,
    now: Timestamp,
) -> Refused {
    let mut meant = host.clone();
    meant.cluster = Some(asked);
    let message = format!(
        "Host {}: binding to cluster {asked} refused: {reason}",
        inventory::hostname(host)
    );
    let event = history::about_host(events::HOST_BIND_FAILED, &meant, now, message);
    Refused::new(kind, reason).with(event)
}

/// Unbinds a host; `infra_env_is_bound` says that its infra-env itself belongs to a cluster.
///
/// # Errors
/// A conflict when it is not bound, is installing, or cannot leave because its infra-env would
/// bind it again.
pub fn unbind(host: &Host, infra_env_is_bound: bool, now: Timestamp) -> Result<Decision, Refused> {
    use HostStatus::*;
    if infra_env_is_bound && host.cluster.is_some() {
        let reason = format!(
            "the infra-env of host {} belongs to its cluster; delete the host instead",
            host.id
        );
        return Err(not_unbound(host, reason, now));
    }
    if matches!(
        host.status,
        PreparingForInstallation
            | PreparingFailed
            | PreparingSuccessful
            | Installing
            | InstallingInProgress
            | InstallingPendingUserAction
    ) {
        let reason = format!(
            "host {} is {}; cancel the installation first",
            host.id, host.status
        );
        return Err(not_unbound(host, reason, now));
    }
    leave(host, Trigger::UnbindHost, now)
}

/// How a hub takes a host out of its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// A person boots it from the discovery image if it does not run it already.
    ByHand,
    /// A runner on the node boots it into discovery without hands.
    Reclaim,
}

/// Takes a host out of its cluster on behalf of a hub, which may do so during an
/// installation.
///
/// # Errors
/// A conflict when the host is not bound or its status leads nowhere.
pub fn release(host: &Host, how: Release, now: Timestamp) -> Result<Decision, Refused> {
    let trigger = match how {
        Release::ByHand => Trigger::UnbindHost,
        Release::Reclaim => Trigger::ReclaimHost,
    };
    leave(host, trigger, now)
}

/// Takes a host out of a cluster that ceases to exist. Unlike unbinding this cannot be refused:
/// there is nothing to stay in.
pub fn orphan(host: &mut Host, now: Timestamp) -> Vec<Event> {
    let mut events = Vec::new();
    let (rows, trigger) = (triggers::host::ROWS, Trigger::ClusterDeleted);
    let occasion = Occasion::default();
    if triggers::fire(rows, trigger, host, &occasion, now, &mut events).is_err() {
        // Every status a bound host can have has a row, so this one was on its way out already.
        host.cluster = None;
    }
    events
}

fn leave(host: &Host, trigger: Trigger, now: Timestamp) -> Result<Decision, Refused> {
    if host.cluster.is_none() {
        let reason = format!("host {} is not bound to a cluster", host.id);
        return Err(not_unbound(host, reason, now));
    }
    let Some(mut decision) = fire(host, host.clone(), trigger, now) else {
        let reason = format!(
            "host {} is {} and cannot be unbound now",
            host.id, host.status
        );
        return Err(not_unbound(host, reason, now));
    };
    let message = format!(
        "Host {}: unbound from its cluster",
        inventory::hostname(host)
    );
    record(
        &mut decision,
        events::HOST_UNBIND_SUCCEEDED,
        host,
        now,
        message,
    );
    Ok(decision)
}

fn not_unbound(host: &Host, reason: String, now: Timestamp) -> Refused {
    let message = format!(
        "Host {}: unbinding refused: {reason}",
        inventory::hostname(host)
    );
    let event = history::about_host(events::HOST_UNBIND_FAILED, host, now, message);
    Refused::conflict(reason).with(event)
}

/// What the trigger makes of a host; `None` if no row takes it.
fn fire(before: &Host, mut after: Host, trigger: Trigger, now: Timestamp) -> Option<Decision> {
    let mut events = Vec::new();
    let (rows, occasion) = (triggers::host::ROWS, Occasion::default());
    let fired = triggers::fire(rows, trigger, &mut after, &occasion, now, &mut events).ok()?;
    let mut decision = draft::about_host(before, after, events, now);
    decision.moves.push(Move {
        host: Some(before.key()),
        rule: fired.rule,
    });
    Some(decision)
}

/// Adds an event about the host in the state the decision leaves it.
fn record(
    decision: &mut Decision,
    kind: events::EventKind,
    host: &Host,
    now: Timestamp,
    message: String,
) {
    let after = decision.hosts.first().unwrap_or(host);
    let event = history::about_host(kind, after, now, message);
    decision.events.push(event);
}
