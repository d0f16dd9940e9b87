//! Host validations about links, addresses, time and what can be fetched.

use std::{collections::BTreeSet, net::IpAddr};

use ipnet::IpNet;
use muster_model::{HostStatus, Ntp};

use super::{CheckResult, examples, host::HostContext};
use crate::{agent_json::Stored, deadlines, networks, reports};

/// A host clock may lag this much behind the service before certificates become a problem.
const MAX_BEHIND_SECONDS: i64 = 20 * 60;
/// … and run this much ahead.
const MAX_AHEAD_SECONDS: i64 = 60 * 60;

pub(super) fn connected(on: &HostContext<'_>) -> CheckResult {
    match deadlines::silence(on.host, on.last_seen, on.settings) {
        Some(deadline) if on.now > deadline => CheckResult::fail(format!(
            "The agent has not polled for more than {} seconds; check that the host runs and reaches the service",
            deadline.since(on.last_seen).as_secs()
        )),
        _ => CheckResult::pass("The host polls the service"),
    }
}

pub(super) fn media_connected(on: &HostContext<'_>) -> CheckResult {
    if on.host.media_connected {
        CheckResult::pass("The boot medium can be read")
    } else {
        CheckResult::fail(
            "The boot medium cannot be read any more; connect it again or boot the host again",
        )
    }
}

pub(super) fn machine_cidr_defined(on: &HostContext<'_>) -> CheckResult {
    let Some(cluster) = on.cluster else {
        return CheckResult::silent();
    };
    if networks::user_managed(cluster) || cluster.is_day2() {
        return CheckResult::pass("No machine network is needed: the user manages the network");
    }
    match &on.around.machine {
        Ok(nets) if nets.is_empty() => CheckResult::fail(
            "The machine network is not known yet; set the virtual addresses, it is derived from them",
        ),
        Ok(_) | Err(_) => CheckResult::pass("The machine network is set"),
    }
}

pub(super) fn belongs_to_machine_cidr(on: &HostContext<'_>) -> CheckResult {
    let Some(cluster) = on.cluster else {
        return CheckResult::silent();
    };
    let unset = on.around.machine.as_ref().is_ok_and(Vec::is_empty);
    let free_choice = networks::user_managed(cluster)
        && !cluster.is_single_node()
        && (!on.host.bootstrap || unset);
    if free_choice || cluster.is_day2() {
        return CheckResult::pass("The host may be in any network");
    }
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let networks = match &on.around.machine {
        Ok(networks) => networks,
        Err(fault) => {
            return CheckResult::broken(format!("The machine network is invalid: {fault}"));
        }
    };
    if networks.is_empty() {
        return CheckResult::wait(
            "The machine network is not known yet; set the virtual addresses",
        );
    }
    let outside: Vec<String> = networks
        .iter()
        .filter(|net| !inventory.is_inside(net))
        .map(ToString::to_string)
        .collect();
    let enough = if networks::user_load_balancer(cluster) {
        outside.len() < networks.len()
    } else {
        outside.is_empty()
    };
    if enough {
        CheckResult::pass("The host has an address in the machine network")
    } else {
        CheckResult::fail(format!(
            "The host has no address in machine network {}; connect it there or correct the network",
            examples(&outside)
        ))
    }
}

pub(super) fn ignition_downloadable(on: &HostContext<'_>) -> CheckResult {
    if on.cluster.is_none() || !on.host.is_day2() {
        return CheckResult::silent();
    }
    match reports::api_vip_of(on.host) {
        Stored::Missing => {
            CheckResult::wait("The host has not tried to fetch Ignition from the cluster yet")
        }
        Stored::Broken => {
            CheckResult::broken("The stored result of fetching Ignition cannot be read")
        }
        Stored::Here(reply) if reply.is_success => {
            CheckResult::pass("Ignition can be fetched from the cluster")
        }
        Stored::Here(reply) => CheckResult::fail(format!(
            "Ignition cannot be fetched from {}: {}; check name, port and certificate of the cluster's API",
            if reply.url.is_empty() {
                "the cluster"
            } else {
                &reply.url
            },
            if reply.download_error.is_empty() {
                "no reason given"
            } else {
                &reply.download_error
            },
        )),
    }
}

