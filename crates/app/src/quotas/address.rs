//! What counts as one caller when only its address is known.

use std::net::{IpAddr, Ipv6Addr};

/// What counts as one address: for IPv6 the network that one site has at least.
#[must_use]
pub fn block_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => {
            let network = u128::from(v6) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let block = |text: &str| block_of(text.parse().unwrap());
        assert_eq!(block("2001:db8::1"), block("2001:db8::ffff:1:2:3"));
        assert_ne!(block("2001:db8::1"), block("2001:db8:0:1::1"));
        assert_eq!(block("::ffff:10.0.0.1"), block("10.0.0.1"));
        assert_ne!(block("10.0.0.1"), block("10.0.0.2"));
    }
}
