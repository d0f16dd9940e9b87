//! The bytes of DNS, as far as questions for addresses and names need them. Pure; an answer
//! that is cut, points in circles or belongs to another question is no answer.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// An IPv4 address.
pub const A: u16 = 1;
/// An IPv6 address.
pub const AAAA: u16 = 28;
/// The name of an address.
pub const PTR: u16 = 12;
const CNAME: u16 = 5;

/// A line of an answer that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Owner and address.
    Address(String, IpAddr),
    /// Owner and the name it stands for.
    Alias(String, String),
    /// The name of an address.
    Pointer(String),
}

/// What a server said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// 0 is yes, 3 means the name does not exist.
    pub code: u8,
    /// It did not fit.
    pub truncated: bool,
    /// Its lines.
    pub records: Vec<Record>,
}

impl Answer {
    /// Asking another server would not change it.
    pub fn is_final(&self) -> bool {
        matches!(self.code, 0 | 3)
    }

    /// Addresses at the end of the aliases of `name`, and the name they belong to.
    pub fn follow(&self, name: &str) -> (Vec<IpAddr>, String) {
        let mut end = name.trim_end_matches('.').to_owned();
        // Each alias can be used once, so this ends.
        for _ in 0..self.records.len() {
            let next = self.records.iter().find_map(|record| match record {
                Record::Alias(owner, target) if owner.eq_ignore_ascii_case(&end) => Some(target),
                Record::Address(..) | Record::Alias(..) | Record::Pointer(_) => None,
            });
            match next {
                Some(target) => end.clone_from(target),
                None => break,
            }
        }
        let addresses = self.records.iter().filter_map(|record| match record {
            Record::Address(owner, ip) if owner.eq_ignore_ascii_case(&end) => Some(*ip),
            Record::Address(..) | Record::Alias(..) | Record::Pointer(_) => None,
        });
        (addresses.collect(), end)
    }
}

/// A question that wants recursion, with room for answers of 4096 bytes.
pub fn question(id: u16, name: &str, kind: u16) -> io::Result<Vec<u8>> {
    let mut message = id.to_be_bytes().to_vec();
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    message.extend(wire_name(name)?);
    message.extend(kind.to_be_bytes());
    message.extend([0, 1]);
    // EDNS.
    message.extend([0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0]);
    Ok(message)
}

fn wire_name(name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for label in name.trim_end_matches('.').split('.') {
        if !(1..=63).contains(&label.len()) {
            let problem = format!("{name:?} is no domain name");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    Ok(bytes)
}

/// The name under which the name of an address is kept.
pub fn reverse(address: IpAddr) -> String {
    match address {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(ip) => {
            let mut text = String::new();
            for byte in ip.octets().iter().rev() {
                text += &format!("{:x}.{:x}.", byte & 0xf, byte >> 4);
            }
            text + "ip6.arpa"
        }
    }
}

/// Reads an answer to this very question; `None` for anything else.
pub fn answer(bytes: &[u8], id: u16, name: &str, kind: u16) -> Option<Answer> {
    let number = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let flags = number(2)?;
    if number(0)? != id || flags & 0x8000 == 0 || number(4)? != 1 {
        return None;
    }
    let (asked, mut at) = read_name(bytes, 12)?;
    if !asked.eq_ignore_ascii_case(name.trim_end_matches('.')) || number(at)? != kind {
        return None;
    }
    at += 4;
    let mut answer = Answer {
        code: (flags & 0xf) as u8,
        truncated: flags & 0x0200 != 0,
        records: Vec::new(),
    };
    for _ in 0..number(6)? {
        // A cut answer keeps what came before the cut.
        let Some((record, next)) = read_record(bytes, at) else {
            break;
        };
        answer.records.extend(record);
        at = next;
    }
    Some(answer)
}

fn read_record(bytes: &[u8], at: usize) -> Option<(Option<Record>, usize)> {
    let (owner, at) = read_name(bytes, at)?;
    let kind = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
    let length = usize::from(u16::from_be_bytes(
        bytes.get(at + 8..at + 10)?.try_into().ok()?,
    ));
    let start = at + 10;
    let data = bytes.get(start..start + length)?;
    let record = match kind {
        A => data
            .try_into()
            .ok()
            .map(|ip: [u8; 4]| Record::Address(owner, Ipv4Addr::from(ip).into())),
        AAAA => data
            .try_into()
            .ok()
            .map(|ip: [u8; 16]| Record::Address(owner, Ipv6Addr::from(ip).into())),
        CNAME => read_name(bytes, start).map(|(target, _)| Record::Alias(owner, target)),
        PTR => read_name(bytes, start).map(|(target, _)| Record::Pointer(target)),
        _ => None,
    };
    Some((record, start + length))
}

/// A name and where it ends. Every pointer must lead back, so a circle ends.
fn read_name(bytes: &[u8], start: usize) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut at = start;
    let mut end = None;
    let mut bound = start;
    loop {
        let length = usize::from(*bytes.get(at)?);
        match length {
            0 => return Some((name, end.unwrap_or(at + 1))),
            1..=63 => {
                let label = bytes.get(at + 1..at + 1 + length)?;
                if !name.is_empty() {
                    name.push('.');
                }
                // Names of the internet are letters; others are shown harmlessly.
                let letter = |byte: &u8| {
                    if byte.is_ascii_graphic() {
                        char::from(*byte)
                    } else {
                        '?'
                    }
                };
                name.extend(label.iter().map(letter));
                if name.len() > 255 {
                    return None;
                }
                at += 1 + length;
            }
            192.. => {
                let target = usize::from(u16::from_be_bytes([
                    *bytes.get(at)? & 0x3f,
                    *bytes.get(at + 1)?,
                ]));
                end = end.or(Some(at + 2));
                if target >= bound {
                    return None;
                }
                bound = target;
                at = target;
            }
            _ => return None,
        }
    }
}
