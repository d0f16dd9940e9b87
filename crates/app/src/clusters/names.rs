//! Names of clusters and the domain they live under.

use std::sync::LazyLock;

use regex::Regex;

use crate::Invalid;

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is fixed and valid")
}

static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"));
static SINGLE_LABEL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[a-z0-9](-*[a-z0-9]+)+$"));
static DOTTED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z0-9][-a-z0-9]*[a-z0-9]$"));

/// Longest label of a DNS name.
const MAX_LABEL: usize = 63;
/// Longest base domain that is one label.
const MAX_SINGLE_LABEL: usize = 62;
/// Longest base domain.
const MAX_DOMAIN: usize = 255;
/// Longest name of the applications' domain; routes put up to 64 characters before it.
const MAX_APPS_DOMAIN: usize = 191;

/// Whether a cluster name may have dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dots {
    /// On platform `none`, where the name may be a subdomain.
    Allowed,
    /// Everywhere else.
    Refused,
}

/// Checks the name of a cluster.
pub fn name(name: &str, dots: Dots) -> Result<(), Invalid> {
    let fits = match dots {
        Dots::Refused => NAME.is_match(name),
        Dots::Allowed => name.split('.').all(|label| NAME.is_match(label)),
    };
    if fits {
        return Ok(());
    }
    let also = match dots {
        Dots::Refused => "; dots are possible on platform none only",
        Dots::Allowed => ", in parts separated by dots",
    };
    Err(format!(
        "name {name:?} cannot be part of a domain: use lower case letters, digits and hyphens, beginning and ending with \
         a letter or digit{also}"
    ).into())
}

/// Checks the base domain together with the name of the cluster; the empty text means none.
pub fn base_domain(name: &str, base: &str) -> Result<(), Invalid> {
    if base.is_empty() {
        return Ok(());
    }
    let refuse = |why: String| Err(format!("base_dns_domain {base:?} {why}").into());
    let is_single = !base.contains('.');
    if is_single && !(SINGLE_LABEL.is_match(base) && base.len() <= MAX_SINGLE_LABEL) {
        return refuse(format!(
            "must have 2 to {MAX_SINGLE_LABEL} lower case letters, digits or inner hyphens"
        ));
    }
    if !is_single && !DOTTED.is_match(base) {
        return refuse("is not a domain: lower case labels separated by dots, the last of at least two characters".to_owned());
    }
    if base
        .split('.')
        .all(|label| label.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return refuse("looks like an address; give a domain such as example.com".to_owned());
    }
    if base.len() > MAX_DOMAIN {
        return refuse(format!("is longer than {MAX_DOMAIN} characters"));
    }
    let apps = format!("apps.{name}.{base}");
    if apps.len() > MAX_APPS_DOMAIN {
        return refuse(format!(
            "makes the domain of applications {} characters long, {MAX_APPS_DOMAIN} is the limit; shorten it or the name",
            apps.len()
        ));
    }
    match apps.split('.').find(|label| label.len() > MAX_LABEL) {
        Some(label) => refuse(format!(
            "and name give the label {label:?}, which is longer than {MAX_LABEL} characters"
        )),
        None => Ok(()),
    }
}

/// Takes `api.<name>.<base>` apart; anything else, addresses included, is `None`.
#[must_use]
pub fn of_api(dns_name: &str) -> Option<(&str, &str)> {
    if dns_name.parse::<std::net::IpAddr>().is_ok() {
        return None;
    }
    let (name, base) = dns_name.strip_prefix("api.")?.split_once('.')?;
    (!name.is_empty() && !base.is_empty()).then_some((name, base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_labels_and_on_platform_none_subdomains() {
        for good in ["1", "a--b", "my-cluster", "0a"] {
            assert_eq!(name(good, Dots::Refused), Ok(()), "{good}");
            assert_eq!(name(good, Dots::Allowed), Ok(()), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a b", "ä"] {
            assert!(name(bad, Dots::Refused).is_err(), "{bad}");
            assert!(name(bad, Dots::Allowed).is_err(), "{bad}");
        }
        assert!(
            name("sub.cluster", Dots::Refused)
                .unwrap_err()
                .contains("platform none")
        );
        assert_eq!(name("sub.cluster", Dots::Allowed), Ok(()));
        assert!(name("sub..cluster", Dots::Allowed).is_err());
    }

    #[test]
    fn base_domains_are_checked_alone_and_together_with_the_name() {
        for good in ["", "com", "example.com", "a-b.example.com", "4you.example"] {
            assert_eq!(base_domain("c", good), Ok(()), "{good}");
        }
        for bad in [
            "a",
            "a.b",
            "1.2.3.4",
            "10.20.30.40",
            "Example.com",
            "a..com",
            ".com",
            "com.",
            "a_b.com",
            "ex ample.com",
        ] {
            assert!(base_domain("c", bad).is_err(), "{bad}");
        }
        let label = "a".repeat(63);
        let long = format!("{label}.{label}.{}", "b".repeat(58));
        assert_eq!(base_domain("c", &long[..long.len() - 3]), Ok(()));
        assert!(
            base_domain("c", &long)
                .unwrap_err()
                .contains("191 is the limit")
        );
        assert!(
            base_domain("c", &format!("{label}a.com"))
                .unwrap_err()
                .contains("longer than 63")
        );
        assert!(base_domain("c", &"a".repeat(63)).is_err());
    }

    #[test]
    fn the_api_name_gives_cluster_and_domain() {
        assert_eq!(
            of_api("api.edge.example.com"),
            Some(("edge", "example.com"))
        );
        for plain in [
            "api.edge",
            "edge.example.com",
            "192.0.2.1",
            "api..com",
            "2001:db8::1",
            "",
        ] {
            assert_eq!(of_api(plain), None, "{plain}");
        }
    }
}
