//! Clusters that speak IPv4 and IPv6 side by side.
//!
//! Whether a cluster is one, and which family comes first, follows from its ranges; nothing of
//! it is stored.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_model::{Cluster, Networks, OpenshiftVersion, Vip};

use super::networks::{family, ranges};
use crate::Invalid;

/// One list of ranges by its member name.
type List = (&'static str, Vec<IpNet>);

fn lists(networks: &Networks) -> [List; 3] {
    let pods: Option<Vec<String>> = networks
        .cluster
        .as_ref()
        .map(|pods| pods.iter().map(|network| network.cidr.clone()).collect());
    [
        ("cluster_networks", ranges(pods.as_deref())),
        ("service_networks", ranges(networks.service.as_deref())),
        ("machine_networks", ranges(networks.machine.as_deref())),
    ]
}

fn is_mixed(list: &[IpNet]) -> bool {
    let v6 = |range: &IpNet| range.addr().is_ipv6();
    list.iter().any(v6) && !list.iter().all(v6)
}

/// Some list holds ranges of both families.
#[must_use]
pub fn is_dual_stack(networks: &Networks) -> bool {
    lists(networks).iter().any(|(_, list)| is_mixed(list))
}

/// IPv6 comes first.
#[must_use]
pub fn ipv6_first(networks: &Networks) -> bool {
    lists(networks)
        .iter()
        .find(|(_, list)| is_mixed(list))
        .is_some_and(|(_, list)| list.first().is_some_and(|range| range.addr().is_ipv6()))
}

/// What a request names; the rest of a cluster may follow in a later one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// `cluster_networks`.
    pub pods: bool,
    /// `service_networks`.
    pub services: bool,
    /// `machine_networks`.
    pub machines: bool,
    /// `api_vips` or `ingress_vips`.
    pub vips: bool,
}

/// Refuses a cluster of IPv6 alone where the service is configured without such clusters.
pub fn check_allowed(cluster: &Cluster, allowed: bool) -> Result<(), Invalid> {
    if allowed || is_dual_stack(&cluster.networks) {
        return Ok(());
    }
    let ranges = lists(&cluster.networks)
        .map(|(member, list)| (member, list.iter().map(IpNet::addr).collect::<Vec<_>>()));
    let vips = [
        ("api_vips", addresses(cluster.api_vips.as_deref())),
        ("ingress_vips", addresses(cluster.ingress_vips.as_deref())),
    ];
    let only_v6 = |list: &[IpAddr]| !list.is_empty() && list.iter().all(IpAddr::is_ipv6);
    match ranges.iter().chain(&vips).find(|(_, list)| only_v6(list)) {
        Some((member, _)) => Err(format!(
            "{member} holds IPv6 only, and IPv6-only clusters are disabled in this service (features.ipv6); use IPv4 or both"
        ).into()),
        None => Ok(()),
    }
}

/// Checks all that both families must agree on; nothing to check for other clusters. Lists that
/// the request does not name are not counted: clients set one after the other.
pub fn check(
    cluster: &Cluster,
    version: Option<&OpenshiftVersion>,
    named: Named,
) -> Result<(), Invalid> {
    if !is_dual_stack(&cluster.networks) {
        return Ok(());
    }
    let lists = lists(&cluster.networks);
    let vips = [
        ("api_vips", addresses(cluster.api_vips.as_deref())),
        ("ingress_vips", addresses(cluster.ingress_vips.as_deref())),
    ];
    let has_vips = vips.iter().any(|(_, vips)| !vips.is_empty());
    let placed = named.vips && has_vips;
    let named = [
        (named.pods, false),
        (named.services, false),
        (named.machines, placed),
    ];
    for ((member, list), (named, needed)) in lists.iter().zip(named) {
        let checked = needed || (named && !list.is_empty());
        if !checked {
            continue;
        }
        if list.len() != 2 || !is_mixed(list) {
            let why = if list.is_empty() && has_vips {
                " because virtual addresses are set"
            } else {
                ""
            };
            return Err(format!(
                "{member} must hold one IPv4 and one IPv6 range in a dual-stack cluster{why}, it holds {}",
                list.len()
            ).into());
        }
    }
    let firsts = lists
        .iter()
        .filter_map(|(member, list)| Some((*member, list.first()?.addr())))
        .chain(
            vips.iter()
                .filter_map(|(member, list)| Some((*member, *list.first()?))),
        );
    check_order(&firsts.collect::<Vec<_>>())?;
    let too_old = version.is_some_and(|version| !version.at_least(4, 12));
    if too_old && ipv6_first(&cluster.networks) {
        return Err("IPv6 can be the first family of a dual-stack cluster from OpenShift 4.12 on; put the IPv4 ranges first".into());
    }
    Ok(())
}

/// The first entries name the primary family, so they must all be of it.
fn check_order(firsts: &[(&str, IpAddr)]) -> Result<(), Invalid> {
    let Some((leader, address)) = firsts.first() else {
        return Ok(());
    };
    match firsts
        .iter()
        .find(|(_, other)| other.is_ipv6() != address.is_ipv6())
    {
        Some((member, other)) => Err(format!(
            "the first entries name the primary address family and must agree: {leader} begins with {}, {member} with {}",
            family(*address),
            family(*other)
        ).into()),
        None => Ok(()),
    }
}

