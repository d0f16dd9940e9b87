//! The bytes of DHCP inside UDP, IPv4 and Ethernet. Pure.

use std::net::Ipv4Addr;

use crate::probe::packet::{BROADCAST, Mac, checksum, ethernet};

const MAGIC: [u8; 4] = [99, 130, 83, 99];
const CLIENT_PORT: u16 = 68;
const SERVER_PORT: u16 = 67;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Looks for servers.
    Discover = 1,
    /// You could have this.
    Offer = 2,
    /// I want this.
    Request = 3,
    /// It is yours.
    Ack = 5,
    /// It is not.
    Nak = 6,
}

/// What a server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// How it is meant.
    pub kind: Kind,
    /// The address.
    pub address: Ipv4Addr,
    /// Who says it.
    pub server: Option<Ipv4Addr>,
    /// Mask of its network.
    pub mask: Option<Ipv4Addr>,
    /// Routers of its network.
    pub routers: Vec<Ipv4Addr>,
    /// Name servers of its network.
    pub name_servers: Vec<Ipv4Addr>,
    /// How long, in seconds.
    pub seconds: u32,
}

/// A broadcast frame.
#[must_use]
pub fn frame(
    kind: Kind,
    mac: &Mac,
    transaction: u32,
    seconds: u16,
    hostname: &str,
    address: Option<Ipv4Addr>,
    server: Option<Ipv4Addr>,
) -> Vec<u8> {
    let mut message = vec![1, 1, 6, 0];
    message.extend(transaction.to_be_bytes());
    message.extend(seconds.to_be_bytes());
    // Broadcast: no interface here has the address yet.
    message.extend([0x80, 0]);
    message.extend([0; 16]);
    message.extend(mac);
    message.resize(236, 0);
    message.extend(MAGIC);
    message.extend([53, 1, kind as u8]);
    // Who we are is our hardware address, so every machine of the cluster gets the same lease.
    message.extend([61, 7, 1]);
    message.extend(mac);
    let name = &hostname.as_bytes()[..hostname.len().min(255)];
    message.extend([12, name.len() as u8]);
    message.extend(name);
    for (option, value) in [(50, address), (54, server)] {
        if let Some(value) = value {
            message.extend([option, 4]);
            message.extend(value.octets());
        }
    }
    // Mask, routers, name servers, lease time, server.
    message.extend([55, 5, 1, 3, 6, 51, 54, 255]);
    if message.len() < 300 {
        message.resize(300, 0);
    }
    wrapped(mac, &message)
}

fn wrapped(mac: &Mac, message: &[u8]) -> Vec<u8> {
    let udp_length = (8 + message.len()) as u16;
    let (source, target) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST);
    let mut ip = vec![0x45, 0x10];
    ip.extend((20 + udp_length).to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    ip.extend(source.octets());
    ip.extend(target.octets());
    let sum = checksum(&[&ip]).to_be_bytes();
    ip[10..12].copy_from_slice(&sum);
    let mut udp = Vec::new();
    udp.extend(CLIENT_PORT.to_be_bytes());
    udp.extend(SERVER_PORT.to_be_bytes());
    udp.extend(udp_length.to_be_bytes());
    udp.extend([0, 0]);
    let mut pseudo = Vec::new();
    pseudo.extend(source.octets());
    pseudo.extend(target.octets());
    pseudo.extend([0, 17]);
    pseudo.extend(udp_length.to_be_bytes());
    let sum = checksum(&[&pseudo, &udp, message]).to_be_bytes();
    udp[6..8].copy_from_slice(&sum);
    let mut frame = ethernet(&BROADCAST, mac, 0x0800);
    frame.extend(ip);
    frame.extend(udp);
    frame.extend(message);
    frame
}

