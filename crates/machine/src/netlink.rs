//! Reads the network from the kernel over a routing socket.
//!
//! Four dumps, read in order. Only the attributes that are needed are decoded, and whatever
//! is too short or of an unknown kind is passed over, so a newer kernel cannot surprise us. The
//! decoder is pure; only [`dump`] talks.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, sendto,
    socket_with,
    sockopt::{Timeout, set_socket_timeout},
};

use crate::network::{Address, Link, Neighbour, Network, Route};

const HEADER: usize = 16;
const REQUEST_DUMP: u16 = 0x301;
const DUMP_INTERRUPTED: u16 = 0x10;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// How often a dump is asked for again when the network changed while it was read.
const ATTEMPTS: usize = 5;
/// The kernel answers at once; this is for a kernel that does not.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A question: number of the request, number of its answer, size of its fixed part.
struct Question {
    ask: u16,
    answer: u16,
    fixed: usize,
}

const LINKS: Question = Question {
    ask: 18,
    answer: 16,
    fixed: 16,
};
const ADDRESSES: Question = Question {
    ask: 22,
    answer: 20,
    fixed: 8,
};
const ROUTES: Question = Question {
    ask: 26,
    answer: 24,
    fixed: 12,
};
const NEIGHBOURS: Question = Question {
    ask: 30,
    answer: 28,
    fixed: 12,
};

/// The network of this machine.
pub fn network() -> io::Result<Network> {
    let mut network = Network::default();
    each(&LINKS, |fixed, rest| {
        network.links.extend(link(fixed, rest))
    })?;
    each(&ADDRESSES, |fixed, rest| {
        network.addresses.extend(address(fixed, rest))
    })?;
    each(&ROUTES, |fixed, rest| {
        network.routes.extend(route(fixed, rest))
    })?;
    each(&NEIGHBOURS, |fixed, rest| {
        network.neighbours.extend(neighbour(fixed, rest))
    })?;
    Ok(network)
}

fn each(question: &Question, mut take: impl FnMut(&[u8], &[u8])) -> io::Result<()> {
    for body in dump(question)? {
        if let Some((fixed, rest)) = body.split_at_checked(question.fixed) {
            take(fixed, rest);
        }
    }
    Ok(())
}

/// The bodies of all messages that answer a question.
fn dump(question: &Question) -> io::Result<Vec<Vec<u8>>> {
    for _ in 0..ATTEMPTS {
        if let Some(bodies) = attempt(question)? {
            return Ok(bodies);
        }
    }
    Err(io::Error::other(
        "the network changes faster than it can be read",
    ))
}

fn attempt(question: &Question) -> io::Result<Option<Vec<Vec<u8>>>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // Protocol 0 of this family is routing.
        None,
    )?;
    set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
    sendto(
        &socket,
        &request(question),
        SendFlags::empty(),
        &netlink::SocketAddrNetlink::new(0, 0),
    )?;
    let mut bodies = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (_, length) = recv(&socket, &mut buffer[..], RecvFlags::TRUNC)?;
        if length > buffer.len() {
            return Err(io::Error::other("the kernel sent more than 64 KiB at once"));
        }
        match messages(&buffer[..length], question.answer, &mut bodies)? {
            Progress::More => {}
            Progress::Done => return Ok(Some(bodies)),
            Progress::Interrupted => return Ok(None),
        }
    }
}

fn request(question: &Question) -> Vec<u8> {
    let length = HEADER + question.fixed;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(question.ask.to_ne_bytes());
    bytes.extend(REQUEST_DUMP.to_ne_bytes());
    bytes.resize(length, 0);
    bytes
}

#[derive(Debug, PartialEq)]
enum Progress {
    More,
    Done,
    Interrupted,
}

/// Takes one datagram apart.
fn messages(mut bytes: &[u8], answer: u16, bodies: &mut Vec<Vec<u8>>) -> io::Result<Progress> {
    while let (Some(length), Some(kind), Some(flags)) = (
        number::<4>(bytes, 0).map(u32::from_ne_bytes),
        number::<2>(bytes, 4).map(u16::from_ne_bytes),
        number::<2>(bytes, 6).map(u16::from_ne_bytes),
    ) {
        let length = length as usize;
        let Some(body) = bytes.get(HEADER..length) else {
            break;
        };
        if flags & DUMP_INTERRUPTED != 0 {
            return Ok(Progress::Interrupted);
        }
        match kind {
            DONE => return Ok(Progress::Done),
            ERROR => {
                let code = number::<4>(body, 0).map_or(0, i32::from_ne_bytes);
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            _ if kind == answer => bodies.push(body.to_vec()),
            _ => {}
        }
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    Ok(Progress::More)
}

fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The attributes behind the fixed part: number and content of each.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(number(bytes, 0)?));
        // The upper two bits say how the content is written, not what it is.
        let kind = u16::from_ne_bytes(number(bytes, 2)?) & 0x3fff;
        let content = bytes.get(4..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some((kind, content))
    })
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

