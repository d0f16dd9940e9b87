//! Hosts in the words of what watches a cluster.

use std::{collections::BTreeSet, net::IpAddr, time::Duration};

use muster_controller::{control_plane::Newcomer, hosts, nodes};
use muster_engine::inventory::{self, Inventory};
use muster_model::{Cluster, Host, HostStage, Timestamp};
use muster_tracking::joining::Joiner;
use serde_json::Value;

use crate::preparation::bare_metal;

/// How much the clocks of the cluster and of the service may differ.
const SKEW: Duration = Duration::from_secs(600);
/// How long a ready node may take to ask for a serving certificate.
const CERTIFICATE_TIMEOUT: Duration = Duration::from_secs(300);

/// A host that has left its live system; none before.
pub fn joiner(host: &Host, cluster: &Cluster) -> Option<Joiner> {
    use HostStage::{Configuring, Joined, Rebooting, WaitingForIgnition};
    let stage = host.progress.stage?;
    let rebooted = matches!(stage, Rebooting | WaitingForIgnition | Configuring | Joined);
    // The beginning of its installation: what the cluster knew before belongs to an earlier one.
    let began = host.install_announced_at.unwrap_or(host.registered_at);
    rebooted.then(|| Joiner {
        host: known(host, cluster),
        since: began.minus(SKEW).millis(),
        ready_after: Timestamp::now().minus(CERTIFICATE_TIMEOUT).millis(),
    })
}

fn known(host: &Host, cluster: &Cluster) -> hosts::Host {
    let base = cluster.base_dns_domain.as_deref().unwrap_or_default();
    let domain = match base {
        "" => String::new(),
        base => format!("{}.{base}", cluster.name).to_lowercase(),
    };
    hosts::Host {
        id: host.id.0,
        infra_env: host.infra_env.0,
        status: host.status.to_string(),
        role: Some(host.role),
        bootstrap: false,
        stage: host.progress.stage,
        names: hosts::names(&inventory::hostname(host), &domain),
        addresses: addresses(host),
        labels: host.node_labels.clone().unwrap_or_default(),
        pool: host.machine_config_pool_name.clone().unwrap_or_default(),
    }
}

/// A control-plane node, with what was found in its machine; none if that is not known.
pub fn newcomer(host: &Host, cluster: &Cluster, node: &Value) -> Option<Newcomer> {
    let inventory = Inventory::known(host)?;
    let name = inventory::hostname(host).to_lowercase();
    let at = nodes::Node::read(node).addresses;
    let cards = inventory.interfaces.items();
    let has_address = |card: &&inventory::Interface| {
        card.addresses()
            .filter_map(|text| text.split('/').next()?.parse::<IpAddr>().ok())
            .any(|address| at.contains(&address))
    };
    let card = cards.iter().find(has_address).or(cards.first());
    Some(Newcomer {
        node: node.clone(),
        mac: card.map_or_else(String::new, |card| card.mac_address.to_lowercase()),
        status: bare_metal::status(cluster, &name, &inventory),
        name,
    })
}

/// Addresses of its network cards.
pub fn addresses(host: &Host) -> BTreeSet<IpAddr> {
    let inventory = Inventory::known(host);
    let inventory = inventory.iter();
    inventory
        .flat_map(|inventory| inventory.addresses().map(|(_, net)| net.addr()))
        .filter(|address| !address.is_loopback() && !address.is_unspecified())
        .collect()
}