/// What a server said to us in this exchange.
#[must_use]
pub fn parse(frame: &[u8], mac: &Mac, transaction: u32) -> Option<Offer> {
    let ip = frame.get(14..)?;
    let header = usize::from(ip.first()? & 0xf) * 4;
    let is_udp = ip.first()? >> 4 == 4 && *ip.get(9)? == 17;
    let udp = ip.get(header..)?;
    let port = u16::from_be_bytes(udp.get(2..4)?.try_into().ok()?);
    let message = udp.get(8..)?;
    let ours = message.get(4..8)? == transaction.to_be_bytes() && message.get(28..34)? == mac;
    let is_reply = *message.first()? == 2 && message.get(236..240)? == MAGIC;
    if !(is_udp && port == CLIENT_PORT && ours && is_reply) {
        return None;
    }
    let mut offer = Offer {
        kind: Kind::Nak,
        address: address(message.get(16..20)?)?,
        server: None,
        mask: None,
        routers: Vec::new(),
        name_servers: Vec::new(),
        seconds: 0,
    };
    let mut kind = None;
    let mut options = message.get(240..)?;
    while let Some((code, rest)) = options.split_first() {
        if *code == 255 {
            break;
        }
        if *code == 0 {
            options = rest;
            continue;
        }
        let length = usize::from(*rest.first()?);
        let value = rest.get(1..1 + length)?;
        let list = || value.chunks_exact(4).filter_map(address).collect();
        match code {
            53 => kind = value.first().copied(),
            1 => offer.mask = address(value),
            3 => offer.routers = list(),
            6 => offer.name_servers = list(),
            51 => offer.seconds = u32::from_be_bytes(value.try_into().ok()?),
            54 => offer.server = address(value),
            _ => {}
        }
        options = &rest[1 + length..];
    }
    offer.kind = match kind? {
        2 => Kind::Offer,
        5 => Kind::Ack,
        6 => Kind::Nak,
        _ => return None,
    };
    // An offer without an address is no offer.
    let is_usable = offer.kind == Kind::Nak || !offer.address.is_unspecified();
    is_usable.then_some(offer)
}

fn address(bytes: &[u8]) -> Option<Ipv4Addr> {
    let octets: [u8; 4] = bytes.try_into().ok()?;
    Some(octets.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [0, 0x1a, 0x4a, 1, 2, 3];

    /// A server's answer made of our own question.
    fn answer(kind: u8) -> Vec<u8> {
        let mut bytes = frame(Kind::Discover, &MAC, 42, 0, "n", None, None);
        let (udp, message) = (34, 42);
        bytes[udp..udp + 4].copy_from_slice(&[0, 67, 0, 68]);
        bytes[message] = 2;
        bytes[message + 16..message + 20].copy_from_slice(&[192, 0, 2, 50]);
        bytes.truncate(message + 240);
        bytes.extend([
            53, 1, kind, 1, 4, 255, 255, 255, 0, 0, 3, 8, 192, 0, 2, 1, 192, 0, 2, 2,
        ]);
        bytes.extend([51, 4, 0, 0, 14, 16, 54, 4, 192, 0, 2, 1, 255]);
        bytes
    }

    #[test]
    fn an_answer_is_read_with_its_options() {
        let offer = parse(&answer(5), &MAC, 42).unwrap();
        assert_eq!(offer.kind, Kind::Ack);
        assert_eq!(offer.address, Ipv4Addr::new(192, 0, 2, 50));
        assert_eq!((offer.seconds, offer.routers.len()), (3600, 2));
        assert_eq!(offer.server, Some(Ipv4Addr::new(192, 0, 2, 1)));
    }

    #[test]
    fn answers_to_others_and_rubbish_are_passed_over() {
        let bytes = answer(2);
        assert!(parse(&bytes, &MAC, 43).is_none());
        assert!(parse(&bytes, &[0; 6], 42).is_none());
        assert!(parse(&answer(9), &MAC, 42).is_none());
        for cut in 0..bytes.len() {
            let _ = parse(&bytes[..cut], &MAC, 42);
        }
    }

    #[test]
    fn checksums_are_right() {
        let bytes = frame(
            Kind::Request,
            &MAC,
            7,
            3,
            "name",
            Some(Ipv4Addr::LOCALHOST),
            None,
        );
        assert_eq!(checksum(&[&bytes[14..34]]), 0);
        let length = (bytes.len() - 34) as u16;
        let mut pseudo = vec![0, 0, 0, 0, 255, 255, 255, 255, 0, 17];
        pseudo.extend(length.to_be_bytes());
        assert_eq!(checksum(&[&pseudo, &bytes[34..]]), 0);
    }
}
