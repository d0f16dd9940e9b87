//! One function per step: the question of the service in, the answer of a machine out.
//!
//! Nothing here waits or sends; the agent loop in [`crate::host`] does. Steps that are deeds
//! rather than questions (install, logs, stop) are its own.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use muster_api::wire;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    fault::Fault,
    inventory,
    machine::Machine,
    network::{Link, Network},
    seed::{mix, text},
};

/// Scans stop after this many addresses.
const MOST_ADDRESSES: usize = 8000;

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// As a process would end; 0 is success.
    pub exit_code: i64,
    /// What it printed.
    pub output: String,
    /// What it complained about.
    pub error: String,
}

impl Answer {
    fn ok(output: impl ToString) -> Self {
        Self {
            exit_code: 0,
            output: output.to_string(),
            error: String::new(),
        }
    }

    /// A step that cannot be done as asked.
    #[must_use]
    pub fn refused(error: impl Into<String>) -> Self {
        Self {
            exit_code: -1,
            output: String::new(),
            error: error.into(),
        }
    }
}

/// Who is asked, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Its network.
    pub network: &'a Network,
}

type Reply = fn(&Asked<'_>, &[String]) -> Answer;

/// Every question a machine has an answer to.
static REPLIES: &[(&str, Reply)] = &[
    ("inventory", describe),
    ("connectivity-check", connectivity),
    ("free-network-addresses", free_addresses),
    ("dhcp-lease-allocate", leases),
    ("api-vip-connectivity-check", worker_ignition),
    ("tang-connectivity-check", tang),
    ("ntp-synchronizer", time_sources),
    ("installation-disk-speed-check", disk_speed),
    ("container-image-availability", images),
    ("domain-resolution", names),
    ("verify-vips", vips),
    ("upgrade-agent", upgrade),
    ("download-boot-artifacts", nothing),
    ("stop-installation", nothing),
    ("logs-gather", nothing),
];

/// The answer to a step.
#[must_use]
pub fn answer(step_type: &str, args: &[String], on: &Asked<'_>) -> Answer {
    match REPLIES.iter().find(|(name, _)| *name == step_type) {
        Some((_, reply)) => reply(on, args),
        None => Answer::refused(format!("this machine has no action for step {step_type}")),
    }
}

/// The first argument as what it should be.
fn question<T: DeserializeOwned>(args: &[String]) -> Result<T, Answer> {
    let text = args.first().map_or("", String::as_str);
    serde_json::from_str(text).map_err(|cause| {
        Answer::refused(format!("the argument of the step cannot be read: {cause}"))
    })
}

macro_rules! asked {
    ($args:expr) => {
        match question($args) {
            Ok(question) => question,
            Err(answer) => return answer,
        }
    };
}

fn describe(on: &Asked<'_>, _: &[String]) -> Answer {
    Answer::ok(inventory::text(on.machine, on.network))
}

fn nothing(_: &Asked<'_>, _: &[String]) -> Answer {
    Answer::ok("")
}

fn connectivity(on: &Asked<'_>, args: &[String]) -> Answer {
    let remotes: Vec<wire::ConnectivityCheckHost> = asked!(args);
    let mut hosts: Vec<Value> = remotes.iter().map(|remote| reach(on, remote)).collect();
    hosts.sort_by(|a, b| a["host_id"].as_str().cmp(&b["host_id"].as_str()));
    Answer::ok(json!({ "remote_hosts": hosts }))
}

fn reach(on: &Asked<'_>, remote: &wire::ConnectivityCheckHost) -> Value {
    let (mut l2, mut l3) = (Vec::new(), Vec::new());
    for nic in remote.nics.iter().flatten() {
        for text in nic.ip_addresses.iter().flatten() {
            let there = text
                .parse::<Ipv4Addr>()
                .ok()
                .and_then(|address| on.network.at(address));
            let link = there.map_or(Link::Cut, |there| on.network.link(on.machine, there));
            let (
                Link::Up {
                    rtt_ms,
                    loss_percent,
                },
                Some(there),
            ) = (link, there)
            else {
                l3.push(json!({ "remote_ip_address": text }));
                continue;
            };
            let mut ping =
                json!({ "average_rtt_ms": rtt_ms, "remote_ip_address": text, "successful": true });
            if loss_percent > 0.0 {
                ping["packet_loss_percentage"] = json!(loss_percent);
            }
            l3.push(ping);
            let known = nic.mac.as_deref() == Some(&there.macs[0]);
            l2.push(json!({
                "outgoing_ip_address": on.machine.address.to_string(),
                "outgoing_nic": on.machine.product.ports[0],
                "remote_ip_address": text,
                "remote_mac": there.macs[0],
                "successful": known,
            }));
        }
    }
    json!({
        "host_id": remote.host_id,
        "l2_connectivity": l2,
        "l3_connectivity": l3,
        "mtu_report": null,
    })
}

fn free_addresses(on: &Asked<'_>, args: &[String]) -> Answer {
    let ranges: Vec<Ipv4Net> = asked!(args);
    let mut room = MOST_ADDRESSES;
    let mut found = Vec::new();
    for range in ranges {
        let free: Vec<String> = on
            .network
            .free_in(range)
            .take(room)
            .map(|address| address.to_string())
            .collect();
        room -= free.len();
        found.push(json!({ "free_addresses": free, "network": range.to_string() }));
    }
    Answer::ok(Value::Array(found))
}

fn leases(on: &Asked<'_>, args: &[String]) -> Answer {
    let _: wire::DhcpAllocationRequest = asked!(args);
    let lease = |name: &str, address: Ipv4Addr| {
        format!(
            "lease {{\n  interface \"{name}\";\n  fixed-address {address};\n  \
             option subnet-mask {};\n  option routers {};\n}}",
            on.network.range().netmask(),
            on.network.gateway()
        )
    };
    let (api, ingress) = (on.network.api_vip(), on.network.ingress_vip());
    Answer::ok(json!({
        "api_vip_address": api.to_string(),
        "api_vip_lease": lease("api", api),
        "ingress_vip_address": ingress.to_string(),
        "ingress_vip_lease": lease("ingress", ingress),
    }))
}

fn worker_ignition(_: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::ApiVipConnectivityRequest = asked!(args);
    let ignition = json!({
        "ignition": {"version": "3.2.0"},
        "storage": {"files": [{
            "path": "/etc/kubernetes/kubeconfig",
            "contents": {"source": "data:,simulated"},
            "mode": 384,
        }]},
    });
    Answer::ok(json!({
        "ignition": ignition.to_string(),
        "is_success": true,
        "url": request.url,
    }))
}

fn tang(_: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::TangConnectivityRequest = asked!(args);
    let servers: Vec<Value> =
        match serde_json::from_str(request.tang_servers.as_deref().unwrap_or("[]")) {
            Ok(servers) => servers,
            Err(cause) => return Answer::refused(format!("tang_servers cannot be read: {cause}")),
        };
    let answers: Vec<Value> = servers
        .iter()
        .map(|server| {
            let part = |key: &str| server[key].as_str().unwrap_or_default().to_owned();
            json!({
                "payload": "eyJrZXlzIjpbXX0",
                "signatures": [{"protected": "eyJhbGciOiJFUzUxMiJ9", "signature": "c2ltdWxhdGVk"}],
                "tang_url": format!("{}/adv/{}", part("url").trim_end_matches('/'), part("thumbprint")),
            })
        })
        .collect();
    Answer::ok(json!({ "is_success": true, "tang_server_response": answers }))
}

fn time_sources(on: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::NtpSynchronizationRequest = asked!(args);
    let wanted = request.ntp_source.unwrap_or_default();
    let own = on.network.clock().to_string();
    let mut sources: Vec<&str> = wanted
        .split(',')
        .map(str::trim)
        .filter(|source| !source.is_empty())
        .collect();
    sources.push(&own);
    let dead = on.machine.faults.has(Fault::NoNtp);
    let list: Vec<Value> = sources
        .iter()
        .enumerate()
        .map(|(place, source)| {
            let state = match (dead, place) {
                (true, _) => "unreachable",
                (false, 0) => "synced",
                (false, _) => "combined",
            };
            json!({ "source_name": source, "source_state": state })
        })
        .collect();
    Answer::ok(json!({ "ntp_sources": list }))
}

fn disk_speed(on: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::DiskSpeedCheckRequest = asked!(args);
    let path = request.path.unwrap_or_default();
    let own = inventory::installation_disk(on.machine);
    if ![own.as_str(), "/dev/sda", "/dev/nvme0n1"].contains(&path.as_str())
        && !path.starts_with("/dev/disk/by-")
    {
        return Answer {
            exit_code: 255,
            output: json!({ "path": path }).to_string(),
            error: format!("{path}: no such device"),
        };
    }
    let usual = 2 + (mix(text(&on.machine.wwn), 0) % 4) as i64;
    let slow = on.machine.faults.has(Fault::SlowDisk);
    let duration = if slow { 45 } else { usual };
    Answer::ok(json!({ "io_sync_duration": duration, "path": path }))
}

fn images(on: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::ContainerImageAvailabilityRequest = asked!(args);
    let list: Vec<Value> = request
        .images
        .iter()
        .flatten()
        .map(|name| {
            // An image has one size; how fast it comes differs by machine.
            let size = 300_000_000 + mix(text(name), 0) % 900_000_000;
            let rate = 40.0 + (mix(text(name), on.machine.index as u64) % 600) as f64 / 10.0;
            let seconds = size as f64 / 1e6 / rate;
            json!({
                "download_rate": rate,
                "name": name,
                "result": "success",
                "size_bytes": size,
                "time": seconds,
            })
        })
        .collect();
    Answer::ok(json!({ "images": list }))
}

fn names(on: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::DomainResolutionRequest = asked!(args);
    let list: Vec<Value> = request
        .domains
        .iter()
        .flatten()
        .map(|domain| {
            let name = domain.domain_name.as_deref().unwrap_or_default();
            let found = on.network.resolve(on.machine, name);
            let dotted = format!("{}.", name.trim_end_matches('.'));
            json!({
                "cnames": found.map(|_| [dotted]),
                "domain_name": name,
                "ipv4_addresses": found.map(|ip| ip.to_string()).into_iter().collect::<Vec<_>>(),
                "ipv6_addresses": [],
            })
        })
        .collect();
    Answer::ok(json!({ "resolutions": list }))
}

fn vips(on: &Asked<'_>, args: &[String]) -> Answer {
    let wanted: Vec<wire::VerifyVip> = asked!(args);
    // Any machine's answer counts, so all must see the same squatter.
    let squatter = on
        .network
        .machines()
        .iter()
        .any(|machine| machine.faults.has(Fault::VipTaken));
    let list: Vec<Value> = wanted
        .iter()
        .map(|vip| {
            let address = vip.vip.as_deref().and_then(|text| text.parse().ok());
            let taken = address.is_some_and(|address| on.network.is_taken(address))
                || (squatter && vip.vip_type.as_deref() == Some("api"));
            let verification = if taken { "failed" } else { "succeeded" };
            json!({ "verification": verification, "vip": vip.vip, "vip_type": vip.vip_type })
        })
        .collect();
    Answer::ok(Value::Array(list))
}

fn upgrade(_: &Asked<'_>, args: &[String]) -> Answer {
    let request: wire::UpgradeAgentRequest = asked!(args);
    Answer::ok(json!({ "agent_image": request.agent_image, "result": "success" }))
}

#[cfg(test)]
mod tests {
    use muster_api::contract::contract;

    use super::*;
    use crate::{machine::Build, seed::Seed};

    fn ask(network: &Network, step: &str, argument: &Value) -> Answer {
        let on = Asked {
            machine: &network.machines()[0],
            network,
        };
        answer(step, &[argument.to_string()], &on)
    }

    fn network() -> Network {
        Network::with(Seed(1), &[Build::ControlPlane; 3])
    }

    #[test]
    fn a_question_that_makes_no_sense_is_refused_and_not_fatal() {
        let network = network();
        for (step, _) in REPLIES.iter().filter(|(_, reply)| {
            ![describe as Reply, nothing as Reply]
                .iter()
                .any(|free| std::ptr::fn_addr_eq(*free, *reply))
        }) {
            let answer = ask(&network, step, &json!("nonsense"));
            assert_eq!(answer.exit_code, -1, "{step}");
            assert!(!answer.error.is_empty(), "{step}");
        }
        assert_eq!(ask(&network, "execute", &json!({})).exit_code, -1);
    }

    #[test]
    fn both_ends_of_a_cut_say_so() {
        let network = network();
        let [here, there, _] = network.machines() else {
            panic!("three machines were built")
        };
        let nic = json!({"name": "x", "mac": there.macs[0], "ip_addresses": [there.address]});
        let argument = json!([{ "host_id": there.id, "nics": [nic] }]);
        let whole = ask(&network, "connectivity-check", &argument).output;
        assert!(whole.contains(r#""successful":true"#), "{whole}");
        network.set(here, Fault::SplitNetwork);
        let cut = ask(&network, "connectivity-check", &argument).output;
        assert!(!cut.contains("successful"), "{cut}");
    }

    #[test]
    fn a_whole_fleet_sees_the_machine_that_took_the_address_of_the_api() {
        let network = network();
        let argument = json!([{"vip": network.api_vip(), "vip_type": "api"}]);
        assert!(
            ask(&network, "verify-vips", &argument)
                .output
                .contains("succeeded")
        );
        network.set(&network.machines()[2], Fault::VipTaken);
        assert!(
            ask(&network, "verify-vips", &argument)
                .output
                .contains("failed")
        );
    }

    #[test]
    fn every_step_of_the_contract_but_deeds_has_an_answer() {
        let deeds = [
            "install",
            "execute",
            "next-step-runner",
            "reboot-for-reclaim",
        ];
        let text = serde_json::to_string(&muster_api::openapi3()).unwrap();
        assert!(!contract().operations().is_empty() && text.contains("verify-vips"));
        let document: Value = serde_json::from_str(&text).unwrap();
        let steps = document["components"]["schemas"]["step-type"]["enum"]
            .as_array()
            .unwrap();
        for step in steps.iter().filter_map(Value::as_str) {
            let known = REPLIES.iter().any(|(name, _)| *name == step);
            assert_eq!(known, !deeds.contains(&step), "{step}");
        }
    }
}
