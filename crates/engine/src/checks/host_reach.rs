//! Host validations about how well other hosts are reached: with full packets, fast, and without
//! loss. Whether they are reached at all is asked in `host_group`.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use ipnet::IpNet;
use muster_model::{HostId, HostRole};
use serde_json::Number;
use uuid::Uuid;

use super::{
    CheckResult, examples,
    host::HostContext,
    neighbourhood::{InventoryState, Peer},
};
use crate::{
    agent_json::Stored,
    inventory::Inventory,
    networks,
    reports::{self, L3, RemoteHost},
};

/// The host a part of a report is about, if it is in the cluster.
pub(super) fn peer_of<'a>(on: &HostContext<'a>, remote: &RemoteHost) -> Option<&'a Peer> {
    let id = Uuid::parse_str(&remote.host_id).ok()?;
    on.around.peers.get(&HostId(id))
}

pub(super) fn mtu_valid(on: &HostContext<'_>) -> CheckResult {
    let Some(cluster) = on.cluster else {
        return CheckResult::silent();
    };
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    if on.host.is_day2() {
        return CheckResult::pass("Not measured for a host that joins a running cluster");
    }
    if cluster.is_single_node() {
        return CheckResult::silent();
    }
    let report = match reports::connectivity_of(on.host) {
        Stored::Here(report) => report,
        Stored::Missing => return not_compared(),
        Stored::Broken => return unreadable_connectivity(),
    };
    let mut links = if networks::user_managed(cluster) {
        None
    } else {
        match &on.around.machine {
            Ok(machine) => Some(Links::of(inventory, machine)),
            Err(fault) => {
                return CheckResult::fail(format!(
                    "The relevant links are not known, the machine network is invalid: {fault}; correct it"
                ));
            }
        }
    };
    let mut dropped = Vec::new();
    for remote in report.remote_hosts.items() {
        for mtu in remote.mtu_report.items() {
            let counts = match links.as_mut() {
                None => true,
                Some(links) => match links.lead(&mtu.outgoing_nic, &mtu.remote_ip_address) {
                    Ok(counts) => counts,
                    Err(fault) => return CheckResult::broken(fault),
                },
            };
            if counts && !mtu.mtu_successful {
                let name = peer_of(on, remote).map_or(remote.host_id.as_str(), |peer| &peer.name);
                dropped.push(format!(
                    "{name} ({} from {})",
                    mtu.remote_ip_address, mtu.outgoing_nic
                ));
            }
        }
    }
    if dropped.is_empty() {
        CheckResult::pass("Packets of full size reach the other hosts")
    } else {
        CheckResult::fail(format!(
            "Packets of full size do not reach {}; set the same MTU on the interfaces and all switches between them",
            examples(&dropped)
        ))
    }
}

/// The cards of a host that stand in a machine network.
struct Links<'a> {
    machine: &'a [IpNet],
    inventory: &'a Inventory,
    /// Per card and family (true means IPv6) whether it does; filled when asked.
    known: BTreeMap<(String, bool), bool>,
}

impl<'a> Links<'a> {
    const fn of(inventory: &'a Inventory, machine: &'a [IpNet]) -> Self {
        Self {
            machine,
            inventory,
            known: BTreeMap::new(),
        }
    }

    /// Whether a way from a card to an address runs inside the machine networks.
    fn lead(&mut self, nic: &str, remote: &str) -> Result<bool, String> {
        let Ok(remote) = remote.parse::<IpAddr>() else {
            return Ok(false);
        };
        if !self.machine.iter().any(|net| net.contains(&remote)) {
            return Ok(false);
        }
        let place = (nic.to_owned(), remote.is_ipv6());
        if let Some(known) = self.known.get(&place) {
            return Ok(*known);
        }
        let mut inside = false;
        let nics = self.inventory.interfaces.items().iter();
        for text in nics
            .filter(|card| card.name == nic)
            .flat_map(|card| card.addresses())
        {
            let address: IpNet = text.parse().map_err(|_| {
                format!(
                    "Address {text:?} of {nic} cannot be read; check the agent's log on the host"
                )
            })?;
            let address = address.addr();
            inside |= address.is_ipv6() == remote.is_ipv6()
                && self.machine.iter().any(|net| net.contains(&address));
        }
        self.known.insert(place, inside);
        Ok(inside)
    }
}

