//! Virtual addresses from DHCP: who requests them, with what, and what a lease changes.
//!
//! While `vip_dhcp_allocation` is on, each host that sits in the machine network is asked to
//! lease both addresses under cards that belong to the cluster ([`mac`]), so all get the same
//! ones. The leases are kept: the next request continues with them. [`watch`] keeps the time,
//! because a DHCP server that never answers must be reported.

mod mac;

use std::{fmt, net::IpAddr};

use ipnet::IpNet;
use muster_model::{Cluster, ClusterStatus, Event, Leases, Timestamp, Vip};

use crate::{
    deadlines, events, history,
    inventory::Inventory,
    networks,
    reports::{LeaseReply, LeaseRequest},
    rules::cluster::EDITABLE,
    settings::Settings,
};

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Api,
    Ingress,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Api => "api",
            Self::Ingress => "ingress",
        })
    }
}

/// The cards under which the addresses of the API and of ingress are leased, if they are.
#[must_use]
pub fn cards(cluster: &Cluster) -> Option<[String; 2]> {
    let leased = networks::dhcp_vips(cluster) && !networks::user_managed(cluster);
    leased.then(|| [Kind::Api, Kind::Ingress].map(|kind| mac::of(cluster.id, kind)))
}

/// The network addresses are leased in: the first machine network.
fn network(cluster: &Cluster) -> Option<IpNet> {
    networks::machine(cluster).ok()?.first().copied()
}

/// What a host is asked to lease, or `None` if this cluster or this host has no part in it.
pub(crate) fn request(cluster: &Cluster, inventory: &Inventory) -> Option<LeaseRequest> {
    if !networks::dhcp_vips(cluster) {
        return None;
    }
    let network = network(cluster)?;
    let (nic, _) = inventory
        .addresses()
        .find(|(_, address)| network.contains(&address.addr()))?;
    Some(LeaseRequest {
        interface: nic.name.clone(),
        api_vip_mac: mac::of(cluster.id, Kind::Api),
        ingress_vip_mac: mac::of(cluster.id, Kind::Ingress),
        api_vip_lease: cluster.leases.api.clone().unwrap_or_default(),
        ingress_vip_lease: cluster.leases.ingress.clone().unwrap_or_default(),
    })
}

/// Why leases cannot be used now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LeaseRefused {
    /// The user sets the addresses.
    #[error("the cluster does not lease its virtual addresses")]
    NotLeasing,
    /// It is not known where the addresses have to be.
    #[error("the machine network is not known")]
    NoNetwork,
    /// Not an address.
    #[error("{text:?} is not an address for {kind}")]
    NoAddress {
        /// The text in its place.
        text: String,
        /// What it is for.
        kind: Kind,
    },
    /// Hosts would not reach it.
    #[error("{address} for {kind} is outside machine network {network}")]
    Outside {
        /// The address.
        address: IpAddr,
        /// What it is for.
        kind: Kind,
        /// Where it has to be.
        network: IpNet,
    },
    /// One address for both.
    #[error("the DHCP server leased {0} for both API and ingress; it must lease by MAC address")]
    Same(IpAddr),
    /// Not the text of a lease.
    #[error("the lease for {0} is not of the form lease {{ name value; … }}")]
    Malformed(Kind),
    /// The installation is under way with other addresses.
    #[error(
        "the cluster is {status}, its virtual addresses must not change to {api} and {ingress} now"
    )]
    Fixed {
        /// Status of the cluster.
        status: ClusterStatus,
        /// New address of the API.
        api: IpAddr,
        /// New address of ingress.
        ingress: IpAddr,
    },
}

/// What an answer makes of the cluster: the new record if it changed, with the events that follow.
///
/// # Errors
/// Why the answer cannot be taken.
pub(crate) fn accept(
    cluster: &Cluster,
    reply: &LeaseReply,
    now: Timestamp,
) -> Result<Option<(Cluster, Vec<Event>)>, LeaseRefused> {
    if !networks::dhcp_vips(cluster) {
        return Err(LeaseRefused::NotLeasing);
    }
    let network = network(cluster).ok_or(LeaseRefused::NoNetwork)?;
    let api = inside(&reply.api_vip_address, &network, Kind::Api)?;
    let ingress = inside(&reply.ingress_vip_address, &network, Kind::Ingress)?;
    if api == ingress {
        return Err(LeaseRefused::Same(api));
    }
    let leases = [
        lasting(&reply.api_vip_lease, Kind::Api)?,
        lasting(&reply.ingress_vip_lease, Kind::Ingress)?,
    ];
    let same = holds(&cluster.api_vips, api) && holds(&cluster.ingress_vips, ingress);
    if !EDITABLE.contains(&cluster.status) {
        return if same || !is_under_way(cluster.status) {
            Ok(None)
        } else {
            Err(LeaseRefused::Fixed {
                status: cluster.status,
                api,
                ingress,
            })
        };
    }
    let mut changed = cluster.clone();
    [changed.leases.api, changed.leases.ingress] = leases;
    let mut events = Vec::new();
    if !same {
        changed.api_vips = Some(vec![fresh(api)]);
        changed.ingress_vips = Some(vec![fresh(ingress)]);
        events.push(history::about_cluster(
            events::API_INGRESS_VIP_UPDATED,
            cluster,
            now,
            format!(
                "Cluster {}: DHCP leased {api} for the API and {ingress} for ingress",
                cluster.name
            ),
        ));
    }
    Ok((changed != *cluster).then_some((changed, events)))
}

