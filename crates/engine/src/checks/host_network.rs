//! Host validations about links, addresses, time and what can be fetched.

use std::collections::BTreeSet;

use ipnet::IpNet;
use muster_model::HostStatus;

use super::{Verdict, host::HostContext};
use crate::{
    deadlines,
    majority::MIN_GROUP,
    networks, reports,
    reports::{ApiVipReply, NtpSource},
    wire::{self, Stored},
};

/// A host clock may lag this much behind the service before certificates become a problem.
const MAX_BEHIND_SECONDS: i64 = 20 * 60;
/// … and run this much ahead.
const MAX_AHEAD_SECONDS: i64 = 60 * 60;

pub(super) fn connected(on: &HostContext<'_>) -> Verdict {
    match deadlines::silence(on.host, on.last_seen, on.settings) {
        Some(deadline) if on.now > deadline => Verdict::fail(format!(
            "The agent has not asked for work for more than {} seconds; check that the host runs and reaches the service",
            on.settings.timeouts.disconnection.as_secs()
        )),
        _ => Verdict::pass("The host talks to the service"),
    }
}

pub(super) fn media_connected(on: &HostContext<'_>) -> Verdict {
    if on.host.media_connected {
        Verdict::pass("The boot medium can be read")
    } else {
        Verdict::fail(
            "The boot medium cannot be read any more; connect it again or boot the host anew",
        )
    }
}

pub(super) fn machine_cidr_defined(on: &HostContext<'_>) -> Verdict {
    let Some(cluster) = on.cluster else {
        return Verdict::silent();
    };
    if networks::user_managed(cluster) || cluster.is_day2() {
        return Verdict::pass("No machine network is needed: the user manages the network");
    }
    match &on.around.machine {
        Ok(nets) if nets.is_empty() => Verdict::fail(
            "The machine network is not known yet; set the virtual addresses, it follows from them",
        ),
        Ok(_) | Err(_) => Verdict::pass("The machine network is set"),
    }
}

pub(super) fn belongs_to_machine_cidr(on: &HostContext<'_>) -> Verdict {
    let Some(cluster) = on.cluster else {
        return Verdict::silent();
    };
    let networks = match &on.around.machine {
        Ok(networks) => networks,
        Err(fault) => return Verdict::broken(format!("Machine network: {fault}")),
    };
    let free_choice = networks::user_managed(cluster)
        && !cluster.is_single_node()
        && (!on.host.bootstrap || networks.is_empty());
    if free_choice || cluster.is_day2() {
        return Verdict::pass("The host may be in any network");
    }
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    if networks.is_empty() {
        return Verdict::wait("The machine network is not known yet");
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
        Verdict::pass("The host has an address in the machine network")
    } else {
        Verdict::fail(format!(
            "The host has no address in machine network {}; connect it there or correct the network",
            outside.join(", ")
        ))
    }
}