pub(super) fn latency_for_role(on: &HostContext<'_>) -> CheckResult {
    Measure {
        what: "Mean round trip",
        unit: "ms",
        advice: "bring the hosts closer together or relieve the network",
        value: |l3| l3.average_rtt_ms.as_ref(),
    }
    .evaluate(on, on.needs().network_latency_ms)
}

pub(super) fn packet_loss_for_role(on: &HostContext<'_>) -> CheckResult {
    Measure {
        what: "Packet loss",
        unit: "%",
        advice: "check cables, cards and switches between the hosts",
        value: |l3| l3.packet_loss_percentage.as_ref(),
    }
    .evaluate(on, on.needs().packet_loss_percent)
}

/// Something measured with each ping that has a limit per role.
struct Measure {
    what: &'static str,
    unit: &'static str,
    advice: &'static str,
    value: fn(&L3) -> Option<&Number>,
}

impl Measure {
    fn evaluate(&self, on: &HostContext<'_>, limit: Option<f64>) -> CheckResult {
        if on.inventory.is_none() {
            return on.no_inventory();
        }
        if on.cluster.is_none() {
            return CheckResult::silent();
        }
        let role = on.host.effective_role();
        let limit = limit.filter(|_| {
            on.around.host_count() != 1 && role != HostRole::AutoAssign && !on.host.is_day2()
        });
        let Some(limit) = limit else {
            return CheckResult::pass(format!("{}: nothing is asked of this host", self.what));
        };
        let report = match reports::connectivity_of(on.host) {
            Stored::Here(report) => report,
            Stored::Missing => return not_compared(),
            Stored::Broken => return unreadable_connectivity(),
        };
        let (what, unit) = (self.what, self.unit);
        let mut seen = BTreeSet::new();
        let mut over = Vec::new();
        for remote in report.remote_hosts.items() {
            for l3 in remote.l3_connectivity.items() {
                let value = (self.value)(l3).and_then(Number::as_f64).unwrap_or(0.0);
                if value <= limit {
                    continue;
                }
                let Some(peer) = peer_of(on, remote) else {
                    return CheckResult::fail(format!(
                        "{what} to {} is {value} {unit}, {limit} {unit} are allowed, but no such host is in the cluster; wait for the next report of the host",
                        remote.host_id
                    ));
                };
                match peer.inventory {
                    InventoryState::Garbage => {
                        return CheckResult::fail(format!(
                            "{what} to {} is {value} {unit}, but its inventory cannot be read, so its role is not certain; restart the agent there",
                            peer.name
                        ));
                    }
                    InventoryState::Nothing => continue,
                    InventoryState::Inventory => {}
                }
                if peer.role == role && seen.insert(address_of(l3)) {
                    over.push(format!(
                        "{} ({}) {value} {unit}",
                        peer.name, l3.remote_ip_address
                    ));
                }
            }
        }
        if over.is_empty() {
            CheckResult::pass(format!(
                "{what} to hosts of role {role} is at most {limit} {unit}"
            ))
        } else {
            CheckResult::fail(format!(
                "{what} to hosts of role {role} may be {limit} {unit} at most and is more to {}; {}",
                examples(&over),
                self.advice
            ))
        }
    }
}

/// Two spellings of one address are one address.
fn address_of(l3: &L3) -> Result<IpAddr, String> {
    let text = &l3.remote_ip_address;
    text.parse().map_err(|_| text.clone())
}

fn not_compared() -> CheckResult {
    CheckResult::wait("The host has not reported connectivity yet")
}

fn unreadable_connectivity() -> CheckResult {
    CheckResult::broken("The stored connectivity report cannot be read")
}

#[cfg(test)]
#[path = "host_reach_tests.rs"]
mod tests;