fn word(bytes: &[u8]) -> Option<u32> {
    number(bytes, 0).map(u32::from_ne_bytes)
}

/// A hardware address; none if there is none or it is all zeros, as that of the loopback is.
fn mac(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let parts: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(parts.join(":"))
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => number::<4>(bytes, 0).map(|octets| Ipv4Addr::from(octets).into()),
        16 => number::<16>(bytes, 0).map(|octets| Ipv6Addr::from(octets).into()),
        _ => None,
    }
}

fn link(fixed: &[u8], rest: &[u8]) -> Option<Link> {
    const ADDRESS: u16 = 1;
    const NAME: u16 = 3;
    const MTU: u16 = 4;
    const LINK: u16 = 5;
    const MASTER: u16 = 10;
    const INFO: u16 = 18;
    const INFO_KIND: u16 = 1;
    const INFO_SLAVE_KIND: u16 = 4;
    const INFO_SLAVE_DATA: u16 = 5;
    const BOND_PERMANENT: u16 = 4;

    let mut link = Link {
        hardware: number(fixed, 2).map(u16::from_ne_bytes)?,
        index: word(fixed.get(4..)?)?,
        flags: word(fixed.get(8..)?)?,
        ..Link::default()
    };
    let mut member_data: &[u8] = &[];
    for (kind, content) in attributes(rest) {
        match kind {
            NAME => link.name = text(content),
            ADDRESS => link.mac = mac(content),
            MTU => link.mtu = word(content).unwrap_or(0),
            LINK => link.parent = word(content).filter(|parent| *parent != link.index),
            MASTER => link.master = word(content),
            INFO => {
                for (kind, content) in attributes(content) {
                    match kind {
                        INFO_KIND => link.kind = Some(text(content)),
                        INFO_SLAVE_KIND => link.member_of = Some(text(content)),
                        INFO_SLAVE_DATA => member_data = content,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    if link.member_of.as_deref() == Some("bond") {
        link.permanent_mac = attributes(member_data)
            .find(|(kind, _)| *kind == BOND_PERMANENT)
            .and_then(|(_, content)| mac(content));
    }
    (!link.name.is_empty()).then_some(link)
}

fn address(fixed: &[u8], rest: &[u8]) -> Option<Address> {
    const PEER: u16 = 1;
    const LOCAL: u16 = 2;

    let mut found = None;
    for (kind, content) in attributes(rest) {
        match kind {
            // On a point-to-point link only the local one is ours; elsewhere there may be no other.
            LOCAL => found = ip(content),
            PEER if found.is_none() => found = ip(content),
            _ => {}
        }
    }
    Some(Address {
        index: word(fixed.get(4..)?)?,
        ip: found?,
        prefix: *fixed.get(1)?,
    })
}

fn route(fixed: &[u8], rest: &[u8]) -> Option<Route> {
    const DESTINATION: u16 = 1;
    const OUTGOING: u16 = 4;
    const GATEWAY: u16 = 5;
    const PRIORITY: u16 = 6;
    const MULTIPATH: u16 = 9;
    const TABLE: u16 = 15;
    const VIA: u16 = 18;
    const CLONED: u32 = 0x200;

    // What the kernel merely remembers about single destinations is not a configured route.
    if word(fixed.get(8..)?)? & CLONED != 0 {
        return None;
    }
    let unspecified = match *fixed.first()? {
        AF_INET => Ipv4Addr::UNSPECIFIED.into(),
        AF_INET6 => Ipv6Addr::UNSPECIFIED.into(),
        _ => return None,
    };
    let mut route = Route {
        index: None,
        destination: unspecified,
        prefix: *fixed.get(1)?,
        gateway: None,
        metric: 0,
        table: u32::from(*fixed.get(4)?),
        protocol: *fixed.get(5)?,
    };
    let take = |route: &mut Route, kind: u16, content: &[u8]| match kind {
        GATEWAY => route.gateway = ip(content),
        VIA => route.gateway = content.get(2..).and_then(ip),
        _ => {}
    };
    for (kind, content) in attributes(rest) {
        match kind {
            DESTINATION => route.destination = ip(content)?,
            OUTGOING => route.index = word(content),
            PRIORITY => route.metric = word(content).unwrap_or(0),
            TABLE => route.table = word(content).unwrap_or(route.table),
            MULTIPATH => {
                // Length, flags, hops, interface, then the attributes of the first next hop.
                let length = usize::from(u16::from_ne_bytes(number(content, 0)?));
                route.index = word(content.get(4..)?);
                for (kind, content) in attributes(content.get(8..length)?) {
                    take(&mut route, kind, content);
                }
            }
            _ => take(&mut route, kind, content),
        }
    }
    Some(route)
}

fn neighbour(fixed: &[u8], rest: &[u8]) -> Option<Neighbour> {
    const DESTINATION: u16 = 1;
    const MAC: u16 = 2;

    let mut neighbour = Neighbour {
        index: word(fixed.get(4..)?)?,
        ip: Ipv4Addr::UNSPECIFIED.into(),
        mac: None,
        state: number(fixed, 8).map(u16::from_ne_bytes)?,
    };
    let mut found = None;
    for (kind, content) in attributes(rest) {
        match kind {
            DESTINATION => found = ip(content),
            MAC => neighbour.mac = mac(content),
            _ => {}
        }
    }
    neighbour.ip = found?;
    Some(neighbour)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn attribute(kind: u16, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((content.len() as u16 + 4).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(content);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    #[test]
    fn a_card_in_a_bond_reports_its_permanent_address_and_its_bond() {
        let mut fixed = vec![0; 16];
        fixed[2..4].copy_from_slice(&1u16.to_ne_bytes());
        fixed[4..8].copy_from_slice(&7u32.to_ne_bytes());
        let member = [
            attribute(4, b"bond\0"),
            attribute(5 | 0x8000, &attribute(4, &[2, 0, 0, 0, 0, 9])),
        ]
        .concat();
        let rest = [
            attribute(3, b"eno1\0"),
            attribute(1, &[2, 0, 0, 0, 0, 1]),
            attribute(10, &3u32.to_ne_bytes()),
            attribute(18 | 0x8000, &member),
        ]
        .concat();
        let link = link(&fixed, &rest).unwrap();
        assert_eq!(link.name, "eno1");
        assert_eq!(link.mac.as_deref(), Some("02:00:00:00:00:01"));
        assert_eq!(link.permanent_mac.as_deref(), Some("02:00:00:00:00:09"));
        assert_eq!(link.member_of.as_deref(), Some("bond"));
        assert_eq!(link.master, Some(3));
    }

    #[test]
    fn a_route_with_several_next_hops_reports_the_first() {
        let mut fixed = vec![0; 12];
        fixed[0] = AF_INET;
        fixed[4] = 254;
        let hop = |index: u32, last: u8| {
            let gateway = attribute(5, &[192, 0, 2, last]);
            let mut bytes = (gateway.len() as u16 + 8).to_ne_bytes().to_vec();
            bytes.extend([0, 0]);
            bytes.extend(index.to_ne_bytes());
            bytes.extend(gateway);
            bytes
        };
        let rest = attribute(9, &[hop(2, 1), hop(3, 2)].concat());
        let route = route(&fixed, &rest).unwrap();
        assert_eq!(route.index, Some(2));
        assert_eq!(route.gateway, Some("192.0.2.1".parse().unwrap()));
        assert!(route.destination.is_unspecified());
    }

    #[test]
    fn the_kernel_of_this_machine_answers_with_a_loopback() {
        let network = network().unwrap();
        let lo = network.links.iter().find(|link| link.name == "lo").unwrap();
        assert!(lo.has(Link::LOOPBACK));
        assert_eq!(lo.mac, None);
    }

    #[test]
    fn a_kernel_error_is_reported() {
        let mut bytes = 20u32.to_ne_bytes().to_vec();
        bytes.extend(ERROR.to_ne_bytes());
        bytes.resize(16, 0);
        bytes.extend((-1i32).to_ne_bytes());
        let error = messages(&bytes, 16, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    proptest! {
        #[test]
        fn no_answer_of_a_kernel_makes_us_stumble(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = messages(&bytes, 16, &mut Vec::new());
            for at in [8, 12, 16] {
                if let Some((fixed, rest)) = bytes.split_at_checked(at) {
                    let _ = (link(fixed, rest), address(fixed, rest), route(fixed, rest), neighbour(fixed, rest));
                }
            }
        }
    }
}
