//! What the cluster learns about its bare metal: each host as we found it, already running.
//!
//! The addresses of management controllers are unknown, so the cluster's own operator must not try
//! to inspect or provision: it takes over what we saw.

use std::{collections::BTreeMap, net::IpAddr};

use ipnet::IpNet;
use muster_assets::file::File;
use muster_documents::yaml;
use muster_engine::inventory::{self, Disk, Interface, Inventory};
use muster_model::Cluster;
use serde_json::{Value, json};

use super::{fault::Fault, gather::Ingredients};
use crate::clusters::install_config::machine_networks;

/// From here the operator takes the state of a host it has never seen.
const STATUS: &str = "baremetalhost.metal3.io/status";
const MIB: i64 = 1 << 20;
/// Megabits of a gigabit, as the operator counts.
const MEGABITS: i64 = 1024;

/// Adds to every generated host what its machine reported.
pub(super) fn describe(
    files: &mut BTreeMap<String, File>,
    from: &Ingredients,
) -> Result<(), Fault> {
    let paths: Vec<String> = files
        .keys()
        .filter(|path| {
            ["hosts-", "arbiter_hosts-"]
                .iter()
                .any(|part| path.starts_with(&format!("openshift/99_openshift-cluster-api_{part}")))
        })
        .cloned()
        .collect();
    for path in paths {
        let Some(file) = files.get_mut(&path) else {
            continue;
        };
        let object = serde_yaml_ng::from_slice(&file.content);
        let mut object: Value = object.map_err(|cause| Fault::Manifest {
            path: path.clone(),
            cause,
        })?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let host = from
            .hosts
            .iter()
            .find(|host| inventory::hostname(host) == name);
        let Some(inventory) = host.and_then(|host| Inventory::known(host)) else {
            continue;
        };
        let status = status(&from.cluster, name, &inventory).to_string();
        object["metadata"]["annotations"][STATUS] = json!(status);
        object["spec"]["externallyProvisioned"] = json!(true);
        if let Some(members) = object.as_object_mut() {
            members.remove("status");
        }
        file.content = yaml::text(&object).into_bytes();
    }
    Ok(())
}

/// What Metal3 would find out about a machine.
pub(crate) fn status(cluster: &Cluster, name: &str, inventory: &Inventory) -> Value {
    json!({
        "errorCount": 0,
        "errorMessage": "",
        "goodCredentials": {},
        "hardware": hardware(cluster, name, inventory),
        "operationalStatus": "",
        "poweredOn": true,
        "provisioning": { "ID": "", "image": { "url": "" }, "state": "" },
        "triedCredentials": {},
    })
}

fn hardware(cluster: &Cluster, name: &str, inventory: &Inventory) -> Value {
    let networks = machine_networks(cluster);
    let cards = inventory.interfaces.items().iter();
    let disks = inventory.disks.items().iter();
    let mut hardware = json!({
        "hostname": name,
        "nics": cards.map(|nic| card(nic, &networks)).collect::<Vec<_>>(),
        "storage": disks.map(disk).collect::<Vec<_>>(),
    });
    if let Some(cpu) = &inventory.cpu {
        let clock = cpu.frequency.as_ref().and_then(serde_json::Number::as_f64);
        hardware["cpu"] = json!({
            "arch": cpu.architecture,
            "clockMegahertz": clock.unwrap_or_default(),
            "count": cpu.count,
            "flags": cpu.flags.items(),
            "model": cpu.model_name,
        });
    }
    if let Some(memory) = &inventory.memory {
        hardware["ramMebibytes"] = json!(memory.physical_bytes / MIB);
    }
    if let Some(vendor) = &inventory.system_vendor {
        hardware["systemVendor"] = json!({
            "manufacturer": vendor.manufacturer,
            "productName": vendor.product_name,
            "serialNumber": vendor.serial_number,
        });
    }
    hardware
}

/// The address in a machine network says most about a card, else its first one.
fn card(nic: &Interface, networks: &[IpNet]) -> Value {
    let addresses: Vec<IpAddr> = nic
        .addresses()
        .filter_map(|text| text.parse::<IpNet>().ok())
        .map(|net| net.addr())
        .collect();
    let inside = |ip: &&IpAddr| networks.iter().any(|net| net.contains(*ip));
    let ip = addresses.iter().find(inside).or(addresses.first());
    json!({
        "ip": ip.map(IpAddr::to_string).unwrap_or_default(),
        "mac": nic.mac_address,
        "model": format!("{} {}", nic.vendor, nic.product).trim(),
        "name": nic.name,
        "speedGbps": nic.speed_mbps / MEGABITS,
    })
}

fn disk(disk: &Disk) -> Value {
    let path = if disk.by_path.is_empty() {
        &disk.path
    } else {
        &disk.by_path
    };
    json!({
        "hctl": disk.hctl,
        "model": disk.model,
        "name": path,
        "rotational": disk.drive_type == "HDD",
        "serialNumber": disk.serial,
        "sizeBytes": disk.size_bytes,
        "vendor": disk.vendor,
        "wwn": disk.wwn,
    })
}
