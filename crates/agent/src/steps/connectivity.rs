//! `connectivity-check`: which of the other machines this one reaches, and how.
//!
//! Every address of every peer is pinged; those in a network of ours are also asked for on the
//! link (ARP or neighbour discovery), and interfaces with a packet size of their own are tried
//! with full packets. All side by side: the time does not depend on the number of peers. Addresses
//! that answer are then tried on ports that a cluster needs; only dropped ones are reported, in a
//! member that the reference does not know.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Context, Outcome,
    args::{Mac, Unusable, one},
};
use crate::probe::{
    arp::{self, ArpOptions},
    links::{self, Nic},
    ndp,
    packet::mac_text,
    ping::{Echoes, PingOptions, ping},
    ports,
};

/// Ten packets to each address, as the reference, but without a second between them.
const PINGS: PingOptions<'static> = PingOptions {
    count: 10,
    gap: Duration::from_millis(200),
    wait: Duration::from_secs(3),
    payload: 56,
    nic: None,
    whole: false,
};
const ASK: ArpOptions = ArpOptions {
    rounds: 4,
    gap: Duration::from_millis(500),
    wait: Duration::from_millis(1500),
};
/// The default packet size; that it passes proves nothing.
const USUAL_MTU: u32 = 1500;
/// More addresses than any cluster has; a longer list is a mistake or worse.
const MOST_ADDRESSES: usize = 20_000;

#[derive(Debug, Deserialize)]
struct Peer {
    host_id: Uuid,
    #[serde(default, deserialize_with = "super::web::null_is_empty")]
    nics: Vec<PeerNic>,
}

#[derive(Debug, Deserialize)]
struct PeerNic {
    #[serde(default)]
    mac: Option<Mac>,
    #[serde(default, deserialize_with = "super::web::null_is_empty")]
    ip_addresses: Vec<IpAddr>,
}

#[derive(Debug, Serialize)]
struct Report {
    remote_hosts: Option<Vec<RemoteHost>>,
}

