//! What is reached without the proxy of a cluster.

use std::net::IpAddr;

use muster_documents::{
    cluster_manifests::{InfraEnv, Proxy},
    install_config::types::InstallConfig,
};

/// Where a host finds itself: the service on the rendezvous host, and whatever runs on any of them.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The proxy of a cluster as its manifests have it. Hosts reach the rendezvous host directly: its network
/// is added to what needs no proxy.
pub fn of_cluster(config: &InstallConfig, rendezvous: Option<IpAddr>) -> Option<Proxy> {
    let mut proxy = config.proxy.clone()?;
    if proxy.http_proxy.is_empty() && proxy.https_proxy.is_empty() {
        return Some(proxy);
    }
    let networks = config.networking.iter().flat_map(|n| &n.machine_network);
    let mut networks = networks.map(|entry| entry.cidr);
    let network = rendezvous.and_then(|ip| networks.find(|network| network.contains(&ip)));
    if let Some(network) = network {
        proxy.no_proxy = with(&proxy.no_proxy, [network.to_string()]);
    }
    Some(proxy)
}

/// The proxy that programs on a live host use. Agents ask the service by the address of the rendezvous
/// host, whatever the cluster's manifests except.
pub fn of_hosts(infra_env: Option<&InfraEnv>, rendezvous: Option<IpAddr>) -> Option<Proxy> {
    let mut proxy = infra_env?.spec.proxy.clone()?;
    if !proxy.http_proxy.is_empty() || !proxy.https_proxy.is_empty() {
        let direct = LOOPBACK.map(str::to_owned).into_iter();
        let direct = direct.chain(rendezvous.map(|ip| ip.to_string()));
        proxy.no_proxy = with(&proxy.no_proxy, direct);
    }
    Some(proxy)
}

/// A list of exceptions with more of them, each once; `*` excepts everything already.
fn with(list: &str, more: impl IntoIterator<Item = String>) -> String {
    let mut entries: Vec<String> = list.split(',').map(|one| one.trim().to_owned()).collect();
    entries.retain(|one| !one.is_empty());
    if entries == ["*"] {
        return list.to_owned();
    }
    for one in more {
        if !entries.contains(&one) {
            entries.push(one);
        }
    }
    entries.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_added_once_and_not_to_everything() {
        for (list, expected) in [
            ("", "10.0.0.0/16"),
            ("lab, 110.0.0.0/16,", "lab,110.0.0.0/16,10.0.0.0/16"),
            ("lab,10.0.0.0/16", "lab,10.0.0.0/16"),
            ("*", "*"),
        ] {
            assert_eq!(with(list, ["10.0.0.0/16".to_owned()]), expected);
        }
    }
}