pub(super) fn valid_platform_network_settings(on: &HostContext<'_>) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let Some(vendor) = &inventory.system_vendor else {
        return CheckResult::broken(
            "The inventory does not name the vendor of the machine; check the agent's log on the host",
        );
    };
    if vendor.product_name != "OpenStack Compute" {
        return CheckResult::pass(
            "The platform of this machine has no special network requirements",
        );
    }
    match on.cluster {
        None => CheckResult::silent(),
        Some(cluster) if networks::user_managed(cluster) => {
            CheckResult::pass("The user manages the network, as OpenStack requires")
        }
        Some(_) => CheckResult::fail(
            "OpenStack drops traffic to virtual addresses; turn on user-managed networking",
        ),
    }
}

pub(super) fn ntp_synced(on: &HostContext<'_>) -> CheckResult {
    let synced = match reports::ntp_sources_of(on.host) {
        Stored::Broken => return CheckResult::broken("The stored time sources cannot be read"),
        Stored::Here(sources) => sources.iter().any(|s| s.source_state == "synced"),
        Stored::Missing => false,
    };
    if synced {
        return CheckResult::pass("The host's clock is synchronised");
    }
    // A host in the pool may have no NTP source configured yet; a configured one must work, though.
    let asked = on
        .infra_env
        .is_some_and(|infra_env| names_any(&infra_env.ntp));
    if is_pool(on.host.status) && !asked {
        return CheckResult::silent();
    }
    CheckResult::fail("The host's clock is not synchronised; add an NTP server it can reach")
}

fn names_any(ntp: &Ntp) -> bool {
    let lists = [&ntp.additional, &ntp.sources];
    lists
        .into_iter()
        .flatten()
        .any(|list| !list.trim().is_empty())
}

fn is_pool(status: HostStatus) -> bool {
    matches!(
        status,
        HostStatus::InsufficientUnbound
            | HostStatus::DisconnectedUnbound
            | HostStatus::DiscoveringUnbound
            | HostStatus::KnownUnbound
    )
}

/// Clock difference at the last poll: both clocks were read at that moment, so the answer does
/// not drift while the host is silent.
pub(crate) fn seconds_behind(host: &muster_model::Host) -> Option<i64> {
    host.agent_clock
        .map(|clock| host.checked_in_at.unix_seconds().saturating_sub(clock))
}

pub(super) fn time_synced(on: &HostContext<'_>) -> CheckResult {
    match seconds_behind(on.host) {
        None => CheckResult::wait("The host has not reported its time yet"),
        Some(behind) if behind > MAX_BEHIND_SECONDS => CheckResult::fail(format!(
            "The host's clock is {} minutes behind the service, 20 are allowed; set it or add an NTP server",
            behind / 60
        )),
        Some(behind) if behind < -MAX_AHEAD_SECONDS => CheckResult::fail(format!(
            "The host's clock is {} minutes ahead of the service, 60 are allowed; set it or add an NTP server",
            behind.saturating_neg() / 60
        )),
        Some(_) => CheckResult::pass("The clocks of host and service are in sync"),
    }
}

pub(super) fn container_images_available(on: &HostContext<'_>) -> CheckResult {
    match reports::images_of(on.host) {
        Stored::Broken => CheckResult::broken("The stored image results cannot be read"),
        Stored::Missing => CheckResult::pass("No image was requested yet"),
        Stored::Here(images) => {
            let bad: Vec<String> = images
                .iter()
                .filter(|(_, image)| image.is_bad())
                .map(|(name, _)| name.clone())
                .collect();
            if bad.is_empty() {
                CheckResult::pass(format!("{} images could be pulled", images.len()))
            } else {
                CheckResult::fail(format!(
                    "Images could not be pulled, or too slowly: {}; check the registry, the pull secret and the proxy",
                    examples(&bad)
                ))
            }
        }
    }
}

