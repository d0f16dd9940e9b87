//! Which address of a host becomes its node address.
//!
//! Where the cluster brings its own load balancer the machine network says it. Where the user does,
//! hosts may sit in several networks and in different ones: each takes an address with a
//! default route, and none that another host would take for an address of its own networks.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use ipnet::IpNet;
use muster_engine::inventory::Inventory;
use muster_model::{Cluster, Host, HostId};

/// Combinations that are tried: an unsolvable set of hosts must not take unbounded time.
const MOST_ATTEMPTS: u32 = 100_000;

/// Addresses of the nodes, as far as they have to be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeIps {
    /// The bootstrap host's own.
    pub bootstrap: Option<IpAddr>,
    hints: BTreeMap<HostId, IpAddr>,
}

impl NodeIps {
    /// The hint for one host: an address in the network it should use.
    pub fn hint(&self, host: HostId) -> Option<IpAddr> {
        self.hints.get(&host).copied()
    }
}

/// A possible address of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    metric: i64,
    net: IpNet,
}

/// Works out what has to be set.
pub fn of(cluster: &Cluster, hosts: &[Arc<Host>]) -> NodeIps {
    let machine = cluster.networks.machine.iter().flatten().next();
    let machine: Option<IpNet> = machine.and_then(|cidr| cidr.parse().ok());
    let lead = hosts.iter().find(|host| host.bootstrap);
    if cluster.is_single_node() {
        let hint = machine.map(|net| net.network());
        let hints = hosts.iter().filter_map(|host| Some((host.id, hint?)));
        return NodeIps {
            bootstrap: None,
            hints: hints.collect(),
        };
    }
    let own_balancer = cluster.user_managed_networking == Some(true)
        || cluster.load_balancer.as_deref() == Some("user-managed");
    let inside = |net: IpNet| Inventory::known(lead?)?.address_in(&net);
    if !own_balancer {
        return NodeIps {
            bootstrap: machine.and_then(inside),
            hints: BTreeMap::new(),
        };
    }
    let Some(chosen) = allocate(hosts, machine) else {
        return NodeIps {
            bootstrap: machine.and_then(inside),
            hints: BTreeMap::new(),
        };
    };
    let of_lead = lead.and_then(|lead| chosen.get(&lead.id));
    NodeIps {
        bootstrap: of_lead.map(|net| net.addr()),
        hints: chosen
            .iter()
            .map(|(id, net)| (*id, net.trunc().addr()))
            .collect(),
    }
}

/// The networks of the bootstrap host, for clusters whose user named none: one per family that the
/// services of the cluster speak, in their order, and the one with the best default route first.
pub fn networks_of_lead(cluster: &Cluster, hosts: &[&Host]) -> Vec<IpNet> {
    let Some(lead) = hosts.iter().find(|host| host.bootstrap).or(hosts.first()) else {
        return Vec::new();
    };
    let services = cluster.networks.service.iter().flatten();
    let services = services.filter_map(|cidr| cidr.parse::<IpNet>().ok());
    let mut families: Vec<bool> = services.map(|net| matches!(net, IpNet::V6(_))).collect();
    families.dedup();
    let found: Vec<IpNet> = families
        .iter()
        .filter_map(|v6| network_of_family(lead, *v6))
        .collect();
    if found.is_empty() {
        let any = [false, true];
        return any
            .iter()
            .find_map(|v6| network_of_family(lead, *v6))
            .into_iter()
            .collect();
    }
    found
}

/// A host may have no default route yet; then its first network of the family is as good as any.
fn network_of_family(host: &Host, v6: bool) -> Option<IpNet> {
    let routed = choices(host, v6).first().map(|choice| choice.net.trunc());
    let family = |net: &IpNet| matches!(net, IpNet::V6(_)) == v6;
    routed.or_else(|| networks(host).into_iter().find(family))
}

/// One address per host, the best route first; nothing if no combination works.
fn allocate(hosts: &[Arc<Host>], machine: Option<IpNet>) -> Option<BTreeMap<HostId, IpNet>> {
    let v6 = matches!(machine, Some(IpNet::V6(_)));
    let offers: Vec<(HostId, Vec<Choice>, Vec<IpNet>)> = hosts
        .iter()
        .map(|host| (host.id, choices(host, v6), networks(host)))
        .collect();
    let mut chosen: Vec<IpNet> = Vec::new();
    let mut budget = MOST_ATTEMPTS;
    search(&offers, &mut chosen, &mut budget).then(|| {
        let ids = offers.iter().map(|(id, ..)| *id);
        ids.zip(chosen).collect()
    })
}

