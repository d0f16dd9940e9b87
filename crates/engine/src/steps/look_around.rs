//! Arguments of the steps that look around: neighbours, free addresses, virtual addresses,
//! names, time.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_model::{Cluster, Host, HostStatus};
use serde::Serialize;

use super::json;
use crate::{
    inventory::{Interface, Inventory},
    networks,
    view::Environment,
};

/// Larger networks take too long to scan.
const SCANNABLE_PREFIX: u8 = 22;

#[derive(Serialize)]
struct Peer {
    host_id: String,
    nics: Vec<Nic>,
}

#[derive(Serialize)]
struct Nic {
    ip_addresses: Vec<String>,
    mac: String,
    name: String,
}

/// The other hosts that are there to answer. One whose inventory cannot be read is left out;
/// in the reference no host gets the step then.
pub(super) fn peers(host: &Host, around: &Environment<'_>) -> Option<String> {
    let list: Vec<Peer> = around
        .peers
        .iter()
        .map(|peer| peer.host)
        .filter(|peer| peer.key() != host.key())
        .filter(|peer| {
            !matches!(
                peer.status,
                HostStatus::Discovering | HostStatus::Disconnected
            )
        })
        .filter_map(|peer| {
            let inventory = Inventory::of(peer).ok()?;
            let nics: Vec<Nic> = inventory.interfaces.items().iter().map(nic).collect();
            let host_id = peer.id.to_string();
            (!nics.is_empty()).then_some(Peer { host_id, nics })
        })
        .collect();
    (!list.is_empty()).then(|| json(&list))
}

fn nic(nic: &Interface) -> Nic {
    let addresses = nic
        .addresses()
        .filter_map(|text| text.parse::<IpNet>().ok());
    Nic {
        ip_addresses: addresses.map(|net| net.addr().to_string()).collect(),
        mac: nic.mac_address.clone(),
        name: nic.name.clone(),
    }
}

/// The host's own IPv4 networks, to be searched for free addresses.
pub(super) fn scannable(host: &Host) -> Option<String> {
    let inventory = Inventory::of(host).ok()?;
    let mut networks: Vec<IpNet> = inventory
        .addresses()
        .map(|(_, address)| address.trunc())
        .filter(|net| matches!(net, IpNet::V4(_)) && net.prefix_len() >= SCANNABLE_PREFIX)
        .collect();
    networks.sort();
    networks.dedup();
    let texts: Vec<String> = networks.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| json(&texts))
}

#[derive(Serialize)]
struct VipToVerify {
    vip: IpAddr,
    vip_type: &'static str,
}

pub(super) fn vips(host: &Host, cluster: &Cluster) -> Option<String> {
    Inventory::of(host).ok()?;
    let of = |list, vip_type| {
        let vips = networks::vips(list).iter();
        vips.map(move |vip| VipToVerify {
            vip: vip.ip,
            vip_type,
        })
    };
    let list: Vec<VipToVerify> = of(&cluster.api_vips, "api")
        .chain(of(&cluster.ingress_vips, "ingress"))
        .collect();
    (!list.is_empty()).then(|| json(&list))
}

#[derive(Serialize)]
struct Domains {
    domains: Vec<Domain>,
}

#[derive(Serialize)]
struct Domain {
    domain_name: String,
}

/// Names the cluster lives by, two that only a wildcard record answers, and the registry.
pub(super) fn domains(cluster: &Cluster) -> Option<String> {
    let base = cluster
        .base_dns_domain
        .as_deref()
        .filter(|base| !base.is_empty())?;
    if cluster.name.is_empty() {
        return None;
    }
    let full = format!("{}.{base}", cluster.name);
    let mut names = vec![
        format!("api.{full}"),
        format!("api-int.{full}"),
        format!("console-openshift-console.apps.{full}"),
        format!("validateNoWildcardDNS.{full}."),
        format!("validateNoWildcardDNS.{full}"),
    ];
    if !cluster.is_day2() {
        names.extend(cluster.ocp_release_image.as_deref().and_then(registry_name));
    }
    let name = |domain_name| Domain { domain_name };
    Some(json(&Domains {
        domains: names.into_iter().map(name).collect(),
    }))
}

/// The registry of a pull spec, if it has a name rather than an address.
fn registry_name(image: &str) -> Option<String> {
    let registry = image.split_once('/')?.0;
    if registry.starts_with('[') {
        return None;
    }
    let name = registry.split(':').next().unwrap_or_default();
    (!name.is_empty() && name.parse::<IpAddr>().is_err()).then(|| name.to_owned())
}

#[derive(Serialize)]
struct Ntp<'a> {
    ntp_source: &'a str,
}

/// The cluster's sources win over those of the infra-env; the step is also asked without any.
pub(super) fn ntp(around: &Environment<'_>) -> String {
    let cluster = around.cluster.map(|c| &c.ntp);
    let infra_env = around.infra_env.map(|i| &i.ntp);
    let source = [cluster, infra_env]
        .into_iter()
        .flatten()
        .flat_map(|ntp| [&ntp.sources, &ntp.additional])
        .flatten()
        .find(|text| !text.is_empty());
    json(&Ntp {
        ntp_source: source.map_or("", String::as_str),
    })
}
