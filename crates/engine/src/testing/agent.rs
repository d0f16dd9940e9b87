//! An agent that answers every step like a healthy machine, except for what its machine lacks.

use serde_json::{Value, json};

use super::Machine;
use crate::{StepType, replies::StepReply, steps::Step};

pub(super) fn inventory(machine: &Machine) -> Value {
    let n = machine.number;
    let mut inventory = json!({
        "hostname": machine.hostname,
        "cpu": { "architecture": "x86_64", "count": machine.cores },
        "memory": { "physical_bytes": machine.memory_gib << 30, "usable_bytes": machine.memory_gib << 30 },
        "disks": [{
            "name": "sda", "id": format!("/dev/disk/by-id/wwn-{n}"), "path": "/dev/sda", "drive_type": "SSD",
            "size_bytes": machine.disk_gb * 1_000_000_000, "bootable": true,
            "installation_eligibility": { "eligible": true, "not_eligible_reasons": null },
        }],
        "interfaces": [
            { "name": "lo", "type": "device", "ipv4_addresses": ["127.0.0.1/8"] },
            { "name": "eth0", "type": "physical", "mac_address": mac(n), "ipv4_addresses": [format!("{}/24", address(n))] },
        ],
        "routes": [{ "destination": "0.0.0.0", "gateway": "192.0.2.1", "interface": "eth0", "family": 2 }],
        "system_vendor": { "manufacturer": "Acme", "product_name": "Box" },
    });
    if let Some(change) = machine.oddity {
        change(&mut inventory);
    }
    inventory
}

fn address(n: u128) -> String {
    format!("192.0.2.{}", 10 + n)
}

fn mac(n: u128) -> String {
    format!("52:54:00:00:00:{n:02x}")
}

pub(super) fn answer(machine: &Machine, step: &Step, fleet: &[Machine]) -> Option<StepReply> {
    use StepType::*;
    let arg = || serde_json::from_str::<Value>(&step.args[0]).unwrap();
    let mut exit_code = 0;
    let output = match step.step_type {
        Inventory => inventory(machine),
        ConnectivityCheck => connectivity(machine, &arg()),
        FreeNetworkAddresses => {
            let free: Vec<String> = (1..255)
                .map(|n| format!("192.0.2.{n}"))
                .filter(|ip| !fleet.iter().any(|m| address(m.number) == *ip))
                .collect();
            json!([{ "network": arg()[0], "free_addresses": free }])
        }
        NtpSynchronizer => {
            json!({ "ntp_sources": [{ "source_name": "ntp", "source_state": "synced" }] })
        }
        DomainResolution => {
            let list: Vec<Value> = arg()["domains"]
                .as_array()
                .unwrap()
                .iter()
                .map(|d| {
                    let wild = d["domain_name"].as_str().unwrap().contains("NoWildcard");
                    let found: &[&str] = if wild { &[] } else { &["192.0.2.250"] };
                    json!({ "domain_name": d["domain_name"], "ipv4_addresses": found, "ipv6_addresses": [], "cnames": null })
                })
                .collect();
            json!({ "resolutions": list })
        }
        VerifyVips => {
            let list: Vec<Value> = arg()
                .as_array()
                .unwrap()
                .iter()
                .map(|v| json!({ "vip": v["vip"], "vip_type": v["vip_type"], "verification": "succeeded" }))
                .collect();
            json!(list)
        }
        InstallationDiskSpeedCheck => {
            exit_code = machine.disk_check_exit_code;
            json!({ "path": arg()["path"], "io_sync_duration": 4 })
        }
        ContainerImageAvailability => {
            let list: Vec<Value> = arg()["images"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| {
                    let bad = machine.bad_image.as_deref().is_some_and(|b| name.as_str().unwrap().contains(b));
                    let result = if bad { "failure" } else { "success" };
                    json!({ "name": name, "result": result, "size_bytes": 4.1e8, "time": 12.5, "download_rate": 33.4 })
                })
                .collect();
            json!({ "images": list })
        }
        ApiVipConnectivityCheck => {
            json!({ "is_success": true, "url": arg()["url"], "ignition": "{}" })
        }
        _ => return None,
    };
    Some(StepReply {
        step_type: step.step_type,
        exit_code,
        output: output.to_string(),
        error: String::new(),
    })
}

fn connectivity(machine: &Machine, asked: &Value) -> Value {
    let remote: Vec<Value> = asked
        .as_array()
        .unwrap()
        .iter()
        .map(|peer| {
            let id = peer["host_id"].as_str().unwrap();
            let reached = !machine.cut_off_from.iter().any(|n| super::key(*n).host.to_string() == id);
            let nic = peer["nics"].as_array().unwrap().iter().find(|nic| nic["name"] == "eth0").unwrap();
            let ip = &nic["ip_addresses"][0];
            json!({
                "host_id": id,
                "l2_connectivity": [{ "outgoing_nic": "eth0", "remote_ip_address": ip, "remote_mac": nic["mac"], "successful": reached }],
                "l3_connectivity": [{ "remote_ip_address": ip, "successful": reached, "average_rtt_ms": 0.4 }],
                "mtu_report": null,
            })
        })
        .collect();
    json!({ "remote_hosts": remote })
}
