//! Address ranges of a cluster: reading them, and the rules for changing them.
//!
//! At creation host bits are cut off silently and only the form is checked; a later change
//! must be exact and fit. That is how clients know it, so both stay as they are.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::wire;
use muster_model::{ClusterNetwork, Networks};

use crate::Invalid;

/// Smallest number of hosts that the pods' range must have room for in a cluster of several.
const MIN_ROOM: usize = 4;

/// How small the range of the machines may be, as bits left for hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineRange {
    /// Room for 16 addresses.
    ManyNodes,
    /// Behind a load balancer of the user: 4.
    UserLoadBalancer,
    /// One host: 2.
    SingleNode,
}

impl MachineRange {
    const fn host_bits(self) -> u8 {
        match self {
            Self::ManyNodes => 4,
            Self::UserLoadBalancer => 2,
            Self::SingleNode => 1,
        }
    }
}

/// Bits left for hosts in ranges of pods and services: 128 addresses.
const POD_HOST_BITS: u8 = 7;

/// How a range with host bits set is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostBits {
    /// They are cut off (creation).
    Cut,
    /// They are an error (change).
    Refuse,
}

/// Reads the ranges of pods.
pub fn pods(
    list: &[wire::ClusterNetwork],
    host_bits: HostBits,
) -> Result<Vec<ClusterNetwork>, Invalid> {
    list.iter()
        .enumerate()
        .map(|(index, network)| {
            let cidr = range(
                &format!("cluster_networks[{index}].cidr"),
                network.cidr.as_deref(),
                host_bits,
            )?;
            Ok(ClusterNetwork {
                cidr: cidr.to_string(),
                host_prefix: network.host_prefix.unwrap_or(0),
            })
        })
        .collect()
}

/// Reads the ranges of services.
pub fn services(
    list: &[wire::ServiceNetwork],
    host_bits: HostBits,
) -> Result<Vec<String>, Invalid> {
    texts(
        "service_networks",
        list.iter().map(|network| network.cidr.as_deref()),
        host_bits,
    )
}

/// Reads the ranges of machines.
pub fn machines(
    list: &[wire::MachineNetwork],
    host_bits: HostBits,
) -> Result<Vec<String>, Invalid> {
    texts(
        "machine_networks",
        list.iter().map(|network| network.cidr.as_deref()),
        host_bits,
    )
}

fn texts<'a>(
    member: &str,
    list: impl Iterator<Item = Option<&'a str>>,
    host_bits: HostBits,
) -> Result<Vec<String>, Invalid> {
    list.enumerate()
        .map(|(index, cidr)| {
            range(&format!("{member}[{index}].cidr"), cidr, host_bits)
                .map(|range| range.to_string())
        })
        .collect()
}

fn range(place: &str, text: Option<&str>, host_bits: HostBits) -> Result<IpNet, Invalid> {
    let text = text.unwrap_or_default();
    let given: IpNet = text.parse().map_err(|_| {
        format!(
            "{place}: {text:?} is not an address range; write it like 192.0.2.0/24 or 2001:db8::/64"
        )
    })?;
    let exact = given.trunc();
    if host_bits == HostBits::Refuse && exact != given {
        return Err(format!(
            "{place}: {text} has bits set behind its prefix; did you mean {exact}?"
        )
        .into());
    }
    Ok(exact)
}

/// Checks changed ranges of pods; `hosts` is how many the cluster has now.
pub fn check_pods(list: &[ClusterNetwork], hosts: usize) -> Result<(), Invalid> {
    for (index, network) in list.iter().enumerate() {
        let place = format!("cluster_networks[{index}]");
        let Some(cidr) = parsed(&network.cidr) else {
            continue;
        };
        check_size(&place, cidr, POD_HOST_BITS)?;
        let most = i64::from(cidr.max_prefix_len() - POD_HOST_BITS);
        if network.host_prefix < 1 || network.host_prefix > most {
            return Err(format!(
                "{place}.host_prefix is {}, it must be 1 to {most}",
                network.host_prefix
            )
            .into());
        }
        let needed = if hosts == 1 { 1 } else { hosts.max(MIN_ROOM) };
        let bits = (network.host_prefix - i64::from(cidr.prefix_len())).clamp(0, 62);
        let room = 1_u64 << bits;
        if room < needed as u64 {
            return Err(format!(
                "{place}: {cidr} with host_prefix {} has room for {room} hosts, {needed} are needed; take a larger range or a \
                 longer host_prefix",
                network.host_prefix
            ).into());
        }
    }
    Ok(())
}

/// Checks changed ranges of services.
pub fn check_services(list: &[String]) -> Result<(), Invalid> {
    check_sizes("service_networks", list, POD_HOST_BITS)
}

/// Checks changed ranges of machines.
pub fn check_machines(list: &[String], kind: MachineRange) -> Result<(), Invalid> {
    check_sizes("machine_networks", list, kind.host_bits())
}

fn check_sizes(member: &str, list: &[String], host_bits: u8) -> Result<(), Invalid> {
    for (index, cidr) in list.iter().enumerate() {
        if let Some(cidr) = parsed(cidr) {
            check_size(&format!("{member}[{index}]"), cidr, host_bits)?;
        }
    }
    Ok(())
}

fn check_size(place: &str, cidr: IpNet, host_bits: u8) -> Result<(), Invalid> {
    let longest = cidr.max_prefix_len() - host_bits;
    if cidr.network().is_unspecified() {
        return Err(format!(
            "{place}: {cidr} begins at the unspecified address; choose a real range"
        )
        .into());
    }
    if cidr.prefix_len() < 1 || cidr.prefix_len() > longest {
        return Err(
            format!("{place}: the prefix of {cidr} must be 1 to {longest} bits long").into(),
        );
    }
    Ok(())
}

