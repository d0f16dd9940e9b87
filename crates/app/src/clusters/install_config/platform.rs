//! The `platform` part of an install-config: where the machines run.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_engine::inventory::{self, Inventory};
use muster_model::{Cluster, Host, OpenshiftVersion, PlatformType, Vip};
use serde_json::{Map, Value, json};

use super::render::Roles;

/// The platform object with its one key.
pub fn render(cluster: &Cluster, roles: &Roles<'_>, version: Option<&OpenshiftVersion>) -> Value {
    let kind = cluster
        .platform
        .as_ref()
        .map_or(PlatformType::None, |platform| platform.kind);
    match kind {
        PlatformType::None => json!({"none": {}}),
        PlatformType::External => json!({"external": external(cluster)}),
        PlatformType::Baremetal => json!({"baremetal": baremetal(cluster, roles, version)}),
        PlatformType::Vsphere => json!({"vsphere": vsphere(cluster, version)}),
        PlatformType::Nutanix => json!({"nutanix": nutanix(cluster)}),
    }
}

fn external(cluster: &Cluster) -> Value {
    let platform = cluster.platform.as_ref();
    json!({
        "platformName": platform.and_then(|one| one.external_name.as_deref()).unwrap_or(""),
        "cloudControllerManager":
            platform.and_then(|one| one.cloud_controller_manager.as_deref()).unwrap_or(""),
    })
}

fn baremetal(cluster: &Cluster, roles: &Roles<'_>, version: Option<&OpenshiftVersion>) -> Value {
    let mut platform = Map::new();
    platform.insert("provisioningNetwork".into(), json!("Disabled"));
    // Two addresses of each kind came with 4.12; before there was only the singular.
    let singular = version.is_some_and(|version| !version.at_least(4, 12));
    add_vips(&mut platform, cluster, singular);
    let groups = [
        ("master", &roles.masters),
        ("arbiter", &roles.arbiters),
        ("worker", &roles.workers),
    ];
    let hosts: Vec<Value> = groups
        .into_iter()
        .flat_map(|(role, group)| {
            let mut rows: Vec<_> = group
                .iter()
                .map(|host| (inventory::hostname(host), *host))
                .collect();
            rows.sort_by(|one, other| one.0.cmp(&other.0));
            rows.into_iter()
                .filter_map(move |(name, host)| baremetal_host(cluster, role, &name, host))
        })
        .collect();
    if !hosts.is_empty() {
        platform.insert("hosts".into(), Value::Array(hosts));
    }
    let ntp = cluster
        .ntp
        .sources
        .as_deref()
        .or(cluster.ntp.additional.as_deref())
        .unwrap_or("");
    let servers: Vec<_> = ntp
        .split(',')
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .collect();
    if !servers.is_empty() && version.is_some_and(|version| version.at_least(4, 18)) {
        platform.insert("additionalNTPServers".into(), json!(servers));
    }
    if cluster.load_balancer.as_deref() == Some("user-managed") {
        platform.insert("loadBalancer".into(), json!({"type": "UserManaged"}));
    }
    Value::Object(platform)
}

/// A host without an inventory has no card to name, so it cannot be listed.
fn baremetal_host(cluster: &Cluster, role: &str, name: &str, host: &Host) -> Option<Value> {
    let inventory = Inventory::known(host)?;
    let legacy = inventory
        .boot
        .as_ref()
        .is_some_and(|boot| boot.current_boot_mode == "bios");
    Some(json!({
        "name": name,
        "role": role,
        "bootMACAddress": boot_mac(cluster, &inventory)?,
        "bootMode": if legacy { "legacy" } else { "UEFI" },
        "bmc": {"address": "", "username": "", "password": ""},
    }))
}

/// The networks machines live in, as far as they can be read.
pub fn machine_networks(cluster: &Cluster) -> Vec<IpNet> {
    let networks = cluster.networks.machine.iter().flatten();
    networks.filter_map(|cidr| cidr.parse().ok()).collect()
}