/// Lists that are empty are `null`, as the reference writes them.
#[derive(Debug, Serialize)]
struct RemoteHost {
    host_id: String,
    l2_connectivity: Option<Vec<L2>>,
    l3_connectivity: Option<Vec<L3>>,
    mtu_report: Option<Vec<Mtu>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_ports: Option<Vec<BlockedPorts>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct BlockedPorts {
    remote_ip_address: String,
    ports: Vec<u16>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct L2 {
    #[serde(skip_serializing_if = "Option::is_none")]
    outgoing_ip_address: Option<String>,
    outgoing_nic: String,
    remote_ip_address: String,
    remote_mac: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    successful: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct L3 {
    #[serde(skip_serializing_if = "Option::is_none")]
    average_rtt_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_loss_percentage: Option<f64>,
    remote_ip_address: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    successful: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Mtu {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    mtu_successful: bool,
    outgoing_nic: String,
    remote_ip_address: String,
}

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let peers: Vec<Peer> = one(args)?;
    let mut remotes: Vec<IpAddr> = peers
        .iter()
        .flat_map(|peer| &peer.nics)
        .flat_map(|nic| nic.ip_addresses.iter().copied())
        .collect();
    remotes.sort();
    remotes.dedup();
    if remotes.len() > MOST_ADDRESSES {
        let problem = format!("{} addresses; at most {MOST_ADDRESSES}", remotes.len());
        return Err(Unusable(problem));
    }
    let probed = match links::outgoing(&*context.machine) {
        Ok(nics) => probe(&nics, &remotes).await,
        Err(cause) => Err(cause),
    };
    Ok(match probed {
        Ok(found) => Outcome::json(&report(&peers, &found)),
        Err(cause) => Outcome::refused(format!("the network cannot be probed: {cause}")),
    })
}

/// What the network said, by remote address.
#[derive(Debug, Default)]
struct Found {
    l2: Vec<(IpAddr, L2)>,
    l3: BTreeMap<IpAddr, L3>,
    mtu: Vec<(IpAddr, Mtu)>,
    blocked: BTreeMap<IpAddr, Vec<u16>>,
}

async fn probe(nics: &[Nic], remotes: &[IpAddr]) -> io::Result<Found> {
    let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = remotes.iter().partition(|ip| ip.is_ipv4());
    let asking = futures_for(nics, remotes);
    let sizing = each(nics.iter().map(|nic| full_size(nic, remotes)));
    let (ping4, ping6, l2, mtu) = tokio::try_join!(
        pinged(false, &v4, PINGS),
        pinged(true, &v6, PINGS),
        asking,
        sizing
    )?;
    let l3 = ping4
        .into_iter()
        .chain(ping6)
        .map(|(ip, echoes)| (ip, l3(ip, &echoes)));
    let l3: BTreeMap<IpAddr, L3> = l3.collect();
    // Who does not answer at all is reported already.
    let answering = l3.iter().filter(|(_, echo)| echo.successful);
    let answering: Vec<IpAddr> = answering.map(|(ip, _)| *ip).collect();
    let own: Vec<IpAddr> = nics.iter().flat_map(Nic::own_addresses).collect();
    Ok(Found {
        l2,
        l3,
        mtu: mtu.into_iter().flatten().collect(),
        blocked: ports::blocked(&own, &answering).await,
    })
}

/// Questions on all links at once.
async fn futures_for(nics: &[Nic], remotes: &[IpAddr]) -> io::Result<Vec<(IpAddr, L2)>> {
    let v4 = each(nics.iter().map(|nic| ask_v4(nic, remotes)));
    let v6 = each(nics.iter().map(|nic| ask_v6(nic, remotes)));
    let (v4, v6) = tokio::try_join!(v4, v6)?;
    Ok(v4.into_iter().chain(v6).flatten().collect())
}

/// Runs all of them side by side; the first error ends the rest.
async fn each<T>(
    futures: impl Iterator<Item = impl Future<Output = io::Result<T>>>,
) -> io::Result<Vec<T>> {
    let mut pending: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |task| {
        let mut waiting = false;
        for (future, result) in &mut pending {
            if result.is_none() {
                match future.as_mut().poll(task) {
                    std::task::Poll::Ready(Ok(value)) => *result = Some(value),
                    std::task::Poll::Ready(Err(cause)) => {
                        return std::task::Poll::Ready(Err(cause));
                    }
                    std::task::Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            return std::task::Poll::Pending;
        }
        let results = pending.iter_mut().filter_map(|(_, result)| result.take());
        std::task::Poll::Ready(Ok(results.collect()))
    })
    .await
}

async fn ask_v4(nic: &Nic, remotes: &[IpAddr]) -> io::Result<Vec<(IpAddr, L2)>> {
    // One source address per network of ours.
    let mut by_source: BTreeMap<Ipv4Addr, Vec<Ipv4Addr>> = BTreeMap::new();
    for remote in remotes {
        if let IpAddr::V4(remote) = remote
            && let Some(source) = nic.beside(*remote)
        {
            by_source.entry(source).or_default().push(*remote);
        }
    }
    let mut found = Vec::new();
    for (source, targets) in by_source {
        for (ip, macs) in arp::who_has(nic, source, &targets, ASK).await? {
            for mac in macs {
                let record = L2 {
                    outgoing_ip_address: Some(source.to_string()),
                    outgoing_nic: nic.name.clone(),
                    remote_ip_address: ip.to_string(),
                    remote_mac: mac_text(&mac),
                    successful: false,
                };
                found.push((ip.into(), record));
            }
        }
    }
    Ok(found)
}

async fn ask_v6(nic: &Nic, remotes: &[IpAddr]) -> io::Result<Vec<(IpAddr, L2)>> {
    let targets: Vec<Ipv6Addr> = remotes
        .iter()
        .filter_map(|remote| match remote {
            IpAddr::V6(remote) => Some(*remote),
            IpAddr::V4(_) => None,
        })
        .collect();
    if targets.is_empty() || !nic.speaks(true) {
        return Ok(Vec::new());
    }
    let answers = ndp::who_has(nic, &targets, ASK).await?;
    let record = |ip: Ipv6Addr, mac: &_| L2 {
        outgoing_ip_address: None,
        outgoing_nic: nic.name.clone(),
        remote_ip_address: ip.to_string(),
        remote_mac: mac_text(mac),
        successful: false,
    };
    let records = answers.iter().flat_map(|(ip, macs)| {
        macs.iter()
            .map(move |mac| (IpAddr::V6(*ip), record(*ip, mac)))
    });
    Ok(records.collect())
}

async fn pinged(
    v6: bool,
    targets: &[IpAddr],
    how: PingOptions<'_>,
) -> io::Result<Vec<(IpAddr, Echoes)>> {
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let echoes = ping(v6, targets, how).await?;
    Ok(targets.iter().copied().zip(echoes).collect())
}

/// Full packets out of one interface, to those that answer small ones there.
async fn full_size(nic: &Nic, remotes: &[IpAddr]) -> io::Result<Vec<(IpAddr, Mtu)>> {
    if nic.mtu == USUAL_MTU {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for v6 in [false, true] {
        let targets: Vec<IpAddr> = remotes
            .iter()
            .filter(|ip| ip.is_ipv6() == v6)
            .copied()
            .collect();
        let record = |ip: IpAddr, mtu_successful| {
            let outgoing_nic = nic.name.clone();
            let remote_ip_address = ip.to_string();
            (
                ip,
                Mtu {
                    mtu_successful,
                    outgoing_nic,
                    remote_ip_address,
                },
            )
        };
        if !nic.speaks(v6) {
            // Nothing to try: the reference says it went well.
            found.extend(targets.into_iter().map(|ip| record(ip, true)));
            continue;
        }
        let small = PingOptions {
            count: 3,
            wait: Duration::from_secs(1),
            nic: Some(&nic.name),
            ..PINGS
        };
        let answering = pinged(v6, &targets, small).await?;
        let answering: Vec<IpAddr> = answering
            .into_iter()
            .filter(|(_, echoes)| echoes.any())
            .map(|(ip, _)| ip)
            .collect();
        let headers = if v6 { 48 } else { 28 };
        let full = PingOptions {
            payload: (nic.mtu as usize).saturating_sub(headers),
            whole: true,
            ..small
        };
        let echoes = pinged(v6, &answering, full).await?;
        found.extend(
            echoes
                .into_iter()
                .map(|(ip, echoes)| record(ip, echoes.any())),
        );
    }
    Ok(found)
}

fn l3(ip: IpAddr, echoes: &Echoes) -> L3 {
    let answered = echoes.any();
    let loss = echoes.loss();
    L3 {
        average_rtt_ms: answered.then(|| rounded(echoes.average_ms())),
        // No loss is not mentioned, and nothing is said about those that never answered.
        packet_loss_percentage: (answered && loss > 0.0).then_some((loss * 10.0).round() / 10.0),
        remote_ip_address: ip.to_string(),
        successful: answered,
    }
}

/// Coarse enough that an unchanged network gives an unchanged report, which need not be sent;
/// fine enough for limits of tens of milliseconds.
fn rounded(ms: f64) -> f64 {
    if ms < 5.0 {
        (ms * 2.0).ceil() / 2.0
    } else {
        ms.ceil()
    }
}

fn report(peers: &[Peer], found: &Found) -> Report {
    let mut hosts: Vec<RemoteHost> = peers.iter().map(|peer| of_peer(peer, found)).collect();
    hosts.sort_by(|a, b| a.host_id.cmp(&b.host_id));
    Report {
        remote_hosts: filled(hosts),
    }
}

fn of_peer(peer: &Peer, found: &Found) -> RemoteHost {
    let macs: Vec<&str> = peer
        .nics
        .iter()
        .filter_map(|nic| nic.mac.as_ref())
        .map(|mac| mac.0.as_str())
        .collect();
    let mut addresses: Vec<IpAddr> = peer
        .nics
        .iter()
        .flat_map(|nic| nic.ip_addresses.iter().copied())
        .collect();
    addresses.sort();
    addresses.dedup();
    let has = |ip: &IpAddr| addresses.binary_search(ip).is_ok();
    let mut l2: Vec<L2> = found
        .l2
        .iter()
        .filter(|(ip, _)| has(ip))
        .map(|(_, record)| L2 {
            successful: macs.contains(&record.remote_mac.as_str()),
            ..record.clone()
        })
        .collect();
    l2.sort_by_key(|record| format!("{}{}", record.remote_ip_address, record.remote_mac));
    let mut l3: Vec<L3> = addresses
        .iter()
        .filter_map(|ip| found.l3.get(ip))
        .cloned()
        .collect();
    l3.sort_by(|a, b| a.remote_ip_address.cmp(&b.remote_ip_address));
    let mtu = found
        .mtu
        .iter()
        .filter(|(ip, _)| has(ip))
        .map(|(_, record)| record.clone());
    let mut mtu: Vec<Mtu> = mtu.collect();
    mtu.sort_by(|a, b| a.remote_ip_address.cmp(&b.remote_ip_address));
    let blocked = addresses.iter().filter_map(|ip| {
        let ports = found.blocked.get(ip)?.clone();
        Some(BlockedPorts {
            remote_ip_address: ip.to_string(),
            ports,
        })
    });
    RemoteHost {
        host_id: peer.host_id.to_string(),
        l2_connectivity: filled(l2),
        l3_connectivity: filled(l3),
        mtu_report: filled(mtu),
        blocked_ports: filled(blocked.collect()),
    }
}

fn filled<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGS: &str = r#"[{"host_id":"bd06fb3f-e824-6ad4-5de3-f8727e3775cb","nics":[{"ip_addresses":["192.168.126.11","fd2e:6f44:5dd8::11"],"mac":"52:54:00:00:00:0B","name":"eth0"}]}]"#;

    fn peers() -> Vec<Peer> {
        one(vec![ARGS.into()]).unwrap()
    }

    fn answered(ip: &str, times: &[u64]) -> (IpAddr, L3) {
        let ip = ip.parse().unwrap();
        let times = times.iter().map(|ms| Duration::from_millis(*ms)).collect();
        (ip, l3(ip, &Echoes { sent: 10, times }))
    }

    #[test]
    fn a_report_has_the_shape_the_engine_reads_and_the_reference_writes() {
        let ip: IpAddr = "192.168.126.11".parse().unwrap();
        let l2 = L2 {
            outgoing_ip_address: Some("192.168.126.10".into()),
            outgoing_nic: "eth0".into(),
            remote_ip_address: ip.to_string(),
            remote_mac: "52:54:00:00:00:0b".into(),
            successful: false,
        };
        let found = Found {
            l2: vec![(ip, l2)],
            l3: [
                answered("192.168.126.11", &[2; 10]),
                answered("fd2e:6f44:5dd8::11", &[]),
            ]
            .into(),
            mtu: Vec::new(),
            blocked: BTreeMap::new(),
        };
        let text = serde_json::to_string(&report(&peers(), &found)).unwrap();
        assert_eq!(
            text,
            r#"{"remote_hosts":[{"host_id":"bd06fb3f-e824-6ad4-5de3-f8727e3775cb","l2_connectivity":[{"outgoing_ip_address":"192.168.126.10","outgoing_nic":"eth0","remote_ip_address":"192.168.126.11","remote_mac":"52:54:00:00:00:0b","successful":true}],"l3_connectivity":[{"average_rtt_ms":2.0,"remote_ip_address":"192.168.126.11","successful":true},{"remote_ip_address":"fd2e:6f44:5dd8::11"}],"mtu_report":null}]}"#
        );
        let read: muster_engine::reports::Connectivity = serde_json::from_str(&text).unwrap();
        assert_eq!(read.remote_hosts.items().len(), 1);
    }

    #[test]
    fn an_answer_from_another_mac_address_is_reported_as_unsuccessful() {
        let ip: IpAddr = "192.168.126.11".parse().unwrap();
        let l2 = L2 {
            outgoing_ip_address: None,
            outgoing_nic: "eth0".into(),
            remote_ip_address: ip.to_string(),
            remote_mac: "52:54:00:00:00:ff".into(),
            successful: false,
        };
        let found = Found {
            l2: vec![(ip, l2)],
            ..Found::default()
        };
        let hosts = report(&peers(), &found).remote_hosts.unwrap();
        assert!(!hosts[0].l2_connectivity.as_ref().unwrap()[0].successful);
    }

    #[test]
    fn no_peers_to_reach_is_null() {
        let text = serde_json::to_string(&report(&[], &Found::default())).unwrap();
        assert_eq!(text, r#"{"remote_hosts":null}"#);
    }

    #[test]
    fn lost_packets_are_counted_and_small_differences_of_time_are_not() {
        let (_, record) = answered("192.168.126.11", &[1; 9]);
        assert_eq!(record.packet_loss_percentage, Some(10.0));
        assert_eq!(rounded(0.05), rounded(0.4));
        assert!((rounded(104.2) - 105.0).abs() < f64::EPSILON);
    }

    #[test]
    fn addresses_and_names_are_checked_before_anything_is_sent() {
        for bad in [
            r#"[{"host_id":"x","nics":[]}]"#,
            r#"[{"host_id":"bd06fb3f-e824-6ad4-5de3-f8727e3775cb","nics":[{"ip_addresses":["-f"],"mac":"52:54:00:00:00:0b"}]}]"#,
            r#"[{"host_id":"bd06fb3f-e824-6ad4-5de3-f8727e3775cb","nics":[{"ip_addresses":[],"mac":"zz"}]}]"#,
            r#"{"host_id":1}"#,
        ] {
            assert!(one::<Vec<Peer>>(vec![bad.into()]).is_err(), "{bad}");
        }
    }
}
