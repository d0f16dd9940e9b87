//! The user starts over: a whole cluster, one day-2 host, or one measurement.
//!
//! Hosts that have not left the discovery image (insufficient, disconnected, binding) keep
//! their status; the reference refuses the whole reset because of them.

use muster_model::{Cluster, Event, Host, HostKey, Timestamp};

use crate::{
    agent_json,
    draft::{self, Draft},
    events::{self, EventKind},
    history, inventory, reports,
    rules::triggers::Trigger,
    view::{ClusterView, Decision, Job, Refused},
};

/// Resets a cluster so that it can be installed again.
///
/// # Errors
/// A conflict when no installation was begun, or it is complete.
pub fn reset(view: &ClusterView<'_>, now: Timestamp) -> Result<Decision, Refused> {
    let mut draft = Draft::of(view, now);
    draft
        .fire_cluster(Trigger::ResetCluster, "")
        .map_err(|not| {
            not.or(|| {
                nothing_to(
                    "reset",
                    view.cluster,
                    events::RESET_INSTALLATION_FAILED,
                    now,
                )
            })
        })?;
    let message = format!(
        "The installation of cluster {} was reset",
        draft.cluster.name
    );
    let kind = events::CLUSTER_INSTALLATION_RESET;
    draft
        .events
        .push(history::about_cluster(kind, &draft.cluster, now, message));
    each_host(
        &mut draft,
        Trigger::ResettingPendingUserAction,
        "",
        |host| reset_event(host, now),
    );
    draft.jobs.push(Job::DeleteClusterFiles(view.cluster.id));
    Ok(draft.finish())
}

/// Lets the same thing happen to every host that can take it, and records those that moved.
/// A host without a row for it is left where it is.
pub(crate) fn each_host(
    draft: &mut Draft<'_>,
    trigger: Trigger,
    said: &str,
    event: impl Fn(&Host) -> Event,
) {
    for index in 0..draft.hosts.len() {
        if draft.fire_host(index, trigger, said).is_ok_and(|f| f.moved) {
            let event = event(&draft.hosts[index]);
            draft.events.push(event);
        }
    }
}

/// The refusal of a cluster that has no installation under way.
pub(crate) fn nothing_to(act: &str, cluster: &Cluster, kind: EventKind, now: Timestamp) -> Refused {
    let reason = format!(
        "cluster {} is {}; there is no installation to {act}",
        cluster.name, cluster.status
    );
    let event = history::about_cluster(kind, cluster, now, reason.clone());
    Refused::conflict(reason).with(event)
}

fn reset_event(host: &Host, now: Timestamp) -> Event {
    let message = format!("Host {}: installation reset", inventory::hostname(host));
    history::about_host(events::HOST_INSTALLATION_RESET, host, now, message)
}

/// Resets one day-2 host.
///
/// # Errors
/// Missing when it is not bound to this cluster, a conflict when it is no day-2 host or has nothing
/// to reset.
pub fn reset_host(
    view: &ClusterView<'_>,
    key: HostKey,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let mut draft = Draft::of(view, now);
    let Some(index) = draft.hosts.iter().position(|host| host.key() == key) else {
        return Err(Refused::missing(format!(
            "host {} is not bound to cluster {}",
            key.host, view.cluster.id
        )));
    };
    let host = draft.hosts[index].clone();
    let refuse = |reason: String| {
        let kind = events::HOST_INSTALLATION_RESET_FAILED;
        let event = history::about_host(kind, &host, now, reason.clone());
        Refused::conflict(reason).with(event)
    };
    if !host.is_day2() {
        return Err(refuse(format!(
            "host {} is part of the cluster's own installation; reset the cluster instead",
            host.id
        )));
    }
    draft
        .fire_host(index, Trigger::ResettingPendingUserAction, "")
        .map_err(|not| {
            not.or(|| {
                refuse(format!(
                    "host {} is {}; there is nothing to reset",
                    host.id, host.status
                ))
            })
        })?;
    draft.events.push(reset_event(&draft.hosts[index], now));
    Ok(draft.finish())
}

/// Forgets a measurement so that it is taken again at the next preparation.
///
/// # Errors
/// Invalid for validations that are not measured once and kept, a conflict for an unbound host.
pub fn reset_validation(host: &Host, id: &str, now: Timestamp) -> Result<Decision, Refused> {
    if host.cluster.is_none() {
        return Err(Refused::conflict(format!(
            "host {} is not bound to a cluster",
            host.id
        )));
    }
    let mut fresh = host.clone();
    match id {
        "sufficient-installation-disk-speed" => {
            let mut disks = reports::disks_of(host).copy().unwrap_or_default();
            if let Some(disk) = reports::boot_device(host).and_then(|id| disks.get_mut(id)) {
                disk.disk_speed = None;
                reports::keep(&mut fresh.reports.disks_info, agent_json::text(&disks));
            }
        }
        "container-images-available" => fresh.reports.images_status = None,
        _ => {
            return Err(Refused::invalid(format!(
                "validation {id:?} cannot be reset; only sufficient-installation-disk-speed and \
                 container-images-available can"
            )));
        }
    }
    Ok(draft::about_host(host, fresh, Vec::new(), now))
}
