//! Host validations about reaching the other hosts: at all, with full packets, fast, and without
//! loss.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use ipnet::IpNet;
use muster_model::{HostId, HostRole};
use serde_json::Number;
use uuid::Uuid;

use super::{
    Verdict, examples,
    host::HostContext,
    neighbourhood::{Peer, Told},
};
use crate::{
    inventory::Inventory,
    majority::Groups,
    networks,
    reports::{self, L3, RemoteHost},
    wire::Stored,
};

pub(super) fn belongs_to_majority_group(on: &HostContext<'_>) -> Verdict {
    let Some(cluster) = on.cluster else {
        return Verdict::silent();
    };
    if on.host.is_day2() || cluster.is_single_node() {
        return Verdict::pass("A single host needs no group");
    }
    let groups = match &on.around.groups {
        Stored::Here(groups) => groups,
        Stored::Missing => {
            return Verdict::wait("The hosts have not been compared with each other yet");
        }
        Stored::Broken => {
            return Verdict::broken("What is stored about who reaches whom cannot be read");
        }
    };
    if networks::user_managed(cluster) || networks::user_load_balancer(cluster) {
        by_ping(on, groups)
    } else {
        by_link(on, groups)
    }
}

/// Too few hosts prove nothing, so that is no failure yet.
fn lonely(on: &HostContext<'_>, what: String) -> Verdict {
    let (have, need) = (on.around.host_count(), on.around.least_group);
    if have < need {
        Verdict::wait(format!(
            "{have} hosts are here, at least {need} are needed to judge who reaches whom"
        ))
    } else {
        Verdict::fail(format!(
            "{what}; check switches, VLANs and firewalls between the hosts"
        ))
    }
}

/// Where the user brings the network, hosts need not share a link but must answer each other.
fn by_ping(on: &HostContext<'_>, groups: &Groups) -> Verdict {
    let (machine, families) = match (&on.around.machine, &on.around.families) {
        (Ok(machine), Ok(families)) => (machine, families),
        (Err(fault), _) | (_, Err(fault)) => {
            return Verdict::broken(format!("A network of the cluster is wrong: {fault}"));
        }
    };
    let mut families = families.clone();
    families.extend(networks::families(machine));
    let reached: BTreeSet<bool> = groups
        .l3_connected_addresses
        .get(&on.host.id)
        .into_iter()
        .flatten()
        .filter_map(|text| text.parse::<IpAddr>().ok())
        .map(|address| address.is_ipv6())
        .collect();
    if families.is_empty() {
        return lonely(
            on,
            "The cluster has no networks, so it is not known which addresses count".to_owned(),
        );
    }
    if families.is_subset(&reached) {
        return Verdict::pass("All other hosts reach this one");
    }
    let missing: Vec<bool> = families.difference(&reached).copied().collect();
    let names: Vec<&str> = missing
        .iter()
        .map(|v6| if *v6 { "IPv6" } else { "IPv4" })
        .collect();
    let web = on.around.web();
    let deaf = missing.iter().flat_map(|v6| web.deaf_by(*v6, on.host.id));
    lonely(
        on,
        format!(
            "No {} address of this host is reached by all other hosts{}{}",
            names.join(" nor "),
            unanswered(on, |_| true),
            unheard(on, deaf.collect())
        ),
    )
}

/// Everywhere else the hosts share the links of the machine networks.
fn by_link(on: &HostContext<'_>, groups: &Groups) -> Verdict {
    let machine = match &on.around.machine {
        Ok(machine) => machine,
        Err(fault) => return Verdict::broken(format!("The machine network is wrong: {fault}")),
    };
    if machine.is_empty() {
        return Verdict::wait("The machine network is not known yet");
    }
    let outside: Vec<&IpNet> = machine
        .iter()
        .filter(|net| {
            let members = groups.majority_groups.get(&net.to_string());
            !members.is_some_and(|members| members.contains(&on.host.id))
        })
        .collect();
    if outside.is_empty() {
        return Verdict::pass("The host reaches the majority of the cluster");
    }
    let names: Vec<String> = outside.iter().map(ToString::to_string).collect();
    // Where there is a majority only its members count; else anybody may be the one to mend.
    let counts = |net: &IpNet, peer: &HostId| {
        let members = groups.majority_groups.get(&net.to_string());
        members.is_none_or(|members| members.is_empty() || members.contains(peer))
    };
    let web = on.around.web();
    let deaf = outside.iter().flat_map(|net| {
        let all = web.deaf_in(net, on.host.id).into_iter();
        all.filter(|peer| counts(net, peer))
    });
    lonely(
        on,
        format!(
            "This host and the majority of the cluster do not reach each other in {}{}{}",
            examples(&names),
            unanswered(on, |address| outside
                .iter()
                .any(|net| net.contains(&address))),
            unheard(on, deaf.collect())
        ),
    )
}