fn search(
    offers: &[(HostId, Vec<Choice>, Vec<IpNet>)],
    chosen: &mut Vec<IpNet>,
    budget: &mut u32,
) -> bool {
    let Some((_, choices, _)) = offers.get(chosen.len()) else {
        return true;
    };
    for choice in choices {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        chosen.push(choice.net);
        let fits = (0..chosen.len() - 1).all(|other| {
            let me = chosen.len() - 1;
            apart(chosen[me], &offers[other].2, chosen[other])
                && apart(chosen[other], &offers[me].2, chosen[me])
        });
        if fits && search(offers, chosen, budget) {
            return true;
        }
        chosen.pop();
    }
    false
}

/// The address lies in none of another host's networks but the one that host uses.
fn apart(address: IpNet, networks: &[IpNet], used: IpNet) -> bool {
    networks
        .iter()
        .filter(|net| **net != used.trunc())
        .all(|net| !net.contains(&address.addr()))
}

/// Addresses of one family on cards with a default route, the best route first.
fn choices(host: &Host, v6: bool) -> Vec<Choice> {
    let Some(inventory) = Inventory::known(host) else {
        return Vec::new();
    };
    let family = |net: &IpNet| matches!(net, IpNet::V6(_)) == v6;
    let mut found: Vec<Choice> = inventory
        .addresses()
        .filter(|(_, net)| family(net))
        .filter_map(|(card, net)| {
            let routes = inventory.routes.items().iter();
            let metric = routes
                .filter(|route| route.interface == card.name && route.is_default())
                .filter(|route| route.destination.contains(':') == v6)
                .map(|route| route.metric)
                .min()?;
            Some(Choice { metric, net })
        })
        .collect();
    found.sort_by_key(|choice| choice.metric);
    found
}

fn networks(host: &Host) -> Vec<IpNet> {
    let inventory = Inventory::known(host);
    inventory.map_or_else(Vec::new, |inventory| {
        let networks = inventory.addresses().map(|(_, net)| net.trunc());
        networks.collect()
    })
}

#[cfg(test)]
mod tests {
    use muster_model::{HostKey, InfraEnvId, Timestamp};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    /// A host with cards: address, and metric of its default route if it has one.
    fn host(number: u128, cards: &[(&str, Option<i64>)]) -> Arc<Host> {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::from_u128(9)),
            host: HostId(Uuid::from_u128(number)),
        };
        let mut host = Host::registered(key, None, "admin", Timestamp(0));
        let name = |index: usize| format!("eth{index}");
        let interfaces: Vec<_> = cards
            .iter()
            .enumerate()
            .map(|(index, (address, _))| json!({"name": name(index), "ipv4_addresses": [address]}))
            .collect();
        let routes: Vec<_> = cards
            .iter()
            .enumerate()
            .filter_map(|(index, (_, metric))| {
                let metric = (*metric)?;
                Some(
                    json!({"interface": name(index), "destination": "0.0.0.0", "family": 2,
                    "gateway": "192.0.2.1", "metric": metric}),
                )
            })
            .collect();
        let inventory = json!({"interfaces": interfaces, "routes": routes});
        host.reports.inventory = Some(inventory.to_string().into());
        Arc::new(host)
    }

    fn texts(hosts: &[Arc<Host>]) -> Vec<String> {
        let chosen = allocate(hosts, None).unwrap_or_default();
        chosen.values().map(|net| net.addr().to_string()).collect()
    }

    #[test]
    fn the_best_route_wins_where_nothing_conflicts() {
        let hosts = [
            host(
                1,
                &[("192.0.2.1/24", Some(200)), ("198.51.100.1/24", Some(100))],
            ),
            host(2, &[("198.51.100.2/24", Some(100))]),
        ];
        assert_eq!(texts(&hosts), ["198.51.100.1", "198.51.100.2"]);
    }

    #[test]
    fn an_address_another_host_believes_elsewhere_is_not_taken() {
        // The second host uses 203.0.113.2 and has a card in the first one's best network.
        let hosts = [
            host(
                1,
                &[("192.0.2.1/24", Some(100)), ("203.0.113.1/24", Some(200))],
            ),
            host(2, &[("203.0.113.2/24", Some(100)), ("192.0.2.2/24", None)]),
        ];
        assert_eq!(texts(&hosts), ["203.0.113.1", "203.0.113.2"]);
        let hopeless = [host(1, &[("192.0.2.1/24", None)])];
        assert!(texts(&hopeless).is_empty());
    }
}
