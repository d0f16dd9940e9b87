//! Whether a virtual address can be used: inside the machine network and taken by nobody.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_model::{Host, Vip};

use crate::{reports::FreeNetwork, wire};

/// What is known about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Free,
    Taken,
    Outside,
    Broadcast,
    /// No host has looked yet.
    Unverified,
}

/// Judges one VIP against one network. `ask_hosts` is off when a load balancer answers there.
pub(crate) fn standing<'a>(
    vip: &Vip,
    network: &IpNet,
    ask_hosts: bool,
    hosts: impl Iterator<Item = &'a Host>,
) -> Standing {
    if !network.contains(&vip.ip) {
        return Standing::Outside;
    }
    if network.addr().is_ipv4() && network.broadcast() == vip.ip {
        return Standing::Broadcast;
    }
    if !ask_hosts {
        return Standing::Free;
    }
    match vip.verification.as_deref() {
        Some("succeeded") => return Standing::Free,
        Some("failed") => return Standing::Taken,
        _ => {}
    }
    match free_everywhere(vip.ip, network, hosts) {
        None => Standing::Unverified,
        Some(true) => Standing::Free,
        Some(false) => Standing::Taken,
    }
}

/// Free in the eyes of all hosts that scanned the network; `None` if none did.
fn free_everywhere<'a>(
    vip: IpAddr,
    network: &IpNet,
    hosts: impl Iterator<Item = &'a Host>,
) -> Option<bool> {
    let (name, address) = (network.to_string(), vip.to_string());
    let mut answer = None;
    for host in hosts {
        let report = wire::stored::<Vec<FreeNetwork>>(host.reports.free_addresses.as_deref());
        for seen in report.ok().unwrap_or_default() {
            if seen.network == name && !seen.free_addresses.items().is_empty() {
                let free = seen.free_addresses.items().contains(&address);
                answer = Some(answer.unwrap_or(true) && free);
            }
        }
    }
    answer
}
