//! Time sources: comma-separated addresses and host names.

use std::{net::IpAddr, sync::LazyLock};

use regex::Regex;

use crate::Invalid;

static HOST_NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[a-z0-9][a-z0-9\-\.]{0,61}[a-z0-9]$").expect("the pattern is fixed and valid")
});

/// Checks a comma-separated list; the empty text means no source.
pub fn sources(member: &str, list: &str) -> Result<(), Invalid> {
    if list.is_empty() {
        return Ok(());
    }
    for source in list.split(',') {
        if source.parse::<IpAddr>().is_err() && !HOST_NAME.is_match(source) {
            return Err(format!(
                "{member}: {source:?} is neither an IP address nor a host name (lower case letters, digits, dots and \
                 hyphens); separate sources with commas, without spaces"
            ).into());
        }
    }
    Ok(())
}

/// Sources that come in addition and sources that come instead cannot both be set.
pub fn exclusive(additional: Option<&str>, sources: Option<&str>) -> Result<(), Invalid> {
    let is_set = |list: Option<&str>| list.is_some_and(|list| !list.is_empty());
    if is_set(additional) && is_set(sources) {
        return Err("ntp_sources replaces all other time sources, so it cannot be combined with additional ones; \
                    set one of the two and leave the other empty"
            .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_host_names_are_sources() {
        for list in [
            "",
            "192.0.2.1",
            "2001:db8::1",
            "clock.example.com",
            "ntp-1,192.0.2.1",
            "0.pool.ntp.org",
        ] {
            assert_eq!(sources("ntp_sources", list), Ok(()), "{list}");
        }
    }

    #[test]
    fn anything_else_is_named_in_the_refusal() {
        for (list, culprit) in [
            ("a.example, b.example", "\" b.example\""),
            ("Clock.example", "\"Clock.example\""),
            ("a.example,", "\"\""),
            ("x", "\"x\""),
            ("clock.example-", "\"clock.example-\""),
            ("http://clock", "\"http://clock\""),
        ] {
            let refusal = sources("ntp_sources", list).unwrap_err();
            assert!(
                refusal.starts_with(&format!("ntp_sources: {culprit}")),
                "{list}: {refusal}"
            );
        }
    }

    #[test]
    fn only_two_real_lists_exclude_each_other() {
        assert!(exclusive(Some("a1"), Some("b1")).is_err());
        for (additional, sources) in [
            (Some(""), Some("b1")),
            (Some("a1"), Some("")),
            (None, Some("b1")),
            (None, None),
        ] {
            assert_eq!(exclusive(additional, sources), Ok(()));
        }
    }
}