pub(super) fn has_default_route(on: &HostContext<'_>) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    if inventory
        .routes
        .items()
        .iter()
        .any(crate::inventory::Route::is_default)
    {
        CheckResult::pass("The host has a default route")
    } else {
        CheckResult::fail(
            "The host has no default route; add one in its network settings or in DHCP",
        )
    }
}

pub(super) fn non_overlapping_subnets(on: &HostContext<'_>) -> CheckResult {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    if on.cluster.is_none() {
        return CheckResult::silent();
    }
    let families = match &on.around.families {
        Ok(families) => families,
        Err(fault) => {
            return CheckResult::broken(format!("A network of the cluster is invalid: {fault}"));
        }
    };
    let mut places: Vec<(IpNet, &str)> = Vec::new();
    for nic in inventory.interfaces.items() {
        for text in nic.addresses() {
            let Ok(address) = text.parse::<IpNet>() else {
                return CheckResult::broken(format!(
                    "Address {text:?} of {} cannot be read; check the agent's log on the host",
                    nic.name
                ));
            };
            // Every card has the same link-local network, and that is no fault.
            if families.contains(&address.addr().is_ipv6()) && !is_link_local(address.addr()) {
                places.push((address.trunc(), nic.name.as_str()));
            }
        }
    }
    places.sort_unstable();
    places.dedup();
    // Ranges are either apart or nested, so in sorted order neighbours are enough.
    for pair in places.windows(2) {
        let [(net, nic), (theirs, other)] = pair else {
            continue;
        };
        if networks::overlap(net, theirs) {
            return CheckResult::fail(format!(
                "Networks {net} on {nic} and {theirs} on {other} overlap; give each interface its own range"
            ));
        }
    }
    CheckResult::pass("The networks of the host do not overlap")
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

pub(super) fn no_ip_collisions(on: &HostContext<'_>) -> CheckResult {
    const NONE_KNOWN: &str = "No duplicate address is known";
    let (Some(cluster), Some(inventory)) = (on.cluster, on.inventory) else {
        return CheckResult::pass(NONE_KNOWN);
    };
    if cluster.is_day2() {
        return CheckResult::pass(NONE_KNOWN);
    }
    let collisions = match &on.around.collisions {
        Stored::Missing => return CheckResult::pass(NONE_KNOWN),
        Stored::Broken => {
            return CheckResult::broken("The stored report of duplicate addresses cannot be read");
        }
        Stored::Here(collisions) if collisions.is_empty() => return CheckResult::pass(NONE_KNOWN),
        Stored::Here(collisions) => collisions,
    };
    let mine: BTreeSet<IpAddr> = inventory.addresses().map(|(_, a)| a.addr()).collect();
    let twice: Vec<String> = mine
        .iter()
        .filter_map(|address| {
            let cards = collisions.get(address)?;
            Some(format!("{address} (from {})", cards.join(" and ")))
        })
        .collect();
    if !twice.is_empty() {
        return CheckResult::fail(format!(
            "Another machine answers from addresses of this host: {}; give one of them another address",
            examples(&twice)
        ));
    }
    let mut texts = inventory
        .interfaces
        .items()
        .iter()
        .flat_map(|nic| nic.addresses());
    match texts.find(|text| text.parse::<IpNet>().is_err()) {
        Some(bad) => CheckResult::broken(format!(
            "Address {bad:?} of the host cannot be read; check the agent's log on the host"
        )),
        None => CheckResult::pass(NONE_KNOWN),
    }
}

#[cfg(test)]
#[path = "host_network_tests.rs"]
mod tests;
