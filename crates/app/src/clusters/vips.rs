//! Virtual addresses of the API and of the ingress.
//!
//! All faults of a request are reported at once: addresses are usually given together.

use std::{collections::HashSet, net::IpAddr};

use ipnet::IpNet;
use muster_model::{Cluster, Host, Vip};
use serde::Deserialize;

use super::networks::family;
use crate::Invalid;

/// Most addresses of a kind: one per family.
const MAX: usize = 2;

/// Whether the two lists must be of the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Creation: both or none.
    Always,
    /// Change: one list may still be empty, the validations ask for it.
    WhenBothAreSet,
}

/// Reads a list; addresses that were there before keep what hosts found out about them.
pub fn read<'a>(
    member: &str,
    list: impl Iterator<Item = Option<&'a str>>,
    known: &[Vip],
) -> Result<Vec<Vip>, Invalid> {
    let mut faults = Vec::new();
    let mut vips = Vec::new();
    for (index, text) in list.enumerate() {
        let text = text.unwrap_or_default();
        match text.parse::<IpAddr>() {
            Ok(ip) => {
                let verification = known
                    .iter()
                    .find(|vip| vip.ip == ip)
                    .and_then(|vip| vip.verification.clone());
                vips.push(Vip { ip, verification });
            }
            Err(_) => faults.push(format!("{member}[{index}]: {text:?} is not an IP address")),
        }
    }
    if faults.is_empty() {
        Ok(vips)
    } else {
        Err(faults.join("\n").into())
    }
}

/// Refuses addresses where the user manages the network.
pub fn check_manager(cluster: &Cluster) -> Result<(), Invalid> {
    let any = [&cluster.api_vips, &cluster.ingress_vips]
        .into_iter()
        .any(|vips| !list(vips.as_ref()).is_empty());
    if any && cluster.user_managed_networking == Some(true) {
        return Err("api_vips and ingress_vips cannot be set with user_managed_networking: your own load balancer provides them".into());
    }
    Ok(())
}

