//! The host validation about reaching the other hosts at all: it must be in the group in which
//! all hosts reach each other. A failure names the broken links, from both ends.

use std::{collections::BTreeSet, net::IpAddr};

use ipnet::IpNet;
use muster_model::HostId;

use super::{CheckResult, examples, host::HostContext, host_reach::peer_of};
use crate::{agent_json::Stored, majority::Groups, networks, reports};

pub(super) fn belongs_to_majority_group(on: &HostContext<'_>) -> CheckResult {
    let Some(cluster) = on.cluster else {
        return CheckResult::silent();
    };
    if on.host.is_day2() || cluster.is_single_node() {
        return CheckResult::pass("Not applicable to a single host");
    }
    let groups = match &on.around.groups {
        Stored::Here(groups) => groups,
        Stored::Missing => {
            return CheckResult::wait("The hosts have not been compared with each other yet");
        }
        Stored::Broken => {
            return CheckResult::broken("The stored connectivity data cannot be read");
        }
    };
    if networks::user_managed(cluster) || networks::user_load_balancer(cluster) {
        by_ping(on, groups)
    } else {
        by_link(on, groups)
    }
}

/// Too few hosts prove nothing, so that is no failure yet.
fn lonely(on: &HostContext<'_>, what: String) -> CheckResult {
    let (have, need) = (on.around.host_count(), on.around.least_group);
    if have < need {
        CheckResult::wait(format!(
            "{have} hosts are here, at least {need} are needed to evaluate who reaches whom"
        ))
    } else {
        CheckResult::fail(format!(
            "{what}; check switches, VLANs and firewalls between the hosts"
        ))
    }
}

/// Where the user brings the network, hosts need not share a link but must answer each other.
fn by_ping(on: &HostContext<'_>, groups: &Groups) -> CheckResult {
    let (machine, families) = match (&on.around.machine, &on.around.families) {
        (Ok(machine), Ok(families)) => (machine, families),
        (Err(fault), _) | (_, Err(fault)) => {
            return CheckResult::broken(format!("A network of the cluster is invalid: {fault}"));
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
            "The cluster has no networks, so the relevant addresses are not known".to_owned(),
        );
    }
    if families.is_subset(&reached) {
        return CheckResult::pass("All other hosts reach this one");
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
fn by_link(on: &HostContext<'_>, groups: &Groups) -> CheckResult {
    let machine = match &on.around.machine {
        Ok(machine) => machine,
        Err(fault) => {
            return CheckResult::broken(format!("The machine network is invalid: {fault}"));
        }
    };
    if machine.is_empty() {
        return CheckResult::wait("The machine network is not known yet");
    }
    let outside: Vec<&IpNet> = machine
        .iter()
        .filter(|net| {
            let members = groups.majority_groups.get(&net.to_string());
            !members.is_some_and(|members| members.contains(&on.host.id))
        })
        .collect();
    if outside.is_empty() {
        return CheckResult::pass("The host reaches the majority of the cluster");
    }
    let names: Vec<String> = outside.iter().map(ToString::to_string).collect();
    // Where there is a majority only its members count; otherwise the fault may be on any host.
    let web = on.around.web();
    let deaf = outside.iter().zip(&names).flat_map(|(net, name)| {
        let members = groups
            .majority_groups
            .get(name)
            .map_or(&[][..], Vec::as_slice);
        let counts = |peer: &HostId| members.is_empty() || members.binary_search(peer).is_ok();
        let all = web.deaf_in(net, on.host.id).into_iter();
        all.filter(counts).collect::<Vec<_>>()
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

/// Hosts that did not answer this one, to show where to look.
fn unanswered(on: &HostContext<'_>, matters: impl Fn(IpAddr) -> bool) -> String {
    let Stored::Here(report) = reports::connectivity_of(on.host) else {
        return ", and it has not reported connectivity yet".to_owned();
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
    let names: Vec<&str> = peers.map(|peer| peer.name.as_str()).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(", and no answer from here reached {}", examples(&names))
    }
}
