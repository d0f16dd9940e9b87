//! Rules about virtual addresses announced by BGP.

use std::net::IpAddr;

use super::{Diagnostics, Facts, Rule, baremetal::each_host};
use crate::install_config::{schema::wording::shown, types::BgpPeer};

const READS: &[&str] = &["platform.baremetal", "networking.networkType"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "bgp-config", path: "platform.baremetal.bgpVIPConfig", reads: READS, text: "With OVNKubernetes; localASN from 1 to 4294967295; 1 to 16 peers; communities as `number:number`.", check: bgp_config },
    Rule { name: "bgp-peers", path: "platform.baremetal.bgpVIPConfig.peers", reads: READS, text: "An address and an ASN each; port up to 65535; holdTime and keepaliveTime both or not at all, in whole seconds up to 65535.", check: bgp_peers },
    Rule { name: "bgp-hosts", path: "platform.baremetal.hosts.bgpPeers", reads: READS, text: "Only with bgpVIPConfig, at most 16.", check: bgp_hosts },
];

const PATH: &str = "platform.baremetal.bgpVIPConfig";
const MOST_PEERS: usize = 16;

fn is_asn(number: i64) -> bool {
    (1..=i64::from(u32::MAX)).contains(&number)
}

fn bgp_config(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let platform = facts.config.platform.baremetal.as_ref();
    let Some(bgp) = platform.and_then(|p| p.bgp_vip_config.as_ref()) else {
        return;
    };
    if !facts
        .config
        .networking
        .as_ref()
        .is_some_and(|n| n.is_ovn_kubernetes())
    {
        diagnostics.fault(
            PATH,
            "BGP is spoken by OVN-Kubernetes only",
            "write `networkType: OVNKubernetes`, or remove it",
        );
    }
    if !is_asn(bgp.local_asn) {
        diagnostics.fault(
            format!("{PATH}.localASN"),
            format!("{} is not an autonomous system number", bgp.local_asn),
            "write 1 to 4294967295",
        );
    }
    let peers = bgp.peers.len();
    if !(1..=MOST_PEERS).contains(&peers) {
        diagnostics.fault(
            format!("{PATH}.peers"),
            format!("{peers} peers"),
            "name 1 to 16 routers",
        );
    }
    for (index, community) in bgp.communities.iter().enumerate() {
        let parts: Vec<&str> = community.split(':').collect();
        let numbers = parts
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        if !numbers || !(2..=3).contains(&parts.len()) {
            diagnostics.fault(
                format!("{PATH}.communities[{index}]"),
                format!("{} is no community", shown(community)),
                "write `number:number` or `number:number:number`",
            );
        }
    }
}

fn bgp_peers(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let platform = facts.config.platform.baremetal.as_ref();
    let common = platform
        .and_then(|p| p.bgp_vip_config.as_ref())
        .map_or(&[][..], |bgp| &bgp.peers);
    let common = common
        .iter()
        .enumerate()
        .map(|(index, peer)| (format!("{PATH}.peers[{index}]"), peer));
    let own = each_host(facts).flat_map(|(path, host)| {
        let peers = host.bgp_peers.iter().enumerate();
        peers.map(move |(index, peer)| (format!("{path}.bgpPeers[{index}]"), peer))
    });
    for (path, peer) in common.chain(own) {
        check_peer(&path, peer, diagnostics);
    }
}

fn check_peer(path: &str, peer: &BgpPeer, diagnostics: &mut Diagnostics) {
    if peer.peer_address.parse::<IpAddr>().is_err() {
        diagnostics.fault(
            format!("{path}.peerAddress"),
            format!("{} is not an IP address", shown(&peer.peer_address)),
            "write the address of the router",
        );
    }
    if !is_asn(peer.peer_asn) {
        diagnostics.fault(
            format!("{path}.peerASN"),
            format!("{} is not an autonomous system number", peer.peer_asn),
            "write 1 to 4294967295",
        );
    }
    if !(0..=i64::from(u16::MAX)).contains(&peer.port) {
        diagnostics.fault(
            format!("{path}.port"),
            format!("{} is no port", peer.port),
            "write 1 to 65535, or leave it out for 179",
        );
    }
    let times = [
        ("holdTime", &peer.hold_time),
        ("keepaliveTime", &peer.keepalive_time),
    ];
    if peer.hold_time.is_empty() != peer.keepalive_time.is_empty() {
        diagnostics.fault(
            path,
            "one of holdTime and keepaliveTime is missing",
            "set both, or neither",
        );
    }
    for (name, time) in times {
        let whole = go_duration_nanos(time).is_some_and(|nanos| {
            nanos % 1_000_000_000 == 0 && (0..=65_535).contains(&(nanos / 1_000_000_000))
        });
        if !time.is_empty() && !whole {
            diagnostics.fault(
                format!("{path}.{name}"),
                format!("{} is not a duration in whole seconds", shown(time)),
                "write for example `90s`, at most 65535 seconds",
            );
        }
    }
}

/// A duration as Go writes it: numbers with units, `1m30s`.
fn go_duration_nanos(text: &str) -> Option<i128> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_end);
        let nanos: i128 = match unit {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let whole: i128 = if whole.is_empty() && !fraction.is_empty() {
            0
        } else {
            whole.parse().ok()?
        };
        total = total.checked_add(whole.checked_mul(nanos)?)?;
        if !fraction.is_empty() {
            let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            total =
                total.checked_add(fraction.parse::<i128>().ok()?.checked_mul(nanos)? / scale)?;
        }
        rest = next;
    }
    (!text.is_empty()).then_some(total)
}

fn bgp_hosts(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let platform = facts.config.platform.baremetal.as_ref();
    let announced = platform.is_some_and(|platform| platform.bgp_vip_config.is_some());
    for (path, host) in each_host(facts) {
        let peers = host.bgp_peers.len();
        if peers > 0 && !announced {
            diagnostics.fault(
                format!("{path}.bgpPeers"),
                "there is no bgpVIPConfig",
                "add platform.baremetal.bgpVIPConfig, or remove it",
            );
        }
        if peers > MOST_PEERS {
            diagnostics.fault(
                format!("{path}.bgpPeers"),
                format!("{peers} peers"),
                "name at most 16 routers",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::go_duration_nanos;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, nanos) in [
            ("90s", Some(90_000_000_000)),
            ("1m30s", Some(90_000_000_000)),
            ("1.5s", Some(1_500_000_000)),
            (".5s", Some(500_000_000)),
            ("0", Some(0)),
            ("", None),
            ("90", None),
            ("s", None),
            ("1x", None),
            (".s", None),
            ("1..5s", None),
        ] {
            assert_eq!(go_duration_nanos(text), nanos, "{text}");
        }
        assert_eq!(go_duration_nanos(&format!("{}h", "9".repeat(60))), None);
    }
}