const fn is_under_way(status: ClusterStatus) -> bool {
    use ClusterStatus::*;
    match status {
        PreparingForInstallation | Installing | Finalizing | InstallingPendingUserAction => true,
        Insufficient | Ready | PendingForInput | Error | Installed | Cancelled | AddingHosts
        | Unmonitored => false,
    }
}

fn inside(text: &str, network: &IpNet, kind: Kind) -> Result<IpAddr, LeaseRefused> {
    let address: IpAddr = text.parse().map_err(|_| LeaseRefused::NoAddress {
        text: text.to_owned(),
        kind,
    })?;
    if network.contains(&address) {
        Ok(address)
    } else {
        Err(LeaseRefused::Outside {
            address,
            kind,
            network: *network,
        })
    }
}

fn holds(list: &Option<Vec<Vip>>, address: IpAddr) -> bool {
    matches!(networks::vips(list), [only] if only.ip == address)
}

const fn fresh(ip: IpAddr) -> Vip {
    Vip {
        ip,
        verification: None,
    }
}

/// A lease text without its dates: the cluster keeps its addresses for good. `None` if there
/// is no text.
fn lasting(text: &str, kind: Kind) -> Result<Option<String>, LeaseRefused> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let malformed = || LeaseRefused::Malformed(kind);
    let body = text
        .strip_prefix("lease")
        .map(str::trim_start)
        .and_then(|rest| rest.strip_prefix('{'))
        .and_then(|rest| rest.strip_suffix('}'))
        .ok_or_else(malformed)?;
    let statements: Vec<&str> = statements(body).ok_or_else(malformed)?;
    let mut written = String::from("lease {\n");
    for statement in statements {
        let (name, _) = statement
            .split_once(char::is_whitespace)
            .ok_or_else(malformed)?;
        let kept = match name {
            "renew" | "rebind" | "expire" => format!("  {name} never;\n"),
            _ => format!("  {statement};\n"),
        };
        written.push_str(&kept);
    }
    written.push('}');
    Ok(Some(written))
}

/// Statements without their semicolons; quoted text may hold any sign. `None` if something
/// stands behind the last semicolon, a quote stays open or braces are nested.
fn statements(body: &str) -> Option<Vec<&str>> {
    let (mut found, mut begin, mut quoted) = (Vec::new(), 0, false);
    for (at, sign) in body.char_indices() {
        match sign {
            '"' => quoted = !quoted,
            ';' if !quoted => {
                found.push(body[begin..at].trim());
                begin = at + 1;
            }
            '{' | '}' if !quoted => return None,
            _ => {}
        }
    }
    (!quoted && !found.is_empty() && body[begin..].trim().is_empty()).then_some(found)
}

/// Keeps the time: from when on leases are awaited, and whether that has taken too long.
/// Returns the events that follow.
pub(crate) fn watch(cluster: &mut Cluster, settings: &Settings, now: Timestamp) -> Option<Event> {
    let network = networks::dhcp_vips(cluster)
        .then(|| network(cluster))
        .flatten()
        .map(|network| network.to_string());
    if cluster.leases.network != network {
        // Leases of another network are worth nothing, and the waiting begins again.
        cluster.leases = Leases {
            awaited_since: network.as_ref().map(|_| now),
            network,
            ..Leases::default()
        };
    }
    if deadlines::leases(cluster, settings).is_none_or(|deadline| now <= deadline) {
        return None;
    }
    cluster.leases.overdue_reported = true;
    Some(history::about_cluster(
        events::API_INGRESS_VIP_TIMED_OUT,
        cluster,
        now,
        format!(
            "Cluster {}: no DHCP lease for the virtual addresses within {} minutes; check that the DHCP server answers in {}",
            cluster.name,
            settings.timeouts.vip_lease.as_secs() / 60,
            cluster
                .leases
                .network
                .as_deref()
                .unwrap_or("the machine network"),
        ),
    ))
}

/// The leases have been awaited for too long.
pub(crate) fn are_overdue(cluster: &Cluster, settings: &Settings, now: Timestamp) -> bool {
    let since = cluster.leases.awaited_since;
    since.is_some_and(|since| now > since.plus(settings.timeouts.vip_lease))
}

#[cfg(test)]
mod tests;
