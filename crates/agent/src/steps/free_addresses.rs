//! `free-network-addresses`: which addresses of our networks are unused.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use ipnet::Ipv4Net;
use serde::Serialize;

use super::{
    Context, Outcome,
    args::{Unusable, Usable, one},
};
use crate::probe::{
    arp::{self, ArpOptions},
    links::{self, Nic},
    ping::{PingOptions, ping},
};

/// Larger networks are looked at in blocks of this size, until there is enough.
const BLOCK: u8 = 22;
const ENOUGH: usize = 8000;
const MOST_NETWORKS: usize = 64;
const ASK: ArpOptions = ArpOptions {
    rounds: 3,
    gap: Duration::from_millis(300),
    wait: Duration::from_secs(1),
};

#[derive(Debug, PartialEq, Serialize)]
struct Free {
    free_addresses: Vec<Ipv4Addr>,
    network: Ipv4Net,
}

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let networks = networks(args)?;
    let mut found = Vec::new();
    for network in networks {
        match scan(context, network).await {
            Ok(free_addresses) => found.push(Free {
                free_addresses,
                network,
            }),
            Err(cause) => {
                return Ok(Outcome::refused(format!(
                    "{network} cannot be scanned: {cause}"
                )));
            }
        }
    }
    Ok(Outcome::json(&found))
}

fn networks(args: Vec<String>) -> Usable<Vec<Ipv4Net>> {
    let networks: Vec<Ipv4Net> = one(args)?;
    if networks.len() > MOST_NETWORKS {
        return Err(Unusable(format!("more than {MOST_NETWORKS} networks")));
    }
    match networks.iter().find(|net| net.trunc() != **net) {
        Some(net) => Err(Unusable(format!("{net} is no network; {} is", net.trunc()))),
        None => Ok(networks),
    }
}

async fn scan(context: &Context, network: Ipv4Net) -> io::Result<Vec<Ipv4Addr>> {
    let own = links::own_addresses(&*context.machine)?;
    let beside = links::all(&*context.machine)?
        .into_iter()
        .find_map(|nic| Some((our_address(&nic, network)?, nic)));
    let mut free = Vec::new();
    for block in blocks(network) {
        if free.len() >= ENOUGH {
            break;
        }
        let addresses: Vec<Ipv4Addr> = every_address(block).collect();
        let mut taken: BTreeSet<Ipv4Addr> = match &beside {
            Some((source, nic)) => arp::who_has(nic, *source, &addresses, ASK)
                .await?
                .into_keys()
                .collect(),
            None => answering(&addresses).await?,
        };
        taken.extend(own.iter().filter_map(|ip| match ip {
            IpAddr::V4(ip) => Some(*ip),
            IpAddr::V6(_) => None,
        }));
        free.extend(addresses.into_iter().filter(|ip| !taken.contains(ip)));
    }
    Ok(free)
}

fn our_address(nic: &Nic, network: Ipv4Net) -> Option<Ipv4Addr> {
    nic.mac?;
    nic.addresses.iter().find_map(|net| match net.addr() {
        IpAddr::V4(ip) if network.contains(&ip) => Some(ip),
        _ => None,
    })
}

/// Where we have no interface, only those who answer a ping are known to be there.
async fn answering(addresses: &[Ipv4Addr]) -> io::Result<BTreeSet<Ipv4Addr>> {
    let targets: Vec<IpAddr> = addresses.iter().map(|ip| (*ip).into()).collect();
    let how = PingOptions {
        count: 2,
        gap: Duration::from_millis(300),
        wait: Duration::from_secs(1),
        payload: 56,
        nic: None,
        whole: false,
    };
    let echoes = ping(false, &targets, how).await?;
    let pairs = addresses.iter().zip(echoes);
    Ok(pairs
        .filter(|(_, echoes)| echoes.any())
        .map(|(ip, _)| *ip)
        .collect())
}

fn blocks(network: Ipv4Net) -> impl Iterator<Item = Ipv4Net> {
    let length = network.prefix_len().max(BLOCK);
    network.subnets(length).into_iter().flatten()
}

/// The first and the last address of a network count as free, as in the reference.
fn every_address(block: Ipv4Net) -> impl Iterator<Item = Ipv4Addr> {
    let (first, last) = (block.network().to_bits(), block.broadcast().to_bits());
    (first..=last).map(Ipv4Addr::from_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Usable<Vec<Ipv4Net>> {
        networks(vec![text.to_owned()])
    }

    #[test]
    fn networks_must_be_networks() {
        assert!(read(r#"["192.168.1.0/24"]"#).is_ok());
        let problem = read(r#"["192.168.126.7/24"]"#).unwrap_err().to_string();
        assert!(problem.contains("192.168.126.0/24 is"), "{problem}");
        for bad in [
            r#"["x"]"#,
            r#"["fd00::/64"]"#,
            "{}",
            r#"["10.0.0.0/24;reboot"]"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_large_network_is_taken_in_blocks_and_both_ends_count() {
        let net: Ipv4Net = "10.0.0.0/16".parse().unwrap();
        let first: Vec<Ipv4Net> = blocks(net).take(2).collect();
        assert_eq!(first[1].to_string(), "10.0.4.0/22");
        let small: Ipv4Net = "192.168.1.0/24".parse().unwrap();
        assert_eq!(blocks(small).collect::<Vec<_>>(), [small]);
        let all: Vec<_> = every_address(small).collect();
        assert_eq!(
            (all.len(), all[0], all[255]),
            (256, small.network(), small.broadcast())
        );
    }

    #[test]
    fn the_engine_reads_the_result() {
        let found = [Free {
            free_addresses: vec![Ipv4Addr::new(192, 168, 1, 0)],
            network: "192.168.1.0/24".parse().unwrap(),
        }];
        let text = Outcome::json(&found).output;
        assert_eq!(
            text,
            r#"[{"free_addresses":["192.168.1.0"],"network":"192.168.1.0/24"}]"#
        );
        let read: Vec<muster_engine::reports::FreeNetwork> = serde_json::from_str(&text).unwrap();
        assert_eq!(read.len(), 1);
    }
}