fn addresses(vips: Option<&[Vip]>) -> Vec<IpAddr> {
    vips.unwrap_or_default().iter().map(|vip| vip.ip).collect()
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, ClusterKind, ClusterNetwork, ClusterStatus, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn cluster(pods: &[&str], services: &[&str], machines: &[&str], vips: &[&str]) -> Cluster {
        let id = ClusterId(Uuid::nil());
        let mut cluster = Cluster::blank(
            id,
            ClusterKind::Cluster,
            "c",
            ClusterStatus::Insufficient,
            "admin",
            Timestamp(0),
        );
        let texts = |list: &[&str]| Some(list.iter().map(ToString::to_string).collect());
        cluster.networks = Networks {
            cluster: Some(
                pods.iter()
                    .map(|cidr| ClusterNetwork {
                        cidr: (*cidr).to_owned(),
                        host_prefix: 23,
                    })
                    .collect(),
            ),
            service: texts(services),
            machine: texts(machines),
        };
        cluster.api_vips = Some(
            vips.iter()
                .map(|ip| Vip {
                    ip: ip.parse().unwrap(),
                    verification: None,
                })
                .collect(),
        );
        cluster
    }

    const ALL: Named = Named {
        pods: true,
        services: true,
        machines: true,
        vips: true,
    };

    #[test]
    fn lists_that_a_request_leaves_out_may_follow_later() {
        let first = cluster(&[P4], &[S4], &[M4, M6], &[]);
        let machines = Named {
            machines: true,
            ..Named::default()
        };
        assert_eq!(check(&first, None, machines), Ok(()));
        let refusal = check(&first, None, ALL).unwrap_err();
        assert!(refusal.starts_with("cluster_networks"), "{refusal}");
        let placeless = cluster(&[P4, P6], &[S4, S6], &[], &["192.0.2.5"]);
        let pods = Named {
            pods: true,
            ..Named::default()
        };
        assert_eq!(check(&placeless, None, pods), Ok(()));
        let vips = Named { vips: true, ..pods };
        assert!(check(&placeless, None, vips).is_err());
    }

    #[test]
    fn a_service_without_ipv6_takes_ipv4_and_both_but_not_ipv6_alone() {
        for (cluster, fine) in [
            (cluster(&[P4], &[S4], &[M4], &["192.0.2.5"]), true),
            (cluster(&[P4, P6], &[S4, S6], &[], &[]), true),
            (cluster(&[P6], &[S6], &[M6], &[]), false),
            (cluster(&[P4], &[S4], &[M6], &[]), false),
            (cluster(&[P4], &[S4], &[], &["2001:db8::5"]), false),
        ] {
            assert_eq!(check_allowed(&cluster, true), Ok(()));
            let answer = check_allowed(&cluster, false);
            assert_eq!(answer.is_ok(), fine, "{answer:?}");
        }
    }

    const P4: &str = "10.128.0.0/14";
    const P6: &str = "fd01::/48";
    const S4: &str = "172.30.0.0/16";
    const S6: &str = "fd02::/112";
    const M4: &str = "192.0.2.0/24";
    const M6: &str = "2001:db8::/64";

    #[test]
    fn whole_dual_stack_clusters_pass_in_either_order() {
        let version = "4.16".parse().unwrap();
        for cluster in [
            cluster(
                &[P4, P6],
                &[S4, S6],
                &[M4, M6],
                &["192.0.2.5", "2001:db8::5"],
            ),
            cluster(&[P6, P4], &[S6, S4], &[M6, M4], &[]),
            cluster(&[P4, P6], &[S4, S6], &[], &[]),
            cluster(&[P4], &[S4], &[M4], &[]),
            cluster(&[P4], &[S4], &[M6], &[]),
        ] {
            assert_eq!(
                check(&cluster, Some(&version), ALL),
                Ok(()),
                "{:?}",
                cluster.networks
            );
        }
    }

    #[test]
    fn half_dual_stack_clusters_are_refused() {
        for (cluster, part) in [
            (
                cluster(&[P4, P6], &[S4], &[], &[]),
                "service_networks must hold",
            ),
            (
                cluster(&[P4, P6], &[S4, S6], &[M4], &[]),
                "machine_networks must hold",
            ),
            (
                cluster(&[P4, P6], &[S4, S6], &[], &["192.0.2.5"]),
                "because virtual addresses are set",
            ),
            (cluster(&[P4, P6], &[S6, S4], &[], &[]), "must agree"),
            (
                cluster(&[P4, P6], &[S4, S6], &[M4, M6], &["2001:db8::5"]),
                "must agree",
            ),
            (cluster(&[P4, P6, M4], &[S4, S6], &[], &[]), "it holds 3"),
        ] {
            let refusal = check(&cluster, None, ALL).unwrap_err();
            assert!(refusal.contains(part), "{refusal}");
        }
    }

    #[test]
    fn ipv6_leads_from_4_12_on() {
        let six = cluster(&[P6, P4], &[S6, S4], &[], &[]);
        assert!(ipv6_first(&six.networks));
        assert!(
            check(&six, Some(&"4.11.59".parse().unwrap()), ALL)
                .unwrap_err()
                .contains("4.12")
        );
        assert_eq!(check(&six, Some(&"4.12.0".parse().unwrap()), ALL), Ok(()));
    }
}
