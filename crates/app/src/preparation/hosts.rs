//! The Ignition configs of roles and hosts.

use std::sync::Arc;

use muster_assets::{
    file::File,
    host_configs::{HostConfig, LeasedVip, RoleConfig},
    ignition_configs::Pointers,
};
use muster_engine::{
    inventory::{self, Inventory},
    leases,
};
use muster_ignition::Config;
use muster_model::{Cluster, Host, HostRole, Vip};
use serde_json::Value;

use super::{fault::Fault, gather::Ingredients, node_ips::NodeIps};
use crate::files::places;

/// What a node that installs itself fetches as its role's config: nothing, all is in its own.
const EMPTY: &str = r#"{"ignition":{"version":"3.2.0"}}"#;

/// How many hosts become workers.
pub(super) fn workers(hosts: &[Arc<Host>]) -> usize {
    let is_worker = |host: &&Arc<Host>| host.effective_role() == HostRole::Worker;
    hosts.iter().filter(is_worker).count()
}

/// `master.ign`, `worker.ign`, perhaps `arbiter.ign`, and one config per host.
pub(super) fn configs(
    from: &Ingredients,
    pointers: &Pointers,
    addresses: &NodeIps,
) -> Result<Vec<File>, Fault> {
    let cluster = &*from.cluster;
    let leased = leased(cluster);
    let mut roles: Vec<(&str, Config)> = Vec::new();
    for (role, pointer) in pointers.roles() {
        let wanted = RoleConfig {
            service_ca: from.site.service_ca.as_deref(),
            ipv6: has_ipv6(cluster),
            leased: if role == "master" { &leased } else { &[] },
        };
        let pointer = if cluster.is_single_node() {
            EMPTY
        } else {
            pointer
        };
        let config = wanted.over(pointer)?;
        roles.push((role, config));
    }
    let mut files: Vec<File> = roles
        .iter()
        .map(|(role, config)| File::secret(format!("{role}.ign"), config.to_text()))
        .collect();
    for host in &from.hosts {
        let name = places::host_ignition(host);
        let role = roles
            .iter()
            .find(|(role, _)| name.starts_with(role))
            .or(roles.first());
        let Some((role, config)) = role else { continue };
        let text = config_of(from, host, role, config, addresses)?;
        files.push(File::secret(name, text));
    }
    Ok(files)
}

fn config_of(
    from: &Ingredients,
    host: &Host,
    role: &str,
    config: &Config,
    addresses: &NodeIps,
) -> Result<String, Fault> {
    let hostname = inventory::hostname(host);
    let pool = host
        .machine_config_pool_name
        .as_deref()
        .filter(|pool| role == "worker" && !matches!(*pool, "" | "worker"));
    if let Some(pool) = pool
        && !names_pool(&from.user_manifests, pool)
    {
        return Err(Fault::NoSuchPool {
            host: hostname.to_string(),
            pool: pool.to_owned(),
        });
    }
    let wanted = HostConfig {
        hostname: &hostname,
        node_ip_hint: addresses.hint(host.id),
        pool,
        overrides: host.ignition_config_overrides.as_deref(),
        clears_discovery: clears_discovery(host),
    };
    match wanted.over(config) {
        Ok(config) => Ok(config.to_text()),
        Err(fault) => Err(Fault::Host {
            host: hostname.to_string(),
            fault,
        }),
    }
}

/// It was discovered on the disk it is installed to.
pub(super) fn clears_discovery(host: &Host) -> bool {
    Inventory::known(host).is_some_and(|inventory| inventory.boots_from_disk())
}

/// Some manifest makes this pool.
fn names_pool(manifests: &[File], pool: &str) -> bool {
    manifests.iter().any(|file| {
        let documents = serde_yaml_ng::Deserializer::from_slice(&file.content);
        documents.into_iter().any(|document| {
            let object: Result<Value, _> = serde::Deserialize::deserialize(document);
            object.is_ok_and(|object| {
                object["kind"] == "MachineConfigPool" && object["metadata"]["name"] == pool
            })
        })
    })
}

fn has_ipv6(cluster: &Cluster) -> bool {
    let networks = &cluster.networks;
    let pods = networks.cluster.iter().flatten().map(|net| &net.cidr);
    let services = networks.service.iter().flatten();
    let machines = networks.machine.iter().flatten();
    pods.chain(services)
        .chain(machines)
        .any(|cidr| cidr.contains(':'))
}

/// Virtual addresses that DHCP handed out, with their leases.
fn leased(cluster: &Cluster) -> Vec<LeasedVip> {
    let Some([api, ingress]) = leases::cards(cluster) else {
        return Vec::new();
    };
    let of = |name, mac, vips: &Option<Vec<Vip>>, lease: &Option<String>| {
        Some(LeasedVip {
            name,
            ip: vips.as_ref()?.first()?.ip,
            mac,
            lease: lease.clone().unwrap_or_default(),
        })
    };
    let (vips, leases) = ((&cluster.api_vips, &cluster.ingress_vips), &cluster.leases);
    [
        of("api", api, vips.0, &leases.api),
        of("ingress", ingress, vips.1, &leases.ingress),
    ]
    .into_iter()
    .flatten()
    .collect()
}