/// The card with an address in a machine network, else the first with any address.
fn boot_mac(cluster: &Cluster, inventory: &Inventory) -> Option<String> {
    let networks = machine_networks(cluster);
    let inside = |address: IpAddr| networks.iter().any(|network| network.contains(&address));
    let mac = |wanted: &dyn Fn(IpAddr) -> bool| {
        let mut addresses = inventory.addresses();
        addresses
            .find(|(_, address)| wanted(address.addr()))
            .map(|(nic, _)| nic.mac_address.clone())
    };
    mac(&inside)
        .or_else(|| mac(&|_| true))
        .filter(|mac| !mac.is_empty())
}

/// The service never learns the way into vCenter: users fill it in after the installation or
/// by overrides. Tools look for exactly these words to see that they were not replaced.
fn vsphere(cluster: &Cluster, version: Option<&OpenshiftVersion>) -> Value {
    let mut platform = Map::new();
    if version.is_none_or(|version| version.at_least(4, 13)) {
        let vcenter = json!({
            "server": "vcenterplaceholder",
            "user": "usernameplaceholder",
            "password": "passwordplaceholder",
            "datacenters": ["datacenterplaceholder"],
        });
        let domain = json!({
            "name": "assisted-generated-failure-domain",
            "region": "assisted-generated-region",
            "zone": "assisted-generated-zone",
            "server": "vcenterplaceholder",
            "topology": {
                "datacenter": "datacenterplaceholder",
                "computeCluster": "/datacenterplaceholder/host/clusterplaceholder",
                "datastore": "/datacenterplaceholder/datastore/datastoreplaceholder",
                "folder": "/datacenterplaceholder/vm/folderplaceholder",
                "networks": ["networkplaceholder"],
            },
        });
        platform.insert("vcenters".into(), json!([vcenter]));
        platform.insert("failureDomains".into(), json!([domain]));
    } else {
        for (name, value) in [
            ("vCenter", "vcenterplaceholder"),
            ("username", "usernameplaceholder"),
            ("password", "passwordplaceholder"),
            ("datacenter", "datacenterplaceholder"),
            ("defaultDatastore", "datastoreplaceholder"),
            ("folder", "folderplaceholder"),
            ("network", "networkplaceholder"),
            ("cluster", "clusterplaceholder"),
        ] {
            platform.insert(name.into(), json!(value));
        }
    }
    add_vips(
        &mut platform,
        cluster,
        version.is_some_and(|version| !version.at_least(4, 12)),
    );
    Value::Object(platform)
}

/// As with vSphere, the way into Prism is filled in by users.
fn nutanix(cluster: &Cluster) -> Value {
    let mut platform = Map::new();
    let endpoint = |name: &str| json!({"address": name, "port": 9440});
    platform.insert(
        "prismCentral".into(),
        json!({
            "endpoint": endpoint("prismcentralplaceholder"),
            "username": "usernameplaceholder",
            "password": "passwordplaceholder",
        }),
    );
    platform.insert(
        "prismElements".into(),
        json!([{
            "endpoint": endpoint("prismelementplaceholder"),
            "uuid": "prismelementuuidplaceholder",
            "name": "prismelementnameplaceholder",
        }]),
    );
    platform.insert("subnetUUIDs".into(), json!(["subnetuuidplaceholder"]));
    add_vips(&mut platform, cluster, false);
    Value::Object(platform)
}

fn add_vips(platform: &mut Map<String, Value>, cluster: &Cluster, singular: bool) {
    let texts = |vips: &Option<Vec<Vip>>| -> Vec<String> {
        vips.iter()
            .flatten()
            .map(|vip| vip.ip.to_string())
            .collect()
    };
    for (one, many, vips) in [
        ("apiVIP", "apiVIPs", texts(&cluster.api_vips)),
        ("ingressVIP", "ingressVIPs", texts(&cluster.ingress_vips)),
    ] {
        let Some(first) = vips.first() else { continue };
        if singular {
            platform.insert(one.into(), json!(first));
        } else {
            platform.insert(many.into(), json!(vips));
        }
    }
}
