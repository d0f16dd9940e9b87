//! Replies about the network: other machines, addresses, names, servers.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use muster_api::wire;
use serde_json::{Value, json};

use super::{Answer, Asked, asked};
use crate::{fault::Fault, machine::Machine, network::Link, seed::mix};

/// Scans stop after this many addresses.
const MOST_ADDRESSES: usize = 8000;

pub(super) fn connectivity(on: &Asked<'_>, args: &[String]) -> Answer {
    let remotes: Vec<wire::ConnectivityCheckHost> = asked!(args);
    let mut hosts: Vec<Value> = remotes.iter().map(|remote| reach(on, remote)).collect();
    hosts.sort_by(|a, b| a["host_id"].as_str().cmp(&b["host_id"].as_str()));
    Answer::ok(json!({ "remote_hosts": hosts }))
}

/// How one other host was reached, at each of its addresses.
fn reach(on: &Asked<'_>, remote: &wire::ConnectivityCheckHost) -> Value {
    let (mut l2, mut l3) = (Vec::new(), Vec::new());
    for nic in remote.nics.iter().flatten() {
        for text in nic.ip_addresses.iter().flatten() {
            let there = text
                .parse::<IpAddr>()
                .ok()
                .and_then(|address| Some((on.network.at(address)?, address)));
            let link = there.map_or(Link::Cut, |(there, _)| on.network.link(on.machine, there));
            let (
                Link::Up {
                    rtt_ms,
                    loss_percent,
                },
                Some((there, address)),
            ) = (link, there)
            else {
                l3.push(json!({ "remote_ip_address": text }));
                continue;
            };
            let rtt = rtt_ms * jitter(on, there);
            let mut ping =
                json!({ "average_rtt_ms": rtt, "remote_ip_address": text, "successful": true });
            if loss_percent > 0.0 {
                ping["packet_loss_percentage"] = json!(loss_percent);
            }
            l3.push(ping);
            let mut answer = json!({
                "outgoing_nic": on.machine.product.ports[0],
                "remote_ip_address": text,
                "remote_mac": there.macs[0],
                "successful": nic.mac.as_deref() == Some(&there.macs[0]),
            });
            // Neighbours of the second family are found without an address of one's own.
            if address.is_ipv4() {
                answer["outgoing_ip_address"] = json!(on.machine.address.to_string());
            }
            l2.push(answer);
        }
    }
    json!({
        "host_id": remote.host_id,
        "l2_connectivity": l2,
        "l3_connectivity": l3,
        "mtu_report": null,
    })
}

/// No two packets take the same time: up to 5 % more, another share every time.
fn jitter(on: &Asked<'_>, there: &Machine) -> f64 {
    on.now.map_or(1.0, |now| {
        let draw = mix(mix(on.machine.index as u64, there.index as u64), now.poll);
        1.0 + (draw % 1000) as f64 / 20_000.0
    })
}

pub(super) fn free_addresses(on: &Asked<'_>, args: &[String]) -> Answer {
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

pub(super) fn leases(on: &Asked<'_>, args: &[String]) -> Answer {
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

pub(super) fn worker_ignition(_: &Asked<'_>, args: &[String]) -> Answer {
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

pub(super) fn tang(_: &Asked<'_>, args: &[String]) -> Answer {
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

pub(super) fn names(on: &Asked<'_>, args: &[String]) -> Answer {
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

pub(super) fn vips(on: &Asked<'_>, args: &[String]) -> Answer {
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
