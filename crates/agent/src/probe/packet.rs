//! The bytes of ARP, neighbour discovery and ICMP echo. Pure, and never surprised: what is too
//! short or of another kind is simply not what we asked for.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A hardware address of Ethernet.
pub type Mac = [u8; 6];

/// The broadcast address.
pub const BROADCAST: Mac = [0xff; 6];

/// As the wire models write it.
#[must_use]
pub fn mac_text(mac: &Mac) -> String {
    let parts: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    parts.join(":")
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// An Ethernet frame that asks who has `target`.
#[must_use]
pub fn arp_request(mac: &Mac, source: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let mut frame = ethernet(&BROADCAST, mac, 0x0806);
    // Ethernet, IPv4, 6 and 4 bytes, request.
    frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend(mac);
    frame.extend(source.octets());
    frame.extend([0; 6]);
    frame.extend(target.octets());
    // Shorter frames are not allowed on the wire.
    frame.resize(60, 0);
    frame
}

/// Who says where they are: the sender of an ARP reply.
#[must_use]
pub fn arp_reply(frame: &[u8]) -> Option<(Ipv4Addr, Mac)> {
    let is_reply = frame.get(12..14)? == [8, 6] && frame.get(14..22)? == [0, 1, 8, 0, 6, 4, 0, 2];
    let mac = take::<6>(frame, 22)?;
    let ip = take::<4>(frame, 28)?;
    is_reply.then(|| (ip.into(), mac))
}

/// The first 14 bytes of a frame.
#[must_use]
pub fn ethernet(to: &Mac, from: &Mac, kind: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(64);
    frame.extend(to);
    frame.extend(from);
    frame.extend(kind.to_be_bytes());
    frame
}

/// The solicited-node multicast group of `target`.
#[must_use]
pub fn solicited_node(target: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = target.octets();
    Ipv6Addr::new(
        0xff02,
        0,
        0,
        0,
        0,
        1,
        0xff00 | u16::from(a),
        u16::from_be_bytes([b, c]),
    )
}

/// An ICMPv6 message that asks who has `target`; the kernel adds the checksum.
#[must_use]
pub fn neighbour_solicitation(mac: &Mac, target: Ipv6Addr) -> Vec<u8> {
    let mut message = vec![135, 0, 0, 0, 0, 0, 0, 0];
    message.extend(target.octets());
    // Option: the hardware address of the one who asks.
    message.extend([1, 1]);
    message.extend(mac);
    message
}

/// Who says where they are: target and hardware address of a neighbour advertisement.
#[must_use]
pub fn neighbour_advertisement(message: &[u8]) -> Option<(Ipv6Addr, Mac)> {
    if *message.first()? != 136 {
        return None;
    }
    let target = Ipv6Addr::from(take::<16>(message, 8)?);
    let mut options = message.get(24..)?;
    loop {
        let length = usize::from(*options.get(1)?) * 8;
        if length == 0 {
            return None;
        }
        if options[0] == 2 {
            return Some((target, take::<6>(options, 2)?));
        }
        options = options.get(length..)?;
    }
}

/// What makes an echo ours: it comes back in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Random, one per check.
    pub nonce: u64,
    /// Which of the targets.
    pub target: u32,
    /// Which round.
    pub round: u16,
}

/// Bytes of a mark in a message, behind the eight of the header.
const MARK: usize = 12;

/// An echo request of `length` bytes behind its header, at least as many as the mark needs.
#[must_use]
pub fn echo_request(v6: bool, mark: Mark, length: usize) -> Vec<u8> {
    let mut message = vec![if v6 { 128 } else { 8 }, 0, 0, 0];
    message.extend((mark.nonce as u16).to_be_bytes());
    message.extend(mark.round.to_be_bytes());
    message.extend(mark.nonce.to_be_bytes());
    message.extend(mark.target.to_be_bytes());
    message.resize(8 + length.max(MARK), 0x5a);
    if !v6 {
        let sum = checksum(&[&message]).to_be_bytes();
        message[2..4].copy_from_slice(&sum);
    }
    message
}

/// The mark of an echo reply and how many bytes of payload came back. An IPv4 message has its
/// IP header in front.
#[must_use]
pub fn echo_reply(v6: bool, bytes: &[u8]) -> Option<(Mark, usize)> {
    let message = if v6 {
        bytes
    } else {
        let header = usize::from(bytes.first()? & 0xf) * 4;
        bytes.get(header..)?
    };
    if *message.first()? != if v6 { 129 } else { 0 } {
        return None;
    }
    let mark = Mark {
        round: u16::from_be_bytes(take(message, 6)?),
        nonce: u64::from_be_bytes(take(message, 8)?),
        target: u32::from_be_bytes(take(message, 16)?),
    };
    Some((mark, message.len() - 8))
}

/// The checksum of the internet over several pieces, each but the last of even length.
#[must_use]
pub fn checksum(pieces: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for piece in pieces {
        for pair in piece.chunks(2) {
            let low = pair.get(1).copied().unwrap_or(0);
            sum += u32::from(u16::from_be_bytes([pair[0], low]));
            sum = (sum & 0xffff) + (sum >> 16);
        }
    }
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Mac = [2, 0, 0, 0, 0, 1];

    #[test]
    fn a_question_is_no_answer_and_an_answer_names_its_sender() {
        let ours = Ipv4Addr::new(192, 0, 2, 1);
        let theirs = Ipv4Addr::new(192, 0, 2, 2);
        let mut frame = arp_request(&US, ours, theirs);
        assert_eq!(frame.len(), 60);
        assert_eq!(arp_reply(&frame), None);
        frame[21] = 2;
        assert_eq!(arp_reply(&frame), Some((ours, US)));
        for cut in 0..32 {
            assert_eq!(arp_reply(&frame[..cut]), None);
        }
    }

    #[test]
    fn neighbours_are_asked_through_their_group() {
        let target: Ipv6Addr = "fd2e:6f44:5dd8::12:3456".parse().unwrap();
        assert_eq!(solicited_node(target).to_string(), "ff02::1:ff12:3456");
        let mut message = neighbour_solicitation(&US, target);
        assert_eq!(neighbour_advertisement(&message), None);
        message[0] = 136;
        message[24] = 2;
        assert_eq!(neighbour_advertisement(&message), Some((target, US)));
        message[25] = 0;
        assert_eq!(neighbour_advertisement(&message), None);
    }

    #[test]
    fn an_echo_brings_its_mark_back() {
        let mark = Mark {
            nonce: 0x0123_4567_89ab_cdef,
            target: 7,
            round: 3,
        };
        for v6 in [false, true] {
            let mut message = echo_request(v6, mark, 1472);
            assert_eq!(message.len(), 1480);
            message[0] = if v6 { 129 } else { 0 };
            let mut packet = if v6 { vec![] } else { vec![0x45; 20] };
            packet.extend(&message);
            assert_eq!(echo_reply(v6, &packet), Some((mark, 1472)));
            for cut in 0..20 {
                assert_eq!(echo_reply(v6, &packet[..cut]), None);
            }
        }
    }

    #[test]
    fn a_message_with_its_checksum_sums_to_nothing() {
        let message = echo_request(
            false,
            Mark {
                nonce: 99,
                target: 1,
                round: 2,
            },
            56,
        );
        assert_eq!(checksum(&[&message]), 0);
        // An odd length is padded.
        assert_eq!(checksum(&[&[0xff]]), !0xff00);
    }
}
