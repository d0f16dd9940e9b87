//! Small questions several rules ask.

use std::net::IpAddr;

use ipnet::IpNet;

/// A DNS-1123 subdomain: labels of lower case, digits and dashes, joined by dots.
pub fn is_subdomain(name: &str) -> bool {
    !name.is_empty() && name.len() <= 253 && name.split('.').all(is_label_of_subdomain)
}

fn is_label_of_subdomain(label: &str) -> bool {
    let bytes = label.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let at_edge = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-');
    bytes.iter().all(inner) && at_edge(bytes.first()) && at_edge(bytes.last())
}

/// A card of one machine: six bytes, not for a group.
pub fn is_unicast_mac(text: &str) -> bool {
    mac_bytes(text).is_some_and(|bytes| bytes[0] & 1 == 0)
}

/// Six bytes in hexadecimal with colons or dashes.
pub fn mac_bytes(text: &str) -> Option<[u8; 6]> {
    let separator = if text.contains('-') { '-' } else { ':' };
    let mut bytes = [0; 6];
    let mut parts = text.split(separator);
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.len() == 2)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(bytes)
}

/// One network holds the other's base address.
pub fn overlap(a: IpNet, b: IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

/// An address without any bit set.
pub fn is_all_zero(ip: IpAddr) -> bool {
    ip.is_unspecified()
}

/// Host part of `host:port`, `[v6]:port` or a bare host.
pub fn host_of(authority: &str) -> &str {
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|b| b.is_ascii_digit()) => {
            host
        }
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_names_or_not() {
        for good in ["a", "a-b.c1", "1.example.com"] {
            assert!(is_subdomain(good), "{good}");
        }
        for bad in ["", "A", "-a", "a-", "a..b", ".a", "a.", "a_b", "é"] {
            assert!(!is_subdomain(bad), "{bad}");
        }
        assert!(!is_subdomain(&"a".repeat(254)));
    }

    #[test]
    fn cards_have_six_bytes_and_belong_to_one_machine() {
        assert!(is_unicast_mac("52:54:00:aa:bb:0C"));
        assert!(is_unicast_mac("52-54-00-aa-bb-0c"));
        for bad in [
            "",
            "52:54:00:aa:bb",
            "01:00:5e:00:00:01",
            "52:54:00:aa:bb:cc:dd",
            "5:54:00:aa:bb:cc",
            "zz:54:00:aa:bb:cc",
            "+1:54:00:aa:bb:cc",
        ] {
            assert!(!is_unicast_mac(bad), "{bad}");
        }
    }

    #[test]
    fn hosts_are_found_with_and_without_port() {
        for (text, host) in [
            ("a.b:443", "a.b"),
            ("a.b", "a.b"),
            ("[::1]:5", "::1"),
            ("::1", "::1"),
        ] {
            assert_eq!(host_of(text), host);
        }
    }
}