/// Ranges that are used side by side must not overlap: services and pods always, machines when
/// they are not computed.
pub fn check_overlap(networks: &Networks, machines_too: bool) -> Result<(), Invalid> {
    let pods: Vec<IpNet> = networks
        .cluster
        .iter()
        .flatten()
        .filter_map(|network| parsed(&network.cidr))
        .collect();
    let services = ranges(networks.service.as_deref());
    let machines = if machines_too {
        ranges(networks.machine.as_deref())
    } else {
        Vec::new()
    };
    for ((one, first), (other, second)) in [
        (("service_networks", &services), ("cluster_networks", &pods)),
        (("machine_networks", &machines), ("cluster_networks", &pods)),
        (
            ("machine_networks", &machines),
            ("service_networks", &services),
        ),
    ] {
        for (a, b) in first.iter().zip(second) {
            if a.contains(&b.network()) || b.contains(&a.network()) {
                return Err(format!(
                    "{a} of {one} and {b} of {other} overlap; choose disjoint ranges"
                )
                .into());
            }
        }
    }
    Ok(())
}

/// Ranges as values; what cannot be read (never, after the checks above) is left out.
#[must_use]
pub fn ranges(list: Option<&[String]>) -> Vec<IpNet> {
    list.unwrap_or_default()
        .iter()
        .filter_map(|text| parsed(text))
        .collect()
}

fn parsed(text: &str) -> Option<IpNet> {
    text.parse().ok()
}

/// The family of an address as people call it.
#[must_use]
pub const fn family(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(cidr: &str, host_prefix: i64) -> ClusterNetwork {
        ClusterNetwork {
            cidr: cidr.to_owned(),
            host_prefix,
        }
    }

    #[test]
    fn creation_cuts_host_bits_and_a_change_refuses_them() {
        let list = [wire::ClusterNetwork {
            cidr: Some("10.0.0.1/14".into()),
            ..Default::default()
        }];
        assert_eq!(pods(&list, HostBits::Cut), Ok(vec![pod("10.0.0.0/14", 0)]));
        assert!(
            pods(&list, HostBits::Refuse)
                .unwrap_err()
                .contains("did you mean 10.0.0.0/14?")
        );
        let bad = [wire::MachineNetwork {
            cidr: Some("10.0.0.1".into()),
            ..Default::default()
        }];
        assert!(
            machines(&bad, HostBits::Cut)
                .unwrap_err()
                .starts_with("machine_networks[0].cidr")
        );
        assert!(machines(&[wire::MachineNetwork::default()], HostBits::Cut).is_err());
    }

    #[test]
    fn pods_need_room_for_every_host() {
        assert_eq!(check_pods(&[pod("10.128.0.0/14", 23)], 3), Ok(()));
        assert_eq!(check_pods(&[pod("10.128.0.0/23", 25)], 0), Ok(()));
        assert_eq!(check_pods(&[pod("10.128.0.0/23", 23)], 1), Ok(()));
        assert_eq!(check_pods(&[pod("fd01::/48", 64)], 9), Ok(()));
        for (network, hosts) in [
            (pod("10.128.0.0/23", 24), 3),
            (pod("10.128.0.0/23", 25), 5),
            (pod("10.128.0.0/14", 0), 3),
            (pod("10.128.0.0/14", 26), 3),
            (pod("10.128.0.0/26", 25), 1),
            (pod("0.0.0.0/8", 23), 3),
        ] {
            assert!(
                check_pods(std::slice::from_ref(&network), hosts).is_err(),
                "{network:?} for {hosts}"
            );
        }
    }

    #[test]
    fn the_smallest_range_depends_on_its_use() {
        let one = |cidr: &str| vec![cidr.to_owned()];
        assert_eq!(check_services(&one("172.30.0.0/25")), Ok(()));
        assert!(check_services(&one("172.30.0.0/26")).is_err());
        assert_eq!(
            check_machines(&one("192.0.2.0/28"), MachineRange::ManyNodes),
            Ok(())
        );
        assert!(check_machines(&one("192.0.2.0/29"), MachineRange::ManyNodes).is_err());
        assert_eq!(
            check_machines(&one("192.0.2.0/30"), MachineRange::UserLoadBalancer),
            Ok(())
        );
        assert_eq!(
            check_machines(&one("192.0.2.0/31"), MachineRange::SingleNode),
            Ok(())
        );
        assert!(check_machines(&one("192.0.2.0/32"), MachineRange::SingleNode).is_err());
    }

    #[test]
    fn overlap_is_checked_pair_by_pair() {
        let networks = |pods: &[&str], services: &[&str], machines: &[&str]| Networks {
            cluster: Some(pods.iter().map(|cidr| pod(cidr, 23)).collect()),
            service: Some(services.iter().map(ToString::to_string).collect()),
            machine: Some(machines.iter().map(ToString::to_string).collect()),
        };
        let machine_inside = networks(&["10.128.0.0/14"], &["172.30.0.0/16"], &["172.30.1.0/24"]);
        assert_eq!(check_overlap(&machine_inside, false), Ok(()));
        assert!(
            check_overlap(&machine_inside, true)
                .unwrap_err()
                .contains("machine_networks")
        );
        assert!(check_overlap(&networks(&["10.0.0.0/8"], &["10.1.0.0/16"], &[]), false).is_err());
        assert_eq!(
            check_overlap(
                &networks(
                    &["10.0.0.0/8", "fd01::/48"],
                    &["172.30.0.0/16", "fd02::/112"],
                    &[]
                ),
                true
            ),
            Ok(())
        );
    }
}
