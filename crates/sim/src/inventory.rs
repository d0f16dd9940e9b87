//! What the agent of a machine reports about it.

use serde_json::{Value, json};

use crate::{fault::Fault, machine::Machine, network::Network};

const GIB: i64 = 1 << 30;
const GB: i64 = 1_000_000_000;
/// What firmware keeps of the memory for itself.
const FIRMWARE: i64 = 700 << 20;

/// The inventory of a machine in its network, as the text of a step reply; real agents say when
/// they made it, so that no two are the same.
#[must_use]
pub fn text(machine: &Machine, network: &Network, made_at: Option<i64>) -> String {
    let memory = if machine.faults.has(Fault::LowMemory) {
        4 * GIB
    } else {
        machine.memory_gib * GIB
    };
    let product = machine.product;
    let mut inventory = json!({
        "bmc_address": network.bmc(machine.index).to_string(),
        "bmc_v6address": "::/0",
        "boot": {
            "command_line": "coreos.live.rootfs_url=http://boot/rootfs.img ignition.firstboot ignition.platform.id=metal\n",
            "current_boot_mode": "uefi",
            "device_type": "ephemeral",
            "secure_boot_state": "Disabled",
        },
        "cpu": {
            "architecture": "x86_64",
            "count": machine.cpus,
            "flags": ["fpu", "vme", "sse4_2", "avx2", "aes", "vmx"],
            "frequency": product.mhz,
            "model_name": product.cpu,
        },
        "disks": disks(machine),
        "gpus": [],
        "hostname": machine.hostname(),
        "interfaces": interfaces(machine, network),
        "memory": {
            "physical_bytes": memory,
            "physical_bytes_method": "dmidecode",
            "usable_bytes": memory - FIRMWARE,
        },
        "routes": routes(machine, network),
        "system_vendor": {
            "manufacturer": product.manufacturer,
            "product_name": product.name,
            "serial_number": machine.serial,
        },
        "tpm_version": "2.0",
    });
    if let Some(made_at) = made_at {
        inventory["timestamp"] = json!(made_at);
    }
    inventory.to_string()
}

fn routes(machine: &Machine, network: &Network) -> Value {
    let port = machine.product.ports[0];
    let mut routes = vec![
        json!({"destination": "0.0.0.0", "family": 2, "gateway": network.gateway().to_string(),
               "interface": port, "metric": 100}),
        json!({"destination": network.range().network().to_string(), "family": 2,
               "interface": port, "metric": 100}),
    ];
    if machine.address6.is_some() {
        routes.push(
            json!({"destination": "::", "family": 10, "gateway": "fe80::1",
                           "interface": port, "metric": 100}),
        );
        routes.push(
            json!({"destination": network.range6().network().to_string(), "family": 10,
                           "interface": port, "metric": 100}),
        );
    }
    Value::Array(routes)
}

/// The disk the installation goes to.
#[must_use]
pub fn installation_disk(machine: &Machine) -> String {
    format!("/dev/disk/by-id/wwn-0x{}", machine.wwn)
}

fn disks(machine: &Machine) -> Value {
    let small = machine.faults.has(Fault::SmallDisk);
    let size = if small { 20 * GB } else { 480 * GB };
    let id = installation_disk(machine);
    let mut disks = vec![json!({
        "bootable": true,
        "by_id": id,
        "by_path": "/dev/disk/by-path/pci-0000:00:17.0-ata-1",
        "drive_type": "SSD",
        "has_uuid": true,
        "hctl": "0:0:0:0",
        "id": id,
        "installation_eligibility": {"eligible": true, "not_eligible_reasons": null},
        "model": machine.product.disk,
        "name": "sda",
        "path": "/dev/sda",
        "serial": machine.disk_serial,
        "size_bytes": size,
        "vendor": machine.product.disk_vendor,
        "wwn": format!("0x{}", machine.wwn),
    })];
    if !small {
        let eui = format!("/dev/disk/by-id/nvme-eui.{}", &machine.wwn);
        disks.push(json!({
            "by_id": eui,
            "by_path": "/dev/disk/by-path/pci-0000:5e:00.0-nvme-1",
            "drive_type": "SSD",
            "has_uuid": true,
            "id": eui,
            "installation_eligibility": {"eligible": true, "not_eligible_reasons": null},
            "model": "SAMSUNG_MZQL21T9HCJR-00A07",
            "name": "nvme0n1",
            "path": "/dev/nvme0n1",
            "serial": format!("{}N", machine.disk_serial),
            "size_bytes": 1920 * GB,
            "wwn": format!("eui.{}", machine.wwn),
        }));
    }
    Value::Array(disks)
}

fn interfaces(machine: &Machine, network: &Network) -> Value {
    let product = machine.product;
    let port = |number: usize, carrier: bool, addresses: Vec<String>, other: Vec<String>| {
        let flags: &[&str] = if carrier {
            &["up", "broadcast", "multicast", "running"]
        } else {
            &["up", "broadcast", "multicast"]
        };
        let mut port = json!({
            "flags": flags,
            "ipv4_addresses": addresses,
            "ipv6_addresses": other,
            "mac_address": machine.macs[number],
            "mtu": 1500,
            "name": product.ports[number],
            "product": product.card[1],
            "type": "physical",
            "vendor": product.card[0],
        });
        if carrier {
            port["has_carrier"] = json!(true);
            port["speed_mbps"] = json!(25000);
        }
        port
    };
    let prefix = network.range().prefix_len();
    let prefix6 = network.range6().prefix_len();
    let other = machine.address6.iter();
    let other = other
        .map(|address| format!("{address}/{prefix6}"))
        .collect();
    json!([
        {
            "flags": ["up", "loopback", "running"],
            "has_carrier": true,
            "ipv4_addresses": ["127.0.0.1/8"],
            "ipv6_addresses": ["::1/128"],
            "mtu": 65536,
            "name": "lo",
            "type": "device",
        },
        port(0, true, vec![format!("{}/{prefix}", machine.address)], other),
        port(1, false, Vec::new(), Vec::new()),
    ])
}
