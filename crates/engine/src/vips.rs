//! Whether a virtual address can be used: inside the machine network and not in use.
//!
//! Hosts look in two ways: they ask for the very address (verify-vips), or they scan their
//! networks for free ones. Each host's word is kept, so one that sees the address taken is
//! heard even if others, further away, do not.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_model::{Cluster, Host, Vip};

use crate::{
    inventory, networks,
    reports::{self},
};

/// What is known about an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Free,
    /// A machine answers there; the hosts that see it, by name.
    Taken(Vec<String>),
    Outside,
    Broadcast,
    /// No host has looked yet.
    Unverified,
}

/// Draws the cluster's `verification` of each address from what its hosts say: one that sees
/// it taken outweighs all who do not. What no host reports stays unchanged.
pub(crate) fn weigh(cluster: &mut Cluster, hosts: &[Host]) {
    if [&cluster.api_vips, &cluster.ingress_vips].map(|list| networks::vips(list).len()) == [0, 0] {
        return;
    }
    let words: Vec<(IpAddr, String, String)> = hosts
        .iter()
        .filter_map(|host| reports::vips_of(host).copy())
        .flatten()
        .filter_map(|word| Some((word.vip.parse().ok()?, word.vip_type, word.verification)))
        .collect();
    for (kind, list) in [
        ("api", &mut cluster.api_vips),
        ("ingress", &mut cluster.ingress_vips),
    ] {
        for vip in list.iter_mut().flatten() {
            let said = |what: &str| {
                words
                    .iter()
                    .any(|(ip, of, word)| *ip == vip.ip && of == kind && word == what)
            };
            let heaviest = ["failed", "succeeded", "unverified"];
            if let Some(word) = heaviest.into_iter().find(|word| said(word)) {
                vip.verification = Some(word.to_owned());
            }
        }
    }
}

/// What hosts found about the cluster's addresses, read once per refresh.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    /// Hosts that see an address taken.
    objections: Vec<(IpAddr, String)>,
    /// Scans of networks that hold an unverified address.
    scans: Vec<Scan>,
}

#[derive(Clone, Debug)]
struct Scan {
    vip: IpAddr,
    network: String,
    host: String,
    /// It found any free address at all.
    usable: bool,
    free: bool,
}

impl Evidence {
    /// Reads reports only as far as they matter: scans are large, and needless once an address
    /// was verified.
    pub(crate) fn of(cluster: &Cluster, hosts: &[Host]) -> Self {
        let all = || {
            let (api, ingress) = (&cluster.api_vips, &cluster.ingress_vips);
            networks::vips(api).iter().chain(networks::vips(ingress))
        };
        let open: Vec<IpAddr> = all()
            .filter(|vip| verified(vip).is_none())
            .map(|vip| vip.ip)
            .collect();
        let mut evidence = Self::default();
        for host in hosts {
            if all().any(|vip| verified(vip) == Some(false)) {
                evidence.note_objections(host);
            }
            if !open.is_empty() {
                evidence.note_scans(host, &open);
            }
        }
        evidence
    }

    fn note_objections(&mut self, host: &Host) {
        let words = reports::vips_of(host).ok().unwrap_or_default();
        for word in words.iter().filter(|word| word.verification == "failed") {
            if let Ok(ip) = word.vip.parse() {
                self.objections.push((ip, inventory::hostname(host)));
            }
        }
    }

    fn note_scans(&mut self, host: &Host, vips: &[IpAddr]) {
        let scanned = reports::free_of(host).ok().unwrap_or_default();
        for seen in scanned.iter() {
            let Ok(network) = seen.network.parse::<IpNet>() else {
                continue;
            };
            for &vip in vips.iter().filter(|vip| network.contains(*vip)) {
                let text = vip.to_string();
                let free = seen.free_addresses.items();
                self.scans.push(Scan {
                    vip,
                    network: seen.network.clone(),
                    host: inventory::hostname(host),
                    usable: !free.is_empty(),
                    free: free.contains(&text),
                });
            }
        }
    }

    /// Checks one address against one network. `ask_hosts` is false where the user's load balancer
    /// answers.
    pub(crate) fn standing(&self, vip: &Vip, network: &IpNet, ask_hosts: bool) -> Standing {
        if !network.contains(&vip.ip) {
            return Standing::Outside;
        }
        if network.addr().is_ipv4() && network.broadcast() == vip.ip {
            return Standing::Broadcast;
        }
        match verified(vip) {
            _ if !ask_hosts => Standing::Free,
            Some(true) => Standing::Free,
            Some(false) => Standing::Taken(self.objectors(vip.ip)),
            None => self.by_scans(vip.ip, &network.to_string()),
        }
    }

    fn objectors(&self, vip: IpAddr) -> Vec<String> {
        let mut names: Vec<String> = self
            .objections
            .iter()
            .filter(|(ip, _)| *ip == vip)
            .map(|(_, host)| host.clone())
            .collect();
        names.dedup();
        names
    }

    /// Free only if all hosts that scanned the network found it free.
    fn by_scans(&self, vip: IpAddr, network: &str) -> Standing {
        let seen = || {
            let scans = self.scans.iter();
            scans.filter(|scan| scan.vip == vip && scan.network == network)
        };
        if seen().next().is_none() || seen().any(|scan| !scan.usable) {
            return Standing::Unverified;
        }
        let against: Vec<String> = seen()
            .filter(|scan| !scan.free)
            .map(|scan| scan.host.clone())
            .collect();
        if against.is_empty() {
            Standing::Free
        } else {
            Standing::Taken(against)
        }
    }
}

fn verified(vip: &Vip) -> Option<bool> {
    match vip.verification.as_deref() {
        Some("succeeded") => Some(true),
        Some("failed") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