/// Whom this host itself got no answer from, to show where to look.
fn unanswered(on: &HostContext<'_>, matters: impl Fn(IpAddr) -> bool) -> String {
    let Stored::Here(report) = reports::connectivity_of(on.host) else {
        return ", and it has not told yet whom it reaches".to_owned();
    };
    let mut silent = Vec::new();
    for remote in report.remote_hosts.items() {
        let Some(peer) = peer_of(on, remote) else {
            continue;
        };
        let l2 = remote.l2_connectivity.items().iter();
        let l2 = l2.map(|l2| (&l2.remote_ip_address, &l2.outgoing_nic, l2.successful));
        let l3 = remote.l3_connectivity.items().iter();
        let l3 = l3.map(|l3| (&l3.remote_ip_address, &l3.outgoing_nic, l3.successful));
        let failed = l2.chain(l3).find(|(address, _, successful)| {
            !successful && address.parse::<IpAddr>().is_ok_and(&matters)
        });
        if let Some((address, nic, _)) = failed {
            silent.push(format!("{} ({address} from {nic})", peer.name));
        }
    }
    if silent.is_empty() {
        String::new()
    } else {
        format!(": no answer from {}", examples(&silent))
    }
}

/// Who got no answer from this host: a link may be broken in one direction only.
fn unheard(on: &HostContext<'_>, deaf: BTreeSet<HostId>) -> String {
    let peers = deaf.iter().filter_map(|id| on.around.peers.get(id));
    let names: Vec<String> = peers.map(|peer| peer.name.clone()).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(", and no answer from here reached {}", examples(&names))
    }
}

/// The host a part of a report is about, if it is in the cluster.
fn peer_of<'a>(on: &HostContext<'a>, remote: &RemoteHost) -> Option<&'a Peer> {
    let id = Uuid::parse_str(&remote.host_id).ok()?;
    on.around.peers.get(&HostId(id))
}

pub(super) fn mtu_valid(on: &HostContext<'_>) -> Verdict {
    let Some(cluster) = on.cluster else {
        return Verdict::silent();
    };
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    if on.host.is_day2() {
        return Verdict::pass("A host that joins a running cluster is not measured");
    }
    if cluster.is_single_node() {
        return Verdict::silent();
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
                return Verdict::fail(format!(
                    "Which links matter is not known, the machine network is wrong: {fault}; correct it"
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
                    Err(fault) => return Verdict::broken(fault),
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
        Verdict::pass("Packets of full size reach the other hosts")
    } else {
        Verdict::fail(format!(
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

pub(super) fn latency_for_role(on: &HostContext<'_>) -> Verdict {
    Measure {
        what: "Mean round trip",
        unit: "ms",
        advice: "bring the hosts closer together or relieve the network",
        value: |l3| l3.average_rtt_ms.as_ref(),
    }
    .judge(on, on.needs().network_latency_ms)
}

pub(super) fn packet_loss_for_role(on: &HostContext<'_>) -> Verdict {
    Measure {
        what: "Packet loss",
        unit: "%",
        advice: "check cables, cards and switches between the hosts",
        value: |l3| l3.packet_loss_percentage.as_ref(),
    }
    .judge(on, on.needs().packet_loss_percent)
}

/// Something measured with each ping that has a limit per role.
struct Measure {
    what: &'static str,
    unit: &'static str,
    advice: &'static str,
    value: fn(&L3) -> Option<&Number>,
}

impl Measure {
    fn judge(&self, on: &HostContext<'_>, limit: Option<f64>) -> Verdict {
        if on.inventory.is_none() {
            return on.no_inventory();
        }
        if on.cluster.is_none() {
            return Verdict::silent();
        }
        let role = on.host.effective_role();
        let limit = limit.filter(|_| {
            on.around.host_count() != 1 && role != HostRole::AutoAssign && !on.host.is_day2()
        });
        let Some(limit) = limit else {
            return Verdict::pass(format!("{}: nothing is asked of this host", self.what));
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
                    return Verdict::fail(format!(
                        "{what} to {} is {value} {unit}, {limit} {unit} are allowed, but no such host is in the cluster; wait for the next report of the host",
                        remote.host_id
                    ));
                };
                match peer.told {
                    Told::Garbage => {
                        return Verdict::fail(format!(
                            "{what} to {} is {value} {unit}, but its inventory cannot be read, so its role is not certain; restart the agent there",
                            peer.name
                        ));
                    }
                    Told::Nothing => continue,
                    Told::Inventory => {}
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
            Verdict::pass(format!(
                "{what} to hosts of role {role} is at most {limit} {unit}"
            ))
        } else {
            Verdict::fail(format!(
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

fn not_compared() -> Verdict {
    Verdict::wait("The host has not told yet how it reaches the others")
}

fn unreadable_connectivity() -> Verdict {
    Verdict::broken("The stored report of whom the host reaches cannot be read")
}

#[cfg(test)]
#[path = "host_reach_tests.rs"]
mod tests;