/// Checks the addresses of a cluster against each other and against its other settings.
pub fn check(cluster: &Cluster, pairs: Pairs) -> Result<(), Invalid> {
    let (api, ingress) = (
        list(cluster.api_vips.as_ref()),
        list(cluster.ingress_vips.as_ref()),
    );
    if api.is_empty() && ingress.is_empty() {
        return Ok(());
    }
    if cluster.vip_dhcp_allocation == Some(true) {
        return Err(
            "api_vips and ingress_vips cannot be set with vip_dhcp_allocation: DHCP assigns them"
                .into(),
        );
    }
    let user_balancer = is_user_balanced(cluster);
    let mut faults = Vec::new();
    for (member, vips) in [("api_vips", api), ("ingress_vips", ingress)] {
        faults.extend(list_faults(member, vips));
    }
    let both_set = !api.is_empty() && !ingress.is_empty();
    if api.len() != ingress.len() && (pairs == Pairs::Always || both_set) {
        faults.push(format!(
            "api_vips has {} and ingress_vips has {} addresses; set the same number of each",
            api.len(),
            ingress.len()
        ));
    }
    if !user_balancer {
        for shared in api
            .iter()
            .filter(|vip| ingress.iter().any(|other| other.ip == vip.ip))
        {
            faults.push(format!("{} is in api_vips and in ingress_vips; they must differ unless load_balancer is user-managed", shared.ip));
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n").into())
    }
}

fn list_faults(member: &str, vips: &[Vip]) -> Vec<String> {
    let mut faults = Vec::new();
    if vips.len() > MAX {
        faults.push(format!(
            "{member} has {} addresses; at most {MAX} are possible, one per family",
            vips.len()
        ));
    }
    let mut seen = HashSet::new();
    for vip in vips {
        if !seen.insert(vip.ip) {
            faults.push(format!("{member} has {} twice", vip.ip));
        }
    }
    if let [first, second] = vips
        && first.ip != second.ip
        && first.ip.is_ipv6() == second.ip.is_ipv6()
    {
        faults.push(format!(
            "{member} has two {} addresses; a second one must be of the other family",
            family(first.ip)
        ));
    }
    faults
}

/// Checks that the addresses lie where the machines are: the nth in the nth range, or behind a
/// load balancer of the user in any. Nothing to check while no range is known.
pub fn check_places(cluster: &Cluster, machines: &[IpNet]) -> Result<(), Invalid> {
    if machines.is_empty() {
        return Ok(());
    }
    let user_balancer = is_user_balanced(cluster);
    let mut faults = Vec::new();
    for (member, vips) in [
        ("api_vips", list(cluster.api_vips.as_ref())),
        ("ingress_vips", list(cluster.ingress_vips.as_ref())),
    ] {
        for (index, vip) in vips.iter().enumerate() {
            let inside = match (user_balancer, machines.get(index)) {
                (true, _) => machines.iter().any(|range| range.contains(&vip.ip)),
                (false, Some(range)) => range.contains(&vip.ip),
                (false, None) => false,
            };
            if !inside {
                let place = match (user_balancer, machines.get(index)) {
                    (false, Some(range)) => format!("machine network {range}"),
                    (true, _) | (false, None) => "any machine network at its place".to_owned(),
                };
                faults.push(format!("{member}[{index}]: {} is not in {place}", vip.ip));
            }
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n").into())
    }
}

/// Checks that no host found one of the addresses taken, and that none is a broadcast address.
pub fn check_free(cluster: &Cluster, range: IpNet, hosts: &[Host]) -> Result<(), Invalid> {
    let mut faults = Vec::new();
    for (member, vips) in [
        ("api_vips", list(cluster.api_vips.as_ref())),
        ("ingress_vips", list(cluster.ingress_vips.as_ref())),
    ] {
        for vip in vips.iter().filter(|vip| range.contains(&vip.ip)) {
            if vip.ip.is_ipv4() && range.broadcast() == vip.ip {
                faults.push(format!(
                    "{member}: {} is the broadcast address of {range}; choose another",
                    vip.ip
                ));
            } else if hosts.iter().any(|host| found_taken(host, range, vip.ip)) {
                faults.push(format!(
                    "{member}: {} is in use already; choose a free address of {range}",
                    vip.ip
                ));
            }
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n").into())
    }
}

/// A host looked at the range and did not list the address among the free ones.
fn found_taken(host: &Host, range: IpNet, ip: IpAddr) -> bool {
    #[derive(Deserialize)]
    struct Seen {
        #[serde(default)]
        network: String,
        #[serde(default)]
        free_addresses: Option<Vec<String>>,
    }
    let Some(report) = host.reports.free_addresses.as_deref() else {
        return false;
    };
    let seen: Vec<Seen> = serde_json::from_str(report).unwrap_or_default();
    seen.iter()
        .filter(|seen| {
            seen.network
                .parse::<IpNet>()
                .is_ok_and(|network| network.trunc() == range)
        })
        .filter_map(|seen| seen.free_addresses.as_deref())
        .any(|free| !free.is_empty() && !free.iter().any(|text| text.parse() == Ok(ip)))
}

/// The user brings the load balancer.
#[must_use]
pub fn is_user_balanced(cluster: &Cluster) -> bool {
    cluster.load_balancer.as_deref() == Some("user-managed")
}

fn list(vips: Option<&Vec<Vip>>) -> &[Vip] {
    vips.map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use muster_model::{
        ClusterId, ClusterKind, ClusterStatus, HostId, HostKey, InfraEnvId, Timestamp,
    };
    use uuid::Uuid;

    use super::*;

    fn cluster(api: &[&str], ingress: &[&str]) -> Cluster {
        let id = ClusterId(Uuid::nil());
        let mut cluster = Cluster::blank(
            id,
            ClusterKind::Cluster,
            "c",
            ClusterStatus::Insufficient,
            "admin",
            Timestamp(0),
        );
        let read =
            |list: &[&str]| Some(read("vips", list.iter().map(|ip| Some(*ip)), &[]).unwrap());
        cluster.api_vips = read(api);
        cluster.ingress_vips = read(ingress);
        cluster
    }

    #[test]
    fn addresses_are_kept_in_canonical_form_with_what_is_known_about_them() {
        let known = [Vip {
            ip: "2001:db8::5".parse().unwrap(),
            verification: Some("succeeded".into()),
        }];
        let vips = read(
            "api_vips",
            [Some("2001:DB8:0::5"), Some("192.0.2.5")].into_iter(),
            &known,
        )
        .unwrap();
        assert_eq!(vips[0].ip.to_string(), "2001:db8::5");
        assert_eq!(vips[0].verification.as_deref(), Some("succeeded"));
        assert_eq!(vips[1].verification, None);
        let refusal = read(
            "api_vips",
            [Some("x"), Some("192.0.2.5"), None].into_iter(),
            &[],
        )
        .unwrap_err();
        assert_eq!(refusal.lines().count(), 2, "{refusal}");
    }

    #[test]
    fn all_faults_of_a_pair_of_lists_are_reported_at_once() {
        assert_eq!(
            check(&cluster(&["192.0.2.5"], &["192.0.2.6"]), Pairs::Always),
            Ok(())
        );
        assert_eq!(
            check(
                &cluster(&["192.0.2.5", "2001:db8::5"], &["192.0.2.6", "2001:db8::6"]),
                Pairs::Always
            ),
            Ok(())
        );
        let refusal = check(
            &cluster(&["192.0.2.5", "192.0.2.5", "192.0.2.7"], &["192.0.2.5"]),
            Pairs::Always,
        )
        .unwrap_err();
        assert!(
            refusal.contains("at most 2")
                && refusal.contains("twice")
                && refusal.contains("same number"),
            "{refusal}"
        );
        assert!(
            refusal.contains("in api_vips and in ingress_vips"),
            "{refusal}"
        );
        assert!(
            check(
                &cluster(&["192.0.2.5", "192.0.2.6"], &["192.0.2.7", "192.0.2.8"]),
                Pairs::Always
            )
            .unwrap_err()
            .contains("two IPv4")
        );
    }

    #[test]
    fn one_list_alone_is_enough_only_while_changing() {
        let half = cluster(&["192.0.2.5"], &[]);
        assert!(check(&half, Pairs::Always).is_err());
        assert_eq!(check(&half, Pairs::WhenBothAreSet), Ok(()));
    }

    #[test]
    fn addresses_may_be_managed_outside_the_cluster() {
        let mut shared = cluster(&["192.0.2.5"], &["192.0.2.5"]);
        shared.load_balancer = Some("user-managed".into());
        assert_eq!(check(&shared, Pairs::Always), Ok(()));
        let mut user_managed = cluster(&["192.0.2.5"], &["192.0.2.6"]);
        user_managed.user_managed_networking = Some(true);
        assert!(check_manager(&user_managed).is_err());
        let mut leased = cluster(&["192.0.2.5"], &["192.0.2.6"]);
        leased.vip_dhcp_allocation = Some(true);
        assert!(check(&leased, Pairs::Always).unwrap_err().contains("DHCP"));
    }

    #[test]
    fn addresses_lie_in_the_range_of_their_place() {
        let machines: Vec<IpNet> = vec![
            "192.0.2.0/24".parse().unwrap(),
            "2001:db8::/64".parse().unwrap(),
        ];
        let good = cluster(&["192.0.2.5", "2001:db8::5"], &["192.0.2.6", "2001:db8::6"]);
        assert_eq!(check_places(&good, &machines), Ok(()));
        assert_eq!(check_places(&good, &[]), Ok(()));
        let mut outside = cluster(&["198.51.100.5"], &["2001:db8::6"]);
        assert_eq!(
            check_places(&outside, &machines)
                .unwrap_err()
                .lines()
                .count(),
            2
        );
        outside.load_balancer = Some("user-managed".into());
        assert_eq!(
            check_places(&outside, &machines)
                .unwrap_err()
                .lines()
                .count(),
            1
        );
    }

    #[test]
    fn an_address_that_a_host_found_taken_is_refused() {
        let range: IpNet = "192.0.2.0/24".parse().unwrap();
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::nil()),
            host: HostId(Uuid::nil()),
        };
        let mut host = Host::registered(key, None, "admin", Timestamp(0));
        let good = cluster(&["192.0.2.5"], &["192.0.2.6"]);
        assert_eq!(
            check_free(&good, range, std::slice::from_ref(&host)),
            Ok(())
        );
        host.reports.free_addresses =
            Some(r#"[{"network":"192.0.2.0/24","free_addresses":["192.0.2.5"]}]"#.into());
        let refusal = check_free(&good, range, std::slice::from_ref(&host)).unwrap_err();
        assert!(
            refusal.contains("192.0.2.6 is in use") && !refusal.contains("192.0.2.5 is"),
            "{refusal}"
        );
        assert!(
            check_free(&cluster(&["192.0.2.255"], &[]), range, &[])
                .unwrap_err()
                .contains("broadcast")
        );
    }
}