pub(super) fn ignition_downloadable(on: &HostContext<'_>) -> Verdict {
    if on.cluster.is_none() || !on.host.is_day2() {
        return Verdict::silent();
    }
    match wire::stored::<ApiVipReply>(on.host.reports.api_vip_connectivity.as_deref()) {
        Stored::Missing => {
            Verdict::wait("The host has not tried to fetch Ignition from the cluster yet")
        }
        Stored::Broken => Verdict::broken("The stored result of fetching Ignition cannot be read"),
        Stored::Here(reply) if reply.is_success => {
            Verdict::pass("Ignition can be fetched from the cluster")
        }
        Stored::Here(reply) => Verdict::fail(format!(
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

pub(super) fn belongs_to_majority_group(on: &HostContext<'_>) -> Verdict {
    let Some(cluster) = on.cluster else {
        return Verdict::silent();
    };
    if on.host.is_day2() || cluster.is_single_node() {
        return Verdict::pass("A single host needs no group");
    }
    let Some(groups) = &on.around.groups else {
        return Verdict::wait("The hosts have not been compared with each other yet");
    };
    let machine = match &on.around.machine {
        Ok(networks) => networks,
        Err(fault) => return Verdict::broken(format!("Machine network: {fault}")),
    };
    let few = on.around.host_count < MIN_GROUP;
    let unreachable = |what: String| {
        if few {
            Verdict::wait(format!(
                "At least {MIN_GROUP} hosts are needed to judge who reaches whom"
            ))
        } else {
            Verdict::fail(format!(
                "{what}; check switches, VLANs and firewalls between the hosts"
            ))
        }
    };
    if networks::user_managed(cluster) || networks::user_load_balancer(cluster) {
        let families = match configured_families(on) {
            Ok(families) => families,
            Err(fault) => return Verdict::broken(fault),
        };
        let reached = groups.l3_connected_addresses.get(&on.host.id);
        let covers = |v6: bool| {
            let mut addresses = reached.into_iter().flatten();
            addresses.any(|a| {
                a.parse::<std::net::IpAddr>()
                    .is_ok_and(|ip| ip.is_ipv6() == v6)
            })
        };
        return if !families.is_empty() && families.iter().all(|v6| covers(*v6)) {
            Verdict::pass("All other hosts reach this one")
        } else {
            unreachable("Not all other hosts reach this one".to_owned())
        };
    }
    if machine.is_empty() {
        return Verdict::wait("The machine network is not known yet");
    }
    let lonely: Vec<String> = machine
        .iter()
        .map(ToString::to_string)
        .filter(|net| {
            let members = groups.majority_groups.get(net);
            !members.is_some_and(|members| members.contains(&on.host.id))
        })
        .collect();
    if lonely.is_empty() {
        Verdict::pass("The host reaches the majority of the cluster")
    } else {
        unreachable(format!(
            "The host does not reach the majority of the cluster in {}",
            lonely.join(", ")
        ))
    }
}

fn configured_families(on: &HostContext<'_>) -> Result<BTreeSet<bool>, String> {
    let Some(cluster) = on.cluster else {
        return Ok(BTreeSet::new());
    };
    let mut families = BTreeSet::new();
    for networks in [
        networks::pods(cluster),
        networks::service(cluster),
        networks::machine(cluster),
    ] {
        let networks = networks.map_err(|fault| format!("Networks of the cluster: {fault}"))?;
        families.extend(networks::families(&networks));
    }
    Ok(families)
}

pub(super) fn valid_platform_network_settings(on: &HostContext<'_>) -> Verdict {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    let product = inventory
        .system_vendor
        .as_ref()
        .map_or("", |v| v.product_name.as_str());
    if product != "OpenStack Compute" {
        return Verdict::pass("The network of this kind of machine needs no special care");
    }
    match on.cluster {
        None => Verdict::silent(),
        Some(cluster) if networks::user_managed(cluster) => {
            Verdict::pass("The user manages the network, as OpenStack needs it")
        }
        Some(_) => Verdict::fail(
            "OpenStack drops traffic to virtual addresses; turn on user-managed networking",
        ),
    }
}

pub(super) fn ntp_synced(on: &HostContext<'_>) -> Verdict {
    match wire::stored::<Vec<NtpSource>>(on.host.reports.ntp_sources.as_deref()) {
        Stored::Broken => Verdict::broken("The stored time sources cannot be read"),
        Stored::Here(sources) if sources.iter().any(|s| s.source_state == "synced") => {
            Verdict::pass("The host's clock follows a time source")
        }
        Stored::Here(_) | Stored::Missing if is_pool(on.host.status) => Verdict::silent(),
        Stored::Here(_) | Stored::Missing => {
            Verdict::fail("The host's clock follows no time source; add an NTP server it can reach")
        }
    }
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

pub(super) fn time_synced(on: &HostContext<'_>) -> Verdict {
    match seconds_behind(on.host) {
        None => Verdict::wait("The host has not told its time yet"),
        Some(behind) if behind > MAX_BEHIND_SECONDS => Verdict::fail(format!(
            "The host's clock is {} minutes behind the service, 20 are allowed; set it or add an NTP server",
            behind / 60
        )),
        Some(behind) if behind < -MAX_AHEAD_SECONDS => Verdict::fail(format!(
            "The host's clock is {} minutes ahead of the service, 60 are allowed; set it or add an NTP server",
            behind.saturating_neg() / 60
        )),
        Some(_) => Verdict::pass("Host and service agree about the time"),
    }
}

pub(super) fn container_images_available(on: &HostContext<'_>) -> Verdict {
    match reports::images_of(on.host) {
        Stored::Broken => Verdict::broken("The stored image results cannot be read"),
        Stored::Missing => Verdict::pass("No image was asked for yet"),
        Stored::Here(images) => {
            let bad: Vec<&str> = images
                .iter()
                .filter(|(_, image)| image.is_bad())
                .map(|(name, _)| name.as_str())
                .collect();
            if bad.is_empty() {
                Verdict::pass(format!("{} images could be pulled", images.len()))
            } else {
                Verdict::fail(format!(
                    "Images could not be pulled, or far too slowly: {}; check the registry, the pull secret and the proxy",
                    bad.join(", ")
                ))
            }
        }
    }
}

pub(super) fn has_default_route(on: &HostContext<'_>) -> Verdict {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    if inventory
        .routes
        .items()
        .iter()
        .any(crate::inventory::Route::is_default)
    {
        Verdict::pass("The host has a default route")
    } else {
        Verdict::fail("The host has no default route; add one in its network settings or in DHCP")
    }
}

pub(super) fn non_overlapping_subnets(on: &HostContext<'_>) -> Verdict {
    let Some(inventory) = on.inventory else {
        return on.no_inventory();
    };
    if on.cluster.is_none() {
        return Verdict::silent();
    }
    let families = match configured_families(on) {
        Ok(families) => families,
        Err(fault) => return Verdict::broken(fault),
    };
    let mut places: Vec<(IpNet, &str)> = inventory
        .addresses()
        .map(|(nic, address)| (address.trunc(), nic.name.as_str()))
        .filter(|(net, _)| families.contains(&matches!(net, IpNet::V6(_))))
        .collect();
    places.sort_unstable();
    places.dedup();
    // Ranges are either apart or nested, so in sorted order neighbours tell it all.
    for pair in places.windows(2) {
        let [(net, nic), (theirs, other)] = pair else {
            continue;
        };
        if networks::overlap(net, theirs) {
            return Verdict::fail(format!(
                "Networks {net} on {nic} and {theirs} on {other} overlap; give each interface a range of its own"
            ));
        }
    }
    Verdict::pass("The networks of the host do not overlap")
}

pub(super) fn no_ip_collisions(on: &HostContext<'_>) -> Verdict {
    let (Some(cluster), Some(inventory)) = (on.cluster, on.inventory) else {
        return Verdict::pass("No address is known to be used twice");
    };
    if cluster.is_day2() {
        return Verdict::pass("No address is known to be used twice");
    }
    let mine: BTreeSet<String> = inventory
        .addresses()
        .map(|(_, a)| a.addr().to_string())
        .collect();
    let twice: Vec<&str> = on
        .around
        .collisions
        .keys()
        .filter(|address| mine.contains(*address))
        .map(String::as_str)
        .collect();
    if twice.is_empty() {
        Verdict::pass("No address of the host is used twice")
    } else {
        Verdict::fail(format!(
            "Another machine answers from addresses of this host: {}; give one of them another address",
            twice.join(", ")
        ))
    }
}
