//! Who is the rendezvous host, and what is this host called: decided without input or output.

use std::net::IpAddr;

use anyhow::{Context as _, bail};
use muster_machine::Network;

/// The port of the service where the settings name none.
const PORT: u16 = 8090;
/// Longest name of a host.
const LONGEST_NAME: usize = 253;

/// Where the rendezvous host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rendezvous {
    /// Its address.
    pub ip: IpAddr,
    /// The port of the service there.
    pub port: u16,
}

impl Rendezvous {
    /// From the settings of the image.
    ///
    /// # Errors
    /// `NODE_ZERO_IP` is missing or no address.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let of = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.trim().split_once('='));
            let value = lines.find(|(found, _)| found.trim() == name)?.1.trim();
            Some(value.trim_matches(['"', '\''])).filter(|value| !value.is_empty())
        };
        let Some(ip) = of("NODE_ZERO_IP") else {
            bail!("NODE_ZERO_IP is not set; make the image again");
        };
        let ip = ip
            .parse()
            .with_context(|| format!("NODE_ZERO_IP {ip:?} is not an IP address"))?;
        let port = of("SERVICE_BASE_URL").and_then(port_of).unwrap_or(PORT);
        Ok(Self { ip, port })
    }
}

fn port_of(url: &str) -> Option<u16> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let (_, port) = authority.rsplit_once(':')?;
    port.parse().ok()
}

/// The hardware address of the interface that has this address. Of the members of a bond the
/// bond's is meant, which the kernel reports for it.
#[must_use]
pub fn owner(network: &Network, ip: IpAddr) -> Option<String> {
    let address = network.addresses.iter().find(|address| address.ip == ip)?;
    let link = network.link(address.index)?;
    // The loopback of a host that joins a running cluster has none.
    Some(link.mac.clone().unwrap_or_default())
}

/// The name that a file called like one of our hardware addresses contains; a name that cannot be
/// one is none.
#[must_use]
pub fn host_name(network: &Network, files: &[(String, String)]) -> Option<String> {
    let macs: Vec<&str> = network
        .links
        .iter()
        .flat_map(|link| [link.mac.as_deref(), link.permanent_mac.as_deref()])
        .flatten()
        .collect();
    let (_, name) = files
        .iter()
        .find(|(mac, _)| macs.iter().any(|own| own.eq_ignore_ascii_case(mac)))?;
    let is_name = |name: &str| {
        name.len() <= LONGEST_NAME
            && name.split('.').all(|label| {
                !label.is_empty()
                    && label.len() <= 63
                    && !label.starts_with('-')
                    && !label.ends_with('-')
                    && label
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            })
    };
    Some(name.trim().to_owned()).filter(|name| is_name(name))
}

#[cfg(test)]
mod tests {
    use muster_machine::{Address, Link};

    use super::*;

    fn network(links: &[(u32, &str, Option<&str>)], addresses: &[(u32, &str)]) -> Network {
        let links = links.iter().map(|(index, mac, permanent)| Link {
            index: *index,
            mac: Some((*mac).to_owned()),
            permanent_mac: permanent.map(str::to_owned),
            ..Link::default()
        });
        let addresses = addresses.iter().map(|(index, ip)| Address {
            index: *index,
            ip: ip.parse().unwrap(),
            prefix: 24,
        });
        Network {
            links: links.collect(),
            addresses: addresses.collect(),
            ..Network::default()
        }
    }

    #[test]
    fn addresses_are_compared_as_addresses_and_not_as_text() {
        let network = network(
            &[
                (1, "aa:00:00:00:00:01", None),
                (2, "aa:00:00:00:00:02", None),
            ],
            &[(1, "10.0.0.1"), (2, "fd00::5")],
        );
        let written_otherwise = "fd00:0:0::0005".parse().unwrap();
        assert_eq!(
            owner(&network, written_otherwise).as_deref(),
            Some("aa:00:00:00:00:02")
        );
        assert_eq!(owner(&network, "10.0.0.2".parse().unwrap()), None);
    }

    #[test]
    fn names_are_found_by_the_card_itself_also_in_a_bond_and_in_any_case() {
        let network = network(&[(1, "aa:00:00:00:00:01", Some("aa:00:00:00:00:0b"))], &[]);
        let named =
            |mac: &str, name: &str| host_name(&network, &[(mac.to_owned(), name.to_owned())]);
        assert_eq!(
            named("AA:00:00:00:00:0B", " a.b \n").as_deref(),
            Some("a.b")
        );
        assert_eq!(named("aa:00:00:00:00:0c", "a"), None);
        assert_eq!(named("aa:00:00:00:00:01", "a;reboot"), None);
        assert_eq!(named("aa:00:00:00:00:01", ""), None);
    }

    #[test]
    fn settings_are_read_with_quotes_and_without_a_port() {
        let read = |text: &str| Rendezvous::parse(text);
        let v6 = read("NODE_ZERO_IP=\"fd00::1\"\nSERVICE_BASE_URL=https://[fd00::1]:9000/\n");
        assert_eq!(v6.unwrap().port, 9000);
        assert_eq!(read("NODE_ZERO_IP=10.0.0.1\n").unwrap().port, PORT);
        assert!(read("SERVICE_BASE_URL=https://a/\n").is_err());
        assert!(read("NODE_ZERO_IP=somewhere\n").is_err());
    }
}
