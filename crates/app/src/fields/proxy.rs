//! Proxy addresses and the list of places reached without a proxy.
//!
//! Refusals never repeat an address: it may hold a user name and a password.

use std::{collections::HashSet, net::IpAddr, sync::LazyLock};

use ipnet::IpNet;
use regex::Regex;
use url::{Host, Url};

use crate::Invalid;

/// Whether the entry `*` (no proxy at all) has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wildcard {
    /// Infra-envs, and releases from 4.8.0-fc.4 on.
    Allowed,
    /// Older releases do not know it.
    Refused,
}

static DOMAIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$",
    )
    .expect("the pattern is fixed and valid")
});

/// `http_proxy`: an `http://` address; the empty text means none.
pub fn http(address: &str) -> Result<(), Invalid> {
    check(address, &["http"]).map_err(|why| format!("http_proxy {why}").into())
}

/// `https_proxy`: an `http://` or `https://` address; the empty text means none.
pub fn https(address: &str) -> Result<(), Invalid> {
    check(address, &["http", "https"]).map_err(|why| format!("https_proxy {why}").into())
}

fn check(address: &str, schemes: &[&str]) -> Result<(), Invalid> {
    if address.is_empty() {
        return Ok(());
    }
    let example = "such as http://proxy.example.com:3128";
    let url = Url::parse(address)
        .map_err(|cause| format!("is not a URL ({cause}); write one {example}"))?;
    if !schemes.contains(&url.scheme()) {
        return Err(format!("must begin with {}://, {example}", schemes.join(":// or ")).into());
    }
    // The parser forgives a missing or third slash; other readers of the setting do not.
    let after_scheme = address.get(url.scheme().len()..).unwrap_or_default();
    let has_host = match url.host() {
        Some(Host::Domain(name)) => DOMAIN.is_match(name),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    };
    if !has_host || !after_scheme.starts_with("://") || after_scheme.starts_with(":///") {
        return Err(format!("has no host; write a URL {example}").into());
    }
    // The parser drops or escapes these; other readers of the setting do not.
    if address.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(
            format!("contains a space or a control character; write a URL {example}").into(),
        );
    }
    Ok(())
}

/// `no_proxy`: comma-separated addresses, ranges and domains, a domain perhaps with a leading
/// dot. Blanks are not forgiven: not every reader of the setting trims them.
pub fn no_proxy(list: &str, wildcard: Wildcard) -> Result<(), Invalid> {
    if list.is_empty() {
        return Ok(());
    }
    let mut seen = HashSet::new();
    for entry in list.split(',') {
        if entry.contains('*') {
            if wildcard == Wildcard::Refused {
                return Err("no_proxy: '*' is understood from OpenShift 4.8 on; list the exceptions one by one".into());
            }
        } else if !is_exception(entry) {
            return Err(format!(
                "no_proxy: {entry:?} is not an IP address, address range or domain; separate entries with commas, without spaces"
            ).into());
        }
        if !seen.insert(entry) {
            return Err(format!("no_proxy: {entry:?} is listed twice; remove one of them").into());
        }
    }
    Ok(())
}

fn is_exception(entry: &str) -> bool {
    if entry.parse::<IpAddr>().is_ok() || entry.parse::<IpNet>().is_ok() {
        return true;
    }
    let domain = entry.strip_prefix('.').unwrap_or(entry);
    domain.len() <= 253
        && domain.split('.').all(|label| label.len() <= 63)
        && DOMAIN.is_match(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_proxies_speak_http_and_secure_ones_may_speak_either() {
        for address in [
            "",
            "http://proxy.example:3128",
            "http://user:secret@192.0.2.1",
            "http://[2001:db8::1]:80",
        ] {
            assert_eq!(http(address), Ok(()), "{address}");
            assert_eq!(https(address), Ok(()), "{address}");
        }
        assert_eq!(https("https://proxy.example"), Ok(()));
        assert!(
            http("https://proxy.example")
                .unwrap_err()
                .contains("must begin with http://,")
        );
        assert!(
            https("socks5://proxy.example")
                .unwrap_err()
                .contains("http:// or https://")
        );
    }

    #[test]
    fn addresses_without_a_usable_host_are_refused() {
        for address in [
            "proxy",
            "http:",
            "http://",
            "http:proxy.example",
            "http:///proxy",
            "http://a b",
            "http://p:99999",
            " http://p",
            "http://!",
        ] {
            assert!(http(address).is_err(), "{address:?}");
        }
    }

    #[test]
    fn refusals_do_not_repeat_the_password() {
        for address in [
            "ftp://me:hunter2@proxy",
            "http://me:hunter2@",
            "http://me:hunter2@bad host",
        ] {
            assert!(!http(address).unwrap_err().contains("hunter2"), "{address}");
        }
    }

    #[test]
    fn exceptions_are_addresses_ranges_and_domains() {
        for list in [
            "",
            "192.0.2.1",
            "192.0.2.0/24,2001:db8::/32",
            ".example.com,example.org",
            "localhost",
        ] {
            assert_eq!(no_proxy(list, Wildcard::Refused), Ok(()), "{list}");
        }
        for list in [
            "a.example, b.example",
            "a.example,",
            "..example",
            "example..com",
            "a.example,a.example",
            "http://a",
            "-a.example",
        ] {
            assert!(no_proxy(list, Wildcard::Allowed).is_err(), "{list}");
        }
    }

    #[test]
    fn the_wildcard_needs_a_release_that_knows_it() {
        for list in ["*", "*,192.168.1.0/24", "*.example.com"] {
            assert_eq!(no_proxy(list, Wildcard::Allowed), Ok(()), "{list}");
            assert!(
                no_proxy(list, Wildcard::Refused)
                    .unwrap_err()
                    .contains("4.8"),
                "{list}"
            );
        }
    }
}
