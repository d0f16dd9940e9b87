//! Stand-ins: the same for the same, as long as the original, and of the same kind.
//!
//! They are drawn from a hash with a salt, so the original cannot be found from it, and
//! two captures have nothing in common.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sha2::{Digest, Sha256};

/// Makes stand-ins.
#[derive(Clone)]
pub struct Disguise {
    salt: u128,
}

impl std::fmt::Debug for Disguise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Disguise")
    }
}

impl Disguise {
    /// Stand-ins of one capture.
    pub fn new(salt: u128) -> Self {
        Self { salt }
    }

    fn hash(&self, of: &[u8]) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.salt.to_le_bytes());
        hash.update(of);
        hash.finalize().into()
    }

    /// Bytes for bytes.
    pub fn bytes(&self, original: &[u8]) -> Vec<u8> {
        let mut stream = Vec::new();
        let mut state = self.hash(original);
        while stream.len() < original.len() {
            stream.extend(state);
            state = self.hash(&state);
        }
        stream.truncate(original.len());
        stream
    }

    /// A word for a word: digits stay digits, letters letters, the rest is unchanged. What
    /// could be a hexadecimal number still could. Upper and lower case of one word get stand-ins
    /// that differ in nothing else.
    pub fn word(&self, original: &str) -> String {
        let noise = self.bytes(original.to_lowercase().as_bytes());
        let letters = match original
            .chars()
            .filter(char::is_ascii_alphabetic)
            .all(|c| c.is_ascii_hexdigit())
        {
            true => 6,
            false => 26,
        };
        original
            .chars()
            .zip(noise.iter().cycle())
            .map(|(c, noise)| match c {
                '0'..='9' => char::from(b'0' + noise % 10),
                'a'..='z' => char::from(b'a' + noise % letters),
                'A'..='Z' => char::from(b'A' + noise % letters),
                other => other,
            })
            .collect()
    }

    /// A hardware address with the same maker.
    pub fn mac(&self, original: &str) -> String {
        const MAKER: usize = 9;
        const OWN: usize = 8;
        // In a long address (InfiniBand) the vendor is not at the start; the unique part is
        // still at the end.
        let at = MAKER.max(original.len().saturating_sub(OWN));
        match original.split_at_checked(at) {
            Some((start, own)) => format!("{start}{}", self.hexadecimal(own, original)),
            // Too short for an address, or not made of digits.
            None => self.word(original),
        }
    }

    fn hexadecimal(&self, part: &str, whole: &str) -> String {
        let noise = self.bytes(whole.to_lowercase().replace('-', ":").as_bytes());
        part.chars()
            .zip(noise.iter().cycle())
            .map(|(c, noise)| match c {
                '0'..='9' | 'a'..='f' => char::from(b"0123456789abcdef"[usize::from(noise % 16)]),
                'A'..='F' => char::from(b"0123456789ABCDEF"[usize::from(noise % 16)]),
                other => other,
            })
            .collect()
    }

    /// An address for an address: those that shared a network share one afterwards. Bits from
    /// `length` on stay, for the address of a network. Addresses that mean something stay.
    pub fn ip(&self, original: IpAddr, length: u8) -> IpAddr {
        match original {
            IpAddr::V4(ip)
                if ip.is_loopback()
                    || ip.is_unspecified()
                    || ip.is_link_local()
                    || ip.is_multicast()
                    || ip.octets()[0] == 255 =>
            {
                original
            }
            IpAddr::V6(ip) if ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() => {
                original
            }
            IpAddr::V4(ip) => {
                let bits = u128::from(ip.to_bits()) << 96;
                let mixed = self.mix(bits, 8, length.min(32)) >> 96;
                Ipv4Addr::from_bits(u32::try_from(mixed).unwrap_or(0)).into()
            }
            IpAddr::V6(ip) => {
                // The half of the network of a link-local address means "on this link".
                let from = if ip.is_unicast_link_local() { 64 } else { 16 };
                Ipv6Addr::from_bits(self.mix(ip.to_bits(), from, length)).into()
            }
        }
    }

    /// Turns each bit over or not, by a hash of all bits before it.
    fn mix(&self, bits: u128, from: u8, to: u8) -> u128 {
        let mut mixed = bits;
        for place in from..to.min(128) {
            let before = match place {
                0 => 0,
                place => bits >> (128 - u32::from(place)),
            };
            let mut question = before.to_le_bytes().to_vec();
            question.push(place);
            let turn = u128::from(self.hash(&question)[0] & 1);
            mixed ^= turn << (127 - u32::from(place));
        }
        mixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_has_the_form_of_the_original_and_is_always_the_same() {
        let disguise = Disguise::new(7);
        let word = disguise.word("S3Z8NB0K-42");
        assert_eq!(word, disguise.word("S3Z8NB0K-42"));
        assert_ne!(word, "S3Z8NB0K-42");
        assert_eq!(&word[8..9], "-");
        assert_eq!(word.to_lowercase(), disguise.word("s3z8nb0k-42"));
        assert_ne!(word, Disguise::new(8).word("S3Z8NB0K-42"));
        let hex = disguise.word("5000c500a1b2c3d4");
        assert!(hex.bytes().all(|digit| digit.is_ascii_hexdigit()), "{hex}");
    }

    #[test]
    fn a_hardware_address_keeps_its_maker() {
        let disguise = Disguise::new(7);
        let mac = disguise.mac("0c:42:a1:11:22:33");
        assert!(
            mac.starts_with("0c:42:a1:") && mac != "0c:42:a1:11:22:33",
            "{mac}"
        );
        assert_eq!(mac.len(), 17);
        assert_eq!(mac.replace(':', "-"), disguise.mac("0c-42-a1-11-22-33"));
    }

    #[test]
    fn addresses_of_one_network_stay_in_one_network() {
        let disguise = Disguise::new(7);
        let ip = |text: &str, length| disguise.ip(text.parse().unwrap(), length).to_string();
        let (a, b) = (ip("192.168.126.10", 32), ip("192.168.126.77", 32));
        assert_ne!(a, "192.168.126.10");
        assert_eq!(a.rsplit_once('.').unwrap().0, b.rsplit_once('.').unwrap().0);
        let network = ip("192.168.126.0", 24);
        assert!(network.ends_with(".0") && a.starts_with(network.trim_end_matches('0')));
        assert_eq!(ip("127.0.0.1", 32), "127.0.0.1");
        assert_eq!(ip("255.255.255.0", 32), "255.255.255.0");
        assert!(ip("fe80::1", 128).starts_with("fe80::"));
    }
}
