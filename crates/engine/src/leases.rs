//! Virtual addresses that hosts are to lease by DHCP: how long they have been waited for.
//!
//! The reference tells once that they are overdue and goes on waiting; so do we.

use muster_model::{Cluster, Event, Timestamp};

use crate::{events::API_INGRESS_VIP_TIMED_OUT, history, networks, settings::Settings};

/// Hosts know where to ask for the addresses, and there are none yet.
fn are_awaited(cluster: &Cluster) -> bool {
    let none = |vips: &Option<Vec<_>>| vips.as_ref().is_none_or(Vec::is_empty);
    cluster.status.accepts_changes()
        && !cluster.is_day2()
        && networks::dhcp_vips(cluster)
        && cluster
            .networks
            .machine
            .as_ref()
            .is_some_and(|m| !m.is_empty())
        && (none(&cluster.api_vips) || none(&cluster.ingress_vips))
}

/// When they are overdue, unless that has been told.
pub(crate) fn deadline(cluster: &Cluster, settings: &Settings) -> Option<Timestamp> {
    let since = cluster
        .vips_awaited_since
        .filter(|_| !cluster.vips_overdue)?;
    Some(since.plus(settings.timeouts.vip_lease))
}

/// Starts, stops or reads the clock.
pub(crate) fn watch(cluster: &mut Cluster, settings: &Settings, now: Timestamp) -> Option<Event> {
    if !are_awaited(cluster) {
        cluster.vips_awaited_since = None;
        cluster.vips_overdue = false;
        return None;
    }
    cluster.vips_awaited_since.get_or_insert(now);
    deadline(cluster, settings).filter(|at| now > *at)?;
    cluster.vips_overdue = true;
    let message = format!(
        "No host leased the API and ingress addresses within {} minutes; check the DHCP server of network {}",
        settings.timeouts.vip_lease.as_secs() / 60,
        cluster
            .networks
            .machine
            .iter()
            .flatten()
            .next()
            .map_or("", String::as_str)
    );
    Some(history::about_cluster(
        API_INGRESS_VIP_TIMED_OUT,
        cluster,
        now,
        message,
    ))
}
