//! Rules about proxies.

use std::net::IpAddr;

use ipnet::IpNet;
use url::{Host, Url};

use super::{Diagnostics, Facts, Rule, checks::is_subdomain};
use crate::{install_config::types::Proxy, schema::wording::shown};

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "proxy-present", path: "proxy", reads: &["proxy"], text: "At least one of httpProxy and httpsProxy.", check: proxy_present },
    Rule { name: "proxy-url", path: "proxy.httpProxy", reads: &[], text: "A whole URL; the scheme is `http`, for httpsProxy `http` or `https`.", check: proxy_url },
    Rule { name: "proxy-outside", path: "proxy.httpProxy", reads: &["proxy", "networking"], text: "A proxy named by its address is not inside the networks of pods, services or OVN-Kubernetes.", check: proxy_outside },
    Rule { name: "no-proxy", path: "proxy.noProxy", reads: &[], text: "`*`, or addresses, networks and domains with commas between; no spaces, no wildcards.", check: no_proxy },
];

/// URL and the schemes it may have. Passwords may be in it, so values are never quoted.
fn urls(proxy: Option<&Proxy>) -> Vec<(&'static str, &str, &'static [&'static str])> {
    let Some(proxy) = proxy else {
        return Vec::new();
    };
    let both: [(_, &str, &[_]); 2] = [
        ("proxy.httpProxy", &proxy.http_proxy, &["http"]),
        ("proxy.httpsProxy", &proxy.https_proxy, &["http", "https"]),
    ];
    both.into_iter()
        .filter(|(_, url, _)| !url.is_empty())
        .collect()
}

fn proxy_present(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    check_present(facts.config.proxy.as_ref(), diagnostics);
}

/// Some URL is there.
pub(crate) fn check_present(proxy: Option<&Proxy>, diagnostics: &mut Diagnostics) {
    if proxy.is_some() && urls(proxy).is_empty() {
        diagnostics.fault(
            "proxy",
            "neither httpProxy nor httpsProxy is set",
            "set one of them, or remove `proxy`",
        );
    }
}

fn proxy_url(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    check_urls(facts.config.proxy.as_ref(), diagnostics);
}

/// URLs are whole and have the right scheme.
pub(crate) fn check_urls(proxy: Option<&Proxy>, diagnostics: &mut Diagnostics) {
    for (path, text, schemes) in urls(proxy) {
        let help = "write a URL such as `http://proxy.example.com:3128`";
        match Url::parse(text) {
            Ok(url)
                if is_whole(text)
                    && url.has_host()
                    && !url.host_str().unwrap_or_default().is_empty() =>
            {
                if !schemes.contains(&url.scheme()) {
                    diagnostics.fault(
                        path,
                        format!("the scheme is `{}`", url.scheme()),
                        format!(
                            "the scheme must be `{}`: that is how one talks to the proxy",
                            schemes.join("` or `")
                        ),
                    );
                }
            }
            Ok(_) | Err(_) => diagnostics.fault(path, "this is not a whole URL", help),
        }
    }
}

/// Everything behind the scheme is spelled out. The parser repairs more than programs on the nodes
/// do: those refuse a broken escape, a `#` behind the host, and a host without `//` before it.
fn is_whole(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    let before_query = rest.split('?').next().unwrap_or(rest);
    let mut escapes = before_query.split('%').skip(1);
    let is_hex = |code: &str| {
        let digits = code.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    !authority.contains('#') && escapes.all(is_hex)
}

fn proxy_outside(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(networking) = &facts.config.networking else {
        return;
    };
    let pods = networking
        .cluster_network
        .iter()
        .map(|network| ("cluster", network.cidr));
    let services = networking
        .service_network
        .iter()
        .map(|network| ("service", *network));
    let join = networking
        .internal_join_subnet()
        .map(|network| ("join", network));
    let inside: Vec<(&str, IpNet)> = pods.chain(services).chain(join).collect();
    for (path, text, _) in urls(facts.config.proxy.as_ref()) {
        let ip: IpAddr = match Url::parse(text).ok().as_ref().and_then(Url::host) {
            Some(Host::Ipv4(ip)) => ip.into(),
            Some(Host::Ipv6(ip)) => ip.into(),
            Some(Host::Domain(_)) | None => continue,
        };
        for (kind, network) in inside.iter().filter(|(_, network)| network.contains(&ip)) {
            diagnostics.fault(
                path,
                format!("the proxy {ip} is inside the {kind} network {network}, so nodes cannot reach it"),
                "choose another network for the cluster, or another proxy",
            );
        }
    }
}

fn no_proxy(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let text = facts.config.proxy.as_ref().map(|proxy| &*proxy.no_proxy);
    if text.is_some_and(|text| text != "*" && text.contains(' ')) {
        diagnostics.fault(
            "proxy.noProxy",
            "it contains spaces",
            "separate entries by commas only",
        );
    }
    check_no_proxy(facts.config.proxy.as_ref(), diagnostics);
}

/// Entries are addresses, networks or domains; blanks around them do not count.
pub(crate) fn check_no_proxy(proxy: Option<&Proxy>, diagnostics: &mut Diagnostics) {
    let text = proxy.map_or("", |proxy| &*proxy.no_proxy);
    let path = "proxy.noProxy";
    if text.is_empty() || text == "*" {
        return;
    }
    for entry in text.split(',').map(str::trim) {
        let name = entry.strip_prefix('.').unwrap_or(entry);
        let name = name.strip_suffix('.').unwrap_or(name);
        let known =
            entry.parse::<IpAddr>().is_ok() || entry.parse::<IpNet>().is_ok() || is_subdomain(name);
        if !known {
            let help = if entry.contains('*') {
                "a domain covers what is below it: `.example.com` instead of `*.example.com`"
            } else {
                "write addresses, networks or domains, with commas between"
            };
            diagnostics.fault(
                path,
                format!("{} is not an address, network or domain", shown(entry)),
                help,
            );
        }
    }
}
